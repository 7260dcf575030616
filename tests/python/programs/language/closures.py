"""Closures, globals, defaults."""

import functools

import torch
from tests.python.programs.registry import program, vec


COUNTER = {"calls": 0}
SCALE = 2.5


@program(vec())
def global_counter(x):
    COUNTER["calls"] += 1
    return x * SCALE


GLOBAL_NUMBER = 0


@program(vec())
def global_statement(x):
    global GLOBAL_NUMBER
    GLOBAL_NUMBER += 1
    return x + GLOBAL_NUMBER


@program(vec())
def nonlocal_counter(x):
    n = 0

    def bump(t):
        nonlocal n
        n += 1
        return t + n

    return bump(bump(x)), n


@program(vec())
def returns_closure_result(x):
    fs = [lambda t, k=k: t * k for k in range(3)]
    return [f(x) for f in fs]


@program(vec())
def late_binding(x):
    fs = [lambda t: t * k for k in range(3)]
    return sum(f(x) for f in fs)


@program(vec())
def mutable_default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


@program(vec())
def keyword_only(x):
    def f(a, /, b=2, *args, c, d=4, **kw):
        return a * b + c + d + len(args) + sum(kw.values())

    return f(x, 1, 2, 3, c=x, e=5), f(x, c=1)


@program(vec())
def star_args(x):
    def f(*a, **k):
        return a[0] + k["z"] * len(a)

    return f(*[x, 1, 2], **{"z": 3})


@program(vec())
def decorated_inside(x):
    def twice(f):
        @functools.wraps(f)
        def g(*a):
            return f(f(*a))

        return g

    @twice
    def inc(t):
        return t + 1

    return inc(x)


@program(vec())
def partial_call(x):
    return functools.partial(torch.add, x, alpha=3)(x)


@functools.lru_cache(None)
def cached_factor(n):
    return n * 2


@program(vec())
def lru_cache_inside(x):
    return x * cached_factor(3)


def world():
    """What these programs change outside their arguments."""
    return GLOBAL_NUMBER, dict(COUNTER), len(mutable_default.__defaults__[0])


def reset_world():
    global GLOBAL_NUMBER
    GLOBAL_NUMBER = 0
    COUNTER["calls"] = 0
    mutable_default.__defaults__[0].clear()
