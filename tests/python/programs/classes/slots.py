"""Slots that are empty, filled and emptied, attributes and parts of lists that go, sets that change in place."""

import functools

import torch
from tests.python.programs.registry import program, scenario, vec


class Pair:
    __slots__ = ("a", "b", "c")

    def __init__(self, a, b):
        self.a = a
        self.b = b


class WithDict(Pair):
    pass


class Bag:
    def __init__(self, **items):
        self.__dict__.update(items)


@program(vec(), lambda: Pair(1, torch.ones(3)))
def slots_emptied_and_filled(x, p):
    y = x * p.a
    before = hasattr(p, "c")
    p.a = 4
    p.c = x
    del p.b
    t = Pair(x, 2)
    del t.b
    return y + p.c, before, hasattr(p, "b"), hasattr(t, "b"), getattr(p, "b", None), t.a * p.a


@program(vec(), lambda: Bag(u=1, v=[1, 2, 3], s={1, 2}))
def attributes_deleted(x, o):
    y = x * o.u
    del o.u
    del o.v[1:]
    delattr(o, "s")
    return y, hasattr(o, "u"), o.v


@program(vec(), lambda: Pair(1, 2), lambda: Bag(u=1))
def deleted_twice(x, p, o):
    del o.u
    del p.b
    try:
        del p.b
    except AttributeError as e:
        return x + 1, str(e)


@program(vec(), lambda: list(range(9)), lambda: slice(None, None, 2))
def slices_deleted(x, l, s):
    del l[::3]
    l[s] = [0] * len(l[s])
    del l[::-2]
    return x[s], l


@program(vec(), lambda: {1, 2, 3})
def sets_in_place(x, s):
    same = s
    s |= {9}
    s &= {1, 2, 9}
    s -= {2}
    s ^= {1, 5}
    return x * len(s), same is s, sorted(s)


@scenario
def slots_change_between_calls(compile):
    p, q, out = Pair(0, 0), WithDict(0, 0), []
    f = compile(lambda x: (x * p.a * q.a, hasattr(p, "c"), hasattr(q, "c")))
    for i in range(8):
        p.a = q.a = i // 2
        if i == 5:
            p.c = q.c = 1
        out.append(f(torch.ones(2)))
    return out


class Wrapping(functools.partial):
    """Made by C code of its own, as a partial is: not by object.__new__."""

    __slots__ = "func"

    def __init__(self, func):
        self.func = func


def unwrapped(function):
    while isinstance(function, functools.partial):
        function = function.func
    return function


def scaled_by(n, y):
    return y * n


@program(vec())
def a_partial_with_a_slot(x):
    made = Wrapping(functools.partial(scaled_by, 2))
    made = functools.update_wrapper(made, scaled_by, updated=())
    print(made.__name__)
    return made(x), unwrapped(made)(3, x), type(made).__name__, Wrapping(made)(x)
