"""Texts, numbers, modules, dicts, lists and enums whose classes have operators and methods of their own."""

import collections
import enum
import functools
import math
import operator

import torch
from tests.python.programs.registry import mat, program
from torch import nn


class Text(str):
    def __add__(s, o):
        return "add"

    def __radd__(s, o):
        return "radd"

    def __len__(s):
        return 42

    def __eq__(s, o):
        return True

    def __hash__(s):
        return 1

    def __contains__(s, o):
        return True

    def __getitem__(s, i):
        return "g"

    def __iter__(s):
        return iter("xy")

    def __mul__(s, n):
        return "m"

    def __mod__(s, o):
        return "mod"

    def __bool__(s):
        return False

    def __str__(s):
        return "STR"

    def __repr__(s):
        return "REPR"

    def __format__(s, f):
        return "FMT"

    def upper(s):
        return "UP"

    def __lt__(s, o):
        return True

    def join(s, o):
        return "J"


@program(mat(2, 3))
def text_of_its_own(x):
    s = Text("abc")
    return (s + "q", "q" + s, len(s), s == "zz", hash(s), "z" in s, s[0], list(s), s * 2, s % 3, bool(s), str(s), repr(s), f"{s}", f"{s!s}", f"{s!r}", s.upper(), s < "a", s.join(["a"]), "-".join([s, "b"]), {s: 1}.get("abc"), sorted([s, "a"])[0] == "a", s.lower(), s.startswith("a"), "%s" % s, "{}".format(s), s if s else 3, x * len(s), print(s))


class Whole(int):
    def __add__(s, o):
        return "iadd"

    def __radd__(s, o):
        return "iradd"

    def __mul__(s, o):
        return Whole(int(s) * int(o) + 1)

    def __eq__(s, o):
        return "eq"

    def __hash__(s):
        return 7

    def __bool__(s):
        return False

    def __neg__(s):
        return "neg"

    def __index__(s):
        return 1

    def __int__(s):
        return 9

    def __float__(s):
        return 2.5

    def __repr__(s):
        return "I!"

    def __divmod__(s, o):
        return "dm"

    def __pow__(s, o, m=None):
        return "pow"

    def __round__(s, n=None):
        return "rnd"

    def __lt__(s, o):
        return "lt"

    def __and__(s, o):
        return "and"

    def __format__(s, f):
        return "F"


@program(mat(2, 3))
def whole_numbers_of_their_own(x):
    return (x + Whole(2), x.repeat(Whole(1), 1), torch.zeros(Whole(2)), x.reshape(Whole(-1)), x.sum(Whole(0)), torch.full((Whole(2),), Whole(3)))


class Real(float):
    def __add__(s, o):
        return "fadd"

    def __mul__(s, o):
        return "fmul"

    def __rmul__(s, o):
        return "frmul"

    def __float__(s):
        return 1.5

    def __eq__(s, o):
        return "feq"
    __hash__ = float.__hash__

    def __bool__(s):
        return False

    def __int__(s):
        return 8

    def __gt__(s, o):
        return "gt"

    def is_integer(s):
        return "isint"


@program(mat(2, 3))
def real_numbers_of_their_own(x):
    f = Real(2.0)
    return (f + 1, f * 2, 2 * f, float(f), f == 2, bool(f), int(f), f > 1, f.is_integer(), f - 1, x * f, math.sqrt(f), round(f), str(f), f"{f:.1f}", abs(f), -f, max(f, 1.0), sum([f]), f if f else 0, x + f)


class OwnNet(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)
        nn.init.ones_(s.l.weight)
        nn.init.zeros_(s.l.bias)
        s.items = [1, 2]

    def __len__(s):
        return len(s.items)

    def __bool__(s):
        return False

    def __iter__(s):
        return iter(s.items)

    def __getitem__(s, i):
        return s.items[i]

    def __setitem__(s, i, v):
        s.items[i] = v

    def __delitem__(s, i):
        del s.items[i]

    def __contains__(s, v):
        return v == 99

    def __eq__(s, o):
        return o == 5

    def __hash__(s):
        return 4

    def __add__(s, o):
        return ("add", o)

    def __radd__(s, o):
        return ("radd", o)

    def __matmul__(s, o):
        return s.l.weight.sum() + o

    def __neg__(s):
        return "neg"

    def __enter__(s):
        s.items.append(3)
        return s

    def __exit__(s, *a):
        s.items.pop()
        return True

    def __call__(s, x, *a):
        return super().__call__(x) * 2

    def __lt__(s, o):
        return "lt"

    def __format__(s, f):
        return "fmt"

    def __missing__(s, k):
        return 1

    def forward(s, x):
        return x.sum() * 1


