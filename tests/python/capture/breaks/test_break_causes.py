"""Graph breaks are counted once by what causes them, and priced by calls that compile nothing."""

import warnings

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded
from vitrine import _engine

X = torch.linspace(-1, 1, 4)


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def calls(folder, function, times):
    compiled = vitrine.compile(function)
    with recorded(folder) as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            compiled(X.clone())
    return session


def printing(x):
    y = x + 1
    print(end="")
    return y * 2


def texts(x):
    y = x + 1
    print(f"{y.sum()}", end="")
    return y * 2


def two_lines(x):
    y = x + 1
    print(end="")
    print(end="")
    return y * 2


def inner(x):
    y = x * 3
    print(end="")
    return y - 1


def outer(x):
    return inner(x + 1) * 2


def test_a_break_of_a_called_function_is_told_with_its_cause(tmp_path):
    session = calls(tmp_path, outer, 5)
    rows = session.rows("graph_break")
    assert len(rows) == 2 and len({row["cause"] for row in rows}) == 1
    assert sum(row["instruction"] == row["cause"] for row in rows) == 1
    explanation = vitrine.explain(outer)(X)
    assert explanation.graph_break_count == 1 and explanation.graph_count == 4
    assert explanation.torch_compile_break_count == 3
    assert "torch.compile counts graphs less one: 3 graph breaks" in str(explanation)
    assert "inner" in explanation.graph_break_reasons[0].stack[0] and len(explanation.graph_break_reasons[0].stack) == 1


@pytest.mark.parametrize(("function", "breaks"), [(printing, 1), (texts, 1), (two_lines, 2), (outer, 1)])
def test_a_line_that_stops_twice_is_one_break(function, breaks, capsys):
    assert vitrine.explain(function)(X).graph_break_count == breaks


def test_torch_compile_counts_breaks_so():
    import torch._dynamo as dynamo

    for function in (outer, printing):
        theirs = dynamo.explain(function)(X)
        dynamo.reset()
        ours = vitrine.explain(function)(X)
        assert (ours.graph_count, ours.torch_compile_break_count) == (theirs.graph_count, theirs.graph_break_count)


def test_only_steady_calls_are_a_price(tmp_path):
    (once,) = calls(tmp_path, printing, 1).rows("graph_break")
    assert once["calls"] == 1 and once["priced"] == 0 and once["ns_per_call"] == 0
    folder = tmp_path / "more"
    folder.mkdir()
    vitrine.reset()
    (more,) = calls(folder, printing, 6).rows("graph_break")
    assert more["calls"] == 6 and more["priced"] == 5 and more["ns_per_call"] > 0


def test_calls_that_are_checked_are_counted(tmp_path):
    vitrine.config.check = True
    try:
        session = calls(tmp_path, lambda x: x.sin() * 2, 3)
    finally:
        vitrine.config.check = False
        _engine.take_differences()
    assert [row["checked"] for row in session.rows("compilation", status="ok")] == [3]


def test_a_graph_has_the_comparison_that_a_branch_asks():
    """CPython 3.13 compares and asks in one instruction."""

    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y

    explanation = vitrine.explain(f)(torch.ones(3))
    (broke,) = explanation.graph_break_reasons
    assert broke.kind == "data_dependent_branch" and explanation.result.tolist() == [3, 3, 3]
    assert [len(ops) for ops in explanation.ops_per_graph] == [3, 1]
    assert explanation.ops_per_graph[0][-1].endswith("gt")
    x = torch.ones(3)
    assert vitrine.compile(f)(-x).tolist() == [-2, -2, -2] and vitrine.compile(f)(x).tolist() == [3, 3, 3]


def test_what_has_no_truth_raises_where_it_is_compared():
    def f(x):
        y = x * 2
        try:
            if y > 0:
                return y
        except RuntimeError as error:
            return str(error).partition(" ")[0]

    assert vitrine.compile(f)(torch.ones(3)) == f(torch.ones(3))
