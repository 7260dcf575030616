"""Read-only views of dicts, of signatures and of the program's own, that were there before."""

import inspect
import types

import torch
from tests.python.programs.registry import program, scenario, vec


def scaled(x, factor=3, *, shift=1):
    return x * factor + shift


SIGNATURE = inspect.signature(scaled)
SHOWN = {"factor": 2.0, "shift": 1.0}
VIEW = types.MappingProxyType(SHOWN)


@program(vec())
def arguments_bound(x):
    bound = SIGNATURE.bind(x, shift=4)
    bound.apply_defaults()
    return bound.arguments["x"] * bound.arguments["factor"], dict(bound.kwargs), list(SIGNATURE.parameters)


@program(vec())
def ways_to_read(x):
    total = sum(VIEW.values()) + VIEW["factor"] + VIEW.get("none", 5)
    return x * total, list(VIEW), dict(VIEW.items()), len(VIEW), "shift" in VIEW, {**VIEW}, type(VIEW), VIEW, VIEW.copy()


@program(vec())
def no_way_to_write(x):
    seen = []
    try:
        VIEW["factor"] = 1
    except TypeError as error:
        seen.append(str(error))
    try:
        del VIEW["factor"]
    except TypeError:
        seen.append("not deleted")
    return x + 1, seen, hasattr(VIEW, "update"), hasattr(VIEW, "keys")


@scenario
def shown_and_changed(compile):
    inner = {"a": 1.0, "b": 2.0}
    view = types.MappingProxyType(inner)

    def read(x):
        return x * sum(view.values()) + view["a"], list(view)

    def change(x, value):
        before = list(view.values())
        inner["a"] = value
        return x * view["a"], before, list(view.values())

    f, g = compile(read), compile(change)
    out = [f(torch.ones(2)), f(torch.ones(2))]
    inner["a"] = 5.0
    out.append(f(torch.ones(2)))
    inner["c"] = 7.0
    out.append(f(torch.ones(2)))
    del inner["b"]
    out.append(f(torch.ones(2)))
    out += [g(torch.ones(2), 3.0), g(torch.ones(2), 4.0)]
    view = types.MappingProxyType({"a": 9.0})
    return [*out, f(torch.ones(2)), g(torch.ones(2), 6.0), f(torch.ones(2))]


@program(vec())
def walked_over_breaks(x):
    for name in VIEW:
        print(name)
        x = x + 1
    for _, factor in VIEW.items():
        print(factor)
        x = x * factor
    for name, parameter in SIGNATURE.parameters.items():
        print(name, parameter.kind)
    for factor in VIEW.values():
        print(factor)
    return x, VIEW.items(), VIEW.keys(), str(VIEW.values())


@program(vec())
def views_that_cross_a_break(x):
    items, keys, values, names = VIEW.items(), VIEW.keys(), VIEW.values(), iter(VIEW)
    print("here")
    return x + 1, list(items), list(keys), list(values), list(names), type(items)
