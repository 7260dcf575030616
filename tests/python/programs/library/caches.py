"""Functions with a functools.lru_cache, which give again what they have kept."""

import functools
import logging

import torch
from tests.python.programs.registry import program, scenario, vec

TABLE = {"rate": 2}
seen = []


@functools.lru_cache
def rate(name, *, scale=1):
    seen.append(name)
    return TABLE[name] * scale


@functools.cache
def table_of(n):
    return torch.arange(float(n)) * TABLE["rate"]


@functools.lru_cache(maxsize=2)
def small(n):
    return [n, TABLE["rate"]]


class Warns:
    def __init__(self):
        self.said = []

    @functools.lru_cache(None)  # noqa: B019
    def once(self, text):
        self.said.append(text)


def clear():
    TABLE["rate"] = 2
    seen.clear()
    for function in (rate, table_of, small):
        function.cache_clear()


@scenario
def kept_results(compile):
    clear()
    f = compile(lambda x: x * rate("rate") + rate("rate", scale=3) + rate("rate"))
    x = torch.ones(2)
    out = [f(x), f(x), list(seen), rate.cache_info()[:2]]
    TABLE["rate"] = 5
    out += [f(x), rate.cache_info()[:2]]
    rate.cache_clear()
    return out + [f(x), f(x), list(seen), rate.cache_info()]


@scenario
def kept_before_the_first_call(compile):
    clear()
    rate("rate"), rate("rate", scale=3)
    f = compile(lambda x: x * rate("rate") + rate("rate", scale=3))
    out = [f(torch.ones(2)), f(torch.ones(3)), list(seen), rate.cache_info()]
    TABLE["rate"] = 7
    return out + [f(torch.ones(2)), seen]


@scenario
def kept_tensors_are_the_same_tensor(compile):
    clear()
    f = compile(lambda x: (x + table_of(x.shape[0]), table_of(2)))
    x = torch.ones(2)
    a, b, c = f(x), f(x), f(torch.ones(3))
    table_of(2).mul_(10)
    d = f(x)
    return a[0], b[0], c[0], d[0], a[1] is b[1], c[1] is table_of(2), d[1] is a[1]


@scenario
def small_cache_forgets(compile):
    clear()
    f = compile(lambda x, n: (x * small(n)[1], small(n)))
    x = torch.ones(2)
    out = []
    for n, value in ((1, 2), (1, 3), (2, 4), (3, 5), (1, 6), (2, 7), (1, 8), (1, 9), (3, 10)):
        TABLE["rate"] = value
        y, kept = f(x, n)
        out += [y, list(kept), small.cache_info()[:2], kept is small(n)]
    return out


@scenario
def kept_lists_change(compile):
    clear()
    f = compile(lambda x: x * small(1)[1] + len(small(1)))
    x = torch.ones(2)
    out = [f(x), f(x)]
    small(1)[1] = 50
    out.append(f(x))
    small(1).append(0)
    return out + [f(x), f(x)]


@program(vec(), lambda: Warns())
def says_it_once(x, w):
    w.once("a")
    y = x + 1
    w.once("b")
    w.once("a")
    return y, list(w.said)


@scenario
def warns_once_a_process(compile):
    said = []
    logger = logging.getLogger("vitrine_odd_once")
    logger.propagate = False
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger.addHandler(handler)
    once = functools.lru_cache(None)(lambda logger, text: logger.warning(text))

    def f(x):
        once(logger, "slow path")
        return x + 1

    c = compile(f)
    out = [c(torch.ones(2)) for _ in range(3)]
    logger.removeHandler(handler)
    return out, said, once.cache_info()[:2]


def refusal(function, *args):
    try:
        return function(*args)
    except TypeError as error:
        return str(error)


@functools.lru_cache
def worded(value):
    return repr(value)


@functools.lru_cache(typed=True)
def worded_by_class(value):
    return repr(value)


@program(vec())
def arguments_without_a_hash(x):
    y = x + 1
    return y * 2, [refusal(worded, given) for given in ([], {1: 2}, (1, []))]


@program(vec())
def equal_arguments_of_other_classes(x):
    for cached in (worded, worded_by_class):
        cached.cache_clear()
    y = x + 1
    given = (1, True, 1.0, (1,), (True,), (1.0,), (0, "a"), (False, "a"))
    return y * 2, [[cached(value) for value in given] for cached in (worded, worded_by_class)]


class Numbers(type):
    @functools.cached_property
    def first(cls):
        return 1


class One(metaclass=Numbers):
    pass


class Nameless:
    pass


Nameless.late = functools.cached_property(lambda self: 1)


@program(vec())
def properties_that_cannot_be_kept(x):
    y = x + 1
    return y * 2, refusal(lambda: One.first), refusal(lambda: Nameless().late)
