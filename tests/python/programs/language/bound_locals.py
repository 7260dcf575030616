"""A local that one branch binds and another leaves without a value, asked for after a graph break."""

import torch
from tests.python.programs.registry import scenario

ORDERS = ((1, 3, 2, 4), (3, 1, 4, 2))


def each_order(compile, function):
    """What every call gives or raises, each order with a compiled function of its own."""
    seen = []
    for order in ORDERS:
        f = compile(lambda *args: function(*args))
        for n in order:
            try:
                seen.append(f(torch.ones(2), n))
            except NameError as e:
                seen.append((type(e), str(e)))
    return seen


@scenario
def a_local_is_only_read(compile):
    def f(x, n):
        if n > 2:
            v = 1
        print("between")
        try:
            v
        except UnboundLocalError:
            return x - 1
        return x + 1

    return each_order(compile, f)


@scenario
def a_local_is_deleted(compile):
    def f(x, n):
        if n > 2:
            v = x
        print("between")
        try:
            del v
        except UnboundLocalError:
            return x - 1
        return x + 1

    return each_order(compile, f)


@scenario
def a_local_is_passed_on(compile):
    class Box:
        pass

    def f(x, n):
        if n > 2:
            v = 3.0
        print("between")
        box = Box()
        box.v = v
        return vars(box), [x, v]

    return each_order(compile, f)


@scenario
def locals_are_counted(compile):
    def f(x, n):
        if n > 2:
            v = x * 2
        print("between")
        return x + len(locals())

    return each_order(compile, f)


@scenario
def locals_are_listed(compile):
    def f(x, n):
        if n > 2:
            v = x * 2
        print("between")
        y = x + 1
        return y, sorted(locals().items())

    return each_order(compile, f)


@scenario
def a_comprehension_has_its_own(compile):
    def f(x, n):
        if n > 2:
            v = 7
        print("before")
        y = [x + v for v in range(2)]
        z = [print(v) or x - v for v in range(2)]
        print("after")
        try:
            return y, z, v
        except UnboundLocalError:
            return y, z

    return each_order(compile, f)


@scenario
def a_closure_finds_it_empty(compile):
    def f(x, n):
        if n > 2:
            v = 1

        def inner():
            return v

        print("between")
        try:
            return x + inner()
        except NameError:
            return x - 1

    return each_order(compile, f)


@scenario
def a_cell_is_filled_and_emptied(compile):
    def make():
        k = None
        del k

        def f(x):
            try:
                return x + k
            except NameError:
                return x - 1

        def fill(v):
            nonlocal k
            k = v

        def empty():
            nonlocal k
            del k

        return f, fill, empty

    f, fill, empty = make()
    g = compile(f)
    x = torch.ones(2)
    seen = [g(x)]
    for v in (5, 7):
        fill(v)
        seen.append(g(x))
        empty()
        seen.append(g(x))
    return seen
