"""Containers."""

import collections

import torch
from tests.python.programs.registry import program, vec


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


@program(vec())
def looked_for_between_bounds(x):
    numbers, found = [1, 2, 3, 2], []
    found += [numbers.index(2, 2), numbers.index(2, -1), numbers.index(3, 0, 10), (1, 2, 1).index(1, 1, 3)]
    return x + found[0], found


@program(vec())
def not_found_between_bounds(x):
    numbers, found = [1, 2, 3, 2], []
    for sequence, bounds in ((numbers, (2, 3)), (numbers, (-1,)), ((1, 2), (1,)), (numbers, (3, 1))):
        try:
            found.append(sequence.index(1, *bounds))
        except ValueError as error:
            found.append(str(error))
    return x + len(found), found


@program(vec())
def taken_out_of_sets(x):
    held, names = {4, 5}, {"a", "b"}
    held.remove(4)
    last = held.pop()
    names.remove("a")
    return x + last, len(held), names


@program(lambda: {1, 2, 3}, vec())
def taken_out_of_a_set_given(held, x):
    held.remove(2)
    try:
        held.remove(7)
    except KeyError as error:
        return x + len(held), error.args
