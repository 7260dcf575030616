"""Slots, properties, descriptors, metaclasses, attribute hooks, operator overloads, odd data classes."""

import abc
import collections
import copy
import dataclasses
import functools
import operator
import typing

import torch
from tests.python.programs.registry import program, scenario, vec
from torch import nn


class Slotted:
    __slots__ = ("value", "count", "never")

    def __init__(self, value):
        self.value = value
        self.count = 0


@program(vec(), lambda: Slotted(3))
def slots(x, s):
    s.count += 2
    s.value = x * s.value
    t = Slotted(x)
    del t.count
    return s.value + s.count, hasattr(s, "never"), hasattr(t, "count"), t.value


@program(vec(), lambda: Slotted(3))
def slot_without_value(x, s):
    return x + s.never


class Celsius:
    def __init__(self, log):
        self._t = 1.0
        self.log = log

    @property
    def temperature(self):
        self.log.append("get")
        return self._t

    @temperature.setter
    def temperature(self, t):
        self.log.append(("set", t))
        self._t = t

    @temperature.deleter
    def temperature(self):
        self.log.append("del")
        self._t = -273.0

    @functools.cached_property
    def expensive(self):
        self.log.append("computed")
        return self._t * 10


@program(vec(), lambda: Celsius([]))
def properties(x, c):
    c.temperature += 2
    y = x * c.temperature + c.expensive + c.expensive
    del c.temperature
    return y, c._t, c.log, "expensive" in c.__dict__


@program(vec(), lambda: Celsius([]))
def read_only_property(x, c):
    c.expensive = 5
    type(c).temperature.fget(c)
    return x + c.expensive, c.log


class Clamped:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        setattr(obj, self.name, min(value, 10))


class NonData:
    def __get__(self, obj, owner):
        return (obj is None, owner.__name__)


class Described:
    level = Clamped()
    other = NonData()


@program(vec(), lambda: Described())
def descriptors(x, d):
    d.level = 50
    first = d.other
    d.__dict__["other"] = "own"
    return x * d.level, first, d.other, Described.other, type(Described.level).__name__, d._level


class Counting(type):
    made = 0

    def __call__(cls, *args):
        obj = super().__call__(*args)
        obj.tag = cls.__name__.lower()
        return obj

    def __len__(cls):
        return 4

    def __contains__(cls, item):
        return item == 3

    def __getattr__(cls, name):
        return name + "!"

    @property
    def meta_property(cls):
        return cls.__name__

    def __iter__(cls):
        return iter((1, 2))


class WithMeta(metaclass=Counting):
    def __init__(self, k):
        self.k = k


@program(vec())
def metaclass(x):
    w = WithMeta(3)
    return x * w.k, w.tag, len(WithMeta), 3 in WithMeta, WithMeta.nope, WithMeta.meta_property, list(WithMeta), isinstance(w, WithMeta), type(WithMeta).__name__


