"""Nothing that a program can ask of the results of a compiled call tells them from eager's: what they are views of, versions,
memory, layouts, autograd's nodes, which objects they are, and what a write to them does to the others."""

import contextlib
import warnings

import pytest
import torch
import vitrine
from tests.python.support.facts import differences, form, tensors_in, texts_of
from tests.python.support.result_programs import EXPRESSIONS, PROGRAMS

# How the arguments are made, and what the call runs under.
MODES = {
    "no_grad": ("leaves", torch.no_grad),
    "leaves": ("leaves", contextlib.nullcontext),
    "computed": ("computed", contextlib.nullcontext),
    "plain": ("plain", contextlib.nullcontext),
    "inference": ("plain", torch.inference_mode),
    "views": ("views", contextlib.nullcontext),
}
SIZES = [4, 4, 5]
CASES = [(name, mode) for name in PROGRAMS for mode in MODES if mode not in (("computed", "views") if name in EXPRESSIONS else ("plain", "inference"))]

# The engine counts the sums that it makes in place, which the graph does not make.
KNOWN = {(name, mode) for name in ("gradients_of", "backward_inside") for mode in ("leaves", "computed")}


def arguments(n, kind):
    x = torch.arange(float(n * 6)).reshape(n, 6) / 7 - 1
    y = torch.arange(float(n * 6)).reshape(n, 6).flip(0) / 5 - 2
    if kind in ("leaves", "computed"):
        x.requires_grad_(), y.requires_grad_()
    if kind == "computed":
        x, y = x * 1, y * 1
    if kind == "views":
        both = torch.cat([x, y])
        x, y = both[:n], both[n:]
    return x, y


def called(f, n, kind):
    """(named tensors, everything else that the caller sees) of one call on fresh arguments."""
    x, y = arguments(n, kind)
    result = error = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = f(x, y)
        except Exception as e:
            error = type(e), str(e).split("\n")[0]
    named = {"x": x, "y": y, **{f"result {i}": t for i, t in enumerate(tensors_in(result))}}
    return named, (error, texts_of(warned), form(result))


def write(named):
    """Writes to every result; what autograd says to that."""
    said = []
    for name, tensor in named.items():
        if name in ("x", "y") or not tensor.is_floating_point():
            continue
        try:
            tensor.mul_(2)
        except RuntimeError as error:
            said.append((name, str(error)))
    return said


def assert_alike(expected, found, when):
    assert not (wrong := differences(expected, found)), "\n".join([when, *wrong])
    for name in expected:
        # Not as they are: autograd may refuse to say what their graph is.
        torch.testing.assert_close(found[name].data, expected[name].data, msg=lambda m: f"{when}: {name}: {m}")


@pytest.mark.parametrize("name, mode", CASES)
def test_results_are_as_eagers(name, mode):
    if (name, mode) in KNOWN:
        pytest.skip("the version of a gradient is one less")
    kind, scope = MODES[mode]
    program = PROGRAMS[name]
    vitrine.reset()
    compiled = vitrine.compile(program)
    with scope():
        for call, n in enumerate(SIZES):
            (expected, outside), (found, outside_now) = called(program, n, kind), called(compiled, n, kind)
            assert outside == outside_now, f"call {call}, {n} rows"
            assert_alike(expected, found, f"call {call}, {n} rows")
            assert write(expected) == write(found)
            assert_alike(expected, found, f"call {call}, {n} rows, after a write")