NET = OwnNet()


@program(mat(2, 3))
def module_with_operators(x):
    NET.items = [1, 2]
    r = [len(NET), bool(NET), list(NET), NET[0], 7 in NET, 99 in NET, NET == 5, NET != 5, hash(NET), NET + x.shape[0], 1 + NET, NET @ 1, -NET, NET(x), NET < 1, f"{NET}", 1 if NET else 2, not NET, [*NET], max(NET), sum(NET), x.shape[0] + NET[1]]
    NET[0] = 8
    del NET[1]
    with NET as m:
        r.append(list(m))
        raise KeyError
    return (r, NET.items)


class OwnDict(dict):
    def get(s, k, d=None):
        return ("get", k)

    def keys(s):
        return ["K"]

    def values(s):
        return ["V"]

    def items(s):
        return [("a", "b")]

    def setdefault(s, k, d=None):
        return "sd"

    def pop(s, k, *d):
        return "pop"

    def update(s, *a, **k):
        super().update({"u": 1})

    def copy(s):
        return "copy"

    def __missing__(s, k):
        return "miss" + str(k)

    def __contains__(s, k):
        return k == "in"

    def __setitem__(s, k, v):
        super().__setitem__(k, ("set", v))

    def __delitem__(s, k):
        pass

    def __getattr__(s, n):
        if n.startswith("__"):
            raise AttributeError(n)
        return s[n]

    def __eq__(s, o):
        return "deq"

    def __or__(s, o):
        return "or"


@program(mat(2, 3))
def dict_with_methods_of_its_own(x):
    d = OwnDict(a=x)
    d["z"] = 1
    del d["a"]
    d.update(3)
    return (d.get("a"), d.keys(), d.values(), d.items(), d.setdefault("q"), d.pop("a"), d.copy(), d["nope"], "in" in d, "a" in d, list(d), d.foo, d == 1, d | {}, len(d), dict(d), {**d}, sorted(d), [k for k in d], d.z, dict.get(d, "z"), dict.keys(d), dict.__contains__(d, "a"), (lambda **k: list(k))(**d), operator.contains(d, "in"), operator.getitem(d, "zz"), max(d, key=len), held(d))


def held(d):
    return str(dict.__len__(d))


class OwnList(list):
    def append(s, v):
        super().append(("ap", v))

    def extend(s, v):
        super().extend(["ex"])

    def __setitem__(s, i, v):
        super().__setitem__(i, ("si", v))

    def pop(s, *a):
        return "pop"

    def sort(s, **k):
        super().append("sorted")

    def index(s, v):
        return "idx"

    def insert(s, i, v):
        super().insert(0, "ins")

    def copy(s):
        return "cp"

    def __getitem__(s, i):
        return ("gi", i)

    def clear(s):
        super().append("clr")

    def remove(s, v):
        super().append("rm")

    def reverse(s):
        super().append("rev")

    def count(s, v):
        return -1


@program(mat(2, 3))
def list_with_methods_of_its_own(x):
    l = OwnList([x])
    l.append(1)
    l.extend([2, 3])
    l[0] = 5
    l += [7]
    l.sort()
    l.insert(5, 5)
    l.clear()
    l.remove(0)
    l.reverse()
    a, *b = l
    return (l.pop(), l.index(1), l.copy(), l[0], l[0:1], list(l), l.count(1), len(l), a, b, [i for i in l], sorted([1, *l], key=str), tuple(l), list.pop(l), list.__getitem__(l, 0), l + [1], l * 1, (lambda *a: len(a))(*l), max(l, key=str), counted(l), list(zip(l, "ab")))


def counted(l):
    return [i for i, _ in enumerate(l)]


