"""Odd programs: containers."""

import collections

import torch
from odd.registry import program, vec


@program(lambda: {"b": torch.ones(2), "a": torch.zeros(2)})
def dict_iteration(d):
    return {k: v + i for i, (k, v) in enumerate(d.items())}, list(d)


@program(vec())
def comprehensions(x):
    parts = [x[i] * i for i in range(3)]
    table = {i: p for i, p in enumerate(parts)}
    unique = {i % 2 for i in range(5)}
    return torch.stack(parts), table, sorted(unique)


@program(vec())
def generator_expression(x):
    return sum(t for t in (x * i for i in range(4)))


@program(vec())
def generator_function(x):
    def gen():
        yield x
        yield x + 1

    return [g * 2 for g in gen()]


@program(vec())
def zip_enumerate_reversed(x):
    out = 0
    for i, (a, b) in enumerate(zip(reversed([x, x + 1]), (1, 2, 3))):
        out = out + a * b + i
    return out


@program(vec())
def unpacking(x):
    first, *middle, last = x.unbind()
    a, (b, c) = 1, (2, 3)
    return first + last, len(middle), a + b + c


@program(vec())
def sorted_with_key(x):
    names = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    return x * len(names[0]), names


@program(vec())
def min_max_any_all(x):
    n = [3, 1, 2]
    return x + max(n) - min(n), any(k > 2 for k in n), all(n), max(x.shape[0], 3)


@program(vec())
def list_methods(x):
    a = [1, 2]
    a.extend([3, 4])
    a.insert(0, 0)
    b = a.pop()
    a.reverse()
    a += [9]
    del a[0]
    return x * b, a, a.index(9), a[1:3], a * 2


@program(vec())
def dict_methods(x):
    d = dict(a=1, b=2)
    d.update(c=3)
    e = d.pop("a")
    f = d.get("zz", 7)
    d.setdefault("q", []).append(1)
    return x + e + f, {**d, "z": 1}, d.keys() & {"b"}


@program(vec())
def default_and_ordered_dict(x):
    d = collections.defaultdict(list)
    d["k"].append(x)
    o = collections.OrderedDict(a=x + 1)
    o.move_to_end("a")
    return d["k"][0] + o["a"]
