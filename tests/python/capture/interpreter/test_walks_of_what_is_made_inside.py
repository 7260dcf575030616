"""A dict or list of a class of its own, or the __dict__ of an object, that is made inside of compiled code: who walks over it when
the code breaks, or is given away, meets all that it holds."""

import collections
import itertools

import pytest
import torch

import vitrine


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    vitrine.reset()


class Own(dict):
    pass


class Plain:
    pass


def of_an_object(held):
    made = Plain()
    for name, value in held.items():
        setattr(made, name, value)
    return vars(made)


DICTS = {
    "dict": dict,
    "own": Own,
    "ordered": collections.OrderedDict,
    "counter": collections.Counter,
    "default": lambda held: collections.defaultdict(int, held),
    "vars": of_an_object,
}
WALKS = {
    "itself": lambda d: d,
    "keys": lambda d: d.keys(),
    "values": lambda d: d.values(),
    "items": lambda d: d.items(),
    "iter": lambda d: iter(d),
    "iter of items": lambda d: iter(d.items()),
    "reversed": lambda d: reversed(d),
    "reversed items": lambda d: reversed(d.items()),
    "zip": lambda d: zip(d, d.values()),
    "enumerate": lambda d: enumerate(d.items()),
    "map": lambda d: map(str, d),
}


@pytest.mark.parametrize("kind", DICTS)
@pytest.mark.parametrize("walk", WALKS)
def test_a_break_in_a_loop_over_it(kind, walk):
    make, walked = DICTS[kind], WALKS[walk]

    def f(x):
        held = make({"a": 1, "b": 2, "c": 3})
        seen = []
        for item in walked(held):
            x = x + 1
            torch._dynamo.graph_break()
            seen.append(item)
        return x, seen, dict(held)

    expected, got = f(torch.zeros(2)), vitrine.compile(f, backend="eager")(torch.zeros(2))
    assert torch.equal(expected[0], got[0]) and expected[1:] == got[1:]


@pytest.mark.parametrize("kind", DICTS)
@pytest.mark.parametrize("walk", [walk for walk in WALKS if walk not in ("itself", "keys", "values", "items")])
@pytest.mark.parametrize("taken", [0, 1])
def test_an_iterator_over_it_is_given_away(kind, walk, taken):
    make, walked = DICTS[kind], WALKS[walk]

    def f(x):
        held = make({"a": 1, "b": 2, "c": 3})
        walking = walked(held)
        for _ in range(taken):
            next(walking)
        return x + 1, walking, held

    expected, got = f(torch.zeros(2)), vitrine.compile(f, backend="eager")(torch.zeros(2))
    assert list(expected[1]) == list(got[1])
    assert type(expected[2]) is type(got[2]) and expected[2] == got[2]


class OwnList(list):
    pass


WALKS_OF_LISTS = {
    "itself": iter,
    "reversed": reversed,
    "enumerate": enumerate,
    "zip": lambda items: zip(items, items),
    "map": lambda items: map(str, items),
    "chain": lambda items: itertools.chain(items, items),
}


@pytest.mark.parametrize("walk", WALKS_OF_LISTS)
def test_a_list_of_a_class_of_its_own(walk):
    walked = WALKS_OF_LISTS[walk]

    def breaks(x):
        seen = []
        for item in walked(OwnList([1, 2, 3])):
            x = x + 1
            torch._dynamo.graph_break()
            seen.append(item)
        return x, seen

    def given_away(x):
        walking = walked(OwnList([1, 2, 3]))
        next(walking)
        return x + 1, walking

    for f in (breaks, given_away):
        expected, got = f(torch.zeros(2)), vitrine.compile(f, backend="eager")(torch.zeros(2))
        assert torch.equal(expected[0], got[0]) and list(expected[1]) == list(got[1])


def sets_one(o):
    o.c = 3


def takes_one(o):
    del o.a


def writes_to_its_dict(o):
    vars(o)["c"] = 3


@pytest.mark.parametrize("change", [sets_one, takes_one, writes_to_its_dict])
def test_the_dict_of_an_object_that_was_there_and_changes(change):
    def f(x, o):
        change(o)
        seen = []
        for name, value in vars(o).items():
            x = x + 1
            torch._dynamo.graph_break()
            seen.append((name, value))
        return x, seen

    def fresh():
        made = Plain()
        made.a, made.b = 1, 2
        return made

    theirs, ours = fresh(), fresh()
    expected, got = f(torch.zeros(2), theirs), vitrine.compile(f, backend="eager")(torch.zeros(2), ours)
    assert torch.equal(expected[0], got[0]) and expected[1] == got[1] and vars(theirs) == vars(ours)
