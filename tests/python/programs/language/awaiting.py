"""Coroutines driven by hand, asynchronous generators and context managers, iterators that are shared."""

import asyncio
import inspect
import itertools

import torch
from tests.python.programs.registry import mat, program, scenario, vec


def driven(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as e:
        return e.value


@program(vec())
def coroutines_await_each_other(x):
    async def leaf(t):
        return t * 2

    async def top(t):
        a = await leaf(t)
        return a + await leaf(a + 1)

    return driven(top(x))


class Gives:
    def __init__(self, t):
        self.t = t

    def __await__(self):
        got = yield self.t
        return got + self.t


@program(vec())
def awaitable_of_its_own(x):
    async def f():
        return 3 * await Gives(x + 1)

    c = f()
    y = c.send(None)
    try:
        c.send(y * 10)
    except StopIteration as e:
        return y, e.value


@program(vec())
def asynchronous_comprehension(x):
    async def numbers():
        for i in range(3):
            yield x + i

    async def main():
        return [t async for t in numbers() if t.shape[0]]

    return driven(main())


@program(vec())
def asynchronous_manager_swallows(x):
    class Manager:
        async def __aenter__(self):
            return x * 2

        async def __aexit__(self, kind, *rest):
            return kind is ValueError

    async def main():
        y = x
        async with Manager() as m:
            y = m + 1
            raise ValueError
        return y

    return driven(main())


@program(vec())
def coroutine_closed_early(x):
    log = []

    async def f():
        try:
            await Gives(x)
        finally:
            log.append("closed")

    c = f()
    y = c.send(None)
    c.close()
    return y, log


@program(mat(3, 2))
def iterators_are_shared(x):
    a, b, c = itertools.tee(x, 3)
    first = next(a)
    rest = list(b)
    some, others = itertools.tee(iter([1, 2, 3]))
    next(some)
    try:
        itertools.tee([], -1)
    except ValueError as e:
        text = str(e)
    return first, rest, [t * 2 for t in a], next(c), sum(some), list(others), text, itertools.tee("a", 0)


@program(vec())
def generator_resumed_between_writes(x):
    y = x.clone()

    def steps():
        while True:
            k = yield y.sum()
            y.add_(k)

    g = steps()
    before = next(g)
    return before, g.send(1), g.send(torch.ones(())), y


@scenario
def inspect_tells_what_was_compiled(compile):
    async def awaited(x):
        return x * 2

    async def asynchronous(x):
        yield x * 2

    def generates(x):
        yield x * 2

    def plain(x, *, scale=2):
        return x * scale

    out = []
    for f in (awaited, asynchronous, generates, plain):
        g = compile(f)
        out += [inspect.iscoroutinefunction(g), asyncio.iscoroutinefunction(g), inspect.isasyncgenfunction(g)]
        out += [inspect.isgeneratorfunction(g), g.__code__ is f.__code__, g.__defaults__, g.__kwdefaults__]
    return out
