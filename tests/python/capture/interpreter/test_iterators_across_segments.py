"""Iterators that existed before a segment: made before a break, or passed in."""

import itertools
import sys

import pytest
import torch
import vitrine
from tests.python.support.same_as_eager import check

PROGRAMS = []


def program(breaks, iterator=None):
    def register(function):
        PROGRAMS.append(pytest.param(function, iterator, breaks, id=function.__name__))
        return function

    return register


def X():
    return torch.arange(16.0).view(4, 4) * 0.1


@program(1)
def wrapped(x):
    pairs = enumerate(zip([x, x + 1, x + 2], reversed((1, 2, 3))))
    next(pairs)
    print(end="")
    for i, (t, k) in pairs:
        x = x + t * k + i
    return x


@program(1)
def chained(x):
    parts = itertools.chain([x, x + 1], [x + 2], [])
    y = next(parts)
    print(end="")
    for t in parts:
        y = y * t
    return y, list(parts)


@program(1)
def counted(x):
    numbers, steps = itertools.count(2), itertools.count(1.5, 2)
    next(numbers)
    print(end="")
    return x * next(numbers) + next(numbers) * next(steps), next(numbers), next(steps)


@program(1)
def repeated(x):
    same, endless = itertools.repeat(3, 3), itertools.repeat(x)
    next(same)
    print(end="")
    for t, more in zip(same, endless):
        x = x + t * more
    return x, list(same)


@program(1)
def sliced(x):
    some = itertools.islice([x, x * 2, x * 3, x * 4, x * 5, x * 6], 1, 5, 2)
    y = next(some)
    print(end="")
    for t in some:
        y = y + t
    return y


@program(0, lambda: itertools.count(1))
def count_passed(x, it):
    return x * next(it) + next(it)


@program(0, lambda: itertools.chain([1], (2, 3), [4]))
def chain_passed(x, it):
    return x * next(it) + next(it)


@program(0, lambda: itertools.chain.from_iterable([[1], (2, 3)]))
def chain_passed_and_drained(x, it):
    return [x * i for i in it]


@program(0, lambda: itertools.islice([1, 2, 3, 4, 5], 1, 4))
def islice_passed(x, it):
    return x * next(it) + next(it)


@program(0, lambda: itertools.repeat(2, 4))
def repeat_passed(x, it):
    return x * next(it) + next(it)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there itertools warns when asked for its state")
@pytest.mark.parametrize("function, iterator, breaks", PROGRAMS)
def test_only_forced_breaks(function, iterator, breaks):
    def make():
        return [X(), iterator()] if iterator else [X()]

    vitrine.reset()
    with torch.no_grad():
        explained = vitrine.explain(function)(*make())
        assert explained.graph_break_count == breaks, explained
        compiled = vitrine.compile(function)
        for _ in range(3):
            ours, eager = make(), make()
            torch.testing.assert_close(compiled(*ours), function(*eager))
            if iterator:  # what is left in it
                assert list(itertools.islice(ours[1], 3)) == list(itertools.islice(eager[1], 3))
        check(function, compiled, make)


def test_another_state_is_another_program():
    compiled = vitrine.compile(lambda x, it: x * next(it, 7))
    x = torch.ones(2)
    with torch.no_grad():
        for make in (lambda: itertools.chain([1], [2]), lambda: itertools.repeat(5, 1), lambda: itertools.islice([3, 4], 1)):
            it, same = make(), make()
            for _ in range(3):
                torch.testing.assert_close(compiled(x, it), x * next(same, 7))


EXHAUSTED = {
    "list": lambda: iter([1, 2]), "tuple": lambda: iter((1, 2)), "range": lambda: iter(range(2)), "enumerate": lambda: enumerate([1]),
    "zip": lambda: zip([1], (2,)), "map": lambda: map(abs, [1, 2]), "filter": lambda: filter(None, [1, 0]),
    "reversed list": lambda: reversed([1, 2]), "reversed tuple": lambda: reversed((1, 2)), "chain": lambda: itertools.chain([1], [2]),
    "keys": lambda: iter({1: 2}), "values": lambda: iter({1: 2}.values()), "items": lambda: iter({1: 2}.items()), "text": lambda: iter("ab"),
    "repeat": lambda: itertools.repeat(1, 2), "islice": lambda: itertools.islice([1, 2], 1),
}  # fmt: skip


@pytest.mark.parametrize("make", EXHAUSTED.values(), ids=EXHAUSTED)
def test_an_exhausted_iterator_is_still_one_of_its_kind(make):
    def program(x):
        it = make()
        for _ in it:
            x = x + 1
        return it, x

    vitrine.reset()
    (ours, found), (eager, expected) = vitrine.compile(program)(X()), program(X())
    torch.testing.assert_close(found, expected)
    assert type(ours) is type(eager) and list(ours) == []


def test_an_exhausted_iterator_does_not_see_what_is_appended():
    def program(x):
        items = [1]
        it = iter(items)
        for i in it:
            x = x + i
        items.append(2)
        return it, items, x

    it, items, _ = vitrine.compile(program)(X())
    items.append(3)
    assert list(it) == []


@pytest.mark.parametrize("wrap", [iter, enumerate, lambda numbers: zip(numbers, numbers)], ids=["plain", "enumerate", "zip"])
def test_a_long_range_is_not_listed(wrap):
    """A loop that ends by what it has computed: each check of a segment behind its start would list the range."""
    def f(x):
        for _ in wrap(range(100_000)):
            x = x + 1
            if x.sum() > 10:
                break
        return x

    compiled = vitrine.compile(f)
    for start in (0.0, 3.0):
        x = torch.full((2,), start)
        assert torch.equal(compiled(x), f(x))
    explanation = vitrine.explain(f)(torch.zeros(2))
    assert explanation.graph_breaks[0].kind == "data_dependent_branch"
    assert not [guard for guard in explanation.guards if "rest(" in guard]
