"""Exceptions, matching, generators, scopes and slices, in phrases that nobody writes twice."""

import contextlib
import dataclasses
import functools
import inspect
import traceback

import torch
from tests.python.programs.registry import mat, program


class Swallows:
    def __init__(s, *k):
        s.k = k

    def __enter__(s):
        return s

    def __exit__(s, t, v, tb):
        s.got = (t, str(v), tb is not None)
        return t is not None and issubclass(t, s.k)


@program(mat(2, 3))
def swallow(x):
    y = x
    with Swallows(KeyError, ValueError) as s:
        y = y + 1
        {}["a"]
        y = y + 100
    with Swallows(IndexError) as s2:
        y[100]
    return (y, s.got, s2.got)


@program(mat(2, 3))
def exc_group(x):
    r = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError("t"), KeyError("k")])
        except* ValueError as e:
            r.append((x + 1, len(e.exceptions)))
        except* TypeError as e:
            r.append((x + 2, str(e)))
    except ExceptionGroup as e:
        r.append(repr(e.exceptions))
    return r


@program(mat(2, 3))
def finally_override(x):

    def f():
        try:
            return x / 0
        finally:
            return x + 5

    def g():
        for i in range(3):
            try:
                if i == 1:
                    raise ValueError
            except ValueError:
                continue
            finally:
                if i == 2:
                    break
        return i

    def h():
        while True:
            try:
                return x
            finally:
                break
        return x * 7
    return (f(), g(), h())


@dataclasses.dataclass
class Point:
    x: object
    y: object
    __match_args__ = ("x", "y")


@program(mat(2, 3))
def match_class(x):
    out = []
    for v in (Point(x, 1), Point(2, x), [x, 1, 2], {"k": x, "z": 1}, (1, (x, 3)), "str", 3.5, None, Point(Point(1, 2), 3)):
        match v:
            case Point(torch.Tensor() as t, int(n)):
                out.append(t + n)
            case Point(x=int(n), y=t) if n > 1:
                out.append(t * n)
            case Point(Point(a, b), c):
                out.append((a, b, c))
            case [torch.Tensor() as t, *rest]:
                out.append((t, rest))
            case {"k": t, **rest}:
                out.append((t, rest))
            case [1, [t, _]]:
                out.append(t - 1)
            case str() | float() as s:
                out.append(s)
            case None:
                out.append("none")
    return out


@program(mat(2, 3))
def walrus_comp(x):
    l = [(n := (i * 2)) + x for i in range(3) if (m := i) != 1]
    s = {k: last for k in range(2) if (last := (x.sum() * k)) is not None}
    return (l, n, m, s, last)


@program(mat(2, 3))
def walrus_while(x):
    it = iter([x, x + 1, None, x])
    acc = 0
    while (t := next(it)) is not None:
        acc = acc + t
    return acc


@program(mat(2, 3))
def stateful_decorator(x):

    def counted(f):

        @functools.wraps(f)
        def w(*a, **k):
            w.calls += 1
            w.hist.append(a[0].shape)
            return f(*a, **k)
        w.calls = 0
        w.hist = []
        return w

    @counted
    def g(t, *, k=1):
        return t * k
    y = g(g(x, k=2), k=3)
    return (y, g.calls, g.hist, g.__name__, g.__wrapped__(x))


class Reflecting:
    __slots__ = ("a", "__weakref__", "__dict__")

    def __init__(s, a):
        s.a = a

    def __radd__(s, o):
        return ("radd", s.a, o)

    def __rsub__(s, o):
        return NotImplemented

    def __rmatmul__(s, o):
        return ("rmm", o)

    def __rpow__(s, o):
        return ("rpow", o)

    def __iadd__(s, o):
        s.a = s.a + o
        return s

    def __rlshift__(s, o):
        return "rl"

    def __rtruediv__(s, o):
        return Reflecting(o)


@program(mat(2, 3))
def reflected(x):
    v = Reflecting(x)
    r = [1 + v, x @ v if False else 3 @ v, 2 ** v, 1 << v, (6 / v).a]
    v += x
    try:
        1 - v
    except TypeError as e:
        r.append(str(e))
    try:
        r.append(x + v)
    except TypeError as e:
        r.append(str(e))
    try:
        r.append(x @ v)
    except TypeError as e:
        r.append(str(e))
    v.extra = 1
    return (r, v.a, v.__dict__)


@program(mat(2, 3))
def inplace_slices(x):
    y = x.clone().reshape(-1)
    y[::2] += 1
    y[1:][1:][0] = 9
    z = y.view(2, -1)
    z[:, 0].zero_()
    z.T[1] = 5
    w = y[2:4]
    w *= 2
    y.unsqueeze(0)[0, -1] -= 1
    y[torch.tensor([0, 0])] += 1
    y[y > 8] = 0.5
    return (y, z, w)


@program(mat(2, 3))
def swap_slices(x):
    y = x.clone().view(-1)
    a, b = (y[:2], y[2:4])
    a[:], b[:] = (b.clone(), a.clone())
    y[0], y[1] = (y[1], y[0])
    return y