class Logs:
    def __init__(self):
        object.__setattr__(self, "log", [])
        object.__setattr__(self, "hidden", 7)

    def __getattribute__(self, name):
        if name not in ("log", "__class__", "__dict__"):
            object.__getattribute__(self, "log").append(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        self.log.append("set " + name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self.log.append("del " + name)
        object.__delattr__(self, name)


@program(vec(), lambda: Logs())
def getattribute(x, o):
    o.a = o.hidden
    y = x * o.a
    del o.a
    return y, list(o.log), hasattr(o, "a")


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: torch.Tensor
    b: int = 2
    c: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        object.__setattr__(self, "d", self.b * 2)


@program(vec())
def frozen_dataclass(x):
    f = Frozen(x, 3)
    f.c.append(f.d)
    g = dataclasses.replace(f, b=5)
    return f.a * f.d, f.c, g.d, g.c is f.c, dataclasses.fields(f)[1].name, [k for k in dataclasses.asdict(Frozen(1, 2))]


@program(vec())
def frozen_dataclass_write(x):
    f = Frozen(x)
    f.b = 4
    return x


@dataclasses.dataclass(order=True, slots=True, kw_only=True)
class Ordered:
    a: int
    b: float = 1.5
    total: typing.ClassVar[int] = 9


@program(vec())
def ordered_dataclass(x):
    p, q = Ordered(a=1), Ordered(a=1, b=2.0)
    return p < q, p == Ordered(a=1), max(p, q).b * x, repr(p), Ordered.total, hash is not None


@program(vec())
def dataclass_missing_argument(x):
    return Ordered(b=x)


class ListChild(list):
    def total(self):
        return sum(self)

    def __getitem__(self, i):
        return super().__getitem__(i) * 10


class DictChild(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]

    def __getattr__(self, name):
        if name.startswith("__"):  # or copying would add entries
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@program(vec(), lambda: ListChild([1, 2]), lambda: DictChild(a=1))
def container_subclasses(x, l, d):
    l.append(3)
    l.extra = 4
    return x * l.total() + l[0] + d["zz"] + d.a, list(l), d.get("none"), dict(d), type(l + [1]).__name__, type(l[:]).__name__


class IntChild(int):
    def __add__(self, o):
        return IntChild(int(self) - int(o))


@program(vec(), lambda: IntChild(5))
def int_subclass(x, n):
    return x * n, n + 1, type(n + 1).__name__, n - 1, x + n


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, children

    def __iter__(self):
        yield self.value
        for c in self.children:
            yield from c

    def total(self):
        return self.value + sum((c.total() for c in self.children), 0)

    def map(self, f):
        return Tree(f(self.value), *(c.map(f) for c in self.children))


@program(vec())
def tree_recursion(x):
    t = Tree(x, Tree(x + 1, Tree(x * 2)), Tree(x - 1))
    u = t.map(torch.sin)
    return t.total(), [v for v in u][2], len(list(t)), u.children[0].value


class Cycle:
    def __init__(self, x):
        self.me = self
        self.x = x
        self.others = [self]


@program(vec())
def self_reference(x):
    c = Cycle(x + 1)
    c.me.me.x = c.x * 2
    return c.others[0].me.x, c.me is c


@scenario
def self_reference_argument(compile):
    @compile
    def f(c):
        c.me.x = c.me.me.x + 1
        c.others.append(c.others[0])
        return c.x * len(c.others)

    c = Cycle(torch.ones(3))
    return f(c), f(c), c.x, [o is c for o in c.others]


class Meta2:
    registry = []

    def __init_subclass__(cls, /, tag="none", **kw):
        super().__init_subclass__(**kw)
        cls.tag = tag

    def __class_getitem__(cls, item):
        return (cls.__name__, item)


@program(vec())
def class_made_inside(x):
    class Local(Meta2, tag="local"):
        k = 3

        def __init__(self, t):
            self.t = t

        def go(self):
            return self.t * self.k, __class__.__name__

    y, name = Local(x).go()
    return y, name, Local.tag, Meta2[int][0]


@program(vec())
def type_made_inside(x):
    T = type("T", (), {"k": 4, "f": lambda self, t: t * self.k})
    return T().f(x), T.__name__


class New:
    def __new__(cls, v):
        if v == 0:
            return 17
        o = super().__new__(cls)
        o.early = v
        return o

    def __init__(self, v):
        self.v = v * 2


@program(vec())
def dunder_new(x):
    n = New(3)
    return x * n.early + n.v + New(0), type(New(0)).__name__


class A:
    def f(self, x):
        return x + 1

    def __init__(self):
        self.log = ["A"]


class B(A):
    def __init__(self):
        super().__init__()
        self.log.append("B")

    def f(self, x):
        return super().f(x) * 2


class C(A):
    def __init__(self):
        super().__init__()
        self.log.append("C")

    def f(self, x):
        return super(C, self).f(x) * 3


class D(B, C):
    pass


@program(vec())
def diamond(x):
    d = D()
    return d.f(x), d.log, [c.__name__ for c in D.__mro__], A.f(d, x), issubclass(D, C), super(B, d).f(x)


@program(vec(), lambda: D())
def instance_method_patched(x, d):
    d.f = lambda t: t - 1
    y = d.f(x)
    del d.f
    bound = d.f
    return y, bound(x), bound.__self__ is d, bound.__name__, bound == d.f, D.f(d, x)


@scenario
def class_changes_between_calls(compile):
    class P:
        k = 1

        def f(self, x):
            return x * self.k

    class Q(P):
        pass

    p = Q()

    @compile
    def run(o, x):
        return o.f(x)

    x = torch.ones(2)
    out = [run(p, x)]
    P.k = 2
    out.append(run(p, x))
    Q.k = 3
    out.append(run(p, x))
    p.k = 4
    out.append(run(p, x))
    Q.f = lambda self, x: x - 50
    out.append(run(p, x))
    p.f = lambda x: x + 70
    out.append(run(p, x))
    del p.f, Q.f, p.k, Q.k
    out.append(run(p, x))
    Q.__getattr__ = lambda self, n: 9
    del P.k
    out.append(run(p, x))
    P.k = property(lambda self: 11)
    out.append(run(p, x))
    p.__class__ = P
    out.append(run(p, x))
    del P.f
    try:
        out.append(run(p, x))
    except AttributeError as e:
        out.append(str(e))
    return out


@scenario
def attributes_appear_and_vanish(compile):
    class Box:
        pass

    b = Box()

    @compile
    def run(b, x):
        if hasattr(b, "w"):
            x = x * b.w
        return x + getattr(b, "bias", 0) + len(vars(b))

    x = torch.ones(2)
    out = [run(b, x)]
    b.w = 3
    out.append(run(b, x))
    b.bias = x
    out.append(run(b, x))
    b.bias = None
    del b.bias
    out.append(run(b, x))
    Box.bias = 100
    out.append(run(b, x))
    b.w = x
    out.append(run(b, x))
    b.w = torch.ones(2, 2)
    out.append(run(b, x))
    b.w = nn.Parameter(x)
    out.append(run(b, x).detach())
    return out


@program(vec())
def copies(x):
    b = Cycle(x)
    c = copy.copy(b)
    d = copy.deepcopy(x)
    d += 1
    l = [[x], 1]
    m = copy.copy(l)
    m[0].append(2)
    return c.me is b, x + d, len(l[0]), copy.deepcopy({"k": [1, 2]})


@program(vec())
def operator_module(x):
    box = [x, {"k": x + 1}]
    get = operator.itemgetter(0)
    return (
        operator.add(x, 1), operator.getitem(x, 2), operator.attrgetter("shape")(x), operator.methodcaller("sum", 0)(x), get(box), operator.iadd([1], [2]), operator.mul(x, x),
        operator.truediv(x, 2), operator.neg(x), operator.contains([1, 2], 2), operator.concat([1], [2]), operator.index(3), operator.itemgetter(1, 0)([7, 8]), operator.matmul(x, x), operator.is_(x, x),
    )  # fmt: skip


@program(vec())
def functools_and_collections(x):
    r = functools.reduce(lambda a, b: a * b, [x, x, 2])
    c = collections.Counter("abca")
    q = collections.deque([x, x + 1, x + 2], maxlen=2)
    q.append(x * 9)
    q.rotate(1)
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    part = functools.partial(lambda a, b, *, c: a + b * c, x, c=3)
    return r, c["a"] * x, list(q), chain["b"] + chain["a"], part(2), part(b=x), part.keywords


@functools.singledispatch
def dispatched(v):
    return "other"


@dispatched.register
def _(v: int):
    return "int"


@dispatched.register
def _(v: torch.Tensor):
    return v + 1


@program(vec())
def single_dispatch(x):
    return dispatched(3), dispatched(x), dispatched("s")


class Matched:
    __match_args__ = ("kind", "data")

    def __init__(self, kind, data):
        self.kind, self.data = kind, data


@program(vec(), lambda: [Matched("a", 1), Matched("b", [1, 2, 3]), {"k": 5, "j": 6}, (1, 2), 3.5, "text", None, torch.ones(2)])
def match_everything(x, cases):
    out = []
    for c in cases:
        match c:
            case Matched("a", n):
                out.append(x * n)
            case Matched(kind=k, data=[first, *rest]) if len(rest) == 2:
                out.append((k, first, rest))
            case {"k": v, **others}:
                out.append((x + v, others))
            case (1, y) | (y, 1):
                out.append(y)
            case float(f):
                out.append(f)
            case str() as s:
                out.append(s)
            case None:
                out.append("none")
            case torch.Tensor(shape=(n,)):
                out.append(c * n)
            case _:
                out.append("?")
    return out


class Lacking(abc.ABC):
    @abc.abstractmethod
    def scale(self):
        pass


class Complete(Lacking):
    def scale(self):
        return 2


@program(vec())
def abstract_classes(x):
    said = []
    for cls in (Lacking, Complete):
        try:
            x = x * cls().scale()
        except TypeError as e:
            said.append(str(e))
    return x, said


class Bare:
    pass


@program(vec())
def arguments_that_nobody_takes(x):
    said = []
    for make in (lambda: Bare(1), lambda: Bare(k=1), lambda: Bare(), lambda: object.__new__(Bare)):
        try:
            said.append(type(make()).__name__)
        except TypeError as e:
            said.append(str(e))
    return x + 1, said


@program(vec())
def errors_of_the_system(x):
    try:
        raise OSError(2, "none", "name")
    except FileNotFoundError as e:
        return x * e.errno, str(e), e.filename


class OfNothing:
    @staticmethod
    def plain():
        return super().__init__()

    def starred(*all):
        return super().__init__()


@program(vec())
def super_without_a_first_argument(x):
    said = []
    for call in (OfNothing.plain, OfNothing().starred):
        try:
            call()
        except RuntimeError as error:
            said.append(str(error))
    return x + len(said), said