class OwnSet(set):
    def add(s, v):
        super().add("add")

    def __contains__(s, v):
        return v == "q"

    def __iter__(s):
        return iter(["it"])

    def __len__(s):
        return 5

    def union(s, *a):
        return "un"

    def pop(s):
        return "pp"

    def __or__(s, o):
        return "or"

    def __sub__(s, o):
        return "sub"

    def update(s, *a):
        super().add("upd")


@program(mat(2, 3))
def set_with_methods_of_its_own(x):
    s = OwnSet([1])
    s.add(3)
    s.update([9])
    return ("q" in s, 1 in s, list(s), len(s), s.union([1]), s.pop(), s | {1}, s - {1}, sorted(set.__iter__(s), key=str), bool(s), frozenset(["a"]).isdisjoint(s), {1}.issubset(s), x * len(s))


class Mapped(collections.abc.MutableMapping):
    def __init__(s):
        s.d = {}

    def __getitem__(s, k):
        return s.d[k]

    def __setitem__(s, k, v):
        s.d[k] = v

    def __delitem__(s, k):
        del s.d[k]

    def __iter__(s):
        return iter(s.d)

    def __len__(s):
        return len(s.d)


@program(mat(2, 3))
def mapping_by_abc(x):
    m = Mapped()
    m["a"] = x
    m.update(b=1, c=2)
    m.setdefault("d", 4)
    return (m.pop("c"), dict(m), list(m.items()), m.get("z", 0), "a" in m, m.keys() & {"a"}, list(m.values())[1:], {**m}["b"], m.popitem()[0], len(m))


class Letter(str, enum.Enum):
    A = "a"
    B = "b"

    def __str__(s):
        return "E" + s.value

    def __len__(s):
        return 9


class Rights(enum.IntFlag):
    R = 1
    W = 2


class Pairs(enum.Enum):
    X = (1, 2)
    Y = (3, 4)

    def __init__(s, a, b):
        s.a = a
        s.b = b

    @functools.cached_property
    def tot(s):
        return s.a + s.b

    def __getitem__(s, i):
        return s.value[i]

    def __iter__(s):
        return iter(s.value)

    def __bool__(s):
        return False

    def __matmul__(s, o):
        return s.a * o

    def __lt__(s, o):
        return s.a < o.a

    def __contains__(s, k):
        return k in s.value

    def __len__(s):
        return 2


@program(mat(2, 3))
def enums_once_more(x):
    return (str(Letter.A), len(Letter.B), Letter.A + "z", Letter("b") is Letter.B, f"{Letter.A}", Letter.A == "a", {Letter.A: 1}["a"], Rights.R | Rights.W, Rights(3) & Rights.R, Rights.R in Rights(3), x * Rights.W, Pairs.X.tot, Pairs.Y[0], list(Pairs.X), bool(Pairs.X), 1 if Pairs.Y else 0, Pairs.X @ x, Pairs.X < Pairs.Y, sorted(Pairs)[0].name, 3 in Pairs.Y, len(Pairs.X), [e.name for e in Pairs], Pairs((1, 2)).name, x * Pairs.Y.b, Rights.R.name, ~Rights.R & Rights.W, max(Pairs))


class Proxy:
    def __init__(s, t):
        s.t = t

    def __getattr__(s, n):
        return getattr(s.t, n)

    def __torch_function__(s, *a, **k):
        return NotImplemented

    def __array__(s):
        return s.t.numpy()

    def __len__(s):
        return len(s.t)

    def __getitem__(s, i):
        return Proxy(s.t[i])

    def __float__(s):
        return float(s.t.sum())

    def __rmul__(s, o):
        return s.t * o

    def __radd__(s, o):
        return s.t + o


@program(mat(2, 3))
def tensor_behind_a_proxy(x):
    q = Proxy(x + 1)
    return (q.shape, q.sum(), len(q), q[0].t, 2 * q, 1 + q, q.T.mean(), q.dtype)


class LazyValue:
    def __get__(s, o, t):
        v = o.x * 2
        o.__dict__["lz"] = v
        return v


class HasLazy:
    lz = LazyValue()

    def __init__(s, x):
        s.x = x


@program(mat(2, 3))
def attribute_computed_once(x):
    h = HasLazy(x)
    return (h.lz, h.lz is h.lz, vars(h).keys() == {"x", "lz"})


