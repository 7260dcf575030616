"""What the engine throws becomes a Python error where Python called it: the frames between are left as Python leaves them."""

import gc
import sys

import pytest
import torch

import vitrine
from vitrine._autograd.training import Region


@pytest.fixture
def region():
    """A compiled part of a program inside autograd."""
    vitrine.reset()
    compiled = vitrine.compile(lambda x, w: (x * w).relu().sum())
    compiled(torch.ones(3), torch.ones(3, requires_grad=True)).backward()
    return next(o for o in gc.get_objects() if isinstance(o, Region))


def depth():
    frame, n = sys._getframe(), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def test_an_error_thrown_under_python_frames_is_one_of_python(region):
    def through_python():
        return region.layouts(((1,),) * 50, False)  # it has no such tangents

    before = depth()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="vitrine: "):
            through_python()
    assert depth() == before


def test_a_compiled_function_goes_on_behind_such_an_error(region):
    def f(x):
        y = x * 2
        try:
            region.layouts(((1,),) * 50, False)
        except RuntimeError as error:
            kind = type(error).__name__
        return y + 1, kind, depth()

    compiled = vitrine.compile(f)
    expected, kind, deep = f(torch.ones(3))
    for _ in range(3):
        got, found, compiled_deep = compiled(torch.ones(3))
        assert torch.equal(got, expected) and found == kind and compiled_deep == deep
