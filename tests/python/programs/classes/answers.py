"""Classes that answer for their instances, wrong answers of special methods, and containers' own ways."""

import abc
import collections
import typing

import torch
from tests.python.programs.registry import program, scenario, vec


class Answers(type):
    def __instancecheck__(cls, other):
        return getattr(other, "counts", False)

    def __subclasscheck__(cls, other):
        return other is int


@program(vec())
def classes_answer_for_their_instances(x):
    class Base(metaclass=Answers):
        pass

    class Derived(Base):
        pass

    one, other = Base(), Derived()
    out = [isinstance(one, Base), isinstance(other, Base), isinstance(x, Base), issubclass(Derived, Base), issubclass(int, Base)]
    other.counts = True
    match other:
        case Base():
            out.append("matched")
    return x + 1, out, isinstance(other, (int, Base))


class Pretends:
    @property
    def __class__(self):
        return int


@program(vec())
def objects_pretend_a_class(x):
    seen = []

    class Watched:
        def __getattribute__(self, name):
            seen.append(name)
            return object.__getattribute__(self, name)

    return x * 2, isinstance(Pretends(), int), isinstance(Watched(), int), isinstance(Watched(), Watched), seen


def told(question, value):
    class Says:
        def __init__(self):
            self.value = value

        def answer(self, *_):
            return self.value

        __bool__ = __len__ = __int__ = __float__ = __index__ = __str__ = __iter__ = __hash__ = answer

    try:
        answer = question(Says())
    except Exception as error:
        return type(error).__name__, str(error)
    return answer


@program(vec())
def special_methods_give_something_else(x):
    questions = (int, float, bool, len, str, list, lambda o: not o, lambda o: f"{o}", lambda o: [1, 2][o], lambda o: 1 if o else 2, hash)
    return x + 1, [told(question, value) for question in questions for value in ("a", 1, 2.5, True, -1, 2**70, None)]


@program(vec())
def unpacking_takes_one_too_many(x):
    left = iter(range(10))
    try:
        a, b = left
    except ValueError as error:
        return x + 1, str(error), list(left)


def halting(log):
    yield 1
    yield len(log)
    raise KeyError("halt")


@program(vec())
def containers_grow_until_an_exception(x):
    several = [x], collections.deque([x]), {0}
    for container in several:
        grow = container.update if isinstance(container, set) else container.extend
        try:
            grow(halting(container))
        except KeyError:
            pass
    try:
        several[0].__iadd__(halting(several[0]))
    except KeyError:
        pass
    return [list(container) for container in several]


@program(vec())
def lists_change_while_they_are_sorted(x):
    seen, changed, emptied = [], [3, 1, 2], [2, 1]
    try:
        changed.sort(key=lambda v: changed.append(v) or v)
        said = "nothing"
    except ValueError as error:
        said = str(error)
    emptied.sort(key=lambda v: seen.append(len(emptied)) or v)
    return x + 1, said, changed, seen, emptied


@program(vec())
def each_item_is_used_before_the_next(x):
    log = []

    def items():
        for v in (3, 1, 4):
            log.append(v)
            yield v

    def key(v):
        log.append(("key", v))
        return -v

    return x + 1, max(items(), key=key), min(items(), key=key), sorted(items(), key=key), sum(items()), log


class Items(list):
    def __iter__(self):
        return iter(["i", "j"])

    def __getitem__(self, i):
        return "got", super().__getitem__(i)

    def __len__(self):
        return 100

    def __add__(self, other):
        return "sum"


@scenario
def lists_are_read_in_two_ways(compile):
    @compile
    def program(x, items):
        a, b = items
        items += (6,)
        return x + 1, a, b, [*items], items[1], list.__len__(items), len(items), items + [1], list(reversed(items))

    out = []
    for _ in range(3):
        items = Items([1, 2, 3])
        out.append((program(torch.ones(2), items), list.__repr__(items)))
    return out


class Letters(tuple):
    def __iter__(self):
        return iter("it")


@program(vec(), lambda: Letters((1, 2, 3)))
def tuples_are_read_in_two_ways(x, letters):
    a, b = letters
    return x + 1, a, b, [*letters], letters[0], letters[1:], len(letters), letters == (1, 2, 3)


class Listed(dict):
    def keys(self):
        return ["kept"]

    def __iter__(self):
        return iter(["walked"])

    def __getitem__(self, key):
        return "got", key


@program(vec(), lambda: Listed(a=1))
def dicts_are_read_in_two_ways(x, d):
    return x + 1, dict(d), {**d}, d.copy(), (lambda **k: k)(**d), d | {"b": 2}, list(d)


@program(vec())
def a_tensor_among_what_is_compared(x):
    out = []
    for other in ((1,), (x, 2), (x,)):
        try:
            out.append((x, 2, 3) == other)
        except RuntimeError as error:
            out.append(str(error))
    return out, [x] == [1, 2], x + 1


@program(vec(), lambda: [float("nan"), float("nan")])
def the_same_nan(x, numbers):
    one, other = numbers
    return x + 1, one in numbers, [one] == [other], [one] == [numbers[0]], numbers.count(other), other in [one]


@program(vec())
def texts_with_any_character(x):
    text = "a\0b"
    return x + 1, str(text), f"{text}|{text!r:>8}", str("\ud800") == "\ud800", "%s" % text


@program(vec())
def tensors_have_no_divmod(x):
    out = []
    for question in (lambda: divmod(x, 2), lambda: divmod(7, x), lambda: divmod(7.5, 0), lambda: [1][2**70], lambda: divmod(-7, 2)):
        try:
            out.append(question())
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    return torch.relu(x), out


@typing.runtime_checkable
class Runs(typing.Protocol):
    attr: int

    def run(self): ...


@scenario
def abstract_classes_come_to_know_others(compile):
    class Base(abc.ABC):
        pass

    class Plain:
        def run(self):
            return 1

    one, other = Plain(), Plain()
    other.attr = 3
    program = compile(lambda x, o: (x + 1, isinstance(o, Base), issubclass(type(o), Base), isinstance(o, Runs)))
    out = [program(torch.ones(2), o) for o in (one, other, one, 3)]
    one.attr = 1
    out.append(program(torch.ones(2), one))
    Base.register(Plain)
    out.append(program(torch.ones(2), one))
    del other.attr
    return [*out, program(torch.ones(2), other)]


class Fallback:
    def __getattribute__(self, name):
        if name == "given":
            return 2
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        if name == "never":
            raise AttributeError(name)
        return "fallback " + name


@program(vec())
def two_ways_to_find_an_attribute(x):
    o = Fallback()
    o.own = 3
    return x + 1, o.given, o.own, o.missing, hasattr(o, "other"), hasattr(o, "never"), getattr(o, "never", 5)


class Holder:
    """holds"""

    def method(self, n):
        return n + 1


@program(vec())
def classes_of_methods_slices_and_cells(x):
    y = x + 1

    def inner():
        return y

    one, part, cell = Holder().method, slice(1, None), inner.__closure__[0]
    names = [v.__class__.__name__ for v in (one, part, cell, inner)]
    return y, names, one.__class__ is inner.__class__, part.__class__ is slice, one.__call__(2), one.__doc__, one.__name__
