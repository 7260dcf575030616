"""Small programs, one a kind of statement or expression. Each returns plain data, or raises, the same each time."""

import asyncio
import contextlib
import functools
import sys
import traceback

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


class Log:
    """A context manager and attribute bag that writes down what happens to it."""

    def __init__(self, swallow=False):
        self.events, self.swallow = [], swallow

    def __enter__(self):
        self.events.append("enter")
        return self

    def __exit__(self, kind, error, tb):
        self.events.append((kind.__name__, str(error), tb.tb_lineno - self.line()) if kind else "exit")
        return self.swallow

    @staticmethod
    def line():
        return sys._getframe(2).f_code.co_firstlineno


def fail(text="no"):
    raise ValueError(text)


@program
def arithmetic():
    out = []
    for a in (7, -3, 2.5, True):
        for b in (2, 3, 1.5):
            out += [a + b, a - b, a * b, a / b, a // b, a % b, a**b, -a, +a, not a]
    for a in (12, 7):
        out += [a & 5, a | 5, a ^ 5, a << 2, a >> 1, ~a]
        a += 1
        a -= 2
        a *= 3
        a //= 2
        a **= 2
        a %= 1000
        a <<= 3
        a >>= 1
        a |= 64
        a &= 0xFFFF
        a ^= 3
        f = a
        f /= 3
        out += [a, f]
    return out


@program
def comparisons():
    out = []
    for a in (1, 2.0, "x", None, (1, 2)):
        out += [a == 1, a != 1, a is None, a is not None, a in (1, "x"), a not in (1, "x")]
    out.append(1 < 2 < 3 <= 3 > 2 >= 2)
    out.append([x and x + 1 or "zero" for x in (0, 1, 2)])
    return out


@program
def missing_operator():
    return object() @ 3


@program
def containers():
    t = (1, 2, *range(3), 4)
    li = [0, *t, *"ab"]
    s = {*li, "c"}
    d = {"a": 1, **{"b": 2}, "c": [i for i in li if i]}
    d |= {"z": 0}
    sq = {i: i * i for i in range(5) if i % 2}
    st = {len(str(x)) for x in range(200)}
    li[1:3] = "xyz"
    del li[0], d["a"]
    li[-1], d["q"] = d["b"], li[2]
    return t, li, sorted(map(str, s)), d, sq, st, li[::-2], "abcdef"[1:-1:2]


@program
def unpacking():
    a, b, c = (1, 2, 3)
    (d, e), *f = [(4, 5), 6, 7]
    g, *h, i = "hello"
    *j, k = iter(range(4))
    [m, n] = {"x": 1, "y": 2}
    return a, b, c, d, e, f, g, h, i, j, k, m, n


@program
def unpacking_too_many():
    a, b = iter([1, 2, 3])
    return a, b


@program
def unpacking_too_few():
    a, b, *c = iter([1])
    return a, b, c


@program
def unpacking_number():
    a, b = 5
    return a, b


@program
def iterator_raises():
    class Bad:
        def __iter__(self):
            return self

        def __next__(self):
            raise KeyError("bad")

    out = []
    try:
        for x in Bad():
            out.append(x)
    except KeyError as error:
        out.append(repr(error))
    a, b = Bad()
    return out, a, b


@program
def loops():
    out = []
    for i in range(10):
        if i == 2:
            continue
        if i == 5:
            break
        out.append(i)
    else:
        out.append("never")
    while out:
        if out.pop() == 99:
            break
    else:
        out.append("empty")
    for _ in ():
        pass
    else:
        out.append("done")
    n = 0
    while True:
        n += 1
        if n > 5 and not n % 4:
            return out, n


def several(a, /, b, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, sorted(more.items())


@program
def calls():
    args, kwargs = [1, 2], {"d": 4}
    return [
        several(1, 2, d=4),
        several(*args, **kwargs),
        several(*args, 9, *[8, 7], d=1, **{"x": 1}, y=2),
        several(1, b=2, **kwargs, z=3),
        max(*args, key=lambda v: -v),
        "{} {k}".format(*args, k=3),
        functools.partial(several, 1, d=0)(2, e=6),
        Log().line.__name__,
        Log.line.__name__,
        sorted([3, 1, 2], reverse=True),
    ]


@program
def call_repeats_keyword():
    return several(1, 2, **{"d": 1}, **{"d": 2})


@program
def call_star_number():
    return several(*5)


@program
def call_double_star_number():
    return several(1, 2, **5)


@program
def call_lacks_argument():
    return several(1)


@program
def call_number():
    number = 3
    return number(4)


@program
def unbound_local():
    if several is None:
        x = 1
    return x


@program
def unknown_global():
    return no_such_name  # noqa: F821


@program
def unknown_attribute():
    return Log().no_such_attribute


@program
def unknown_method():
    return Log().no_such_method(1)


@program
def empty_cell():
    def read():
        return late

    try:
        return read()
    except NameError as error:
        late = str(error)
    return read()


@program
def try_forms():
    out = []
    for what in (None, ValueError("v"), KeyError("k"), TypeError("t")):
        try:
            try:
                out.append("try")
                if what:
                    raise what
            except ValueError as error:
                out.append(repr(error))
            except KeyError:
                out.append("key")
                raise RuntimeError("from key")
            else:
                out.append("else")
            finally:
                out.append("finally")
        except RuntimeError as error:
            out.append((str(error), repr(error.__context__)))
        except TypeError:
            out.append(sys.exc_info()[0].__name__)
    out.append(sys.exc_info())
    return out


@program
def finally_returns():
    def f(n):
        for i in range(n):
            try:
                if i == 3:
                    return "return", i
                if i == 1:
                    continue
                fail()
            except ValueError:
                if i == 2:
                    break
            finally:
                if i == 4:
                    return "finally"
        return "end", i

    return f(1), f(2), f(3), f(5)


@program
def raise_from():
    try:
        fail("inner")
    except ValueError as error:
        raise KeyError("outer") from error


@program
def raise_deep():
    def level(n):
        if n == 0:
            fail(f"deep {n!r:>4}")
        return level(n - 1) + 1

    return level(6)


@program
def reraise():
    try:
        fail("again")
    except ValueError:
        with Log():
            raise


@program
def failing_assert():
    x = 3
    assert x == 3, "true"
    assert x == 4, f"{x=} is not 4"


@program
def except_groups():
    out = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        out.append(repr(group.exceptions))
    except* KeyError as group:
        out.append(repr(group.exceptions))
    return out


@program
def with_statements():
    quiet, loud = Log(True), Log()
    with quiet as q, loud:
        q.events.append("body")
        loud.value = 1
    with quiet:
        with loud:
            fail("inside")
    with contextlib.suppress(ZeroDivisionError), contextlib.ExitStack() as stack:
        stack.callback(loud.events.append, "callback")
        1 / 0
    for _ in range(2):
        with quiet:
            break
    return quiet.events, loud.events, loud.value


@program
def with_raises():
    log = Log()
    with log:
        with Log(True):
            log.events.append(1)
        {}["missing"]


@program
def with_number():
    with 5:
        return 1


@program
def with_failing_enter():
    class Door:
        def __enter__(self):
            fail("closed")

        def __exit__(self, *_):
            return True

    with Door():
        return 1


@program
def closures():
    total = 0
    functions = []

    def add(n):
        nonlocal total
        total += n
        return total

    for i in range(3):

        def later(i=i, *, k=i * 2):
            add(i)
            return i + k + total

        functions.append(later)
    cells = [lambda: i for i in range(3)]
    x = 5
    out = [f() for f in functions] + [c() for c in cells] + [(lambda y: x + y)(1)]
    del x
    try:
        out.append((lambda: x)())
    except NameError as error:
        out.append(str(error))
    return out, total, add.__closure__[0].cell_contents, later.__defaults__, later.__kwdefaults__


def _annotated(a: int, b: "str" = "x", *c: float, d: list[int] = None) -> dict:
    def inner(q: a.__class__) -> b:
        return q

    return inner.__annotations__


@program
def annotations():
    return _annotated(3), repr(_annotated.__annotations__)


@program
def classes():
    class Base:
        """doc"""

        x: int = 1
        table = {k: v for k, v in zip("ab", range(2))}

        def __init_subclass__(cls, **kwargs):
            cls.extra = kwargs

        def name(self):
            return type(self).__name__

        @property
        def double(self):
            return self.x * 2

        @staticmethod
        def plain():
            return "static"

        @classmethod
        def make(cls):
            return cls()

    class Derived(Base, flag=True):
        def name(self):
            return "derived " + super().name()

        def __getitem__(self, key):
            return key

        def __setitem__(self, key, value):
            self.x = key, value

        def __delitem__(self, key):
            del self.x

        def __len__(self):
            return 3

        def __contains__(self, item):
            return item == 1

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return f"missing {name}"

        def __call__(self, *args, **kwargs):
            return args, kwargs

        def __iadd__(self, other):
            self.total = other
            return self

        def __matmul__(self, other):
            return "at"

        def __rsub__(self, other):
            return other

    d = Derived.make()
    out = [d.name(), d.double, d.plain(), Derived.extra, Base.__annotations__, d[1:2, ...], len(d), 1 in d, d.foo]
    d[3] = 4
    out.append(d.x)
    del d[0]
    d += 7
    out += [d.x, d.total, d @ 1, 5 - d, d(1, k=2), bool(d)]
    return out


@program
def formatting():
    v, w, text = 3.14159, 10, "it's"
    return f"{v:.2f}|{v:>{w}.3f}|{text!r}|{text!s:>8}|{'ü'!a}|{w:#x}|{v=}|{w + 1 = :>6}|" f"{{}}{text}" + "%s %d" % (v, w)


@program
def formatting_fails():
    return f"{3.0:zzz}"


@program
def imports():
    import collections.abc
    import os.path as p
    from collections import OrderedDict, deque as dq
    from json import decoder

    return collections.abc.Mapping.__name__, p.join("a", "b"), OrderedDict(a=1), dq([1]), decoder.__name__


@program
def import_missing_name():
    from json import no_such_thing

    return no_such_thing


@program
def import_missing_module():
    import json.no_such_module

    return json


@program
def matching():
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    def kind(v):
        match v:
            case 0 | 1:
                return "small"
            case [a, b]:
                return "pair", a, b
            case [a, *rest, z]:
                return "row", a, rest, z
            case {"k": k, **others}:
                return "map", k, others
            case Point(x=0, y=y):
                return "axis", y
            case Point(x, y) if x == y:
                return "diagonal", x
            case str() as s:
                return "text", s
            case None:
                return "none"
            case _:
                return "other"

    values = (0, [1, 2], (1, 2, 3, 4), {"k": 1, "j": 2}, Point(0, 5), Point(2, 2), Point(1, 2), "s", None, 3.5, [])
    return [kind(v) for v in values]


COUNTER = 0


@program
def globals_change():
    global COUNTER, TEMPORARY
    COUNTER = 0
    for i in range(4):
        COUNTER += i
    TEMPORARY = COUNTER
    out = [COUNTER, TEMPORARY, "COUNTER" in globals()]
    del TEMPORARY
    try:
        del TEMPORARY
    except NameError as error:
        out.append(str(error))
    return out


@program
def walrus_and_ternary():
    out = [y for x in range(6) if (y := x * x) > 4]
    return out, (z := 3) + z, "a" if z > 3 else "b", [i if i % 2 else -i for i in range(5)]


@program
def local_names():
    a, b = 1, [2]
    c = lambda: b  # noqa: E731
    frame = sys._getframe()
    names = sorted(k for k in locals() if k != "frame")
    line = frame.f_lineno - frame.f_code.co_firstlineno
    del frame
    return names, line, c(), a


def _caller_line():
    frame = sys._getframe(1)
    return frame.f_lineno - frame.f_code.co_firstlineno, sorted(frame.f_locals), frame.f_code.co_name


@program
def caller_lines():
    x = 1
    one = _caller_line()
    two = [
        x,
        _caller_line(),
        [_caller_line()[0] for _ in range(2)],
    ]
    return one, two, [f.name for f in traceback.extract_stack()[-1:]]


@program
def generators():
    def count(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield got
        finally:
            log.append("closed")

    def chain(*parts):
        for part in parts:
            yield from part
        return "done"

    log = []
    g = count(5)
    out = [next(g), g.send("sent"), next(g)]
    g.close()
    out += list(chain("ab", count(2), (c for c in "cd")))
    out.append(sum(i * i for i in range(10) if i % 3))
    with contextlib.suppress(StopIteration):
        next(iter(()))
    return out, log


@program
def generator_raises():
    def g():
        yield 1
        fail("in generator")

    return [x for x in g()]


@program
def coroutines():
    async def child(n):
        await asyncio.sleep(0)
        if n == 3:
            fail("child")
        return n * 2

    class Context:
        async def __aenter__(self):
            return "ctx"

        async def __aexit__(self, *_):
            return True

    async def numbers():
        for i in range(3):
            yield i

    async def main():
        out = await asyncio.gather(*(child(i) for i in range(5)), return_exceptions=True)
        async with Context() as c:
            out.append(c)
            fail("swallowed")
        async for i in numbers():
            out.append(i)
        return [repr(o) for o in out] + [i async for i in numbers()]

    return asyncio.run(main())


@program
def deep_recursion():
    def down(n):
        return down(n + 1)

    try:
        down(0)
    except RecursionError as error:
        return str(error)


@program
def decorated():
    def twice(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs), f(*args, **kwargs)

        return inner

    @functools.lru_cache(maxsize=None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @twice
    @twice
    def g(a, *, b=2):
        return a + b + fib(12)

    return g(1), g(1, b=3), g.__name__


@program
def finalizers():
    order = []

    class Noisy:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            order.append(self.name)

        def __add__(self, other):
            return len(order)

        def __getitem__(self, key):
            return len(order)

    # No *args here: without a frame hook CPython moves arguments into that tuple, which drops them last to first.
    def take(a, b=None, c=None):
        return a is b

    take(Noisy("a"), Noisy("b"), Noisy("c"))
    Noisy("d") + Noisy("e")
    Noisy("f")[Noisy("g")]
    x = Noisy("h")
    x = Noisy("i")
    del x
    try:
        take(Noisy("j"), missing=1)
    except TypeError:
        pass
    [Noisy("l")]
    y = [Noisy("m"), Noisy("n")][1]
    y = None
    return order, y


@program
def many_names():
    space = {}
    lines = [f"    v{i} = a + {i}" for i in range(300)] + [f"    s = f(v{i}, k=v{299 - i})" for i in range(0, 300, 60)]
    exec("def big(a, f):\n" + "\n".join(lines) + "\n    return s, v299, [v7 for v8 in range(3)]\n", space)
    return space["big"](1, lambda p, k: (p, k))
