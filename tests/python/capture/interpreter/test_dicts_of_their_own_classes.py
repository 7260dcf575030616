"""Dicts of other classes: the order that an ordered one has, and what a class gives where a key is missing."""

import collections

import pytest
import torch

import vitrine


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    vitrine.reset()


class Ordered(collections.OrderedDict):
    pass


@pytest.mark.parametrize("own", [collections.OrderedDict, Ordered])
@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_views_that_are_returned_have_the_order_of_their_dict(own, view):
    def f(x, d, last):
        d.move_to_end(last)
        return x, getattr(d, view)()

    compiled = vitrine.compile(f, fullgraph=True, backend="eager")
    for last in "ab":
        theirs, ours = (own(a=1, b=2, c=3) for _ in range(2))
        for d in (theirs, ours):
            d.move_to_end("b")  # what dict itself says has been another order since
        expected, got = (
            f(None, theirs, last)[1],
            compiled(torch.zeros(1), ours, last)[1],
        )
        assert type(got) is type(expected) and list(got) == list(expected)
        ours["z"] = 26  # a view: it shows that, too
        assert len(got) == 4


class Filled(dict):
    def __missing__(self, key):
        self[key] = made = f"made for {key}"
        return made


class AsksDict(Filled):
    def __getitem__(self, key):
        return "got", super().__getitem__(key)


@pytest.mark.parametrize(
    "make",
    [
        lambda: collections.defaultdict(list),
        collections.Counter,
        Filled,
        AsksDict,
        dict,
    ],
)
@pytest.mark.parametrize(
    "spelled",
    [
        lambda d, k: d[k],
        lambda d, k: d.__getitem__(k),
        lambda d, k: dict.__getitem__(d, k),
    ],
)
def test_a_missing_key_is_asked_of_its_class_however_it_is_spelled(make, spelled):
    def f(x, d, key):
        try:
            return x, spelled(d, key), "found"
        except KeyError as error:
            return x, error.args, "missing"

    compiled = vitrine.compile(f, fullgraph=True, backend="eager")
    theirs, ours = make(), make()
    for key in ("a", 7, "a"):
        assert compiled(torch.zeros(1), ours, key)[1:] == f(None, theirs, key)[1:]
    assert ours == theirs
