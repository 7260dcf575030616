"""One call of an operator of PyTorch's own list, eager against compiled: what is called, on what, and what may differ."""

import dataclasses
import zlib

import torch
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, SampleInput, UnaryUfuncInfo
from torch.utils._pytree import tree_flatten, tree_map

import vitrine
from tests.python.support.op_values import VALUES, differences, with_layout, with_values
from vitrine._tools import accuracy
from vitrine._tools.accuracy import widened

# What eager itself does not determine: memory nobody has written. Only types, sizes and strides are compared.
UNWRITTEN = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
# Operators whose derivative in PyTorch takes another way, with a gradient laid out otherwise, where a dispatch mode is on.
OTHER_LAYOUT = {"ormqr", "linalg.householder_product"}
# Operators whose backward in PyTorch fails on tensors of nothing, where there is a gradient.
STUMBLES = {"_foreach_addcdiv": IndexError}
NOT_CLOSE = "Tensor-likes are not close"  # assert_close of values beyond their tolerance
TOLERANCE = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.float16: {"rtol": 2e-3, "atol": 2e-3}, torch.complex64: {"rtol": 1e-4, "atol": 1e-5},
}  # fmt: skip
SOURCES = {
    "plain": "def f(x, args, kwargs):\n    return call(x, *args, **kwargs)\n",
    "in place": "def f(x, args, kwargs):\n    x = [t.clone() for t in x] if isinstance(x, list) else x.clone()\n    y = call(x, *args, **kwargs)\n    return y, x\n",
    "method": "def f(x, args, kwargs):\n    return call(x, *args, **kwargs)\n",
    "out": "def f(x, args, kwargs):\n    return call(x, *args, **kwargs), kwargs['out']\n",
    "twice": "def f(x, args, kwargs):\n    return call(x, *args, **kwargs), tree_map(after, call(x, *args, **kwargs))\n",
    "first alone": "def f(x, args, kwargs):\n    return call(x, *args, **kwargs)\n",
    "amid": (
        "def f(x, args, kwargs):\n    y = call(before(x), *args, **kwargs)\n    return tree_map(after, y)\n"
    ),
}


@dataclasses.dataclass
class Case:
    op: object
    variant: str
    sample: object
    label: str
    gradients: bool
    values: str = ""  # which ones instead of the sample's own; then NaNs, infinities and signs of zeros count too

    def function(self):
        """A new function each time: nothing compiled before is found again."""
        call = {"in place": self.op.inplace_variant, "method": self.op.method_variant}.get(self.variant, self.op.op)
        scope = {"call": call, "tree_map": tree_map, "before": before, "after": after}
        exec(compile(SOURCES[self.variant], f"<{self.op.name}>", "exec"), scope)
        return scope["f"]


def before(x):
    return x * 1 if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()) else x


def after(y):
    return y.neg() + 1 if isinstance(y, torch.Tensor) and (y.is_floating_point() or y.is_complex()) else y


