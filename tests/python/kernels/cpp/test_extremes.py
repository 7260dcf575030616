"""Elementwise operators and reductions at the ends of their types: NaN, infinities, both zeros, the largest and the smallest
numbers. Where eager gives a NaN, an infinity or a zero, so do kernels, with the same sign; else they are close.
Left out is what eager's own loops do not agree on (softshrink's zeros, its gradient of NaN), or what ends its process (the smallest integer by -1)."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.op_values import differences, extremes

inf, nan, T = math.inf, math.nan, torch.ops.aten
FLOATS, INTS = [torch.float32, torch.float64, torch.bfloat16], [torch.int8, torch.int32, torch.int64, torch.uint8]


def named(module, names):
    return {n: lambda *x, n=n: getattr(module, n)(*x) for n in names.split()}


UNARY = {
    **named(torch, """abs neg sign reciprocal square sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
        tanh erf sigmoid floor ceil trunc round frac relu logical_not isnan isinf signbit bitwise_not asinh acosh atanh sgn isposinf isneginf
        isfinite nan_to_num logit"""),
    **named(F, "relu6 leaky_relu elu silu mish softplus hardtanh hardsigmoid hardswish hardshrink logsigmoid tanhshrink celu selu"),
    "clamp": lambda x: x.clamp(-1, 2), "clamp zeros": lambda x: x.clamp(-0.0, 0.0), "threshold": lambda x: F.threshold(x, -0.0, -0.0),
    "x + 0": lambda x: x + 0, "x + -0.": lambda x: x + -0.0, "x - 0": lambda x: x - 0, "0 - x": lambda x: 0 - x, "-0. - x": lambda x: -0.0 - x,
    "x * 0": lambda x: x * 0, "x * -1": lambda x: x * -1, "x / 0": lambda x: x / 0, "1 / x": lambda x: 1 / x, "x - x": lambda x: x - x,
    "x ** 2": lambda x: x**2, "x ** .5": lambda x: x**0.5, "x ** -1": lambda x: x**-1, "x ** -.5": lambda x: x**-0.5, "2 ** x": lambda x: 2**x,
    "lerp": lambda x: torch.lerp(x, x * 0 - 0.0, 0.7), "lerp to": lambda x: torch.lerp(x, -x, 1.0), "where": lambda x: torch.where(x > 0, x, -0.0),
    "whole": lambda x: x.to(torch.int32).to(torch.float32) * 1, "sign of": lambda x: torch.copysign(torch.ones_like(x), torch.where(x.isnan(), 1.0, x.tanh())),
    "x // 3": lambda x: x // 3, "x // -7": lambda x: x // -7, "fmod 3": lambda x: torch.fmod(x, 3), "trunc x / 3": lambda x: torch.div(x, 3, rounding_mode="trunc"),
    "x << 3": lambda x: x << 3, "x >> 5": lambda x: x >> 5, "x << 40": lambda x: x << 40, "nan_to_num of": lambda x: torch.nan_to_num(x, 2.0, 3.0, -0.0), "x % -3": lambda x: x % -3, "x == .1": lambda x: x == 0.1, "x < 0": lambda x: x < 0,
}  # fmt: skip
BINARY = {
    **named(torch, """add sub mul div pow maximum minimum atan2 eq lt ge logical_and logical_xor fmax fmin copysign heaviside logaddexp bitwise_and
        bitwise_left_shift rsub"""),
    "lerp": lambda x, y: torch.lerp(x, y, 0.8), "lerp by": lambda x, y: torch.lerp(x, y, y), "where": lambda x, y: torch.where(x > y, x, y),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=-2), "addcdiv": lambda x, y: torch.addcdiv(x, y, x, value=-2),
    "x - y * y": lambda x, y: x - y * y, "-(x - y)": lambda x, y: -(x - y), "x + (-y)": lambda x, y: x + (-y), "x * y + x": lambda x, y: x * y + x,
    "threshold'": lambda x, y: T.threshold_backward(x, y, 0), "leaky'": lambda x, y: T.leaky_relu_backward(x, y, 0.1, False),
    "silu'": T.silu_backward, "sigmoid'": T.sigmoid_backward, "gelu'": T.gelu_backward,
    "hardswish'": T.hardswish_backward, "hardsigmoid'": T.hardsigmoid_backward, "softplus'": lambda x, y: T.softplus_backward(x, y, 1, 20), "elu'": lambda x, y: T.elu_backward(x, 1.5, 1, 1, False, y),
}  # fmt: skip
REDUCTIONS = {
    **named(torch, "sum amax amin argmax argmin any all mean softmax log_softmax cumsum logsumexp nansum count_nonzero"),
    "aminmax": lambda x, d: torch.aminmax(x, dim=d), "no norm": lambda x, d: x.norm(0, dim=d), "least norm": lambda x, d: x.norm(-inf, dim=d),
    "max": lambda x, d: x.max(d), "min": lambda x, d: x.min(d), "norm": lambda x, d: x.norm(dim=d), "norm 1": lambda x, d: x.norm(1, dim=d),
    "norm inf": lambda x, d: x.norm(inf, dim=d), "safe": lambda x, d: T._safe_softmax(x, d), "safe, rounded": lambda x, d: T._safe_softmax(x * 50, d, torch.bfloat16), "prod": lambda x, d: x.prod(d),
}  # fmt: skip


def several(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def check(table, *inputs):
    expected = {}
    for name, f in table.items():
        try:
            expected[name] = several(f(*inputs))
        except (RuntimeError, TypeError):
            pass  # not defined for this type
    functions = [table[name] for name in expected]
    vitrine.reset()
    found = vitrine.compile(lambda *x: [f(*x) for f in functions])(*inputs)
    wrong = []
    for (name, results), ours in zip(expected.items(), found, strict=True):
        for e, o in zip(results, several(ours), strict=True):
            assert (o.dtype, o.shape, o.stride()) == (e.dtype, e.shape, e.stride())
            if (bad := differences(e, o)).any():
                at = tuple(bad.nonzero()[0])
                given = [t[at].item() for t in inputs if isinstance(t, torch.Tensor) and t.shape == e.shape]
                wrong.append(f"{name}{given}: {o[at].item()}, in eager {e[at].item()}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_functions_of_one(dtype):
    check(UNARY, extremes(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.uint8], ids=str)
def test_functions_of_two(dtype):
    values = extremes(dtype)
    n = len(values)
    check(BINARY, values[:, None].expand(n, n).contiguous(), values.expand(n, n).contiguous())


@pytest.mark.filterwarnings("error::vitrine.VitrineWarning")
@pytest.mark.parametrize("narrow", [torch.int8, torch.uint8], ids=str)
def test_16_bits_between_numbers_of_8(narrow):
    a, b = (torch.arange(300).roll(by).to(narrow) for by in (0, 77))
    check({"product": lambda a, b: ((a.to(torch.int16) * b * b + 7) >> 3).to(narrow)}, a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("factor", [1.0, 1e20, 2e37, 1e-25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_spreads(dtype, factor):
    """Squares that overflow or vanish on the way to a result that does not."""
    x = (torch.linspace(-2, 3, 19 * 7).reshape(7, 19) * factor).to(dtype)
    spreads = {
        "var": lambda x: x.var(1), "std": lambda x: x.std(1), "var mean": lambda x: torch.var_mean(x, 0),
        "few": lambda x: x[:, :2].std(1), "uncorrected": lambda x: x.std(1, correction=0),
    }  # fmt: skip
    check(spreads, x)
    check(spreads, x + 4096 * factor if factor < 1e37 else x)
    leaf = x.requires_grad_()
    expected, found = (torch.autograd.grad(f(leaf).sum(), leaf)[0] for f in (spreads["std"], vitrine.compile(spreads["std"])))
    torch.testing.assert_close(found, expected, rtol=1e-2 if dtype is torch.bfloat16 else 1e-5, atol=1e-4)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_reductions(dtype, dim):
    line = torch.linspace(-2, 3, 19)
    rows = [line, torch.zeros(19), -torch.zeros(19)]
    for place in (0, 5, 18):
        for values in ((nan,), (inf,), (-inf,), (inf, -inf), (nan, inf), (-0.0,)):
            rows.append(line.clone())
            for i, v in enumerate(values):
                rows[-1][(place + 3 * i) % 19] = v
    rows += [torch.full((19,), v) for v in (inf, -inf, nan, torch.finfo(dtype).tiny)]
    x = torch.stack(rows).to(dtype)
    if dim == 0:
        x = x.t().contiguous()
    check({n: lambda x, f=f: f(x, dim) for n, f in REDUCTIONS.items()}, x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_mean_of_infinities_beside_a_spread(dtype):
    """Eager goes on from the infinity to the next element, which makes a NaN of it; the last one has none."""
    x = torch.linspace(-2, 3, 19).repeat(4, 1).to(dtype)
    x[1, 3], x[2, 0], x[2, 7], x[3, 17] = inf, -inf, inf, nan
    with_mean = {
        "rows": lambda x: torch.var_mean(x, 1), "columns": lambda x: torch.std_mean(x.t().contiguous(), 0, keepdim=True),
        "all": lambda x: torch.var_mean(x), "one": lambda x: torch.var_mean(x[:, 3:4], 1, correction=0),
    }  # fmt: skip
    check(with_mean, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_quotients_just_below_a_whole_number(dtype):
    """Eager rounds the quotient to its type before it cuts the fraction off, unless one number divides all."""
    a = -torch.arange(1, 200).to(dtype)
    b = (a / -35).flip(0) + 0.3

    def cut(a, b):
        return [torch.div(x, y, rounding_mode="trunc") for x, y in ((a, b), (a.int(), b), (a, b[18]), (a, 0.54296875))]

    assert [torch.equal(*pair) for pair in zip(cut(a, b), vitrine.compile(cut)(a, b), strict=True)] == [True] * 4
    assert not torch.equal(cut(a, b)[0], torch.div(a.float(), b.float(), rounding_mode="trunc").to(dtype))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_what_overflows_within_a_loss_of_halves(reduction):
    """Eager keeps the exponential in float16, where that of 13 is infinite."""
    x = torch.tensor([-13.0, -2.0, 0.5, 13.0, nan], dtype=torch.float16, requires_grad=True)
    function = lambda x: F.soft_margin_loss(x, torch.ones_like(x), reduction=reduction)  # noqa: E731
    expected, found = (f(x) for f in (function, vitrine.compile(function)))
    assert not differences(expected.detach(), found.detach()).any()
    slopes = [torch.autograd.grad(r.sum(), x)[0] for r in (expected, found)]
    assert not differences(*slopes).any(), slopes


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.float16], ids=str)
def test_gelu_at_the_ends(dtype, approximate):
    """oneDNN's, to which PyTorch leaves some layouts and types, gives NaN for infinity."""
    ends = [inf, -inf, nan, 0.0, -0.0, 3e38, -3e38, 1e20, -1e20, 1e-40, 20.0, -20.0, 1.0, -1.0, 0.3]
    values = torch.tensor(ends, dtype=torch.float64).repeat(4).to(dtype)
    whole = values.view(4, 15)
    for x in (values, whole, whole.t(), whole[:, ::2], values[:1], values[:1].view(1, 1), whole[0]):
        for f in (lambda x: F.gelu(x, approximate=approximate), lambda x: T.gelu_backward(x * 0 + 1, x, approximate=approximate)):
            vitrine.reset()
            expected, found = f(x), vitrine.compile(f)(x)
            torch.testing.assert_close(found, expected, equal_nan=True, rtol=2e-2 if dtype is torch.bfloat16 else 1e-3, atol=1e-6)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_a_number_is_divided_by_a_tensor(mode, dtype):
    """With rounding: of what is negative, and of a number that is none of the tensor's type."""
    x = torch.tensor([[1, 2, 3], [-7, 100, 5]], dtype=dtype)

    def quotients(x):
        return [torch.div(number, x, rounding_mode=mode) for number in (256, -9, 2.5)]

    vitrine.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vitrine.compile(quotients, fullgraph=True)(x)
    torch.testing.assert_close(found, quotients(x))
