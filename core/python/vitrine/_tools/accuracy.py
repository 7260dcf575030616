"""Compares what eager and compiled returned, tensor by tensor, as torch.testing.assert_close does by default.

float16 and bfloat16: every operator of a program rounds to the type, at the size of its own values, so that two right
orders of rounding differ by some units of the result's largest value wherever the result itself is small.

A deep float32 program multiplies its roundings until eager itself is further from the right result than the tolerance.
Where values are outside it, both are therefore measured against the same program in float64, when there is one: what is
as near to that as eager is, is not wrong. How far eager is off is one draw of a distribution that such a program makes wide:
eager with its inputs and parameters moved by one unit in the last place gives further draws. Where PyTorch's settings let a GPU round factors to TF32 (convolutions by default),
which of its algorithms does so is the library's choice, eager's or ours: an error of that size is none.
"""

import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from vitrine._tools.distances import absolute, blocks, errors, largest_finite, last_places
from vitrine._tools.loading import DTYPES

# rtol, atol by dtype: the defaults of torch.testing.assert_close.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip
ROUNDINGS = {torch.float16: 8, torch.bfloat16: 8}  # units of the largest value that are allowed besides
AS_NEAR = 2.0  # times eager's own error: the largest and the root mean square
DRAWS = 4  # of eager with moved inputs, at most
TF32 = 2.0**-9  # of the largest value, or of the root mean square: two units of its 10 bits
JUDGES = 1e-2  # of the largest value: an eager error above it says that float64 computed something else
WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}


TYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Tf32Watch(TorchDispatchMode):
    """While it is entered: whether float32 values went on a GPU through what may round them to TF32 (`seen`)."""

    def __init__(self):
        super().__init__()
        self.seen = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        on_gpu = any(isinstance(a, torch.Tensor) and a.is_cuda and a.dtype == torch.float32 for a in args)
        self.seen = self.seen or on_gpu and may_round(name)
        return func(*args, **(kwargs or {}))


def may_round(operator: str) -> bool:
    """Whether PyTorch's settings let the operator ("mm", "convolution") round float32 factors to TF32 on a GPU."""
    if "convolution" in operator:
        return torch.backends.cudnn.allow_tf32
    return torch.backends.cuda.matmul.allow_tf32 and (operator in ("mm", "addmm", "bmm", "baddbmm") or "attention" in operator)


def type_text(tensor: torch.Tensor) -> str:
    """ "f32[8,128]", as graphs write types."""
    return f"{TYPE_NAMES.get(tensor.dtype, str(tensor.dtype)[6:])}[{','.join(map(str, tensor.shape))}]"


def leaves(value, path: str = "output"):
    """(path, leaf) of a nest of tuples, lists, dicts, dataclasses and objects with to_tuple()."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield from leaves(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{i}]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            yield from leaves(getattr(value, f.name), f"{path}.{f.name}")
    else:
        yield path, value


def compare(eager, compiled, exact=lambda: None, tf32=lambda: False, nudged=lambda draw: None) -> list[dict]:
    """Rows of the table `accuracy` without run; one a leaf, or one that says how the structures differ.

    exact: gives what the program returns in float64, in the same structure, or None; called at most once, and only
    when values are outside the tolerance. tf32: asked after that, whether float32 values may have been rounded to TF32.
    nudged: gives what eager returns where `nudge` of that draw has moved all it starts from, or None; asked last of all.
    """
    a, b = list(leaves(eager)), list(leaves(compiled))
    if [p for p, _ in a] != [p for p, _ in b]:
        return [row("output", "", False, f"eager returns {len(a)} values, compiled {len(b)}, or in another structure")]
    rows = [compare_leaf(path, x, y) for (path, x), (_, y) in zip(a, b)]
    doubtful = [i for i, r in enumerate(rows) if r["verdict"] == "differs" and "max_abs" in r and a[i][1].dtype in WIDER]
    right = list(leaves(exact())) if doubtful else []
    if [p for p, _ in right] != [p for p, _ in a]:
        return rows
    for i in doubtful:
        judge(rows[i], a[i][1].detach(), b[i][1].detach(), right[i][1], TF32 if a[i][1].dtype == torch.float32 and tf32() else 0.0)
    judge_by_draws(rows, [i for i in doubtful if "compiled by" in rows[i]["message"] and rows[i]["verdict"] == "differs"], a, b, right, nudged)
    return rows


def judge_by_draws(rows, doubtful: list[int], a, b, right, nudged) -> None:
    """Turns those of `rows` to close that are as near to the float64 result as one of eager's further draws is."""
    for draw in range(DRAWS):
        if not doubtful:
            return
        moved = list(leaves(nudged(draw)))
        if [p for p, _ in moved] != [p for p, _ in a]:
            return
        for i in list(doubtful):
            other, ours, exact = (leaf[i][1] for leaf in (moved, b, right))
            if not isinstance(other, torch.Tensor) or other.shape != ours.shape or other.dtype != ours.dtype:
                continue
            (error, mean), (our_error, our_mean) = (errors(t.detach(), exact.detach()) for t in (other, ours))
            if our_error <= AS_NEAR * error and our_mean <= AS_NEAR * mean and error <= JUDGES * float(exact.abs().max()):
                rows[i]["verdict"] = "close"
                rows[i]["message"] += f"; with its inputs moved by one unit in the last place, eager by {error:.2g}"
                doubtful.remove(i)


