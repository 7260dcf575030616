"""Operators in daily use that run in kernels of our own, forward and backward: no step of the plan is a PyTorch kernel, and
values, gradients, types and strides are eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.op_values import differences
from tests.python.support.recorded import recorded

inf = float("inf")
PICTURES, ROWS = (2, 4, 6, 6), (8, 24)
# name: (function, sizes of its arguments)
FORWARD_AND_BACKWARD = {
    "norm of rows": (lambda x: torch.linalg.vector_norm(x, dim=-1), ROWS),
    "norm of all": (lambda x: x.norm(), ROWS),
    "norm 1": (lambda x: x.norm(1, dim=0), ROWS),
    "largest norm": (lambda x: x.norm(inf, dim=-1, keepdim=True), ROWS),
    "normalize": (lambda x: F.normalize(x, dim=-1), ROWS),
    "distance": (lambda x, y: F.pairwise_distance(x, y), ROWS, ROWS),
    "cosine": (lambda x, y: F.cosine_similarity(x, y), ROWS, ROWS),
    "logsumexp": (lambda x: torch.logsumexp(x, (0, 1)), ROWS),
    "deviation and mean": (lambda x: sum(torch.std_mean(x, -1)), ROWS),
    "numbers alone": (lambda x: torch.nansum(torch.where(x > 0, x, torch.nan), 0), ROWS),
    "smallest and largest": (lambda x: sum(torch.aminmax(x, dim=1)), ROWS),
    "glu": (lambda x: F.glu(x, 1), PICTURES),
    "celu": (lambda x: F.celu(x, 0.7), ROWS),
    "elu": (lambda x: F.elu(x, 0.7), ROWS),
    "selu": (F.selu, ROWS),
    "mish": (F.mish, ROWS),
    "softplus": (lambda x: F.softplus(x, 2, 1), ROWS),
    "logsigmoid": (F.logsigmoid, ROWS),
    "hardswish": (lambda x: F.hardswish(3 * x), ROWS),
    "hardsigmoid": (lambda x: F.hardsigmoid(3 * x), ROWS),
    "hardshrink": (F.hardshrink, ROWS),
    "softshrink": (F.softshrink, ROWS),
    "exp2": (torch.exp2, ROWS),
    "angles": (lambda x: torch.asin(x.tanh()) + torch.acos(x.tanh()) + torch.atan(x) + torch.tan(x.tanh()), ROWS),
    "angle of two": (torch.atan2, ROWS, ROWS),
    "hyperbolic": (lambda x: torch.sinh(x) + torch.cosh(x) + torch.asinh(x) + torch.acosh(x.abs() + 1.1) + torch.atanh(0.9 * x.tanh()), ROWS),
    "sum of exponentials": (torch.logaddexp, ROWS, ROWS),
    "inverse error function": (lambda x: torch.erfinv(x.tanh() * 0.99), ROWS),
    "logit": (lambda x: torch.logit(x.sigmoid(), 0.1) + torch.logit(x.sigmoid()), ROWS),
    "rest": (lambda x: x % 0.7 + torch.fmod(x, -0.3), ROWS),
    "rest of two": (lambda x, y: torch.remainder(x, y.abs() + 0.5) + torch.fmod(x, y.abs() + 0.5), ROWS, ROWS),
    "larger, smaller": (lambda x, y: torch.fmax(x, y) + torch.fmin(2 * x, y), ROWS, ROWS),
    "sign of another": (torch.copysign, ROWS, ROWS),
    "signs": (lambda x: x * torch.sgn(x), ROWS),
    "mirror around": (lambda x: F.pad(x.tanh(), (2, 1, 1, 3), mode="reflect") * 2, PICTURES),
    "edges repeated": (lambda x: F.pad(x.tanh(), (2, 1, 1, 3), mode="replicate") * 2, PICTURES),
    "numbers in place": (lambda x: torch.nan_to_num(torch.where(x > 1, torch.nan, x), 0.5), ROWS),
}
FORWARD = {
    "bessel function": (lambda x: torch.special.i0e(4 * x), ROWS),
    "no norm": (lambda x: torch.linalg.vector_norm(x.round(), 0, dim=1), ROWS),
    "floor": (lambda x: (x // 0.3) + torch.div(x, 0.7, rounding_mode="trunc") + x.div(x.abs() + 1, rounding_mode="floor"), ROWS),
    "infinities": (lambda x: torch.isposinf(x / x.relu()) | torch.isneginf(x / x.relu()) | torch.isfinite(x), ROWS),
    "step": (lambda x, y: torch.heaviside(x.relu(), y), ROWS, ROWS),
    "norm of groups": (lambda x, w: F.silu(F.group_norm(x, 2, w, w - 1)), (8, 4, 6, 6), (4,)),
    "norm of groups without places": (lambda x: F.group_norm(x, 3), (8, 24)),
    "count": (lambda x: torch.count_nonzero(x > 0, 1), ROWS),
    "any of all but one": (lambda x: torch.any(x > 2, (1, 2)), PICTURES),
    "all of some": (lambda x: torch.all(x > -1, (0, 3), keepdim=True), PICTURES),
}


def inputs(sizes, dtype, gradients):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, generator=generator).to(dtype).requires_grad_(gradients) for n in sizes]


def by_pytorch(session):
    return [r["text"] for r in session.rows("launch") if r["kind"] in ("opaque", "library")]


def close(expected, found, dtype):
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    torch.testing.assert_close(found, expected, rtol=1e-5 if dtype is torch.float32 else 2e-2, atol=1e-5 if dtype is torch.float32 else 2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", [*FORWARD, *FORWARD_AND_BACKWARD])
def test_forward_runs_in_generated_kernels(name, dtype, tmp_path):
    function, *sizes = (FORWARD | FORWARD_AND_BACKWARD)[name]
    x = inputs(sizes, dtype, False)
    vitrine.reset()
    with recorded(tmp_path) as session:
        found = vitrine.compile(lambda *x: function(*x))(*x)
    close(function(*x), found, dtype)
    assert by_pytorch(session) == []


@pytest.mark.parametrize("name", FORWARD_AND_BACKWARD)
def test_backward_runs_in_generated_kernels(name, tmp_path):
    function, *sizes = FORWARD_AND_BACKWARD[name]
    x = inputs(sizes, torch.float32, True)
    vitrine.reset()
    with recorded(tmp_path) as session:
        y = vitrine.compile(lambda *x: function(*x))(*x)
        tangent = torch.linspace(-1, 1, y.numel()).view(y.shape)
        found = torch.autograd.grad(y, x, tangent)
    for e, f in zip(torch.autograd.grad(function(*x), x, tangent), found, strict=True):
        close(e, f, torch.float32)
    assert by_pytorch(session) == []


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8], ids=str)
def test_integers_by_a_number(dtype, tmp_path):
    x = torch.arange(0 if dtype is torch.uint8 else -100, 101).to(dtype)
    function = lambda x: (x % 7, torch.fmod(x, 7), x // 7, (x >> 2) & 3, x << 3)  # noqa: E731
    vitrine.reset()
    with recorded(tmp_path) as session:
        found = vitrine.compile(function)(x)
    assert all(torch.equal(e, f) for e, f in zip(function(x), found, strict=True))
    assert by_pytorch(session) == []


def test_the_gradient_of_a_bessel_function_is_eagers():
    """One operator of it is PyTorch's."""
    x = torch.tensor([0.0, -0.0, 1e-6, 0.3, -2.0, 7.9, 8.1, -40.0], requires_grad=True)
    for expected, found in zip(*(torch.autograd.grad(f(x).sum(), x) for f in (torch.special.i0e, vitrine.compile(torch.special.i0e))), strict=True):
        torch.testing.assert_close(found, expected)


