"""Loops that go on after a break."""

import torch
from tests.python.programs.registry import program, vec
from torch import nn


@program(vec())
def enumerate_with_break(x):
    for i, scale in enumerate([1.0, 2.0, 3.0, 4.0], start=2):
        x = torch.relu(x * scale) + i
        if i == 3:
            print("at", i)
    return x


@program(vec())
def zip_with_break(x):
    for a, b in zip([1.0, 2.0, 3.0], (4.0, 5.0)):
        print("zip")
        x = x * a + b
    return x


@program(vec())
def strict_zip_with_break(x):
    for a, b in zip([1.0, 2.0, 3.0], (4.0, 5.0), strict=True):
        print("zip")
        x = x * a + b
    return x


@program(vec())
def map_with_break(x):
    seen = []

    def step(n):
        seen.append(n)
        return n + 1

    for a in map(step, [1.0, 2.0, 3.0]):
        print(len(seen))
        x = x * a + len(seen)
    return x, seen


@program(vec())
def filter_with_break(x):
    for a in filter(None, [0.0, 2.0, 0.0, 3.0]):
        print("filter")
        x = x * a
    return x


@program(vec())
def reversed_with_break(x):
    for a in reversed([1.0, 2.0, 3.0]):
        print("reversed")
        x = x * a + a
    for a in reversed((1.0, 2.0)):
        print("reversed")
        x = x - a
    return x


@program(vec())
def dict_items_with_break(x):
    for i, (name, a) in enumerate({"a": 1.0, "b": 2.0, "c": 3.0}.items()):
        print(name)
        x = x * a + i
    return x


@program(vec())
def nested_wrappers_with_break(x):
    for i, ((a, b), c) in enumerate(zip(zip([1.0, 2.0], [3.0, 4.0]), "ab")):
        print(i, c)
        x = x * a + b
    return x


@program(vec())
def enumerate_over_map_with_break(x):
    for i, a in enumerate(map(abs, [-1.0, 2.0, -3.0])):
        print(i)
        x = x * a
    return x


@program(vec())
def shared_iterator_with_break(x):
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    for i, a in enumerate(it):
        print(i)
        x = x * a + next(it, 7.0)
    return x, list(it), i


@program(vec())
def iterator_is_left_advanced(x):
    it = enumerate([1.0, 2.0, 3.0, 4.0])
    print("made")
    i, a = next(it)
    y = x * a + i
    print("again")
    _, b = next(it)
    return y * b, list(it)


@program(vec())
def exhausted_iterator_stays_exhausted(x):
    data = [1.0]
    it = iter(data)
    print("made")
    for a in it:
        x = x * a
    data.append(2.0)
    return x, list(it)


@program(vec())
def generator_with_break(x):
    for a in (n * 2.0 for n in range(3)):
        print("generator")
        x = x * a + 1
    return x


@program(vec())
def list_grows_while_iterated(x):
    data = [1.0, 2.0]
    for a in data:
        print(a)
        x = x * a
        if len(data) < 4:
            data.append(a + 2)
    return x, data


@program(vec())
def dict_changes_while_iterated(x):
    data = {"a": 1.0, "b": 2.0}
    for name in data:
        print(name)
        data[name + "2"] = 3.0
        x = x * 2
    return x


@program(vec())
def dict_values_change_while_iterated(x):
    data = {"z": 0.0, "a": 1.0, "b": 2.0, "c": 3.0}
    del data["z"]
    for name in data:
        data[name] = x * data[name]
        print(name)
    return data


@program(vec())
def set_with_break(x):
    for a in {2.0, 3.0}:
        print("set")
        x = x * a
    return x


SOME_NUMBERS = {3, 1, 2}
BACKWARDS = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])


@program(vec())
def sets_in_their_order(x):
    for a in SOME_NUMBERS:
        x = x * 2 + a
    for a in {5, 6, 7}:
        x = x * 2 + a
    return x, [a for a in SOME_NUMBERS]


@program(vec())
def reversed_modules(x):
    for layer in reversed(BACKWARDS):
        x = layer(x)
    for i, layer in enumerate(reversed(BACKWARDS)):
        x = layer(x) + i
        print(i)
    return x


@program(vec(), lambda: {"a": 2.0, "b": [1.0, 3.0]})
def match_statements(x, d):
    out = []
    for subject in (d, [1.0, 2.0], (x, 3.0), "text", 5, {"a": 7.0}, x, {}):
        match subject:
            case {"a": n, "b": [first, *rest], **others}:
                out.append(x * n + first + sum(rest) + len(others))
            case {"a": n}:
                out.append(x * n)
            case [float() as a, b]:
                out.append(x * a + b)
            case [torch.Tensor() as t, b]:
                out.append(t + b)
            case str() | int():
                out.append(x * 4)
            case {}:
                out.append(x * 5)
            case _:
                out.append(subject + 1)
    return out


@program(vec())
def matched_shapes(x):
    match (x.view(2, 3).shape, {"k": x}):
        case ([rows, 3], {"k": y}):
            return y * rows
    return x
