"""Whether an attribute, an entry or a name is there is a guard of its own: a program may make no use of the value."""

import itertools
import warnings

import pytest
import torch
import vitrine

X = torch.ones(2)


class Plain:
    pass


class Module(torch.nn.Module):
    pass


class Slots:
    __slots__ = ("a",)


class Answers:
    def __getattr__(self, name):
        if name == "other":
            return 1
        raise AttributeError(name)


def asked(o):
    return X + 1 if hasattr(o, "a") else X - 1


def asked_before_a_break(o):
    there = hasattr(o, "a")
    print(end="")
    return X + 1 if there else X - 1


def with_default(o):
    return getattr(o, "a", None), X + 1


def default_dropped(o):
    getattr(o, "a", 3)
    return X + 1


def read_and_dropped(o):
    o.a
    return X + 1


def handed_on(o):
    return X * 2, [o.a]


def tried(o):
    try:
        o.a
    except AttributeError:
        return X - 5
    return X + 1


def removed(o):
    if hasattr(o, "a"):
        del o.a
    return X + 1, hasattr(o, "a")


def in_own_dict(o):
    return X + 1 if "a" in o.__dict__ else X - 1


def from_own_dict(o):
    return vars(o).get("a"), X * 2


def in_dict(o):
    return X + 1 if "a" in entries(o) else X - 1


def tried_in_dict(o):
    try:
        entries(o)["a"]
    except KeyError:
        return X - 5
    return X + 1


def dropped_from_dict(o):
    entries(o).get("a")
    return X + 1, len(entries(o))


def tried_in_list(o):
    try:
        items(o)[0]
    except IndexError:
        return X - 5
    return X + 1


def tried_global(o):
    try:
        A_GLOBAL
    except NameError:
        return X - 5
    return X + 1


def asked_of_class(o):
    return X + 1 if hasattr(type(o), "a") else X - 1


def entries(o):
    return HELD["dict"]


def items(o):
    return HELD["list"]


HELD = {}
PROGRAMS = [asked, asked_before_a_break, with_default, default_dropped, read_and_dropped, handed_on, tried, removed,
            in_own_dict, from_own_dict, in_dict, tried_in_dict, dropped_from_dict, tried_in_list, tried_global,
            asked_of_class]  # fmt: skip
VALUES = {"absent": None, "number": 5, "tensor": X * 3, "none": None, "list": [1]}


def world(cls, kind):
    """An object, a dict, a list and a global that have it, or have it not."""
    o, there = cls(), kind != "absent"
    globals().pop("A_GLOBAL", None)
    if there:
        o.a = globals()["A_GLOBAL"] = VALUES[kind]
    HELD["dict"] = {"a": VALUES[kind]} if there else {}
    HELD["list"] = [VALUES[kind]] if there else []
    return o


def outcome(function, o):
    try:
        return repr(function(o))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("cls", [Plain, Module, Slots, Answers], ids=lambda c: c.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_there_or_not(program, cls):
    if cls is Slots and "own_dict" in program.__name__:
        pytest.skip("an object with slots has no __dict__")
    for order in [*itertools.permutations(VALUES, 2), ("number", "tensor", "absent", "none", "list")]:
        vitrine.reset()
        compiled = vitrine.compile(program)
        for kind in order:
            with warnings.catch_warnings():
                warnings.simplefilter("error", vitrine.VitrineWarning)
                expected = outcome(program, world(cls, kind))
                assert outcome(compiled, world(cls, kind)) == expected, (order, kind)
