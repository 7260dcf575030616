"""What PyTorch offers to steer its compiler holds for Vitrine: disable, graph_break, stances, switches of the environment; what is
not followed is named once."""

import os
import subprocess
import sys

import pytest
import torch
import torch._dynamo
from control_programs import PROGRAMS

import vitrine
from vitrine.take_over import torch_compile_taken_over


def fields(value):
    """Plain Python, to compare."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [fields(item) for item in value]
    return value


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()
    vitrine.reset()


@pytest.mark.filterwarnings("ignore::vitrine.VitrineWarning")
@pytest.mark.parametrize("how", ["own", "taken over"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_control_does_what_it_does_in_torch_compile(program, how):
    expected = fields(program(lambda f: torch.compile(f, backend="eager")))
    if how == "own":
        assert fields(program(lambda f: vitrine.compile(f, backend="eager"))) == expected
        return
    with torch_compile_taken_over():
        assert fields(program(lambda f: torch.compile(f, backend="eager"))) == expected


@torch.compiler.disable(reason="it reads a file")
def reads_a_file(x):
    return x * (2 if torch.compiler.is_compiling() else 3)


def around(x):
    return reads_a_file(x + 1)


def test_the_reason_of_disable_is_told():
    explanation = vitrine.explain(around)(torch.zeros(2))
    assert explanation.result.tolist() == [3, 3]
    (broke,) = explanation.graph_breaks
    assert broke.kind == "disabled"
    assert broke.reason == "function reads_a_file is marked torch.compiler.disable: it reads a file"


def test_vitrines_disable_takes_a_reason_and_leaves_what_is_called():
    told = []

    def deep(x):
        told.append(torch.compiler.is_compiling())
        return x * 2

    @vitrine.disable(recursive=False, reason="it is slow to capture")
    def inner(x):
        told.append(torch.compiler.is_compiling())
        return deep(x)

    explanation = vitrine.explain(lambda x: inner(x + 1))(torch.ones(2))
    assert told == [False, True]
    assert explanation.graph_breaks[0].reason.endswith("is marked vitrine.disable: it is slow to capture")


def test_a_disabled_function_under_fullgraph_is_an_error():
    with pytest.raises(vitrine.GraphBreakError, match="reads_a_file"):
        vitrine.compile(around, fullgraph=True)(torch.ones(2))


def broken(x):
    x = x + 1
    torch._dynamo.graph_break(msg="to look at x")
    return x * 2


def test_graph_break_breaks_and_is_an_error_under_fullgraph():
    explanation = vitrine.explain(broken)(torch.ones(2))
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    assert explanation.graph_breaks[0].reason == "torch._dynamo.graph_break(): to look at x"
    with pytest.raises(torch._dynamo.exc.Unsupported, match="to look at x"):
        vitrine.compile(broken, fullgraph=True)(torch.ones(2))
