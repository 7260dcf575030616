"""Methods that take items out of sets, of one made inside and of one that was there before: as in eager, without a break. And what
sets and their like answer, or refuse."""

import collections

import pytest
import torch

import vitrine

CHANGES = {
    "remove": lambda s: s.remove(2),
    "discard what is not there": lambda s: s.discard(9),
    "clear": lambda s: s.clear(),
    "clear and add": lambda s: (s.clear(), s.add(7)),
    "difference of a set": lambda s: s.difference_update({1, 3}),
    "difference of lists": lambda s: s.difference_update([1], (3,)),
    "difference of itself": lambda s: s.difference_update(s),
    "intersection": lambda s: s.intersection_update({2, 3, 4}),
    "symmetric difference": lambda s: s.symmetric_difference_update([2, 5]),
    "all of them": lambda s: (s.remove(1), s.difference_update({2}), s.symmetric_difference_update({4}), s.clear(), s.update({8, 9})),
}


@pytest.mark.parametrize("name", CHANGES)
def test_as_in_eager(name):
    change = CHANGES[name]
    vitrine.reset()  # one code object for all changes

    def made_inside(x):
        s = {1, 2, 3}
        change(s)
        return x + len(s) + (2 in s), s

    def from_outside(x, s):
        change(s)
        return x + len(s) + (2 in s)

    x = torch.zeros(2)
    compiled = vitrine.compile(made_inside)
    for _ in range(2):
        expected, got = made_inside(x), compiled(x)
        assert torch.equal(expected[0], got[0]) and expected[1] == got[1] and list(expected[1]) == list(got[1])
    compiled = vitrine.compile(from_outside)
    for start in ({1, 2, 3}, {1, 2, 3}, {1, 2, 3, 40}):
        there, here = set(start), set(start)
        assert torch.equal(from_outside(x, there), compiled(x, here))
        assert there == here and list(there) == list(here)
    for function, args in ((made_inside, (x,)), (from_outside, (x, {1, 2, 3}))):
        assert [str(b) for b in vitrine.explain(function)(*args).graph_break_reasons] == []


def test_what_is_left_is_walked_in_order():
    def function(x):
        names = {"width", "height", "depth"}
        names.remove("height")
        names.discard("no")
        return [x + len(n) for n in names]

    assert [t.tolist() for t in vitrine.compile(function)(torch.zeros(1))] == [t.tolist() for t in function(torch.zeros(1))]


def test_an_item_that_is_not_there():
    def function(x, s):
        y = x + 1
        s.remove("absent")
        return y

    with pytest.raises(KeyError, match="absent"):
        vitrine.compile(function)(torch.ones(1), {"there"})

    def caught(x, s):
        try:
            s.remove("absent")
        except KeyError:
            return x - 1
        return x

    assert vitrine.compile(caught)(torch.ones(1), {"there"}).tolist() == [0.0]


class OwnSet(set):
    pass


class OwnFrozen(frozenset):
    pass


@pytest.mark.parametrize("own", [OwnSet, OwnFrozen, set, frozenset])
@pytest.mark.parametrize("held", ["ab", ""])
def test_a_set_of_any_class_equals_a_frozenset_that_holds_the_same(own, held):
    vitrine.reset()
    fixed, given = frozenset(held), own(held)

    def f(x, other):
        return x, fixed == other, other == fixed, fixed != other, other != fixed, other == frozenset("abc")

    expected = (True, True, False, False, False)
    assert vitrine.compile(f, fullgraph=True, backend="eager")(torch.zeros(1), given)[1:] == expected == f(None, given)[1:]


ITERATED = {"set": lambda: {2, 9}, "frozenset": lambda: frozenset({2, 9}), "keys": lambda: {2: 0, 9: 0}.keys()}


@pytest.mark.parametrize("kind", ITERATED)
@pytest.mark.parametrize("method", ["isdisjoint", "issuperset"])
def test_an_iterator_is_asked_up_to_the_item_that_decides(kind, method):
    if not hasattr(ITERATED[kind](), method):
        pytest.skip("no such method")
    vitrine.reset()

    def f(x, first):
        asked = []

        def numbers():
            for number in (first, 2, 3):
                asked.append(number)
                yield number

        walked = iter([first, 2, 3])
        answers = getattr(ITERATED[kind](), method)(numbers()), getattr(ITERATED[kind](), method)(walked)
        return x, answers, asked, list(walked)

    compiled = vitrine.compile(f, fullgraph=True, backend="eager")
    for first in (1, 2, 9):
        assert compiled(torch.zeros(1), first)[1:] == f(None, first)[1:]


REFUSED = {
    "clear": lambda s: s.clear(1),
    "keys": lambda s: dict.fromkeys(s).keys(1),
    "no argument": lambda s: s.symmetric_difference_update(),
    "deque": lambda s: collections.deque(s).append(1, 2),
    "popleft": lambda s: collections.deque(s).popleft(1),
    "copy": lambda s: collections.OrderedDict.fromkeys(s).copy(1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_a_method_does_not_take_are_refused(name):
    vitrine.reset()
    call = REFUSED[name]

    def f(x, s):
        try:
            call(s)
        except TypeError as error:
            return x, str(error), s
        return x, "nothing", s

    assert vitrine.compile(f)(torch.zeros(1), {1, 2})[1:] == f(None, {1, 2})[1:]
