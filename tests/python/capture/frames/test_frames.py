"""The frame hook and the frame loop: frames run in pieces behave as CPython runs them whole."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
import traceback

import pytest
import torch
from tests.fuzz import osr_fuzz, syntax
from vitrine import _engine

NOWHERE = 10**9  # patience: never leave for CPython


def loop(function, store, only=None, patience=NOWHERE):
    """function() with the frames of `only` (codes; None: every function) run by the frame loop."""
    return _engine.drive(function, only, store, patience)


def nothing(code, pc, local, stack):
    return None


def interpreted(function):
    """function() wholly in the concrete interpreter: no store whose own Python code CPython would interrupt."""
    value, error, counts = _engine.fuzz(function, 1, 10**8)
    assert counts["forced"] == 0
    if error:
        raise error
    return value


class Asked:
    """A store that finds nothing and notes where it was asked."""

    def __init__(self, answer=None):
        self.names, self.pcs, self.answer = [], [], answer

    def __call__(self, code, pc, local, stack):
        self.names.append(code.co_name)
        self.pcs.append(pc)
        return self.answer


def row(function, op, nth=0, attribute="pc"):
    fields = {"pc": 1, "at": 2, "next_pc": 3, "line": 9}
    return [r for r in _engine.instructions(function.__code__) if r[0] == op][nth][fields[attribute]]


# every program, run in every way


@pytest.mark.parametrize("answer", [None, "ran", "eager"])
@pytest.mark.parametrize("program", syntax.PROGRAMS, ids=lambda p: p.__name__)
def test_programs_run_alike(program, answer):
    expected = osr_fuzz.plain(program)

    def once():
        try:
            return osr_fuzz.described(loop(program, lambda *_: answer), None)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next.tb_next  # of once() and loop()
            return osr_fuzz.described(None, error)

    assert once() == expected


def test_little_patience_gives_the_same():
    for patience in range(0, 60, 3):
        assert loop(syntax.closures, nothing, patience=patience) == syntax.closures()


# where the store is asked, and what its answers do


def test_asked_at_the_start_after_calls_and_at_loops():
    def f(n):
        total = 0
        for i in range(n):
            total += abs(i)
        return total

    asked = Asked()
    assert loop(lambda: f(3), asked, {f.__code__}) == 3
    start = row(f, "RESUME", attribute="next_pc")
    after_range = row(f, "CALL", 0, "next_pc")
    after_abs = row(f, "CALL", 1, "next_pc")
    head = row(f, "FOR_ITER")
    assert asked.pcs == [start, after_range, *[after_abs, head] * 3]


def test_cells_are_made_before_the_store_is_asked():
    def f(x):
        return [(lambda: x)(), x]

    asked = Asked()
    assert loop(lambda: f(5), asked, {f.__code__}) == [5, 5]
    assert asked.pcs[0] == row(f, "RESUME", attribute="next_pc")


def test_a_segment_that_ran_commits_and_the_next_instruction_runs_for_real():
    said = []

    def f(x):
        y = x * 2
        said.append(y)
        return y + 1

    stop = row(f, "LOAD_DEREF")
    asked = []

    def store(code, pc, local, stack):
        asked.append((pc, list(stack)))
        return ("ran", stop, {1: 70}, []) if len(asked) == 1 else None

    assert loop(lambda: f(5), store, {f.__code__}) == 71
    assert said == [70]
    assert asked[1] == (row(f, "LOAD_DEREF", attribute="next_pc"), [said])


def test_a_segment_may_stop_with_values_on_the_stack():
    def f(x):
        return x + len([x])

    def store(code, pc, local, stack):
        if pc == row(f, "RESUME", attribute="next_pc"):
            return "ran", row(f, "BINARY_OP"), {}, [40, 2]
        return None

    assert loop(lambda: f(5), store, {f.__code__}) == 42


def test_a_segment_may_return():
    def f(x):
        return x

    assert loop(lambda: f(5), lambda *_: ("return", "from the graph"), {f.__code__}) == "from the graph"


def test_an_error_of_a_segment_is_raised_where_it_stands():
    def f(x):
        try:
            x.first()
            x.second()
        except KeyError as error:
            return "caught", error.args, error.__traceback__.tb_lineno - f.__code__.co_firstlineno

    class X:
        def first(self):
            pass

        second = first

    def store(code, pc, local, stack):
        if pc == row(f, "LOAD_FAST", 1):
            raise KeyError("graph")

    def ran_to_second(code, pc, local, stack):
        if pc == row(f, "POP_TOP", 0):
            return "ran"  # runs POP_TOP, then asks at x.second()
        return store(code, pc, local, stack)

    assert loop(lambda: f(X()), ran_to_second, {f.__code__}) == ("caught", ("graph",), 3)


def test_an_error_of_a_segment_leaves_with_its_line():
    def f(x):
        y = x
        return y.real

    def store(code, pc, local, stack):
        raise ValueError("graph")

    with pytest.raises(ValueError) as caught:
        loop(lambda: f(5), store, {f.__code__})
    places = [(e.name, e.lineno) for e in traceback.extract_tb(caught.value.__traceback__)]
    assert ("f", f.__code__.co_firstlineno + 1) in places


# what is captured


def test_captures_functions_only():
    async def co():
        return 1

    def gen():
        yield inner()

    def inner():
        return 1

    def f():
        class C:
            x = inner()

        co().close()
        return list(gen()), [inner() for _ in range(2)], (lambda: inner())()

    asked = Asked()
    assert loop(f, asked) == ([1], [1, 1], 1)
    assert set(asked.names) - {"<listcomp>"} == {"f", "inner", "<lambda>"}  # a frame of its own before 3.12


def test_a_verdict_is_asked_once_and_may_run_python_code():
    questions = []

    def is_mine(code):
        return code.co_name == "mine"

    def wanted(code):
        questions.append(code.co_name)
        if code.co_name == "other":
            raise ValueError("no idea")
        return is_mine(code)

    def mine():
        return other()

    def other():
        return 1

    asked = Asked()
    assert loop(lambda: [mine() for _ in range(3)], asked, wanted) == [1, 1, 1]
    assert set(asked.names) == {"mine"}
    assert sorted(set(questions) - {"<listcomp>"}) == ["<lambda>", "mine", "other"]
    assert len(questions) == len(set(questions))


def test_capture_can_be_paused_and_code_skipped():
    def inner():
        return _engine.hook_state()

    def skipped():
        return 1

    def f():
        return inner(), _engine.call_paused(inner), skipped()

    _engine.skip_code(skipped.__code__)
    asked = Asked()
    seen, paused, _ = loop(f, asked)
    once = Asked()
    loop(inner, once)
    assert asked.names.count("inner") == once.names.count("inner") > 0 and "skipped" not in asked.names
    assert seen == (True, 1, True) and paused == (True, 1, False)


def test_call_paused_passes_everything_on():
    assert _engine.call_paused(dict, [("a", 1)], b=2) == {"a": 1, "b": 2}
    with pytest.raises(ZeroDivisionError):
        _engine.call_paused(lambda: 1 / 0)
    assert _engine.call_paused(_engine.call_paused, max, 1, 2) == 2


def test_capture_can_be_switched_off_across_calls():
    def inner():
        return 1

    asked = Asked()
    assert loop(lambda: _engine.switch_capture_off(True), asked) is False
    assert loop(inner, asked) == 1 and "inner" not in asked.names
    assert _engine.switch_capture_off(False) is True
    assert loop(inner, asked) == 1 and "inner" in asked.names


def test_an_internal_error_runs_the_frame_in_cpython():
    assert loop(syntax.closures, lambda *_: ...) == syntax.closures()


def test_nothing_is_captured_inside_the_store():
    calls = []

    def helper():
        return 1

    def store(code, pc, local, stack):
        calls.append((code.co_name, helper(), _engine.hook_state()[2]))

    def f():
        return helper()

    assert loop(f, store) == 1
    assert {c[0] for c in calls} == {"f", "helper"} and not any(c[2] for c in calls)


# the hook


def test_hook_is_in_place_only_during_the_call():
    assert _engine.hook_state() == (False, 0, False)
    inside = loop(lambda: loop(_engine.hook_state, nothing), nothing)
    assert inside == (True, 2, True)
    with pytest.raises(ZeroDivisionError):
        loop(lambda: 1 / 0, nothing)
    assert _engine.hook_state() == (False, 0, False)


def test_other_threads_run_as_ever():
    asked, other = Asked(), []

    def work():
        other.append((threading.current_thread().name, _engine.hook_state()))

    def f():
        thread = threading.Thread(target=work, name="other")
        thread.start()
        thread.join()

    loop(f, asked)
    assert other == [("other", (True, 1, False))]
    assert "f" in asked.names and "work" not in asked.names


def test_threads_capture_at_the_same_time():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    results = []
    threads = [threading.Thread(target=lambda: results.append(loop(lambda: fib(14), nothing))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [377] * 6
    assert _engine.hook_state() == (False, 0, False)


X = torch.arange(3.0)
Y = torch.sin(X) + 1


# CPython's other services


def test_tracing_switched_on_inside():
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is f.__code__:
            lines.append((event, frame.f_lineno - f.__code__.co_firstlineno))
        return tracer

    def start():
        sys.settrace(tracer)
        sys._getframe(1).f_trace = tracer

    def f():
        a = 1
        start()
        b = a + 1
        sys.settrace(None)
        return b

    def plain():
        lines.clear()
        assert f() == 2
        return list(lines)

    expected = plain()
    lines.clear()
    assert loop(f, nothing) == 2
    assert lines == expected and ("line", 3) in lines


def test_traced_frames_are_left_alone():
    def f():
        return 1

    asked = Asked()

    def traced():
        sys.settrace(lambda *_: None)
        try:
            return f()
        finally:
            sys.settrace(None)

    assert loop(traced, asked) == 1
    assert "f" not in asked.names


def test_profile_switched_on_inside():
    events = []

    def f():
        sys.setprofile(lambda frame, event, arg: events.append((event, getattr(arg, "__name__", None))))
        len("abc")
        sys.setprofile(None)

    loop(f, nothing)
    assert ("c_call", "len") in events


def test_signals_reach_a_long_loop():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    def f():
        n = 0
        while True:
            n += 1

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Alarm) as caught:
            interpreted(f)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert "f" in [e.name for e in traceback.extract_tb(caught.value.__traceback__)]


def test_an_exception_from_another_thread_reaches_a_long_loop():
    class Stop(Exception):
        pass

    seen = []

    def f():
        n = 0
        while True:
            n += 1

    def work():
        try:
            interpreted(f)
        except Stop:
            seen.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stop))
    thread.join(10)
    assert seen == ["stopped"]


def test_a_long_loop_lets_other_threads_run():
    ticks, running = [], [True]

    def tick():
        while running:
            ticks.append(1)
            time.sleep(0.001)

    def f():
        end = time.monotonic() + 60
        while len(ticks) <= 2:
            if time.monotonic() > end:
                return

    thread = threading.Thread(target=tick)
    thread.start()
    interpreted(f)
    running.clear()
    thread.join()
    assert len(ticks) > 2


def test_retained_frames_keep_their_locals():
    def f(x):
        y = [x]
        frame = sys._getframe()
        return frame, y

    frame, y = loop(lambda: f(3), nothing)
    assert frame.f_locals["x"] == 3 and frame.f_locals["y"] is y
    assert frame.f_code is f.__code__ and frame.f_back is None or frame.f_back.f_code.co_name != "f"
    frame.clear()


def test_recursion_limit_holds():
    def down(n):
        return down(n + 1)

    def depth():
        try:
            down(0)
        except RecursionError as error:
            n, tb = 0, error.__traceback__
            while tb:
                n, tb = n + 1, tb.tb_next
            return n, str(error)

    expected, got = depth(), loop(depth, nothing)
    assert got[1] == expected[1]
    assert abs(got[0] - expected[0]) < 20


def test_a_raised_recursion_limit_does_not_crash():
    program = """
