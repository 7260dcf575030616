"""Methods that take items out of sets, of one made inside and of one that was there before: as in eager, without a break."""
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
