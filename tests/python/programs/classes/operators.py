"""Operators, comparisons and special methods of one's own classes; locals(); dispatch by type; data classes as text."""

import collections.abc
import dataclasses
import functools
import sys

import torch
from tests.python.programs.registry import program, scenario, vec


class Never:
    def __eq__(self, o):
        return False

    __hash__ = None


class OnlyEq:
    def __init__(self, k):
        self.k = k

    def __eq__(self, o):
        return NotImplemented if not isinstance(o, OnlyEq) else self.k == o.k

    def __hash__(self):
        return self.k


class Sub(OnlyEq):
    def __eq__(self, o):
        return "sub"


class Less:
    def __init__(self, n):
        self.n = n

    def __lt__(self, o):
        return "base lt"

    def __gt__(self, o):
        return "base gt"


class SubLess(Less):
    def __lt__(self, o):
        return "sub lt"

    def __gt__(self, o):
        return "sub gt"


class Plain:
    pass


class Inc:
    def __init__(self, t):
        self.t = t

    def __iadd__(self, o):
        return NotImplemented

    def __add__(self, o):
        return ("added", o)


class Num:
    def __index__(self):
        return 2

    def __abs__(self):
        return "abs"

    def __round__(self, n="none"):
        return ("round", n)

    def __divmod__(self, o):
        return ("dm", o)

    def __rdivmod__(self, o):
        return ("rdm", o)

    def __format__(self, spec):
        return f"<{spec}>"

    def __hash__(self):
        return 2 ** 70

    def __neg__(self):
        return "neg"

    def __pos__(self):
        return "pos"

    def __invert__(self):
        return "inv"

    def __int__(self):
        return 5

    def __float__(self):
        return 2.5

    def __complex__(self):
        return 1j

    def __bool__(self):
        return False

    def __reversed__(self):
        return iter([3, 4])

    def __trunc__(self):
        return 8

    def __len__(self):
        return 0


@program(vec())
def comparisons(x):
    n, a, b, s, p = Never(), OnlyEq(1), OnlyEq(1), Sub(1), Plain()
    l, m = Less(1), SubLess(2)
    return (x + 1, n == n, n != n, a == b, a != b, a == s, s == a, a != s, a == 3, a != 3, 3 == a, l < m, m < l, l > m,
        l < l, p == p, p != p, p == Plain(), p == 3, 3 != p, n in [n], a in [b], [n] == [n], [1, a] == [1, b],
        (n,) != (n,))


@program(vec())
def no_operators(x):
    out = []
    p = Plain()
    for f in (lambda: p + 1, lambda: 1 - p, lambda: p * p, lambda: p ** 2, lambda: None + p, lambda: p @ p,
        lambda: p / 2.5, lambda: p & True, lambda: p << 1, lambda: -p, lambda: p < 1, lambda: p + "a", lambda: "a" + p,
        lambda: [1] + p, lambda: abs(p), lambda: p[0], lambda: len(p), lambda: divmod(p, 2), lambda: x + p,
        lambda: p + x, lambda: p @ x, lambda: [1, 2][p], lambda: int(p), lambda: iter(p), lambda: p(),
        lambda: round(p), lambda: p > p):
        try:
            out.append(f())
        except Exception as e:
            out.append((type(e).__name__, str(e)))

    def iadd():
        q = Plain()
        q += 1
    try:
        iadd()
    except TypeError as e:
        out.append(str(e))
    i = Inc(x)
    i += 4
    out.append(i)
    return x, out


@program(vec())
def special_methods(x):
    n = Num()
    return (x, [1, 2, 3][n], abs(n), round(n), round(n, 2), divmod(n, 3), divmod(3, n), f"{n:a b}", f"{n}", format(n,
        "q"), hash(n), -n, +n, ~n, int(n), float(n), complex(n), bool(n), not n, list(reversed(n)), x[n], len(n),
        list(range(n)), (1, 2, 3)[:n], x[:n])


@program(vec())
def locals_in_callee(x):
    def inner(a, *b, c=3, **d):
        e = a + 1
        return locals()
    k = 4

    def closes():
        z = k + 1
        return locals()
    return inner(x, 1, q=2), closes(), (lambda y: vars())(5), [sorted(locals()) for i in range(1)]


@program(vec())
def locals_twice(x):
    a = locals()
    b = 3
    c = locals()
    return a is c, sorted(a)


