"""The table of programs: each @program is run eagerly and compiled, several times, on equal fresh arguments; values,
strides, prints, exceptions, argument mutation and the object graph must be the same."""

import math

import torch

PROGRAMS: dict[str, tuple] = {}
SCENARIOS: dict[str, object] = {}


def program(*make):
    """Registers a program with its argument makers: one callable an argument, or one value that is used as it is."""

    def register(function):
        name = function.__name__
        while name in PROGRAMS:
            assert PROGRAMS[name][0] is function, f"two programs called {name}"
            name += "'"
        PROGRAMS[name] = (function, make)
        return function

    return register


def scenario(function):
    """Registers function(compile), which compiles what it likes, calls it several times while the world changes in between,
    and returns all it saw. It runs with compile = identity, then for real: what it returns, prints and raises must be equal."""
    assert function.__name__ not in SCENARIOS, f"two scenarios called {function.__name__}"
    SCENARIOS[function.__name__] = function
    return function


def vec(n=6):
    return lambda: torch.arange(float(n)) - 2


def mat(*shape):
    return lambda: torch.arange(float(math.prod(shape))).reshape(shape) / 7 - 1
