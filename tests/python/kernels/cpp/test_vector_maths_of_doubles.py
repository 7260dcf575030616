"""Functions of doubles (and powers of floats) that kernels compute themselves, one for each row of the table that says so: within
two units in the last place, against NumPy's long double where that is wider and mpmath for what it has not."""

import re

import mpmath
import numpy as np
import pytest
import torch

import vitrine

from tests.python.support.places import ROOT

TABLE = (ROOT / "core/fusion/functions.h").read_text()
OWN = re.findall(r'\{"(\w+)", 1, kOwn', TABLE)
WIDE = np.finfo(np.longdouble).nmant > 60
L = np.longdouble


def erf(x):
    return np.array([L(mpmath.nstr(mpmath.erf(mpmath.mpf(float(v))), 25)) if np.isfinite(v) else np.sign(v) for v in x])


def by_mpmath(function):
    def reference(x):
        with mpmath.workdps(30):
            return np.array([L(mpmath.nstr(function(mpmath.mpf(float(v))), 25)) for v in x])

    return reference


# (reference, eager's function, where it is tried beyond its numbers' ends)
FUNCTIONS = {
    "exp": (np.exp, torch.exp), "exp2": (np.exp2, torch.exp2), "expm1": (np.expm1, torch.expm1),
    "log": (np.log, torch.log), "log2": (np.log2, torch.log2), "log10": (np.log10, torch.log10), "log1p": (np.log1p, torch.log1p),
    "tanh": (np.tanh, torch.tanh), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), torch.sigmoid), "erf": (erf, torch.erf),
    "erfinv": (by_mpmath(mpmath.erfinv), torch.erfinv), "i0e": (by_mpmath(lambda v: mpmath.besseli(0, v) * mpmath.exp(-abs(v))), torch.special.i0e),
    "sin": (np.sin, torch.sin), "cos": (np.cos, torch.cos),
}  # fmt: skip


def values(seed=0):
    rng = np.random.default_rng(seed)
    every = rng.integers(0, 0x7FF0000000000000, 4000, dtype=np.int64).view(np.float64)
    near = 1 + rng.standard_normal(4000) * np.exp(-rng.uniform(0, 30, 4000))
    return np.concatenate([every, -every, near, *(rng.standard_normal(4000) * s for s in (1e-9, 1e-3, 0.3, 1, 4, 30, 300))])


ENDS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 709.78, 709.79, -745.1, -745.2,
                 -708.5, 1024, 1023.99, -1074, -1075, -1076, 1.7e308, -1.7e308, 1e5, 1e17])  # fmt: skip


@pytest.fixture(autouse=True)
def anew():
    """Else the first eight functions are all that one lambda is compiled for."""
    vitrine.reset()


def units(y, exact):
    """Errors in units of the last place; 0 where either is not finite."""
    with np.errstate(all="ignore"):
        near = exact.astype(np.float64)
        error = np.abs(y.astype(L) - exact) / np.spacing(np.abs(near))
        return np.where(np.isfinite(near) & np.isfinite(y), error, 0).astype(np.float64)


def test_each_row_has_a_reference():
    assert sorted(OWN) == sorted(FUNCTIONS)


@pytest.mark.skipif(not WIDE, reason="long double is double here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_two_units(name):
    reference, function = FUNCTIONS[name]
    x = values()
    if name == "erf":
        x = x[-4000 * 5 :][::7]
    if name == "sigmoid":
        x = x[x > -700]  # beyond eager's too are those of 1 / inf
    if name == "erfinv":  # those next to 1 too
        x = np.concatenate([np.tanh(x[-4000 * 5 :][::7]), 1 - np.exp2(-np.linspace(0, 52.9, 800))])
        x = x[np.abs(x) < 1]
    if name == "i0e":
        x = x[-4000 * 5 :][::7]
    y = vitrine.compile(lambda x: function(x))(torch.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        exact = reference(x.astype(L))
        near = exact.astype(np.float64)
    assert units(y, exact).max() <= {"sigmoid": 3, "i0e": 12}.get(name, 2)  # eager's: three roundings, and sums of many terms
    assert np.array_equal(np.isnan(y), np.isnan(near))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends_are_eagers(name):
    function = FUNCTIONS[name][1]
    x = torch.from_numpy(ENDS)
    y, eager = vitrine.compile(lambda x: function(x))(x), function(x)
    torch.testing.assert_close(y, eager, equal_nan=True, rtol=1e-15, atol=1e-323)
    there = ~eager.isnan() & ~((name == "log1p") & (x.abs() < 1e-300))
    assert torch.equal(torch.signbit(y)[there], torch.signbit(eager)[there])


def powers(dtype):
    rng = np.random.default_rng(1)
    x = np.concatenate([np.exp(rng.uniform(-80, 80, 20000)), np.abs(values()[8000:])])
    y = rng.standard_normal(len(x)) * np.exp(rng.uniform(-5, 5, len(x)))
    y[::3] = rng.integers(-20, 20, len(y[::3]))
    return torch.from_numpy(x).to(dtype), torch.from_numpy(y).to(dtype)


@pytest.mark.skipif(not WIDE, reason="long double is double here")
def test_powers_of_doubles_are_one_unit_off():
    x, y = powers(torch.float64)
    z = vitrine.compile(lambda x, y: x**y)(x, y).numpy()
    with np.errstate(all="ignore"):
        exact = np.power(x.numpy().astype(L), y.numpy().astype(L))
    assert units(z, exact)[np.abs(exact) > 1e-300].max() <= 1


def test_powers_of_floats_are_rounded_once():
    x, y = powers(torch.float32)
    z, exact = vitrine.compile(lambda x, y: x**y)(x, y).numpy(), np.power(x.double().numpy(), y.double().numpy())
    with np.errstate(all="ignore"):
        near = exact.astype(np.float32)
        error = np.abs(z - exact) / np.spacing(np.abs(near))
    assert np.where(np.isfinite(near), error, 0).max() <= 0.501
    assert np.array_equal(np.isinf(z), np.isinf(near))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_powers_at_the_ends_are_eagers(dtype):
    at = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e-40, 5e-324, 1e38, -1e38, 1e16, -1e16, 1.5]).to(dtype)
    x, y = at.repeat(len(at)), at.repeat_interleave(len(at))
    z, eager = vitrine.compile(lambda x, y: x**y)(x, y), torch.pow(x, y)
    torch.testing.assert_close(z, eager, equal_nan=True)
    assert torch.equal(torch.signbit(z)[~eager.isnan()], torch.signbit(eager)[~eager.isnan()])


def test_whole_powers_of_whole_numbers_are_whole():
    x, y = torch.arange(1, 40, dtype=torch.float64)[:, None], torch.arange(10, dtype=torch.float64)
    assert torch.equal(vitrine.compile(lambda x, y: x**y)(x, y), (x.long() ** y.long()).double())
