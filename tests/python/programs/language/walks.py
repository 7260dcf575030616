"""Containers that change, and are then walked through with graph breaks on the way."""

import itertools

import torch
from tests.python.programs.registry import program, vec


@program(vec(), lambda: [torch.ones(6)])
def a_list_grows_and_is_walked(x, items):
    for k in range(2):
        items.append(x + k)
    n = 0
    for v in items:
        n += 1
        print(n, v.shape)
    items.insert(0, x * 3)
    for i, (v, w) in enumerate(zip(items, items[1:])):
        print(i)
        n += int((v + w).sum() > 0)
    rest = iter(items)
    next(rest)
    print("rest")
    return n, list(rest)


@program(vec(), lambda: {"a": torch.ones(6), "b": torch.zeros(6)})
def a_dict_changes_and_is_walked(x, d):
    del d["a"]
    d["m"], d["n"] = x, x + 1
    n = 0
    for k in d:
        print(k)
        n += 1
    for k, v in d.items():
        print(k, v.shape)
        n += int(v.sum() > 0)
    for v in d.values():
        print("value")
        n += int(v.sum() > 0)
    return n, d


@program(vec(), lambda: [torch.ones(6)])
def a_list_grows_and_is_walked_backwards(x, items):
    items.extend([x, x * 2])
    n = 0
    for i, v in enumerate(reversed(items)):
        print(i)
        n += int(v.sum() > 0)
    return n


@program(vec(), lambda: {1, 2})
def a_set_changes_and_is_walked(x, s):
    s.add(5)
    s.discard(1)
    n = 0
    for k in s:
        n += k
        print(n > 0)
    return n, s, x + n


class Kept:
    def __init__(self):
        self.list, self.dict = [], {}


@program(vec(), Kept)
def containers_of_an_object_change_and_are_walked(x, kept):
    kept.list += [x, x * 2]
    kept.dict["q"] = x
    n = 0
    for v in kept.list:
        print("item")
        n += int(v.sum() > 0)
    for k, v in kept.dict.items():
        print(k, v.shape)
        n += 1
    return n, len(kept.list)


@program(vec(), lambda: [torch.ones(6)], lambda: {})
def an_iterator_over_what_changed_is_given_back(x, items, d):
    items.append(x)
    d["a"] = x
    d["it"] = iter(items)
    return next(d["it"]), list(zip(d, reversed(items)))


@program(lambda: torch.tensor([[0, 1, 1, 1, 1, 0, 0, 0]] * 2), lambda: torch.tensor([[1, 4, 4]] * 2))
def groups_of_a_row_are_collected_and_walked(kinds, grids):
    it = iter(grids)
    at = torch.zeros(3, 2, 8)
    for b, row in enumerate(kinds):
        groups = []
        for key, group in itertools.groupby(enumerate(row.tolist()), lambda pair: pair[1]):
            group = list(group)
            groups.append((key, group[0][0], group[-1][0] + 1))
        current, out = 0, []
        for key, start, end in groups:
            if key == 0:
                out.append(torch.arange(end - start).view(1, -1).expand(3, -1) + current)
                current += end - start
            else:
                grid = next(it)
                out.append(torch.zeros(3, end - start) + current)
                current += max(grid[1], grid[2]) // 2
        at[:, b] = torch.cat(out, 1)
    return at


def what_a_walk_gives(make, change):
    given = []
    try:
        for entry in make():
            given.append(entry)
            change()
    except RuntimeError as error:
        given.append(str(error))
    return given


@program(vec(), "keys")
@program(vec(), "values")
@program(vec(), "items")
def a_dict_loses_a_key_and_gets_it_back_while_it_is_walked(x, view):
    y = x + 1
    one, two = {0: 0}, {0: 0, 1: 1}

    def change(d):
        del d[0]
        d[0] = 0

    def emptied(d):
        d.clear()
        d[5] = 5

    out = [what_a_walk_gives(getattr(d, view), lambda d=d: change(d)) for d in (one, two)]
    out.append(what_a_walk_gives(getattr({0: 0}, view), lambda: None))
    out.append(what_a_walk_gives(lambda: one, lambda: emptied(one)))
    return y * 2, out, one, two


@program(vec())
def a_changed_dict_under_an_iterator_that_waits(x):
    d = {0: 0, 1: 1}
    waiting = iter(d.values())
    first = next(waiting)
    y = x + 1
    del d[0]
    d[0] = 0
    print("between")
    out = [first]
    try:
        out += [next(waiting), next(waiting)]
    except RuntimeError as error:
        out.append(str(error))
    return y * 2, out
