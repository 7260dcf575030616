"""A signal that comes while Vitrine compiles reaches the program: its handler runs, once, and what it raises is raised."""

import signal
import sys

import pytest
import torch

import vitrine

from tests.python.programs.language.signals import Alarm, raise_alarm, rings, when


@pytest.fixture
def handled():
    """handled(handler): it handles the signal that the operator sends."""
    before = signal.getsignal(signal.SIGUSR1)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background process ignores it
    yield lambda handler: signal.signal(signal.SIGUSR1, handler)
    signal.signal(signal.SIGUSR1, before)
    signal.signal(signal.SIGINT, interrupt)
    when.update(fake=False, real=False)


def program(x):
    y = rings(x + 1) * 2
    return y.sin()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_a_handler_raises_during_capture_is_raised(handled, dynamic):
    handled(raise_alarm)
    compiled, x = vitrine.compile(program, dynamic=dynamic), torch.ones(3)
    when["fake"] = True
    with pytest.raises(Alarm):
        compiled(x)
    when["fake"] = False
    assert torch.equal(compiled(x), program(x))
    when["fake"] = True
    seen = 0
    for n in (4, 5):  # a size that it has not met is captured, or made an instance
        try:
            assert torch.equal(compiled(torch.ones(n)), program(torch.ones(n)))
        except Alarm:
            seen += 1
    assert seen >= 1


def test_a_handler_runs_once_for_a_signal_that_came_during_capture(handled):
    counted = []
    handled(lambda *_: counted.append(1))
    when["fake"] = True
    compiled = vitrine.compile(program)
    assert torch.equal(compiled(torch.ones(3)), program(torch.ones(3)))
    assert len(counted) >= 1
    came = len(counted)
    compiled(torch.ones(3))
    assert len(counted) == came
    assert vitrine.explain(program)(torch.ones(3)).graph_count == 1


def test_handlers_are_what_they_were(handled):
    handled(raise_alarm)
    interrupt = signal.getsignal(signal.SIGINT)
    vitrine.compile(program)(torch.ones(3))
    assert signal.getsignal(signal.SIGUSR1) is raise_alarm and signal.getsignal(signal.SIGINT) is interrupt
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(Alarm):
        signal.raise_signal(signal.SIGUSR1)


def test_an_alarm_at_any_moment_of_a_first_call_is_raised(monkeypatch):
    """It is never taken for an operator's own error, and the next call gives the value."""
    rung, unraisable = [], []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)  # it came while something died: no one can raise it

    def ring(*_):
        rung.append(1)
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        for i in range(200):
            vitrine.reset()
            compiled, x = vitrine.compile(lambda x: (x * 2 + 1).sin().sum(-1)), torch.ones(3 + i % 2)
            rung.clear()
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + i * 1e-5)
                compiled(x)
                assert not rung or unraisable, i
                while not signal.setitimer(signal.ITIMER_REAL, 0)[0] and not rung:
                    pass  # it went off, and is on its way from another thread
            except Alarm:
                pass
            assert torch.allclose(compiled(x), (x * 2 + 1).sin().sum(-1))
    finally:
        signal.signal(signal.SIGALRM, before)
