"""Compares what eager and compiled returned, tensor by tensor, as torch.testing.assert_close does by default.

float16 and bfloat16: every operator of a program rounds to the type, at the size of its own values, so that two right
orders of rounding differ by some units of the result's largest value wherever the result itself is small.
"""

import dataclasses

import torch

# rtol, atol by dtype: the defaults of torch.testing.assert_close.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip
ROUNDINGS = {torch.float16: 8, torch.bfloat16: 8}  # units of the largest value that are allowed besides


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


def compare(eager, compiled) -> list[dict]:
    """Rows of the table `accuracy` without run; one a leaf, or one that says how the structures differ."""
    a, b = list(leaves(eager)), list(leaves(compiled))
    if [p for p, _ in a] != [p for p, _ in b]:
        return [row("output", "", False, f"eager returns {len(a)} values, compiled {len(b)}, or in another structure")]
    return [compare_leaf(path, x, y) for (path, x), (_, y) in zip(a, b)]


def row(path, kind, ok, message="", exact=False, **numbers) -> dict:
    verdict = "differs" if not ok else "equal" if exact else "close"
    return {"output": path, "type": kind, "verdict": verdict, "message": message, **numbers}


def compare_leaf(path: str, x, y) -> dict:
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        same = type(x) is type(y) and (x is y or bool(x == y) or repr(x) == repr(y))
        return row(path, type(x).__name__, same, "" if same else f"{x!r} against {y!r}", exact=same)
    kind = f"{str(x.dtype)[6:]}{list(x.shape)}"
    for what in ("dtype", "shape", "device"):
        if getattr(x, what) != getattr(y, what):
            return row(path, kind, False, f"{what}: eager {getattr(x, what)}, compiled {getattr(y, what)}")
    if x.stride() != y.stride() and x.numel() > 1:
        return row(path, kind, False, f"strides: eager {x.stride()}, compiled {y.stride()}")
    return compare_values(path, kind, x.detach(), y.detach())


def compare_values(path: str, kind: str, x: torch.Tensor, y: torch.Tensor) -> dict:
    if torch.equal(x, y) or x.numel() == 0:
        return row(path, kind, True, exact=True, count=x.numel())
    if x.dtype not in TOLERANCES:
        return row(path, kind, False, "values differ", count=x.numel(), mismatched=int((x != y).sum()))
    rtol, atol = TOLERANCES[x.dtype]
    if x.dtype in ROUNDINGS:
        largest = x[torch.isfinite(x)].abs().amax().item() if torch.isfinite(x).any() else 0.0
        atol = max(atol, ROUNDINGS[x.dtype] * torch.finfo(x.dtype).eps * largest)
    close = torch.isclose(y, x, rtol=rtol, atol=atol, equal_nan=True)
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    delta = (x.to(wide) - y.to(wide)).abs()
    finite = torch.isfinite(delta)
    max_abs = float(delta[finite].max()) if finite.any() else 0.0
    scale = x.to(wide).abs()
    relative = (delta / scale)[finite & (scale > 0)]
    mismatched = int((~close).sum())
    return row(path, kind, not mismatched, f"{mismatched} of {x.numel()} outside rtol {rtol}, atol {atol:.3g}" if mismatched else "",
               count=x.numel(), mismatched=mismatched, max_abs=max_abs, max_rel=float(relative.max()) if relative.numel() else 0.0,
               max_ulp=largest_ulp(x, y))  # fmt: skip


def largest_ulp(x: torch.Tensor, y: torch.Tensor) -> int:
    """Largest distance in units in the last place; 0 where the dtype has no such order or values are not finite."""
    width = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}.get(x.dtype)
    if width is None:
        return 0

    def ordered(t):
        bits = t.contiguous().view(width).to(torch.int64)
        return torch.where(bits < 0, torch.iinfo(width).min - bits, bits)

    finite = torch.isfinite(x) & torch.isfinite(y)
    return int((ordered(x) - ordered(y))[finite].abs().max()) if finite.any() else 0
