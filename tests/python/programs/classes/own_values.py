"""Numbers with every operator, enumerations and named tuples of one's own."""

import enum
import typing

import torch
from tests.python.programs.classes.classes import Slotted
from tests.python.programs.registry import program, vec


class Number:
    def __init__(self, v):
        self.v = v

    def __add__(self, o):
        return Number(self.v + (o.v if isinstance(o, Number) else o))

    def __radd__(self, o):
        return Number(o - self.v)

    def __iadd__(self, o):
        self.v = self.v * 100 + o
        return self

    def __mul__(self, o):
        return NotImplemented

    def __rmul__(self, o):
        return ("rmul", o)

    def __matmul__(self, o):
        return self.v @ o

    def __neg__(self):
        return Number(-self.v)

    def __invert__(self):
        return "inv"

    def __lt__(self, o):
        return self.v < o.v

    def __eq__(self, o):
        return NotImplemented

    def __hash__(self):
        return 3

    def __getitem__(self, k):
        if isinstance(k, tuple):
            return sum(k)
        if isinstance(k, slice):
            return (k.start, k.stop, k.step)
        if k > 3:
            raise IndexError
        return self.v * k

    def __setitem__(self, k, v):
        self.v = (k, v)

    def __contains__(self, k):
        return "yes" if k == 2 else ""

    def __bool__(self):
        return bool(self.v)

    def __index__(self):
        return 2

    def __int__(self):
        return 12

    def __float__(self):
        return 1.25

    def __enter__(self):
        return self.v

    def __exit__(self, *exc):
        self.v = exc[0]
        return True

    def __str__(self):
        return f"N({self.v})"

    def __format__(self, spec):
        return f"<{spec}>"

    def __divmod__(self, o):
        return "dm"

    def __call__(self, *a, **k):
        return len(a), sorted(k)


@program(vec())
def every_operator(x):
    n = Number(3)
    a, b = (n + 1).v, (10 + n).v
    n += 5
    c = [5 * n, (-n).v, ~n, n < Number(9), n == n, n == 3, n != n, n[1, 2, 3], n[1:2], 2 in n, 5 in n, list(range(n)), int(n), float(n), divmod(n, 1), n(1, k=2, j=3), f"{n:abc}|{n!s}"]
    with n as inside:
        raise KeyError("swallowed")
    n2 = Number(2)
    return x * a + b, c, inside, n.v, [7, 8, 9][n2], list(Number(2)), x[n2], x + inside


@program(vec())
def operators_with_tensors(x):
    n = Number(x)
    m = n + x
    r = n @ x
    s = Number(2.0)
    s += x
    return m.v, r, s.v, (-n).v, n[2]


@program(vec())
def unsupported_operand(x):
    return Number(1) * Number(2)


@program(vec())
def tensor_plus_foreign(x):
    return x + Slotted(1)


@program(vec())
def tensor_reflected(x):
    return x + Number(2), x


class Mode(enum.IntEnum):
    A = 1
    B = 2


class Flags(enum.Flag):
    X = enum.auto()
    Y = enum.auto()


class Named(str, enum.Enum):
    RELU = "relu"

    @property
    def function(self):
        return getattr(torch, self.value)


@program(vec(), Mode.B, Flags.X | Flags.Y, Named.RELU)
def enums(x, m, f, n):
    return x * m + (Flags.X in f) + bool(f & Flags.Y), m == 2, n == "relu", n.function(x), Mode(1).name, [e.value for e in Mode], Mode["B"] is m, m > Mode.A, f"{n.value}-{m:d}"


class Pair(typing.NamedTuple):
    left: torch.Tensor
    right: int = 4

    @property
    def both(self):
        return self.left * self.right

    def swap(self):
        return Pair(*reversed(self))


@program(vec())
def typed_named_tuple(x):
    p = Pair(x)
    a, b = p
    s = p.swap()
    return p.both, a + b, s.left, s[1] is x, p._asdict(), p == (x,) if False else len(p), Pair._fields, p._replace(right=1)
