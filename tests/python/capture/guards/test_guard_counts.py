"""How often a program is compiled again, and what the guards keep."""

import pytest
import torch

import vitrine

from tests.python.support.recorded import recorded
from tests.python.capture.guards.test_guards import double, leave_no_trace, with_default  # noqa: F401


def test_the_same_case_is_not_compiled_again(tmp_path):
    compiled = vitrine.compile(with_default)
    x = torch.ones(3)
    with recorded(tmp_path) as session:
        for k in (2, 3, 2, 3, 2):
            assert torch.equal(compiled(x, k), x * k)
    assert len(session.rows("compilation", status="ok")) == 2
    assert len(session.rows("recompilation")) == 1


def test_values_that_are_only_passed_on_are_not_guarded(tmp_path):
    def f(x, label):
        return x + 1, label

    compiled = vitrine.compile(f)
    with recorded(tmp_path) as session:
        for label in ("a", "b", 3, None):
            y, kept = compiled(torch.ones(2), label)
            assert kept is label and torch.equal(y, torch.full((2,), 2.0))
    assert len(session.rows("compilation")) == 1


def test_recompile_limit(tmp_path):
    compiled = vitrine.compile(with_default, dynamic=False)
    x = torch.ones(3)
    with recorded(tmp_path) as session, pytest.warns(vitrine.VitrineWarning, match="8 times"):
        for k in range(20):
            assert torch.equal(compiled(x, k), x * k)
    assert len(session.rows("compilation", status="ok")) == 8
    assert any("recompile_limit" in m["hint"] for m in session.rows("message", severity="warning"))


def test_guard_counts_are_recorded(tmp_path):
    compiled = vitrine.compile(with_default)
    x = torch.ones(3)
    with recorded(tmp_path) as session:
        for k in (2, 2, 2, 5):
            compiled(x, k)
    first = session.rows("compilation", ordinal=0)[0]["id"]
    guards = session.rows("guard", compilation=first)
    assert sum(g["fails"] for g in guards) == 1
    assert max(g["checks"] for g in guards) >= 3


def test_dead_inputs_are_not_kept_alive():
    import weakref

    compiled = vitrine.compile(double)
    x = torch.ones(1000)
    seen = weakref.ref(x)
    compiled(x)
    del x
    assert seen() is None


def test_reset_forgets():
    seen = []

    def f(x):
        seen.append(1)
        return x + 1

    compiled = vitrine.compile(f)
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(compiled(x), x + 1)
    vitrine.reset()
    assert torch.equal(compiled(x), x + 1)
    assert len(seen) == 4