def judge(found: dict, x: torch.Tensor, y: torch.Tensor, exact, rounding: float = 0.0) -> list[tuple[float, float]] | None:
    """Turns `found` to close when y is as near to the float64 result as eager's x, or off by no more than `rounding`, relative
    to its values; says both errors if that can be judged. Gives both, as far as they were measured."""
    if not isinstance(exact, torch.Tensor) or exact.shape != x.shape or exact.dtype != WIDER[x.dtype]:
        return None
    finite = torch.isfinite(x)
    if not finite.any() or not torch.equal(finite, torch.isfinite(y)) or not torch.equal(finite, torch.isfinite(exact)):
        return None
    both = [errors(t, exact.detach()) for t in (x, y)]
    (eager, eager_mean), (ours, our_mean) = both
    exact = exact.detach()
    most = largest_finite(exact)
    if eager > JUDGES * most:
        return both
    found["message"] += f"; from float64 eager is off by {eager:.2g}, compiled by {ours:.2g}"
    largest, mean = rounding * most, rounding * float(exact[finite].abs().square().mean().sqrt()) if rounding else 0.0
    if ours <= max(AS_NEAR * eager, largest) and our_mean <= max(AS_NEAR * eager_mean, mean):
        found["verdict"] = "close"
        found["message"] += ", as TF32 may be" if ours > AS_NEAR * eager or our_mean > AS_NEAR * eager_mean else ""
    return both


def converted(value, tensor, module):
    """`value` with its tensors and modules as the two functions give them: itself one, or a nest of tuples, lists and dicts."""
    if isinstance(value, torch.nn.Module):
        return module(value)
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, dict):
        return {key: converted(item, tensor, module) for key, item in value.items()}
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(converted(item, tensor, module) for item in value)
    return value


def widened(value):
    """`value` with what it holds of floating numbers in float64: a module, a tensor, or a nest of tuples, lists and dicts."""
    return converted(value, lambda t: t.to(WIDER[t.dtype]) if t.dtype in WIDER else t, lambda m: m.double())


@torch.no_grad()
def nudge(value, draw: int):
    """`value` (as of `widened`) with each floating number shorter than float64 one unit in the last place further from or
    nearer to zero, in place: draw 0, 1, ... says which goes where. The default generators are left as they are."""
    generator = torch.Generator().manual_seed(draw)

    def tensor(t):
        several_share = torch._debug_has_internal_overlap(t) == 1  # an expanded tensor stays as it is
        if t.dtype in WIDER and t.dtype.is_floating_point and not t.is_inference() and not several_share:
            signs = torch.randint(0, 2, t.shape, generator=generator, dtype=torch.int8).mul_(2).sub_(1)
            t.detach().mul_(1 + signs.to(t.device, torch.float64) * torch.finfo(t.dtype).eps)
        return t

    def module(m):
        for t in (*m.parameters(), *m.buffers()):
            tensor(t)
        return m

    return converted(value, tensor, module)


def row(path, kind, ok, message="", exact=False, **numbers) -> dict:
    verdict = "differs" if not ok else "equal" if exact else "close"
    return {"output": path, "type": kind, "verdict": verdict, "message": message, **numbers}


def compare_leaf(path: str, x, y, ends: tuple[int, ...] = ()) -> dict:
    """ends: of a histogram of units in the last place, which is measured along with the mean: "counts" and "mean_abs"."""
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        same = type(x) is type(y) and (x is y or bool(x == y) or repr(x) == repr(y))
        return row(path, type(x).__name__, same, "" if same else f"{x!r} against {y!r}", exact=same)
    kind = type_text(x)
    for what in ("dtype", "shape", "device"):
        if getattr(x, what) != getattr(y, what):
            return row(path, kind, False, f"{what}: eager {getattr(x, what)}, compiled {getattr(y, what)}")
    if x.stride() != y.stride() and x.numel() > 1:
        return row(path, kind, False, f"strides: eager {x.stride()}, compiled {y.stride()}")
    return compare_values(path, kind, x.detach(), y.detach(), ends)


def compare_values(path: str, kind: str, x: torch.Tensor, y: torch.Tensor, ends: tuple[int, ...] = ()) -> dict:
    if torch.equal(x, y) or x.numel() == 0:
        return row(path, kind, True, exact=True, count=x.numel())
    if x.dtype not in TOLERANCES:
        return row(path, kind, False, "values differ", count=x.numel(), mismatched=int((x != y).sum()))
    rtol, atol = TOLERANCES[x.dtype]
    if x.dtype in ROUNDINGS:
        atol = max(atol, ROUNDINGS[x.dtype] * torch.finfo(x.dtype).eps * largest_finite(x))
    mismatched = sum(int((~torch.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)).sum()) for a, b in blocks(x, y))
    max_abs, mean_abs, max_rel = absolute(x, y)
    max_ulp, counts = last_places(x, y, ends)
    message = f"{mismatched} of {x.numel()} outside rtol {rtol}, atol {atol:.3g}" if mismatched else ""
    more = dict(mean_abs=mean_abs, counts=counts) if ends else {}
    return row(path, kind, not mismatched, message, count=x.numel(), mismatched=mismatched, max_abs=max_abs, max_rel=max_rel, max_ulp=max_ulp, **more)
