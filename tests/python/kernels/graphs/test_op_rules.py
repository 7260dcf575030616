"""Every shape rule of the operator table against eager PyTorch: sizes, strides, offset and type, exactly.

PyTorch's own sample inputs run eagerly; each operator the dispatcher meets and the table has a rule for is
compared. A rule may step aside (the engine then asks PyTorch), but what it answers must be right.
"""

import collections
import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from tests.python.support.graph_text import GraphText, NoText, type_text
from tests.python.support.sweep import part
from vitrine import _engine

# PyTorch's own list needs it.
pytest.importorskip("expecttest")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

TABLE = {row["name"]: row for row in _engine.op_table()}
SAMPLES = 3
covered = collections.Counter()
declined = collections.Counter()


def ask(func, args, kwargs):
    """(types, why not) of the table for a call; None if the call cannot be written down."""
    g = GraphText()
    try:
        g.call(func, args, kwargs, [])
    except NoText:
        return None
    (_, types, why), = _engine.op_types(g.text())
    return types, why


class Compare(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.wrong = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        row = TABLE.get(str(func))
        answer = ask(func, args, kwargs) if row and row["has_rule"] else None
        out = func(*args, **kwargs)
        if answer is None:
            return out
        derived, why = answer
        if why:
            declined[str(func)] += 1
            assert not why.startswith("bind"), why
            return out
        covered[str(func)] += 1
        real = ", ".join(type_text(t) for t in tree_flatten(out)[0])
        if real != derived:
            shown = tree_map(lambda v: type_text(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
            self.wrong.append(f"{func}{shown}\n  eager: {real}\n  table: {derived}")
        return out


def other_layouts(t):
    """Tensors with the sizes of t and other strides."""
    if not isinstance(t, torch.Tensor) or t.layout != torch.strided or t.dim() == 0:
        return []
    order = list(reversed(range(t.dim())))
    transposed = t.permute(order).contiguous().permute(order)
    gaps = torch.stack([t, t], -1)[..., 0]
    shifted = torch.cat([t[:1], t])[1:] if t.dim() and t.shape[0] else t
    out = [transposed, gaps, shifted, t[..., :1].expand_as(t)]
    if t.dim() == 4:
        out.append(t.contiguous(memory_format=torch.channels_last))
    if t.dim() >= 2:
        out.append(t.transpose(0, 1).contiguous().transpose(0, 1))
    return out


def variants(args, kwargs):
    """The call itself; each tensor in other layouts; all tensors in the same other layout."""
    flat, spec = tree_flatten((args, kwargs))
    yield args, kwargs
    layouts = [other_layouts(v) for v in flat]
    for i, options in enumerate(layouts[:2]):
        for option in options:
            yield torch.utils._pytree.tree_unflatten(flat[:i] + [option] + flat[i + 1:], spec)
    most = max((len(o) for o in layouts), default=0)
    for k in range(most):
        changed = [o[k] if k < len(o) else v for v, o in zip(flat, layouts)]
        yield torch.utils._pytree.tree_unflatten(changed, spec)


DTYPES = (torch.float32, torch.int64, torch.bool, torch.bfloat16)
SKIPPED = ("linalg", "fft", "special", "sparse", "masked.", "to_sparse", "signal", "_refs", "svd", "pca", "geqrf",
           "ormqr", "lu", "cholesky", "pinverse", "stft", "istft", "cdist", "logdet", "triangular", "nn.functional.ctc",
           "jiterator", "torch.ops", "histogram", "empty", "ldexp", "cov", "corrcoef",
           "unique", "nonzero", "svd", "eig", "polar", "igamma", "polygamma", "mvlgamma", "digamma", "lgamma", "i0")
OPS = [op for op in op_db if not op.name.startswith(SKIPPED)]


@pytest.mark.parametrize("op", part(OPS, every=6), ids=lambda op: op.name + ("." + op.variant_test_name if op.variant_test_name else ""))
def test_rule_against_eager(op):
    torch.manual_seed(0)
    mode = Compare()
    for dtype in DTYPES:
        if not op.supports_dtype(dtype, "cpu"):
            continue
        samples = itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES)
        for sample in samples:
            for args, kwargs in variants((sample.input, *sample.args), sample.kwargs):
                with torch.no_grad(), mode:
                    try:
                        op.op(*args, **kwargs)
                    except Exception:
                        pass  # this layout or type is refused by eager; what ran before was compared
                if len(mode.wrong) > 3:
                    break
    assert not mode.wrong, "\n".join(mode.wrong[:4])


@pytest.mark.parametrize("op", part(OPS, every=6), ids=lambda op: op.name + ("." + op.variant_test_name if op.variant_test_name else ""))
def test_a_rule_refuses_what_eager_refuses(op):
    """An unsupported element type must not get an answer: the program would fail later than eager does."""
    answered = []

    class Refuse(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            row = TABLE.get(str(func))
            try:
                return func(*args, **kwargs)
            except Exception as error:
                answer = ask(func, args, kwargs) if row and row["has_rule"] else None
                if answer and not answer[1]:
                    shown = tree_map(lambda v: type_text(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
                    answered.append(f"{func}{shown}: {answer[0]}, but eager: {error}")
                raise

    for dtype in DTYPES:
        if op.supports_dtype(dtype, "cpu") or not op.supports_dtype(torch.float32, "cpu"):
            continue
        for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), 4):
            def convert(v):
                return v.to(dtype) if isinstance(v, torch.Tensor) and v.dtype == torch.float32 else v
            args, kwargs = tree_map(convert, ((sample.input, *sample.args), sample.kwargs))
            with torch.no_grad(), Refuse():
                try:
                    op.op(*args, **kwargs)
                except Exception:
                    pass
    assert not answered, "\n".join(answered[:4])


@pytest.mark.parametrize("name", sorted(TABLE))
def test_parameters_are_those_of_the_schema(name):
    _, packet, overload = name.split(".", 2)
    schema = getattr(getattr(torch.ops.aten, packet), overload)._schema
    real = sorted(((a.name, a.kwarg_only, not a.has_default_value()) for a in schema.arguments),
                  key=lambda a: a[1])
    ours = [(n, kwarg_only, required) for n, kwarg_only, required, _ in TABLE[name]["params"]]
    assert [(n, k) for n, k, _ in ours] == [(n, k) for n, k, _ in real]
    assert [r for *_, r in ours] == [r for *_, r in real]
    written = [n for n, *_, w in TABLE[name]["params"] if w]
    assert set(a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write) <= set(written)


def calls_without_samples():
    """Operators that the samples do not reach: in-place forms and numbers in place of tensors."""
    a = torch.ops.aten
    x, _, h = torch.randn(3, 4).abs() + 0.1, torch.randn(3, 4), torch.randn(4)
    i, b = torch.randint(1, 5, (3, 4)), torch.rand(3, 4) > 0.5
    image = torch.randn(2, 3, 4, 4)
    w, m, v = torch.randn(3), torch.randn(3), torch.rand(3)
    index = torch.tensor([[0, 1], [2, 0]])
    for t in (x, x.t().contiguous().t(), x[:, ::2], x[:0]):
        for name in ("relu_", "neg_", "abs_", "exp_", "log_", "sqrt_", "rsqrt_", "sigmoid_", "tanh_", "silu_", "sin_",
                     "cos_", "zero_", "hardtanh_", "leaky_relu_", "square", "relu6", "log_sigmoid"):
            yield getattr(a, name).default, (t.clone(),), {}
        for name in ("add_", "sub_", "mul_", "div_", "add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt",
                     "ge", "fmod", "remainder", "floor_divide", "pow"):
            packet = getattr(a, name)
            for overload in ("Scalar", "Tensor", "default", "Tensor_Scalar"):
                if overload in packet.overloads():
                    yield getattr(packet, overload), (t.clone(), 2.5), {}
                    yield getattr(packet, overload), (t.clone(), 2), {}
        yield a.clamp_.default, (t.clone(), 0), {}
        for name, bound in (("clamp_min", 0.5), ("clamp_max", 0.5), ("clamp_min_", 0), ("clamp_max_", 0)):
            yield getattr(a, name).default, (t.clone(), bound), {}
            yield getattr(a, name).Tensor, (t.clone(), torch.tensor(bound)), {}
        yield a.masked_fill_.Scalar, (t.clone(), t > 0, 1.0), {}
        yield a.masked_fill_.Tensor, (t.clone(), t > 0, torch.tensor(1.0)), {}
        yield a.masked_fill.Tensor, (t.clone(), t > 0, torch.tensor(1.0)), {}
        yield a.copy_.default, (t.clone(), t * 2), {}
        yield a.fill_.Scalar, (t.clone(), 3), {}
        yield a.fill_.Tensor, (t.clone(), torch.tensor(3)), {}
        yield a._safe_softmax.default, (t, -1), {}
        yield a.lift_fresh_copy.default, (t,), {}
        yield a.alias.default, (t,), {}
        yield a.new_empty.default, (t, [2, 3]), {}
        yield a.new_empty_strided.default, (t, [2, 3], [1, 2]), {}
        yield a._reshape_alias.default, (t, list(t.shape), list(t.stride())), {}
    yield a.add_.Tensor, (x.clone(), h), {"alpha": 2}
    yield a.add_.Tensor, (i.clone(), x), {}  # refused: the result does not fit integers
    yield a.add_.Tensor, (h.clone(), x), {}  # refused: the result has other sizes
    yield a.bitwise_and.Scalar, (i, 3), {}
    yield a.bitwise_or.Scalar, (i, 3), {}
    yield a.bitwise_xor.Scalar, (b, True), {}
    yield a.index_put_.default, (x.clone(), [index, index], torch.tensor(1.0)), {}
    for t in (image, image.to(memory_format=torch.channels_last)):
        yield a._native_batch_norm_legit_no_training.default, (t, w, None, m, v, 0.1, 1e-5), {}
        yield a._native_batch_norm_legit.default, (t, w, w, m.clone(), v.clone(), True, 0.1, 1e-5), {}
        yield a.native_batch_norm.default, (t, w, w, m.clone(), v.clone(), True, 0.1, 1e-5), {}
        yield a._adaptive_avg_pool2d.default, (t, [2, 2]), {}
    yield a.full.default, ([2, 3], 1.5), {}
    yield a.full.default, ([2, 3], True), {}
    yield a.full.default, ([], 2), {"dtype": torch.float64}
    yield a.scalar_tensor.default, (3,), {}
    yield a.empty.memory_format, ([2, 3, 4, 5],), {"memory_format": torch.channels_last}
    yield a.empty_strided.default, ([2, 3], [1, 2]), {}
    for end in (5, 2.5, 0):
        yield a.arange.default, (end,), {}
        yield a.arange.start, (-1, end), {}
        yield a.arange.start_step, (-1, end, 2), {}
        yield a.arange.start_step, (end, -1, -0.5), {}
    yield a.eye.m, (2, 3), {}


def test_calls_without_samples():
    mode, refused = Compare(), 0
    with torch.no_grad(), mode:
        for func, args, kwargs in calls_without_samples():
            try:
                func(*args, **kwargs)
            except RuntimeError as error:
                if "Expected a value of type" in str(error):
                    continue  # a number where this operator's binding wants a tensor: no program gets there
                refused += 1
                answer = ask(func, args, kwargs)
                assert answer is None or answer[1], f"{func} is refused by eager, not by the table"
    assert not mode.wrong, "\n".join(mode.wrong[:6])
    assert 2 <= refused < 40
