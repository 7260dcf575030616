"""Other frame hooks beside ours: torch.compile's inside and around, and one that comes above ours and leaves."""

import ctypes
import os
import subprocess
import sys

import pytest
import torch
from tests.fuzz import syntax
from vitrine import _engine
from tests.python.capture.frames.test_frames import Asked, X, Y, loop, nothing


def dynamo(function):
    return torch.compile(function, backend="eager")


def run_plain(x):
    return torch.sin(x) + 1


def test_dynamo_inside_the_loop():
    compiled, asked = dynamo(run_plain), Asked()
    for _ in range(3):
        assert torch.equal(loop(lambda: compiled(X), asked), Y)
    assert _engine.hook_state() == (False, 0, False)
    assert torch.equal(compiled(X), Y) and torch._dynamo.is_compiling() is False


def test_loop_inside_dynamo():
    @torch._dynamo.disable
    def between(x):
        return loop(lambda: run_plain(x), nothing)

    compiled = dynamo(lambda x: between(x) * 2)
    for _ in range(3):
        assert torch.equal(compiled(X), Y * 2)
    assert _engine.hook_state() == (False, 0, False)


def test_loop_inside_dynamo_inside_loop_and_back():
    inner = dynamo(run_plain)

    @torch._dynamo.disable
    def between(x):
        return loop(lambda: inner(x), nothing)

    outer = dynamo(lambda x: between(x) * 2)
    for _ in range(3):
        assert torch.equal(loop(lambda: outer(X), nothing), Y * 2)
        assert torch.equal(outer(X), Y * 2)
    assert _engine.hook_state() == (False, 0, False)


def dynamo_put_above_ours_leaves_after_us():
    """Dynamo finds our hook and restores it when nobody captures; in between we come again, above it."""
    foreign, set_callback = ForeignHook(), torch._C._dynamo.eval_frame.set_eval_frame
    run_only = False  # Dynamo runs what it has compiled, and compiles nothing
    prior = []

    def inside():
        prior.append(set_callback(run_only))
        return syntax.calls()

    expected = syntax.calls()
    asked = Asked()
    try:
        assert loop(inside, asked) == expected
        assert "several" in asked.names
        assert syntax.calls() == expected
        again = Asked()
        assert loop(syntax.calls, again) == expected
        assert "several" in again.names
        assert syntax.calls() == expected
    finally:
        set_callback(prior[0])
    assert syntax.calls() == expected
    assert not _engine.hook_state()[0] and foreign.get() == foreign.default
    assert torch.equal(dynamo(run_plain)(X), Y)
    assert not _engine.hook_state()[0]


class ForeignHook:
    """Sets and restores the interpreter's frame evaluation as another compiler does."""

    api = ctypes.pythonapi

    def __init__(self):
        self.api.PyInterpreterState_Get.restype = ctypes.c_void_p
        self.interpreter = ctypes.c_void_p(self.api.PyInterpreterState_Get())
        self.api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
        self.api._PyInterpreterState_SetEvalFrameFunc.restype = None
        self.default = ctypes.cast(self.api._PyEval_EvalFrameDefault, ctypes.c_void_p).value

    def get(self):
        return self.api._PyInterpreterState_GetEvalFrameFunc(self.interpreter)

    def set(self, function):
        self.api._PyInterpreterState_SetEvalFrameFunc(self.interpreter, ctypes.c_void_p(function))


def a_hook_put_above_ours_is_taken_away_later():
    foreign, asked = ForeignHook(), Asked()

    def inside():
        ours = foreign.get()
        assert ours != foreign.default
        foreign.set(foreign.default)  # somebody who does not call what he found
        return ours

    ours = loop(inside, asked)
    assert foreign.get() == foreign.default
    foreign.set(ours)  # and who restores it when nobody captures any more
    assert syntax.closures() == syntax.closures()
    assert foreign.get() == foreign.default, "a leftover hook removes itself"


def a_hook_that_was_below_ours_and_left_does_not_come_back():
    """Dynamo is there first, and leaves while we capture; another comes above ours later, and puts ours back."""
    foreign, set_callback = ForeignHook(), torch._C._dynamo.eval_frame.set_eval_frame
    prior = set_callback(False)
    loop(lambda: set_callback(prior), nothing)
    assert foreign.get() == foreign.default
    a_hook_put_above_ours_is_taken_away_later()


def test_a_removed_hook_comes_back_at_the_next_entry():
    foreign, asked = ForeignHook(), Asked()

    def later():
        return "later"

    def f():
        foreign.set(foreign.default)
        return later(), loop(lambda: later(), asked)

    first = Asked()
    assert loop(f, first) == ("later", "later")
    assert "later" in asked.names and "later" not in first.names
    assert foreign.get() == foreign.default


def the_hook_that_dynamo_leaves_after_a_failure_stays():
    def only_three(x):
        return x * 2 if x.shape[0] == 3 else x

    x, foreign, asked = torch.randn(3, 4), ForeignHook(), Asked()
    torch._dynamo.mark_dynamic(x, 0)
    try:
        dynamo(only_three)(x)
    except RuntimeError as error:
        assert "Constraints violated" in str(error)
    left = foreign.get()
    assert left != foreign.default
    for _ in range(2):
        assert torch.equal(loop(lambda: run_plain(X), asked), Y)
        assert "run_plain" in asked.names and foreign.get() == left
    assert torch.equal(dynamo(run_plain)(X), Y) and not _engine.hook_state()[0]


APART = [
    dynamo_put_above_ours_leaves_after_us,
    a_hook_put_above_ours_is_taken_away_later,
    a_hook_that_was_below_ours_and_left_does_not_come_back,
    the_hook_that_dynamo_leaves_after_a_failure_stays,
]


@pytest.mark.parametrize("check", APART, ids=lambda check: check.__name__)
def test_in_a_process_of_its_own(check):
    """Once Dynamo has failed it counts wrong, and never takes its hook away again: another test may have made it fail."""
    code = f"import {__name__} as t; t.{check.__name__}()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
