"""Capture of objects by what they are: iterators written by hand, identity checks, id()."""

import subprocess
import sys

import pytest
import torch

import vitrine


class CountsDown:
    """An iterator that is its own iterable, as most hand-written ones are."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class NoIterator:
    def __iter__(self):
        return [1, 2]


@pytest.mark.parametrize("over", [lambda: CountsDown(3), lambda: iter(CountsDown(2)), lambda: NoIterator()])
def test_iterators_written_by_hand(over):
    def f(x, it):
        for n in it:
            x = x * 2 + n
        return x

    def outcome(function):
        try:
            return function(torch.ones(2), over()).tolist()
        except TypeError as error:
            return str(error)

    compiled = vitrine.compile(f)
    for _ in range(3):
        assert outcome(compiled) == outcome(f)


class Registry:
    ONE = object()
    TWO = object()


@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 2)])
def test_an_object_that_happens_to_be_a_known_one(order):
    """`c is Registry.ONE` held once: another c must not get the same answer."""

    def f(x, items, i):
        c = items[i]
        print("break")
        return x + 1, c is Registry.ONE, c is not Registry.TWO

    items = [Registry.ONE, Registry.TWO, object()]
    compiled = vitrine.compile(f)
    for i in order:
        assert compiled(torch.ones(1), items, i)[1:] == f(torch.ones(1), items, i)[1:]
    direct = vitrine.compile(lambda x, c: (x + 1, c is Registry.ONE))
    for i in order:
        assert direct(torch.ones(1), items[i])[1] == (items[i] is Registry.ONE)


def test_id_of_a_guarded_object_is_part_of_the_graph():
    class Holder:
        pass

    def f(x, holder, known):
        return x * (2 if id(holder) in known else 3)

    one, two = Holder(), Holder()
    compiled = vitrine.compile(f, fullgraph=True)
    for holder in (one, two, one):
        assert torch.equal(compiled(torch.ones(2), holder, (id(one),)), f(torch.ones(2), holder, (id(one),)))


def test_modules_made_in_a_graph_after_dynamo_was_used():
    """torch._dynamo patches nn.Module.__init__; a slice of a ModuleList makes a module."""
    script = """
import torch, vitrine
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3)).requires_grad_(False)
def f(x):
    for layer in layers[:2]:
        x = layer(x)
    return x
x = torch.ones(2, 4)
assert torch.equal(vitrine.compile(f, fullgraph=True)(x), f(x))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
