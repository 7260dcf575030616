"""Calls that Python refuses, walks over what changes meanwhile, and objects that hold themselves."""

import collections
import types

import torch
from tests.python.programs.registry import program, scenario, vec


def outcome(function, *args, **keywords):
    try:
        return function(*args, **keywords)
    except (TypeError, ValueError, RuntimeError, AttributeError) as e:
        return type(e).__name__, str(e)


@program(vec())
def arguments_not_taken(x):
    return (
        outcome(list, sequence=()),
        outcome(tuple, (1,), (2,)),
        outcome(set, [1], invalid=2),
        outcome([].append, 1, 2),
        outcome([1].index, 1, key=3),
        outcome({}.update, {}, {}),
        outcome(dict, {}, {}),
        outcome(str, object="text"),
        outcome(bool, x=1),
        x + 1,
    )


class Refused:
    __contains__ = None
    __iadd__ = None

    def __add__(self, other):
        return other


class Named:
    def __set_name__(self, owner, name):
        self.name = name

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value


class Holder:
    attribute = Named()

    def __getitem__(self, i):
        return (1, 2)[i]


class Queue(collections.deque):
    def __getitem__(self, i):
        return "other"


class Made:
    def __new__(cls, kind):
        return object.__new__(Derived if kind else cls)


class Derived(Made):
    def __init__(self, kind):
        self.kind = kind


@program(vec())
def rules_of_classes(x):
    def grow():
        r = Refused()
        r += 1

    h = Holder()
    before = h.attribute is Holder.__dict__["attribute"]
    h.attribute = 42
    return outcome(lambda: 1 in Refused()), outcome(grow), before, h.attribute, list(h), list(Queue([1, 2])), Made(1).kind, x + 1


@program(vec())
def read_only_attributes(x):
    reference = types.SimpleNamespace(a=1)
    return outcome(setattr, (lambda: 1), "__closure__", ()), outcome(setattr, reference, "__class__", 3), x + 1


@program(vec())
def walks_over_what_changes(x):
    def walk(over, change):
        seen = []
        for each in over:
            seen.append(each)
            change(over)
            if len(seen) > 5:
                return "endless"
        return seen

    def swap(d):
        d[len(d) + max(d)] = d.pop(min(d))

    return (
        outcome(walk, {1, 2, 3}, lambda s: s.add(4)),
        outcome(walk, {1}, lambda s: s.update([7])),
        outcome(walk, {0: 0}, swap),
        outcome(walk, {0: 0, 1: 1}, lambda d: d.update({5: 5})),
        outcome(walk, {0: 0, 1: 1}, lambda d: d.update({1: 5})),
        x + 1,
    )


@program(vec())
def what_holds_itself(x):
    d, items = {}, []
    d["self"] = d
    items.append(items)
    return repr(d), repr(items), outcome(lambda: torch.tensor(items)) is not None, x + 1


@program(vec(), lambda: set("gallahad"))
def orders_of_sets_shown(x, s):
    grown = set("gallahad")
    shrunk = {1, 2, 70, 40}
    shrunk.discard(2)
    return str(s), "".join(s), ",".join(grown), repr(shrunk), list(s), x + 1


@program(vec())
def sets_made_again(x):
    s = set("abc")
    s.__init__("xy")
    return sorted(s), x + 1


@program(vec())
def copies_and_unions(x):
    d = collections.defaultdict(int, {1: 1})
    o = collections.OrderedDict(a=1)
    both, copied = d | {2: 2}, d.copy()
    return type(both), both[5], type(copied), copied[6], type({"b": 1} | o), type(o | {"b": 1}), x + 1


SETTINGS = types.ModuleType("settings")
SETTINGS.level = 1
exec("def read():\n    return level\n\ndef write(value):\n    global level\n    level = value", SETTINGS.__dict__)


@scenario
def variables_of_a_module(compile):
    @compile
    def f(x):
        before = SETTINGS.level
        SETTINGS.level = before + 1
        now = SETTINGS.read()
        SETTINGS.write(now * 10)
        SETTINGS.new = x * 2
        return x * SETTINGS.level, before, now, SETTINGS.new + 1

    out = []
    SETTINGS.level = 1
    for level in (1, 1, 4):
        SETTINGS.level = level
        out.append((f(torch.ones(2)), SETTINGS.level, SETTINGS.new))
        del SETTINGS.new
    return out
