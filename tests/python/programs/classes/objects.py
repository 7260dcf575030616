"""Classes, data classes, enums and operator overloads."""

import collections
import dataclasses
import enum

import torch
from tests.python.programs.registry import program, vec


Point = collections.namedtuple("Point", "x y")


@program(vec())
def named_tuple(x):
    p = Point(x, y=2)
    q = p._replace(y=p.y + 1)
    return q.x * q.y, q


@dataclasses.dataclass
class Box:
    value: torch.Tensor
    count: int = 0

    def bump(self):
        self.count += 1
        return self


@program(vec())
def data_class(x):
    b = Box(x).bump().bump()
    return b.value * b.count, dataclasses.replace(b, count=9).count


@program(lambda: Box(torch.ones(3), 1))
def mutates_object(box):
    box.bump()
    box.value = box.value * 2
    return box.value + box.count


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@program(vec(), Colour.BLUE)
def enum_argument(x, colour):
    return x * colour.value if colour is Colour.BLUE else x


class Weird:
    def __init__(self):
        self.hidden = 3

    def __getattr__(self, name):
        if name == "magic":
            return 4
        raise AttributeError(name)

    @property
    def prop(self):
        return self.hidden * 2

    def __getitem__(self, key):
        return key + self.hidden

    def __len__(self):
        return 5

    def __call__(self, t):
        return t * self.prop

    def __bool__(self):
        return False

    def __eq__(self, other):
        return isinstance(other, Weird)

    __hash__ = None


@program(vec(), lambda: Weird())
def operator_overloads(x, w):
    return w(x) + w.magic + w[2] + len(w), bool(w), w == Weird(), getattr(w, "missing", 11), hasattr(w, "magic")


class Setter:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)


@program(vec(), lambda: Setter())
def custom_setattr(x, s):
    s.a = 3
    return x + s.a


class Base:
    factor = 2

    def scale(self, x):
        return x * self.factor

    @staticmethod
    def shift(x):
        return x + 1

    @classmethod
    def make(cls):
        return cls()


class Derived(Base):
    factor = 3

    def scale(self, x):
        return super().scale(x) - 1


@program(vec())
def classes_and_super(x):
    d = Derived.make()
    d.factor = d.factor + 1
    return d.scale(Base.shift(x)), isinstance(d, Base), type(d).__name__
