"""What belongs to CPython's own loop stays there, and the recursion limit is the user's: without PyTorch.

    python -m tests.fuzz.own_loop
"""

import sys
import threading

from tests.fuzz.engine import _engine

NEVER = 1_000_000  # instructions before a forced exit


def counted(function):
    """Value of function(), and how many frames the concrete interpreter ran."""
    value, error, counts = _engine.fuzz(function, 1, NEVER)
    assert error is None, error
    return value, counts["frames"]


def depth():
    reached = 0

    def deeper(n):
        nonlocal reached
        reached = n
        deeper(n + 1)

    try:
        deeper(0)
    except RecursionError:
        pass
    return reached


def the_recursion_limit_is_the_users():
    before = sys.getrecursionlimit()
    for limit in (500, 3000, 8000):
        sys.setrecursionlimit(limit)
        plain = depth()
        assert abs(_engine.fuzz(depth, 1, NEVER)[0] - plain) < 8, "frames run here"
        assert abs(_engine.fuzz(depth, 1, 3)[0] - plain) < 8, "frames left half-way"
        assert abs(_engine.drive(depth, set(), None, 10) - plain) < 8, "frames that pass through the hook"
    sys.setrecursionlimit(before)


def the_c_stack_is_never_used_up():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000_000)
    out = []
    thread = threading.Thread(target=lambda: out.append(_engine.fuzz(depth, 1, NEVER)[0]))
    thread.start()
    thread.join()
    sys.setrecursionlimit(before)
    assert out[0] > 2000


def add(a, b):
    return a + b


def program():
    return [add(i, 1) for i in range(3)]


def a_traced_thread_is_left_alone():
    events = []
    sys.settrace(lambda frame, event, _: events.append(frame.f_code.co_name))
    value, frames = counted(program)
    sys.settrace(None)
    assert value == [1, 2, 3] and frames == 0 and events.count("add") == 3
    counted(program)  # from 3.12 on CPython takes its instruments out of the code first
    assert counted(program)[1] >= 4, "afterwards its frames are taken again"


def a_monitored_code_is_left_alone():
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:  # before 3.12
        return
    seen, starts = [], monitoring.events.PY_START
    monitoring.use_tool_id(3, "test")
    monitoring.register_callback(3, starts, lambda code, at: seen.append(code.co_name))
    monitoring.set_local_events(3, add.__code__, starts)
    value, frames = counted(program)
    assert value == [1, 2, 3] and seen == ["add"] * 3 and frames >= 1, "other functions are taken"
    monitoring.set_local_events(3, add.__code__, 0)
    counted(program)  # CPython itself takes the instruments out
    seen.clear()
    assert counted(program)[1] >= 4 and not seen
    monitoring.set_events(3, starts)
    assert counted(program)[1] == 0 and "add" in seen, "a tool that sees everything"
    monitoring.set_events(3, 0)
    monitoring.free_tool_id(3)


def a_tool_switched_on_inside_sees_the_rest():
    lines = []

    def watch(frame, event, _):
        lines.append(frame.f_lineno - frame.f_code.co_firstlineno)
        return watch

    def inner():
        sys._getframe(1).f_trace = watch
        sys.settrace(watch)

    def outer():
        inner()
        a = 1
        b = 2
        return a + b

    outer_lines = []
    for call in (outer, lambda: _engine.fuzz(outer, 1, NEVER)[0]):
        lines.clear()
        assert call() == 3
        sys.settrace(None)
        outer_lines.append([n for n in lines if n in (2, 3, 4)])
    assert outer_lines[0] == outer_lines[1] and 4 in outer_lines[0], outer_lines


TESTS = [
    the_recursion_limit_is_the_users,
    the_c_stack_is_never_used_up,
    a_traced_thread_is_left_alone,
    a_monitored_code_is_left_alone,
    a_tool_switched_on_inside_sees_the_rest,
]

if __name__ == "__main__":
    for test in TESTS:
        test()
        print("passed", test.__name__, flush=True)
