"""Lines of tracebacks, globals that a callee changes, tracers, threads and collections of garbage inside."""

import gc
import sys
import threading
import weakref

import torch
from tests.python.programs.registry import scenario


def lines_of(error, *names):
    """(function, line from its first) of those frames of a traceback that have one of these names."""
    found, at = [], error.__traceback__
    while at:
        code = at.tb_frame.f_code
        if code.co_name in names:
            found.append((code.co_name, at.tb_lineno - code.co_firstlineno))
        at = at.tb_next
    return found


@scenario
def traceback_lines(compile):
    def inner(x, n):
        y = x + 1
        z = y * 2
        if n == 1:
            raise ValueError("one")
        if n == 2:
            z = z @ torch.ones(77)
        return z

    def f(x, n):
        a = x.sin()
        b = inner(
            a,
            n,
        )
        assert n != 3, "three"
        return [b, b.cos()][n]

    g = compile(f)
    out = []
    for n in (0, 1, 2, 3, 4) * 2:
        try:
            out.append(g(torch.ones(3), n))
        except Exception as e:
            out.append((type(e).__name__, str(e), lines_of(e, "f", "inner")))
    return out


@scenario
def writes_before_an_error(compile):
    log = []

    def f(x, y):
        x.mul_(2)
        log.append("a")
        y[0] = 5
        z = x @ y
        log.append("b")
        return z

    g = compile(f)
    out = []
    for n in (3, 3, 4, 3):
        x, y = torch.ones(3), torch.ones(n)
        try:
            out.append(g(x, y))
        except RuntimeError as e:
            out.append(str(e))
        out += [x, y]
    return out, log


@scenario
def a_callee_changes_a_global(compile):
    names = {"K": 1}
    text = "def bump():\n    global K\n    K = K + 1\n    return K\ndef f(x):\n    a = x * K\n    b = bump()\n    return a, x * K, b\n"
    exec(text, names)
    g = compile(names["f"])
    out = [g(torch.ones(2)) for _ in range(4)]
    names["K"] = 10
    out.append(g(torch.ones(2)))
    names["bump"] = lambda: 3
    out.append(g(torch.ones(2)))
    del names["K"]
    try:
        g(torch.ones(2))
    except NameError as e:
        out.append(str(e))
    return out


@scenario
def traced_and_profiled_calls(compile):
    def inner(x):
        return x + 1

    def f(x):
        y = inner(x)
        z = y * 2
        return z

    g = compile(f)
    out, seen, profiled = [g(torch.ones(2))], [], []

    def note(frame, event, _):
        if frame.f_code.co_name in ("f", "inner"):
            seen.append((frame.f_code.co_name, event, frame.f_lineno - frame.f_code.co_firstlineno))
        return note

    sys.settrace(note)
    try:
        out.append(g(torch.ones(2)))
    finally:
        sys.settrace(None)
    sys.setprofile(lambda frame, event, _: frame.f_code.co_name in ("f", "inner") and profiled.append((frame.f_code.co_name, event)))
    try:
        out.append(g(torch.ones(2)))
    finally:
        sys.setprofile(None)
    return [*out, g(torch.ones(2))], seen, profiled


@scenario
def one_function_many_threads(compile):
    def f(x, k):
        y = x * k
        if k % 2:
            y = y + 1
        return y.sum(), y

    g = compile(f)
    out, errors = {}, []

    def work(t):
        try:
            for i in range(6):
                out[t, i] = g(torch.arange(4.0) + t, (t + i) % 5)
        except BaseException as e:
            errors.append(repr(e))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return [out[key] for key in sorted(out)], errors


@scenario
def garbage_collected_inside(compile):
    class Node:
        pass

    died = []

    def f(x):
        n = Node()
        n.me = n
        n.t = x + 1
        r = weakref.ref(n, lambda _: died.append(1))
        y = n.t * 2
        del n
        gc.collect()
        return y, r() is None

    g = compile(f)
    return [g(torch.ones(2)) for _ in range(3)], died
