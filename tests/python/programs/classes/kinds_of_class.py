"""Classes of every kind, made inside and outside."""

import collections
import dataclasses
import enum
import functools
import types
import typing
import weakref

import torch
from tests.python.programs.registry import mat, program, scenario, vec


class Plugin:
    reg = {}

    def __init_subclass__(cls, *, name=None, **kw):
        super().__init_subclass__(**kw)
        cls.reg[name or cls.__name__] = cls

    def __set_name__(self, o, n):
        self.n = n


@program(mat(2, 3))
def subclasses_register_themselves(x):

    class A(Plugin, name="a"):
        def go(s, t):
            return t + 1

    class B(A, name="b"):
        def go(s, t):
            return super().go(t) * 2
    r = {k: v().go(x) for k, v in sorted(Plugin.reg.items())}
    Plugin.reg.clear()
    return r


class Meta(type):
    @classmethod
    def __prepare__(m, n, b, **k):
        return collections.OrderedDict(extra=3)

    def __new__(m, n, b, ns, **k):
        c = super().__new__(m, n, b, dict(ns))
        c.order = [q for q in ns if not q.startswith("_")]
        return c

    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k)
        o.made = True
        return o

    def __getattr__(cls, n):
        return "meta-" + n

    def __len__(cls):
        return 7

    def __add__(cls, o):
        return (cls.__name__, o)


@program(mat(2, 3))
def metaclass_made_and_used(x):

    class C(metaclass=Meta):
        b = 1
        a = 2

        def __init__(s, t):
            s.t = t
    c = C(x + 1)
    return (c.t, c.made, C.order, C.zzz, len(C), C + x, C.extra)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class FrozenPair:
    k: int
    v: typing.Any = dataclasses.field(compare=False, default=None)

    def scaled(self, s):
        return dataclasses.replace(self, v=self.v * s)


@program(mat(2, 3))
def frozen_slots(x):
    a, b = (FrozenPair(2, x), FrozenPair(1, x + 1))
    try:
        a.k = 5
        r = "set"
    except dataclasses.FrozenInstanceError as e:
        r = str(e)
    lo, hi = sorted([a, b])
    return (lo.v, hi.scaled(3).v, r, a > b, hash(a) == hash(FrozenPair(2)), dataclasses.astuple(FrozenPair(3, 4)), dataclasses.asdict(b)["v"], [f.name for f in dataclasses.fields(a)])


@dataclasses.dataclass
class Defaults:
    a: list = dataclasses.field(default_factory=list)
    b: dataclasses.InitVar[int] = 3
    c: int = dataclasses.field(init=False, repr=False)
    d: dataclasses.KW_ONLY = None
    e: int = 5

    def __post_init__(self, b):
        self.c = b * 2
        self.a.append(b)


@program(mat(2, 3))
def dataclass_with_factories(x):
    u, v = (Defaults(), Defaults(b=x.shape[0], e=1))
    return (u, v.a, v.c, u.a is v.a, repr(v), u == Defaults(), x * v.c)


class Operation(enum.Enum):
    ADD = "add"
    MUL = "mul"

    def __call__(self, a, b):
        return getattr(torch, self.value)(a, b)

    @property
    def sym(self):
        return {"add": "+", "mul": "*"}[self.value]

    @classmethod
    def parse(cls, s):
        return next((o for o in cls if o.sym == s))

    @classmethod
    def _missing_(cls, v):
        return cls.ADD


@program(mat(2, 3))
def enum_methods(x):
    return ([o(x, 3) for o in Operation], Operation.parse("*")(x, x), Operation("zzz") is Operation.ADD, Operation["MUL"].sym, Operation.ADD.name, len(Operation), list(Operation.__members__), Operation.MUL in Operation)


@functools.singledispatch
def dispatched(v, x):
    return ("default", x)


@dispatched.register(int)
@dispatched.register(float)
def _(v, x):
    return x * v


@dispatched.register
def _(v: list, x):
    return [dispatched(i, x) for i in v]


@dispatched.register(type(None))
def _(v, x):
    return None


@dispatched.register
def _(v: torch.Tensor, x):
    return v @ v


@program(mat(2, 3))
def dispatched_by_type(x):
    return (dispatched(2, x), dispatched([1.5, None, "q"], x), dispatched(x, x), dispatched(True, x), dispatched.dispatch(bool) is dispatched.dispatch(int))