def test_the_next_number_runs_in_a_generated_kernel(tmp_path):
    x = inputs([ROWS, ROWS], torch.float32, False)
    with recorded(tmp_path) as session:
        found = vitrine.compile(torch.nextafter)(*x)
    assert torch.equal(found, torch.nextafter(*x)) and by_pytorch(session) == []


def test_a_division_by_no_integer_raises_eagers_error():
    x = torch.arange(5)
    for function in (lambda x: x % 0, lambda x: x // torch.zeros_like(x), lambda x: torch.fmod(x, x * 0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            vitrine.compile(function)(x)
    assert vitrine.compile(lambda x: x << 70)(x).tolist() == (x << 70).tolist()


def test_a_norm_of_one_element_does_not_overflow():
    x = torch.tensor([[1e30], [-2e30]])
    assert torch.equal(vitrine.compile(lambda x: x.norm(dim=1) * 1)(x), torch.tensor([1e30, 2e30]))


def test_a_norm_in_another_type_is_computed_in_it():
    x = torch.ones(19, 19, dtype=torch.bfloat16)
    norm = vitrine.compile(lambda x: torch.linalg.vector_norm(x, 1, dtype=torch.float32) * 1)(x)
    assert norm.dtype is torch.float32 and norm.item() == 361


def test_a_logarithm_of_infinities_is_eagers():
    x = torch.tensor([[inf, 1.0], [-inf, -inf], [-inf, inf], [float("nan"), 1.0]])
    assert not differences(torch.logsumexp(x, 1), vitrine.compile(lambda x: torch.logsumexp(x, 1))(x)).any()
