"""Functions that kernels compute themselves: as exact as PyTorch's, against float64, over all of float32's range."""

import json
import re

import pytest
import torch
from tests.python.support.command_line import vitrine as run
from tests.python.support.recorded import recorded

import vitrine

BITS = torch.arange(0, 2**31 - 1, 997, dtype=torch.int64).to(torch.int32).view(torch.float32)
FINITE = BITS[torch.isfinite(BITS) & (BITS > 1e-37)]
NORMAL = torch.randn(1 << 18, generator=torch.Generator().manual_seed(0))
SPECIAL = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), -1.0, 88.7, 89.0, -88.0, -104.0, -200.0, 1e-40, -1e-40, 3e38])
# (function, where it is finite)
FUNCTIONS = {
    "tanh": (torch.tanh, lambda x: x == x),
    "expm1": (torch.expm1, lambda x: x < 88.7),
    "log1p": (torch.log1p, lambda x: x > -1),
}


def compiled(function):
    vitrine.reset()  # else the first eight functions are all that the lambda is compiled for
    return vitrine.compile(lambda x: function(x))


def relative_errors(y, exact):
    e = ((y.double() - exact) / exact)[exact != 0]
    return e.pow(2).mean().sqrt().item(), e.abs().max().item()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("values", [torch.cat([FINITE, -FINITE]), NORMAL, NORMAL * 4], ids=["all", "near 1", "further"])
def test_errors_are_eagers(name, values):
    function, finite = FUNCTIONS[name]
    x = values[finite(values)]
    exact = function(x.double())
    ours, eager = relative_errors(compiled(function)(x), exact), relative_errors(function(x), exact)
    assert ours[0] <= 1.08 * eager[0], (ours, eager)
    assert ours[1] <= 1.2e-7, (ours, eager)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends_are_eagers(name):
    function = FUNCTIONS[name][0]
    y = compiled(function)(SPECIAL)
    torch.testing.assert_close(y, function(SPECIAL), equal_nan=True)
    assert torch.equal(torch.signbit(y[:2]), torch.tensor([False, True]))


# Where they are finite; a bit less exact than eager's.
NEARLY = {
    "exp2": (torch.exp2, lambda x: (x > -125) & (x < 127.9)), "tan": (torch.tan, lambda x: x.abs() < 1e6),
    "asin": (torch.asin, lambda x: x.abs() <= 1), "acos": (torch.acos, lambda x: x.abs() < 1), "atan": (torch.atan, lambda x: x == x),
    "sinh": (torch.sinh, lambda x: x.abs() < 88), "cosh": (torch.cosh, lambda x: x.abs() < 88), "asinh": (torch.asinh, lambda x: x == x),
    "acosh": (torch.acosh, lambda x: x > 1), "atanh": (torch.atanh, lambda x: x.abs() < 1), "atan2": (lambda x: torch.atan2(x, x.flip(0)), lambda x: x == x),
}  # fmt: skip


@pytest.mark.parametrize("name", NEARLY)
@pytest.mark.parametrize("values", [torch.cat([FINITE, -FINITE]), NORMAL, NORMAL * 4], ids=["all", "near 1", "further"])
def test_errors_are_two_units(name, values):
    function, finite = NEARLY[name]
    x = values[finite(values)]
    exact = function(x.double())
    normal = exact.abs() > 1e-37
    assert relative_errors(compiled(function)(x)[normal], exact[normal])[1] <= 2.4e-7


BELOW_ONE = torch.cat([NORMAL.tanh(), 1 - torch.logspace(-7.2, 0, 4096), FINITE[FINITE < 1]])


def test_an_inverse_error_function_is_two_units_off():
    for x in (BELOW_ONE, -BELOW_ONE):
        x = x[x.abs() < 1]
        exact = torch.erfinv(x.double())
        normal = exact.abs() > 1e-37
        assert relative_errors(compiled(torch.erfinv)(x)[normal], exact[normal])[1] <= 2.4e-7


