"""Classes that derive from tuple, list, dict and set and have operators of their own."""

import operator
import re
import typing

import torch
from tests.python.programs.registry import program, scenario, vec

TWO = ("add", "radd", "mul", "rmul", "sub", "rsub", "iadd", "imul", "or", "ror", "and", "ior", "xor", "matmul", "rmatmul")
COMPARED = ("eq", "ne", "lt", "gt", "le", "ge")


def one_that_does_it_all(base):
    """A class derived from `base` that answers every operator with its name and how much it really holds."""

    def answers(name):
        return lambda self, other: (name, base.__len__(self))

    methods = {f"__{name}__": answers(name) for name in TWO + COMPARED}
    methods |= {
        "__hash__": lambda self: 3,
        "__len__": lambda self: 9,
        "__contains__": lambda self, item: item == "q",
        "__iter__": lambda self: iter([1, 2]),
        "__getitem__": lambda self, i: ("item", i),
        "__bool__": lambda self: False,
        "__call__": lambda self, t: t + 1,
        "__neg__": lambda self: "neg",
        "__abs__": lambda self: "abs",
        "__repr__": lambda self: "R",
        "__str__": lambda self: "S",
        "__format__": lambda self, form: "F" + form,
        "__reversed__": lambda self: iter([3]),
        "__getattr__": lambda self, name: "mine: " + name,
        "__invert__": lambda self: "inv",
        "__int__": lambda self: 4,
        "__index__": lambda self: 1,
    }
    return type("All" + base.__name__, (base,), methods)


CLASSES = {base: one_that_does_it_all(base) for base in (tuple, list, dict, set)}


def matched(v):
    match v:
        case [a, b]:
            return a, b
        case {}:
            return "mapping"
        case _:
            return "neither"


def updated(v):
    d = {}
    d.update(v)
    return d


def extended(v):
    items = []
    items.extend(v)
    return items


def written(name):
    def write(v):
        return getattr(operator, name)(v, v)

    return write


def augmented(v):
    v += v
    return v


def repeated(v):
    v *= 2
    return v


def merged(v):
    v |= v
    return v


USES = [
    lambda v: v + v, lambda v: v + (1,), lambda v: (1,) + v, lambda v: [1] + v, lambda v: v * 2, lambda v: 2 * v, lambda v: v - v,
    lambda v: v == v, lambda v: v == 1, lambda v: (v != v, v < v, (1,) > v, [v] == [1], v in [1, v], [v, v].count(v)),
    lambda v: hash(v), lambda v: len(v), lambda v: (list(v), tuple(v), [*v], [i for i in v], extended(v)), lambda v: (v[0], v[0:1]),
    lambda v: ("q" in v, bool(v), not v, v and 1, 1 if v else 2), lambda v: v(torch.ones(2)), lambda v: (-v, abs(v), ~v),
    lambda v: (repr(v), str(v), f"{v:>3}", f"{v!r}", "%s" % [v], "{}".format(v)), lambda v: list(reversed(v)), lambda v: v.zzz,
    lambda v: v @ 1, lambda v: (int(v), [10, 20, 30][v], list(range(v))), lambda v: (list(zip(v, "ab")), list(enumerate(v)), sum(v), max(v)),
    lambda v: (sorted(v), any(v), all(v), next(iter(v)), list(map(str, v))), augmented, repeated, merged, lambda v: (v | v, v ^ v),
    lambda v: ({v: 1}[v], len({v, v})), written("add"), written("eq"), lambda v: operator.getitem(v, 0), matched, updated,
    lambda v: dict(v), lambda v: {**v}, lambda v: v.items(), lambda v: v.get(0),
]  # fmt: skip


def told(value):
    """What a value is, all the way down; its class's own methods are not asked."""
    for base, derived in CLASSES.items():
        if type(value) is derived:
            return base.__name__, [told(item) for item in base.__iter__(value)]
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [told(item) for item in value]
    if isinstance(value, dict):
        return [(told(k), told(v)) for k, v in value.items()]
    return re.sub("0x[0-9a-f]+", "", f"{type(value).__name__} {value!r}")


