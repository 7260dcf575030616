"""Tensors as keys, dicts of classes with an order or methods of their own, methods put into torch.Tensor."""

import collections

import torch
from tests.python.programs.registry import program, scenario, vec
from torch import nn


@program(vec())
def tensors_as_keys(x):
    y = x + 1
    counts = {x: 1, y: 2}
    counts[x] += 5
    seen = {x, y, x}
    seen.discard(y)
    del counts[y]
    return counts[x], y in counts, (x * 1) in counts, x in seen, y in seen, len(seen), [k is x for k in counts], list(counts.values())


@program(vec())
def tensor_keys_over_a_break(x):
    y = x + 1
    counts = {x: 1, y: 2}
    seen = {y}
    print("break", len(counts))
    counts[y] = counts[x] + 10
    seen.add(x)
    for k in counts:
        x = x + k
    return x, list(counts.values()), y in seen, len(seen)


@program(vec(), lambda: {"t": 1}, lambda: {3})
def tensor_keys_put_into_arguments(x, d, s):
    d[x] = 2
    s.add(x)
    return d.pop(x), s.pop() is not None, len(s), x + len(d)


@scenario
def tensor_keys_between_calls(compile):
    f = compile(lambda table, x: table.get(x, 0) + x)
    a, b = torch.ones(2), torch.ones(2)
    table = {a: 5}
    out = [f(table, a), f(table, b)]
    table[b] = 7
    return out + [f(table, a), f(table, b)]


@program(vec())
def parameters_are_counted_once(x):
    m = PARAMETERS
    return x * sum(p.numel() for p in m.parameters()), [n for n, _ in m.named_parameters()], len(list(m.buffers()))


PARAMETERS = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
PARAMETERS.append(PARAMETERS[0])


class Output(collections.OrderedDict):
    """Also read by number and by attribute."""

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Backwards(dict):
    def __iter__(self):
        return reversed(list(super().__iter__()))


@program(lambda: Output(a=torch.ones(3), b=torch.zeros(3)))
def ordered_dict_of_an_own_class(m):
    keys = m.keys()
    y = m.a + m[1]
    return y, list(keys), [m[k] + 1 for k in m.keys()], tuple(m.values()), dict(m.items())


@program(lambda: Output(a=torch.ones(3), b=torch.zeros(3)))
def ordered_dict_of_an_own_class_changes(m):
    m["c"] = m["a"] + 1
    m.move_to_end("a")
    m["b"] = 5
    return list(m), m["c"]


@program(vec(), lambda: Backwards(a=1, b=2), lambda: collections.Counter("abca"))
def dicts_of_own_classes_change(x, d, counter):
    d["c"] = x * d["b"]
    d.pop("a")
    counter["z"] += 2
    counter.update("az")
    return list(d), [k for k in d.keys()], d["c"], counter["a"]


@scenario
def order_between_calls(compile):
    f = compile(lambda m: [m[k] * (i + 1) for i, k in enumerate(m.keys())])
    m = Output(a=torch.ones(2), b=torch.zeros(2))
    out = [f(m)]
    m.move_to_end("a")
    return out + [f(m), f(Output(b=torch.ones(2), a=torch.zeros(2))), f(collections.OrderedDict(m)), f(dict(m))]


@scenario
def methods_put_into_tensor(compile):
    f = compile(lambda x: x.mine() if hasattr(x, "mine") else x.abs())
    x = -torch.ones(2)
    out = [f(x)]
    try:
        torch.Tensor.mine = lambda self: self * 3
        out.append(f(x))
        torch.Tensor.mine = lambda self: self * 5
        out.append(f(x))
        del torch.Tensor.mine
        torch.Tensor.abs = lambda self: self * 11
        out.append(f(x))
    finally:
        for name in ("mine", "abs"):
            if name in vars(torch.Tensor):
                delattr(torch.Tensor, name)
    return out + [f(x)]


class Plain:
    pass


@scenario
def other_objects_as_keys(compile):
    def counted(a, b, x):
        s, d = {a, 1}, {a: 1}
        d[b] = 2
        return len({a, b}), d[a], a in {b}, b in d, a in s, x + 1

    f, add = compile(counted), compile(lambda s, o, x: (s.add(o), x + 1))
    made = compile(lambda o, x: ({o, 1}, x + 1))
    out, x = [], torch.ones(2)
    for i in range(4):
        a = Plain()
        b = a if i > 1 else Plain()
        held = {1}
        add(held, b, x)
        out.append((f(a, b, x), b in held, len(held), a in made(a, x)[0]))
    return out


class Hashed:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


@program(vec())
def hashes_as_told(x):
    told = [-1, 5, 2**61, -(2**63), 2**70, hash((4,))]
    return [hash(Hashed(n)) for n in told], x + 1