class Partials:
    def __init__(s):
        s.log = []

    def op(s, kind, x, *, k=1):
        s.log.append(kind)
        return x * k if kind == "mul" else x + k
    mul = functools.partialmethod(op, "mul", k=4)
    add = functools.partialmethod(op, "add")

    @functools.cached_property
    def once(s):
        s.log.append("once")
        return len(s.log)


@program(mat(2, 3))
def partial_methods_and_cached_property(x):
    o = Partials()
    return (o.mul(x), o.add(x, k=2), o.once, o.once, o.log)


LAZY = types.ModuleType("odd_mod")


LAZY.__getattr__ = lambda n: (lambda t: t + len(n)) if n != "missing" else (_ for _ in ()).throw(AttributeError(n))


@program(mat(2, 3))
def module_getattr(x):
    return (LAZY.abc(x), LAZY.de(x), getattr(LAZY, "missing", "dflt"))


class Doubling:
    def __init__(s):
        s._v = 0
        s.hist = []

    @property
    def v(s):
        return s._v

    @v.setter
    def v(s, n):
        s.hist.append(n)
        s._v = n * 2

    @v.deleter
    def v(s):
        s._v = None


@program(mat(2, 3))
def property_with_history(x):
    o = Doubling()
    o.v = x
    o.v += 1
    h = o.v
    del o.v
    return (h, o.v, o.hist)


class Referred:
    def __init__(s, t):
        s.t = t


@program(mat(2, 3))
def weakrefs(x):
    o = Referred(x + 1)
    died = []
    r = weakref.ref(o)
    f = weakref.finalize(o, died.append, 1)
    pr = weakref.proxy(o)
    y = r().t + pr.t
    d = weakref.WeakKeyDictionary()
    d[o] = 3
    n = (len(d), d[o])
    s = weakref.WeakSet([o])
    k = len(s)
    del o
    return (y, n, k, r() is None, died, len(d))


class Counted:
    def __set_name__(s, o, n):
        s.n = "_" + n

    def __get__(s, o, t=None):
        return s if o is None else o.__dict__.get(s.n, 0)

    def __set__(s, o, v):
        o.__dict__[s.n] = v + 1


class Described:
    f = Counted()
    g = Counted()


@program(mat(2, 3))
def descriptors_that_know_their_name(x):
    u = Described()
    u.f = x
    u.g = u.f
    return (u.f, u.g, Described.f is Described.__dict__["f"], vars(u))


class Growing:
    def __getattr__(s, n):
        if n.startswith("c"):
            s.__dict__[n] = len(n)
            return s.__dict__[n]
        raise AttributeError(f"no {n}")

    def __dir__(s):
        return ["q"]


@program(mat(2, 3))
def attributes_appear_when_asked(x):
    g = Growing()
    return (x * g.cab, g.cab, hasattr(g, "zz"), getattr(g, "zz", 4), dir(g), vars(g))


@program(mat(2, 3))
def class_scope(x):
    k = 3

    class C:
        k = k + 1 if False else 4
        vals = [i for i in range(3)]

        @staticmethod
        def s(t):
            return t + 1

        @classmethod
        def c(cls, t):
            return t * cls.k

        class In:
            z = 5

        def __call__(self, t):
            return self.s(t) + self.In.z

        def __getitem__(self, k):
            return x * k if isinstance(k, int) else (k.start, k.stop)

        def __contains__(self, k):
            return k == 1

        def __iter__(self):
            yield x
            yield 2

        def __len__(self):
            return 4

        def __bool__(self):
            return False

        def __enter__(self):
            return self

        def __exit__(self, *a):
            pass

        def __eq__(self, o):
            return "eq"

        def __hash__(self):
            return 1

        def __lt__(self, o):
            return True

        def __neg__(self):
            return -x

        def __abs__(self):
            return x.abs()

        def __round__(self, n=0):
            return x.round()

        def __format__(self, s):
            return "F" + s

        def __int__(self):
            return 3

        def __index__(self):
            return 1

        def __reversed__(self):
            return [x]

        def __missing__(self, k):
            return 0
    c = C()
    return (c(x), C.c(x), c[2], c[1:5], 1 in c, list(c), len(c), bool(c), c == 1, c < 2, -c, abs(c), round(c), f"{c:>3}", int(c), [10, 20][c], list(reversed(c)), C.vals)


@typing.runtime_checkable
class Goes(typing.Protocol):
    def go(self): ...


@typing.runtime_checkable
class Sized(typing.Protocol):
    size: int


class OfClass:
    def go(self):
        return 1