def every_use_of(base, content):
    def run(compile):
        out = []
        for use in USES:
            for made_inside in (False, True):

                @compile
                def f(v, x, use=use, made_inside=made_inside):
                    y = x * 2
                    return use(CLASSES[base](content(x)) if made_inside else v), y

                for _ in range(2):
                    v = CLASSES[base](content(torch.ones(2)))
                    try:
                        out.append((told(f(v, torch.ones(2))), told(v)))
                    except Exception as e:
                        out.append((type(e).__name__, str(e)))
        return out

    run.__name__ = f"every_use_of_own_{base.__name__}"
    scenario(run)


every_use_of(tuple, lambda x: (x, 2))
every_use_of(list, lambda x: [x, 2])
every_use_of(dict, lambda x: {0: x, "k": 2})
every_use_of(set, lambda x: {1, 2})


class Sized(typing.NamedTuple):
    a: torch.Tensor
    b: int = 2

    @property
    def product(self):
        return self.a * self.b

    def __add__(self, other):
        return Sized(self.a + other.a, self.b + other.b)

    def __mul__(self, k):
        return self._replace(b=self.b * k)

    def __eq__(self, other):
        return self.b == other.b

    def __lt__(self, other):
        return self.b < other.b

    def __len__(self):
        return self.b


@program(vec())
def named_tuple_with_operators(x):
    n = Sized(x)
    m = n + Sized(x * 2, 5)
    a, b = m
    low, high = sorted([m, n])
    return n.product, m, a, b, (n * 4).b, m == n, m == Sized(x, 7), len(m), low.b, high.b, Sized._make([x, 1]).product, m._asdict()


class Squares(dict):
    """Its keys and what it holds for them are not what is stored."""

    def keys(self):
        return [1, 2, 3]

    def __getitem__(self, key):
        return key * key

    def __iter__(self):
        return iter([3, 2])


@program(vec())
def mapping_with_its_own_keys(x):
    s = Squares({9: x})
    d = {}
    d.update(s)
    return d, dict(s), {**s}, list(s), s | {}, type(s | {}), x * s[4]


@program(vec())
def keys_as_sets(x):
    d, e = {"a": x, "b": 1}, {"b": 1, "c": x * 2}
    common = d.keys() & e.keys()
    try:
        d.keys() + e.keys()
    except TypeError as error:
        text = str(error)
    return (
        sorted(common), sorted(d.keys() | e.keys()), sorted(d.keys() - e.keys()), sorted(d.keys() ^ ["a"]), {"a"} & d.keys(), text,
        [e[k] for k in common], d.keys() <= {"a", "b", "z"}, d.keys().isdisjoint(e), {"p": 1, "q": 2}.items() & {"p": 1}.items(),
    )  # fmt: skip


class Twice(list):
    def __getitem__(self, i):
        return list.__getitem__(self, i) * 2

    def first(self):
        return super().__getitem__(0), self[0], list.__getitem__(self, slice(0, 1))


@program(vec())
def items_past_the_classes_own_way(x):
    t = Twice([x, 3])
    return t.first(), t[1], list.__getitem__(t, 1), list(t), x + t[1]


class Cents(int):
    def __radd__(self, other):
        return "never asked: a tensor takes it for a number"

    __rmul__ = __rsub__ = __radd__


@program(vec())
def tensors_take_numbers_first(x):
    return x + Cents(2), x * Cents(3), x - Cents(1), 1 + Cents(2)


GLOBALS = globals()


@program(vec())
def globals_through_a_dict_and_by_name(x):
    GLOBALS["AMOUNT"] = 2
    first = AMOUNT  # noqa: F821
    GLOBALS["AMOUNT"] += x.shape[0]
    return first, AMOUNT, x * GLOBALS.pop("AMOUNT"), "AMOUNT" in GLOBALS  # noqa: F821