import sys
from vitrine import _engine
sys.setrecursionlimit(10**7)
def down(n):
    return down(n + 1) if n < 10**6 else n
def depth():
    try:
        return down(0)
    except RecursionError as error:
        return str(error)
print(_engine.drive(depth, None, lambda *_: None, 500))
print(_engine.drive(depth, None, lambda *_: "eager", 500))
print(_engine.drive(lambda: sum(map(abs, range(5))), None, lambda *_: None, 500))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = "maximum recursion depth exceeded: the C stack is used up"
    assert result.stdout.splitlines() == [said, said, "10"], result.stderr[-500:]


def test_references_are_released():
    class Thing:
        pass

    thing, store = Thing(), Asked("ran")

    def f(a, *b, c=None):
        [x for x in (a, *b, c)]
        try:
            a.missing
        except AttributeError:
            return {"a": a}

    def once():
        loop(lambda: f(thing, thing, c=thing), store, {f.__code__})

    once()
    before = sys.getrefcount(thing), sys.getrefcount(f.__code__)
    for _ in range(200):
        once()
    assert (sys.getrefcount(thing), sys.getrefcount(f.__code__)) == before


def test_a_frame_with_nothing_compiled_costs_next_to_nothing():
    def f(x):
        return x

    def calls():
        start = time.thread_time()  # the processor's time: the machine may be busy
        for _ in range(100_000):
            f(1)
        return (time.thread_time() - start) / 100_000

    plain = min(calls() for _ in range(5))
    looped = min(_engine.drive(calls, {f.__code__}, None, 500) for _ in range(5))
    assert looped - plain < 500e-9