def chosen(samples, count):
    """All, or `count` of them spread over the list; always the same ones."""
    samples = list(samples)
    return list(enumerate(samples)) if not count or len(samples) <= count else [
        (i * len(samples) // count, samples[i * len(samples) // count]) for i in range(count)
    ]  # fmt: skip


def sample_of(x, args, kwargs):
    return SampleInput(x, args=args, kwargs=kwargs)


def changed(case, kind):
    """The case with other values, or in another layout; None where that is not possible."""
    values = kind in VALUES
    numbers = elementwise(case.op) or isinstance(case.op, ReductionOpInfo)  # no integer of theirs is a place
    try:
        made = sample_of(*(with_values(case.sample, kind, case.label, numbers) if values else with_layout(case.sample, kind)))
    except (RuntimeError, TypeError):
        return None
    return dataclasses.replace(case, sample=made, label=f"{case.label}, {kind}", values=kind if values else case.values)


def with_outs(case):
    """The same call with results to write into: of the right size with holes, and empty ones."""
    if "out" in case.sample.kwargs:
        return
    try:
        results = case.op.op(*tree_map(own, (case.sample.input,)), *case.sample.args, **case.sample.kwargs)
    except Exception:
        return
    tensors = tree_flatten(results)[0]
    if not tensors or not all(isinstance(t, torch.Tensor) and t.layout == torch.strided for t in tensors):
        return
    for name, make in OUTS.items():
        outs = tree_map(make, results)
        outs = outs if isinstance(outs, (torch.Tensor, list)) else tuple(outs)
        sample = sample_of(case.sample.input, case.sample.args, {**case.sample.kwargs, "out": outs})
        yield dataclasses.replace(case, sample=sample, variant="out", label=f"{case.label} out={name}")


OUTS = {
    "with holes": lambda t: torch.full((*t.shape, 2), 3).to(t.dtype)[..., 0],
    "nothing": lambda t: t.new_empty(0),
    "of another type": lambda t: t.new_empty(t.shape, dtype=torch.float64 if t.is_floating_point() else torch.float32),
}


def cases(op, dtype, count, wider=False):
    """The calls of one operator with one dtype. wider: also as methods, with results to write into, and without gradients of
    tensors that require them."""
    if dtype not in op.supported_dtypes("cpu"):
        return
    yield from plain_cases(op, dtype, count)
    if not wider:
        return
    for i, sample in chosen(op.sample_inputs("cpu", dtype, requires_grad=False), count):
        if callable(op.method_variant) and isinstance(sample.input, torch.Tensor):
            yield Case(op, "method", sample, f"{dtype} sample {i} as a method", False)
        if op.supports_out:
            yield from with_outs(Case(op, "plain", sample, f"{dtype} sample {i}", False))
    if dtype in op.supported_backward_dtypes("cpu") and op.supports_autograd:
        for i, sample in chosen(op.sample_inputs("cpu", dtype, requires_grad=True), count):
            yield Case(op, "plain", sample, f"{dtype} sample {i} under no_grad", False)
            yield from partial_gradients(Case(op, "plain", sample, f"{dtype} sample {i} gradients", True))


def partial_gradients(case):
    """The same call twice, with a gradient for the first result alone, and with one argument alone that requires grad."""
    yield dataclasses.replace(case, variant="twice", label=f"{case.label}, twice")
    yield dataclasses.replace(case, variant="first alone", label=f"{case.label}, of the first result")
    whole = (case.sample.input, case.sample.args, case.sample.kwargs)
    leaves = [t for t in tree_flatten(whole)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
    for k, leaf in enumerate(leaves[:4] if len(leaves) > 1 else []):
        alone = lambda t: t.detach() if isinstance(t, torch.Tensor) and t.requires_grad and t is not leaf else t  # noqa: E731, B023
        yield dataclasses.replace(case, sample=sample_of(*tree_map(alone, whole)), label=f"{case.label}, of argument {k}")


def plain_cases(op, dtype, count):
    gradients = dtype in op.supported_backward_dtypes("cpu") and op.supports_autograd
    torch.manual_seed(zlib.crc32(op.name.encode()))
    for i, sample in chosen(op.sample_inputs("cpu", dtype, requires_grad=False), count):
        yield Case(op, "plain", sample, f"{dtype} sample {i}", False)
        if isinstance(sample.input, torch.Tensor) and sample.input.layout == torch.strided and (dtype.is_floating_point or dtype.is_complex):
            yield Case(op, "amid", sample, f"{dtype} sample {i} amid others", False)
        if op.inplace_variant and not sample.broadcasts_input:
            yield Case(op, "in place", sample, f"{dtype} sample {i} in place", False)
    if dtype == torch.float32 and op.error_inputs_func:
        for i, wrong in chosen(op.error_inputs("cpu"), 2 * count):
            yield Case(op, "plain", wrong.sample_input, f"wrong input {i}", False)
    if gradients:
        torch.manual_seed(zlib.crc32(op.name.encode()))
        for i, sample in chosen(op.sample_inputs("cpu", dtype, requires_grad=True), count):
            yield Case(op, "plain", sample, f"{dtype} sample {i} gradients", True)
            if op.inplace_variant and op.supports_inplace_autograd and not sample.broadcasts_input:
                yield Case(op, "in place", sample, f"{dtype} sample {i} in place, gradients", True)


def own(value):
    """A copy with the same strides and nothing shared."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout != torch.strided or value.is_quantized or value.is_meta:
        return value.detach().clone().requires_grad_(value.requires_grad)
    plain = value.detach().resolve_conj().resolve_neg()
    made = plain.clone()
    if _dense(plain) and plain.numel():
        room = plain.storage_offset() + 1 + sum((n - 1) * step for n, step in zip(plain.size(), plain.stride()))
        memory = torch.zeros(room, dtype=plain.dtype).untyped_storage()
        made = plain.new_empty(0).set_(memory, plain.storage_offset(), plain.size(), plain.stride()).copy_(plain)
    return made.requires_grad_(value.requires_grad)


def _dense(t):
    """No two elements at one address."""
    return all(step or size == 1 for step, size in zip(t.stride(), t.size()))


def outcome(function, case):
    """(results, gradients, error, which tensors share memory) of one call on fresh copies."""
    x, args, kwargs = tree_map(own, (case.sample.input, case.sample.args, case.sample.kwargs))
    leaves = [t for t in tree_flatten((x, args, kwargs))[0] if isinstance(t, torch.Tensor)]
    torch.manual_seed(3)
    try:
        with torch.set_grad_enabled(case.gradients):
            results = function(x, args, kwargs)
            tensors = [t for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor)]
            grads = gradients(tensors, [t for t in leaves if t.requires_grad], case.variant == "first alone") if case.gradients else []
    except Exception as error:
        return None, None, error, None
    return results, grads, None, shared(tensors + leaves)


def gradients(results, leaves, first=False):
    wanted = [r for r in results if r.requires_grad]
    wanted = wanted[:1] if first else wanted
    if not wanted or not leaves:
        return []
    generator = torch.Generator().manual_seed(5)
    tangents = []
    for r in wanted:  # laid out as the result is: what pointwise operators behind it would give
        drawn = torch.randn(r.shape, generator=generator, dtype=torch.float64)
        tangents.append(torch.empty_like(r, requires_grad=False).copy_(drawn))
    return list(torch.autograd.grad(wanted, leaves, tangents, allow_unused=True))


ELEMENTWISE = {
    "nn.functional." + n for n in "gelu silu mish elu celu selu relu relu6 leaky_relu hardtanh hardswish hardsigmoid hardshrink softshrink "
    "softplus softsign logsigmoid tanhshrink threshold".split()
} | {"addcmul", "addcdiv", "lerp", "where", "clamp", "clamp_min", "clamp_max", "sigmoid"}  # fmt: skip


def elementwise(op):
    return isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)) or op.name in ELEMENTWISE


def shared(tensors):
    roots = [t.untyped_storage().data_ptr() if t.layout == torch.strided and t.numel() else None for t in tensors]
    return [[a is not None and a == b for b in roots] for a in roots]


def compare(case, dynamic=None):
    """What differs between eager and compiled, as a text; "" if nothing does. dynamic: as vitrine.compile takes it."""
    vitrine.reset()
    function = case.function()
    again = outcome(function, case)
    expected = outcome(function, case)
    compiled = vitrine.compile(function, dynamic=dynamic)
    for call in range(2):
        found = outcome(compiled, case)
        wrong = difference(expected, found, case)
        if wrong and difference(expected, again, case):
            return ""  # eager does not agree with itself
        if wrong and case.values and elementwise(case.op):
            wrong = difference(expected, found, case, list(otherwise(function, case)))
        if wrong and not (NOT_CLOSE in wrong and as_exact(function, case, expected, found)):
            return f"call {call}: {wrong}"
    return ""


def flags(came):
    return [(t.requires_grad, t.is_leaf) for t in tree_flatten(came[:2])[0] if isinstance(t, torch.Tensor)]


def as_exact(function, case, expected, found):
    """Measured against float64, what is compiled is no further off than eager is."""
    wide = sample_of(*widened((case.sample.input, case.sample.args, case.sample.kwargs)))
    exact = outcome(function, dataclasses.replace(case, sample=wide))
    if exact[2] or expected[3] != found[3] or flags(expected) != flags(found):
        return False
    rows = accuracy.compare(expected[:2], found[:2], lambda: exact[:2])
    return all(row["verdict"] != "differs" for row in rows) or cancels(expected, found, exact)


def cancels(expected, found, exact):
    """Nothing is left of the exact values, so that both are rounding alone, and the found one no more of it than eager's."""
    for e, f, x in zip(*(tree_flatten(came[:2])[0] for came in (expected, found, exact)), strict=True):
        if not isinstance(x, torch.Tensor) or torch.equal(e, f):
            continue
        error, other = ((t.detach().to(x.dtype) - x.detach()).abs().max().item() for t in (e, f))
        if not (x.abs().max().item() < 1e-9 * error and other <= accuracy.AS_NEAR * error):
            return False
    return True


def otherwise(function, case):
    """What eager's other loops give for an element-wise call, results and gradients in a row: the one for single elements, the
    one for vectors."""
    def repeated(t, step):
        return t.detach().unsqueeze(-1).repeat(*[1] * t.dim(), 64)[..., ::step].requires_grad_(t.requires_grad)

    for step in (1, 2):
        change = lambda t: repeated(t, step) if isinstance(t, torch.Tensor) else t  # noqa: E731
        sample = sample_of(*tree_map(change, (case.sample.input, case.sample.args, case.sample.kwargs)))
        results, grads, error, _ = outcome(function, dataclasses.replace(case, sample=sample))
        if not error:
            yield [t[..., 0] if isinstance(t, torch.Tensor) and t.dim() else t for t in tree_flatten(results)[0] + grads]


def difference(expected, found, case, others=()):
    """others: results and gradients in a row that are as right as the expected ones, element by element."""
    (results, grads, error, shares), (other, other_grads, other_error, other_shares) = expected, found
    if error and not other_error and isinstance(error, STUMBLES.get(case.op.name, ())):
        return ""
    if error or other_error:
        return error_difference(error, other_error)
    a, spec = tree_flatten(results)
    b, other_spec = tree_flatten(other)
    if spec != other_spec:
        return f"structure {spec} against {other_spec}"
    for i, (x, y) in enumerate(zip(a, b)):
        wrong = value_difference(x, y, case, [o[i] for o in others])
        if wrong:
            return f"result {i}: {wrong}"
    for i, (x, y) in enumerate(zip(grads, other_grads)):
        if (x is None) != (y is None):
            return f"gradient {i}: {x} against {y}"
        if x is not None and case.op.name in OTHER_LAYOUT:
            x, y = x.contiguous(), y.contiguous()
        wrong = x is not None and value_difference(x, y, case, [o[len(a) + i] for o in others])
        if wrong:
            return f"gradient {i}: {wrong}"
    return "" if shares == other_shares else f"memory shared {shares} against {other_shares}"


def error_difference(error, other):
    if error is None or other is None:
        return f"eager {'raised ' + repr(error)[:300] if error else 'did not raise'}, compiled {'raised ' + repr(other)[:300] if other else 'did not'}"
    if type(error) is not type(other) or str(error).split("\n")[0] != str(other).split("\n")[0]:
        return f"{error!r:.300} against {other!r:.300}"
    return ""


def steps(t):
    """Strides of the dimensions in which anything steps."""
    return [step for step, size in zip(t.stride(), t.size()) if size > 1]


def value_difference(x, y, case, others=()):
    if not isinstance(x, torch.Tensor):
        same = type(x) is type(y) and (x == y or x != x or isinstance(x, float) and abs(x - y) <= 1e-4 * abs(x) + 1e-5)
        return "" if same else f"{x!r} against {y!r}"
    for what in ("dtype", "shape", "layout", "requires_grad", "is_leaf"):
        if getattr(x, what) != getattr(y, what):
            return f"{what} {getattr(x, what)} against {getattr(y, what)}"
    if type(x) is not type(y):
        return f"{type(x)} against {type(y)}"
    if x.layout == torch.strided and x.numel() > 1 and steps(x) != steps(y):
        return f"strides {x.stride()} against {y.stride()} of {tuple(x.shape)}"
    if case.op.name in UNWRITTEN:
        return ""
    if case.values and x.layout == torch.strided and not x.is_complex() and not x.is_quantized:
        bad = differences(x.detach(), y.detach())
        for other in others:
            if other is not None and other.shape == x.shape:
                bad &= differences(other.detach(), y.detach())
        at = tuple(bad.nonzero()[0].tolist()) if bad.any() else ()
        return f"{int(bad.sum())} differ, at {at} {y[at].item()}, in eager {x[at].item()}" if bad.any() else ""
    try:
        torch.testing.assert_close(y.detach(), x.detach(), equal_nan=True, **TOLERANCE.get(x.dtype, {}))
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""