class OfInstance:
    def __init__(self):
        self.size = 3
        self.go = lambda: 4


class Blocked:
    go = None


class Counting:
    asked = 0

    @property
    def size(self):
        Counting.asked += 1
        return 5


@program(vec(), OfClass, lambda: OfInstance(), lambda: Blocked(), lambda: torch.nn.Linear(2, 2))
def instances_of_protocols(x, cls, made, blocked, module):
    told = [isinstance(o, (Goes, Sized)) for o in (cls(), made, blocked, module, OfClass(), OfInstance())]
    del made.go
    return told, x * 2, isinstance(made, Sized)


@program(vec(), lambda: Counting())
def asked_by_a_protocol(x, counting):
    before = Counting.asked
    return isinstance(counting, Sized), x + 1, Counting.asked - before


@scenario
def protocols_of_what_changes(compile):
    o = OfInstance()
    f = compile(lambda x: x + (1 if isinstance(o, Goes) else 2))
    out = [f(torch.ones(2))]
    o.go = None
    out.append(f(torch.ones(2)))
    del o.go
    out.append(f(torch.ones(2)))
    o.go = print
    out.append(f(torch.ones(2)))
    Late.go = None
    p = Late()
    g = compile(lambda x: x + (1 if isinstance(p, Goes) else 2))
    out.append(g(torch.ones(2)))
    Late.go = lambda self: 1
    out.append(g(torch.ones(2)))
    return out


class Late:
    pass


class TakesNothing:
    pass


class PassesOnToNew:
    def __new__(cls, first, *rest, **named):
        return object.__new__(cls, *rest, **named)


class PassesOnToInit:
    def __init__(self, first, *rest, **named):
        object.__init__(self, *rest, **named)


class PassesOnToBoth(PassesOnToNew, PassesOnToInit):
    pass


def refused(function, *args, **named):
    try:
        return type(function(*args, **named)).__name__
    except TypeError as error:
        return str(error)


@program(vec())
def arguments_that_object_does_not_take(x):
    y = x + 1
    out = [[refused(c, 1), refused(c, 1, 2), refused(c, 1, n=2)] for c in (PassesOnToNew, PassesOnToInit, PassesOnToBoth)]
    for c in (TakesNothing, PassesOnToInit, PassesOnToNew):
        out.append([refused(c.__new__, c, 3), refused(object.__new__, c, 3), refused(object.__new__, c)])
    out += [refused(TakesNothing, 3), refused(TakesNothing().__init__, 3), refused(PassesOnToNew(1).__init__, 3)]
    return y * 2, out


class MadeByItsClass:
    @classmethod
    def __new__(*args):  # noqa: N804
        return len(args), [a is MadeByItsClass for a in args]


class SetsOnly:
    def __set__(self, owner, value):
        raise AssertionError


class HasOne(type):
    pass


class OfHasOne(metaclass=HasOne):
    size = 42


HasOne.size = SetsOnly()


@program(vec())
def makers_and_setters_of_unusual_kinds(x):
    y = x + 1
    return y * 2, MadeByItsClass(1, 2), OfHasOne.size


class Listens(types.ModuleType):
    def __getattribute__(self, name):
        heard.append(name)
        return types.ModuleType.__getattribute__(self, name)


heard = []
listening = Listens("listening")
listening.size = 3


@program(vec())
def a_module_that_listens(x):
    heard.clear()
    y = x + listening.size
    return y * 2, list(heard)


@program(vec())
def powers_of_a_remainder(x):
    y = x + 1
    return y * 2, pow(2, 6, mod=10), functools.partial(pow, mod=10)(2, 6), pow(base=2, exp=5), pow(2, exp=3)


@program(vec())
def what_builtins_refuse(x):
    y = x + 1
    out = [refused(max, 1, 2, default=3), refused(min, 1, 2, default=3), refused(getattr, [], "none", default=3)]
    return y * 2, out, refused(iter, [1], sentinel=3), refused(next, iter([]), default=3), refused(sum, ["a"], "")


class Fading:
    pass


class Unlike:
    """A name that is no text; who compares it takes the class's attribute away."""

    def __hash__(self):
        return hash("size")

    def __eq__(self, other):
        if "size" in vars(Fading):
            del Fading.size
        return False


@program(vec())
def an_attribute_that_goes_while_it_is_looked_up(x):
    y = x + 1
    Fading.size = SetsOnly()
    held = Fading()
    held.__dict__[Unlike()] = 0
    return y * 2, type(held.size).__name__, hasattr(held, "size")