class Chain:
    def __init__(s, t):
        s.t = t

    def __getattr__(s, n):
        f = getattr(torch, n)

        def g(*a, **k):
            s.t = f(s.t, *a, **k)
            return s
        return g


@program(mat(2, 3))
def chained_by_getattr(x):
    return (Chain(x).sin().add(1).clamp(min=0).t.sum(), Chain(x).softmax(dim=1).t)


class Compared:
    def __init__(s, k):
        s.k = k

    def __lt__(s, o):
        return s.k.sum() < o.k.sum()


@program(mat(2, 3))
def sort_by_lt(x):
    return ([c.k for c in sorted([Compared(x), Compared(x - 1)])], min([Compared(x + 3), Compared(x)]).k)


@functools.total_ordering
class Total:
    def __init__(s, k):
        s.k = k

    def __eq__(s, o):
        return s.k == o.k

    def __lt__(s, o):
        return s.k < o.k


@program(mat(2, 3))
def total_ordering_of_sizes(x):
    a, b = (Total(x.shape[0]), Total(3))
    return (a <= b, a >= b, a > b, a != b, max(a, b).k, sorted([b, a])[0].k)


@program(mat(2, 3))
def sorted_by_comparison(x):
    return (sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x * sorted("ba")[0].__len__())


class Noting:
    def __init__(s, l, n):
        s.l = l
        s.n = n

    def __enter__(s):
        s.l.append("+" + s.n)
        return s.n

    def __exit__(s, t, v, tb):
        s.l.append(f"-{s.n}:{(t.__name__ if t else None)}")
        return s.n == "eat"


@program(mat(2, 3))
def nested_with(x):
    l = []
    with Noting(l, "a") as a, Noting(l, "eat") as b, Noting(l, "c"):
        x = x + len(a + b)
        raise RuntimeError("r")
    for i in range(3):
        with Noting(l, "b"):
            if i == 0:
                continue
            if i == 1:
                break

    def f():
        with Noting(l, "ret"):
            return x * 2
    return (x, l, f(), l)


@program(mat(2, 3))
def with_raises_in_exit(x):

    class B:
        def __enter__(s):
            return s

        def __exit__(s, *a):
            raise KeyError("exit")
    try:
        with B():
            raise ValueError("body")
    except KeyError as e:
        return (str(e), type(e.__context__).__name__, x)


@program(mat(2, 3))
def supers_of_every_kind(x):

    class A:
        def f(s, t):
            return t + 1

        @classmethod
        def c(cls, t):
            return t * 2

        @property
        def q(s):
            return 3

    class B(A):
        def f(s, t):
            g = super().f
            return g(t) * super().q

        @classmethod
        def c(cls, t):
            return super().c(t) + 1

        @property
        def q(s):
            return super().q + 1

        def __getattr__(s, n):
            return super().__getattribute__("f") if n == "zz" else (_ for _ in ()).throw(AttributeError(n))
    return (B().f(x), B.c(x), B().q, B().zz(x), B.__mro__[1].__name__, hasattr(B(), "nn"))


GLOBALS = globals()


@program(mat(2, 3))
def globals_through_their_dict(x):
    GLOBALS["_new"] = x.shape[0]
    r = _new
    GLOBALS["_new"] += 1
    r2 = _new
    del GLOBALS["_new"]
    return (r, r2, "_new" in GLOBALS, x + r)


@program(mat(2, 3))
def unusual_calls(x):
    return ((lambda a, /, b=2, *c, d=3, **e: (a + b, c, d, e))(x, 1, 2, d=4, z=5), (lambda *, k: k)(**{"k": x}), torch.add(*(x,), **{"other": 1, "alpha": 2}), torch.add(input=x, other=x), x.sum(dim=0, keepdim=True), getattr(x, "add")(1), functools.partial(torch.add, alpha=3)(x, 1), operator.methodcaller("view", -1)(x), type(x).__add__(x, 1), torch.Tensor.sum(x), (torch.sin if x.shape[0] > 1 else torch.cos)(x), [torch.sin, torch.cos][0](x), {"f": torch.tanh}["f"](x), map(torch.abs, [x]).__next__(), next(filter(None, [0, x.shape])), eval.__name__)