@program(vec())
def locals_in_loop(x):
    out = []
    for i in range(2):
        out.append(locals())
    return out[0] is out[1], out[0]["i"]


@program(vec())
def locals_written(x):
    a = 3
    d = locals()
    d["a"] = 4
    del d["x"]
    return a, x, d


@scenario
def registered_later(compile):
    @functools.singledispatch
    def disp(v, x):
        return x

    @disp.register
    def _(v:
        int, x):
        return x + v

    def f(v, x):
        return disp(v, x)
    g = compile(f)
    out = [g(1.5, torch.ones(2)), g(2, torch.ones(2)), g(True, torch.ones(2))]
    disp.register(float)(lambda v, x: x * v)
    out += [g(1.5, torch.ones(2)), g(2, torch.ones(2))]
    disp.register(bool)(lambda v, x: x - 100)
    out += [g(True, torch.ones(2)), g(2, torch.ones(2))]
    disp.register(float)(lambda v, x: x - v)
    out += [g(1.5, torch.ones(2))]
    disp.register(collections.abc.Sized)(lambda v, x: x * 0)
    out += [g("ab", torch.ones(2)), g([1], torch.ones(2))]

    class Z:
        pass

    out += [g(Z(), torch.ones(2))]
    collections.abc.Sized.register(Z)
    out += [g(Z(), torch.ones(2))]
    return out


class Meth:
    @functools.singledispatchmethod
    def f(self, a):
        return "base"

    @f.register
    def _(self, a:
        int): return a + 1

    @f.register
    def _(self, a:
        torch.Tensor): return a + 2


@program(vec())
def dispatched_methods(x):
    s = Meth()
    return s.f(x), s.f(3), s.f("k")


@program(vec())
def partial_of_partial(x):
    p = functools.partial(torch.add, alpha=2)
    q = functools.partial(p, x, alpha=3)
    return q(x), q.func is torch.add, q.args[0], q.keywords, p.keywords, q


@dataclasses.dataclass
class Node:
    k: int
    child: object = None


@program(vec())
def repr_of_dataclasses(x):
    n = Node(1, Node(2))
    a = repr(n)
    n.child.child = n
    return x, a, repr(n), str(n), f"{n!r}"


class Thing:
    def __init__(self):
        self._v = 1

    @property
    def v(self):
        return self._v

    @v.deleter
    def v(self):
        self._v = "gone"

    @property
    def w(self):
        return 1


@program(vec())
def deleted_property(x):
    t = Thing()
    del t.v
    try:
        del t.w
    except AttributeError as e:
        return x, t.v, type(e).__name__


@program(vec())
def function_get(x):
    m = helper.__get__(x)
    return m(1), helper.__get__(None, int) is helper, m.__self__


def helper(a, b):
    return a + b


@program(vec())
def methods_of_another_class(x):
    out = []
    calls = [
        lambda: torch.Tensor.__radd__(2, x),
        lambda: list.append((1,), 2),
        lambda: str.upper(3),
        lambda: dict.get([], 1),
        lambda: torch.Tensor.sin(2.0),
        lambda: torch.Tensor.add(3, x),
        lambda: int.__add__(2.5, 1),
        lambda: int.__add__(True, 1),
        lambda: list.__len__({}),
        lambda: object.__repr__(3)[:5],
        lambda: object.__setattr__(3, "a", 1),
        lambda: type.__call__(int, 3),
        lambda: torch.Tensor.__add__(x, 1),
        lambda: tuple.index((1, 2), 2),
        lambda: tuple.__len__(x.shape),
        lambda: float.hex(1.0),
        lambda: type.mro(3),
    ]
    for f in calls:
        try:
            out.append(f())
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return x + 1, out


@program(vec())
def locals_before_eval(x):
    y = x + 1
    held = locals()
    z = y * 2
    w = eval("y + z")
    return sorted(held), w, held.get("z") is z


@program(vec())
def locals_before_dir(x):
    held = locals()
    z = x * 2
    return sorted(held), dir(), z


@program(vec())
def locals_before_exec(x):
    held = locals()
    z = x * 2
    exec("q = z + 1")
    return sorted(held), held.get("q")


@program(vec())
def locals_after_exec(x):
    z = x * 2
    exec("q = z + 1")
    return sorted(locals())


def ask_for_callers_locals():
    return sorted(sys._getframe(1).f_locals)


@program(vec())
def locals_asked_for_by_a_callee(x):
    held = locals()
    z = x * 2
    return sorted(held), ask_for_callers_locals(), z