def test_a_bessel_function_is_off_by_less_than_a_unit():
    for x in (NORMAL, NORMAL * 4, NORMAL * 30, FINITE, -FINITE):
        exact = torch.special.i0e(x.double())
        mean, most = relative_errors(compiled(torch.special.i0e)(x), exact)
        assert mean <= 1.2e-7 and most <= 4e-7  # eager's: up to 8.1e-8 and 3.7e-7


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("function", [torch.erfinv, torch.special.i0e])
def test_ends_of_special_functions_are_eagers(function, dtype):
    x = torch.tensor([1.0, -1.0, 1.5, -2.0, 0.0, -0.0, float("inf"), -float("inf"), float("nan"), 8.0, -8.0, 1e4, 1e-8, 0.5]).to(dtype)
    y, eager = compiled(function)(x), function(x)
    torch.testing.assert_close(y, eager, equal_nan=True)
    there = ~eager.isnan()
    assert torch.equal(torch.signbit(y)[there], torch.signbit(eager)[there])


def steps(dtype):
    at = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 1.5, 1e-40, -1e-40, 5e-324, 3e38, 1.7e308, -2.0]).to(dtype)
    return at.repeat(len(at)), at.repeat_interleave(len(at))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_next_number_is_eagers(dtype):
    """Of bfloat16 too, whose next number no arithmetic of f32 gives: that is PyTorch's kernel."""
    for x, y in (steps(dtype), (NORMAL.to(dtype), NORMAL.flip(0).to(dtype))):
        found, eager = vitrine.compile(torch.nextafter)(x, y), torch.nextafter(x, y)
        assert torch.equal(found.isnan(), eager.isnan())
        there = ~eager.isnan()
        assert torch.equal(found[there], eager[there]) and torch.equal(torch.signbit(found)[there], torch.signbit(eager)[there])


def test_the_next_number_in_place_is_eagers():
    def next_in_place(x, y):
        return (x * 1).nextafter_(y), (x.clamp(-1, 1) * 0.5).erfinv_()

    for found, eager in zip(vitrine.compile(next_in_place)(NORMAL, NORMAL.flip(0)), next_in_place(NORMAL, NORMAL.flip(0)), strict=True):
        torch.testing.assert_close(found, eager)


def test_the_gradient_of_a_next_number_is_eagers():
    x = torch.tensor([0.0, 1.0, 2.0, float("nan"), 3.0, float("inf")], requires_grad=True)
    y = torch.tensor([1.0, 1.0, 0.0, 1.0, float("nan"), 0.0], requires_grad=True)
    tangent = torch.arange(1.0, 7.0)
    eager, ours = (torch.autograd.grad(f(x, y), (x, y), tangent) for f in (torch.nextafter, vitrine.compile(torch.nextafter)))
    assert all(torch.equal(e, f) for e, f in zip(eager, ours, strict=True))


def test_remainders_are_exact():
    a, b = NORMAL, NORMAL.flip(0)
    for function in (torch.fmod, torch.remainder, torch.floor_divide):
        assert torch.equal(vitrine.compile(lambda a, b: function(a, b))(a, b), function(a, b))  # noqa: B023


def test_a_sine_and_a_cosine_ask_the_library_only_far_out(tmp_path):
    """The compiler joins calls of both into one, in front of the question whether there is a need."""
    x = torch.cat([torch.linspace(-1000, 1000, 1000), torch.tensor([1e16, -3e30])])
    with recorded(tmp_path) as session:
        sine, cosine = vitrine.compile(lambda x: (x.sin() * 2, x.cos() * 2))(x)
    torch.testing.assert_close(sine, x.double().sin().float() * 2, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(cosine, x.double().cos().float() * 2, rtol=1e-6, atol=1e-6)
    (kernel,) = json.loads(run("show", session.path, "kernels", "--json").stdout)
    body = kernel["assembly"].split("\nvitrine_kernel:")[1].split("# -- End function")[0]
    calls = re.findall(r"call\w*\s+(\S+)", body)
    assert calls and not [c for c in calls if c.startswith(("sin", "cos"))]