@program(mat(2, 3))
def alias_in_out(x):
    d = {"x": x, "v": x.view(-1), "s": x[0]}
    return (d, x, [x, d["v"]], x.T.T, x.reshape(x.shape), x.to(x.dtype), x.contiguous(), x.expand_as(x), x.detach())


def order_of_keywords(*a, z, y=2, **k):
    return (list(k), z, y, a)


@program(mat(2, 3))
def kw_order(x):
    return (order_of_keywords(x, b=1, a=2, z=x, **{"q": 1}), order_of_keywords(*[1, 2], *(x,), z=0, **dict(m=1), **dict(n=2)))


def accumulated(t, seen=[]):
    seen.append(t.shape[0])
    return sum(seen)


@program(mat(2, 3))
def mut_default(x):
    r = (x * accumulated(x), accumulated(x))
    accumulated.__defaults__[0].clear()
    return r


@program(mat(2, 3))
def gen_send(x):

    def g():
        acc = 0
        while True:
            v = (yield acc)
            if v is None:
                return acc * 2
            acc = acc + v
    i = g()
    next(i)
    i.send(x)
    a = i.send(x * 2)
    try:
        i.send(None)
    except StopIteration as e:
        return (a, e.value)


@program(mat(2, 3))
def gen_throw_close_once_more(x):
    log = []

    def g():
        try:
            while True:
                try:
                    yield x
                except KeyError as e:
                    log.append(str(e))
                    yield (x + 1)
        finally:
            log.append("fin")
    i = g()
    a = next(i)
    b = i.throw(KeyError("k"))
    i.close()
    return (a, b, log, inspect.getgeneratorstate(i))


@program(mat(2, 3))
def gen_return_yieldfrom(x):

    def inner():
        got = (yield x)
        return got * 2

    def outer():
        r = (yield from inner())
        yield (r + 1)
    o = outer()
    next(o)
    return o.send(x * 3)


@program(mat(2, 3))
def recursion_tree(x):

    def f(n, t):
        if n == 0:
            return [t]
        return f(n - 1, t + 1) + [f(n - 1, t * 2)[0]]
    return f(3, x)


@program(mat(2, 3))
def nonlocal_count(x):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n
    return ([x * bump() for _ in range(3)], n, bump())


class Entered(contextlib.ContextDecorator):
    def __init__(s):
        s.n = 0

    def __enter__(s):
        s.n += 1
        return s

    def __exit__(s, *a):
        s.n += 10


@program(mat(2, 3))
def ctx_decorator(x):
    c = Entered()

    @c
    def f(t):
        return t * c.n
    return (f(x), f(x), c.n)


@program(mat(2, 3))
def exit_stack_once_more(x):
    log = []
    with contextlib.ExitStack() as st:
        st.callback(log.append, "cb")
        c = st.enter_context(Entered())
        st.push(lambda *a: log.append(a[0]) or True)
        y = x + c.n
        raise ValueError("v")
    return (y, log, c.n)


@program(mat(2, 3))
def del_and_scope(x):
    y = x + 1
    del x
    try:
        x
    except UnboundLocalError as e:
        m = str(e)
    l = [1, 2, 3]
    del l[1:]
    d = {1: y, 2: 3}
    del d[2]
    return (y, m, l, d)


@program(mat(2, 3))
def chained(x):
    try:
        try:
            x[99]
        except IndexError as e:
            raise ValueError("outer") from e
    except ValueError as e:
        return (str(e), type(e.__cause__).__name__, str(e.__cause__), e.__suppress_context__, x + 1)


@program(mat(2, 3))
def exc_notes(x):
    e = ValueError("a")
    e.add_note("n1")
    try:
        raise e
    except ValueError as q:
        return (q.__notes__, x * len(q.args), q.__traceback__ is not None)


@program(mat(2, 3))
def tb_format(x):
    try:
        raise KeyError("z")
    except KeyError:
        s = traceback.format_exc()
    return (s.splitlines()[-1], x + 1)


@program(mat(2, 3))
def star_unpack(x):
    a, *b, c = x.view(-1)
    (d, e), f = ([x, 1], 2)
    *g, = range(2)
    h = [*x, *"ab"]
    i = {**{"a": x}, "b": 1}
    return (a, b, c, d, e, f, g, len(h), i)


@program(mat(2, 3))
def ternary_chain(x):
    n = x.shape[0]
    return (x if n > 100 else x + 1 if 1 < n <= 3 else x - 1, n and x, 0 or x, not n, (n > 1) + 1, x[..., None], x[None], x[:, -1:], x[slice(None), 0])


@program(mat(2, 3))
def locals_exec(x):
    ns = {}
    exec('def q(t):\n    return t * 5', ns)
    return (ns["q"](x), eval("x + 1", {"x": x}), eval("[i * 2 for i in range(3)]"))


@program(mat(2, 3))
def closures_loop(x):
    fs = [lambda t, i=i: t + i for i in range(3)]
    gs = [lambda: x * i for i in range(3)]
    return ([f(x) for f in fs], [g() for g in gs])
