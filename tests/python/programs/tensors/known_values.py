"""Tensors whose value follows from numbers of the program alone: they may be sizes, bounds and conditions."""

import math

import torch
from tests.python.programs.registry import mat, program, scenario, vec


@program(mat(3, 8))
def root_of_size(x):
    scale = torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * 2)
    return x / scale, scale.item(), float(scale), int(scale), math.sqrt(torch.tensor(4.0))


@program(mat(3, 8))
def quotient_of_sizes(x):
    n = torch.div(x.size(1), 3, rounding_mode="trunc")
    y = x[:, :n]
    return y.reshape(3, n) + n, x[torch.tensor(1):], [10, 20, 30][torch.tensor(1)]


@program(mat(3, 8))
def branch_on_constant(x):
    t = torch.arange(5)
    if t.sum() > 9:
        x = x + 1
    if torch.zeros(()):
        x = x - 50
    if not torch.ones(2, 2).all():
        x = x * 100
    return x * t[3].item(), t.float().mean().item(), t.argmax().item(), torch.tensor([1, 2]).max().item()


@program(mat(3, 8))
def written_constant(x):
    t = torch.zeros(3)
    v = t[1:]
    v.add_(2)
    return x * t.sum().item()


@program(mat(3, 8))
def written_later(x):
    t = torch.ones(3)
    s = t.sum()
    a = s.item()
    t.mul_(2)
    b = t.sum().item()
    w = t[0]
    t[0] = 7
    return x * a + b, w.item(), s.item()


@program(mat(3, 8))
def random_is_not_known(x):
    t = torch.rand(2)
    return x + t.sum().item()


@program(mat(3, 8))
def empty_is_not_known(x):
    t = torch.empty(2)
    t.fill_(3)
    return x + t.sum().item()


@program(mat(3, 8))
def many_dtypes(x):
    integers = torch.tensor(3, dtype=torch.int8).item(), torch.tensor(True).item(), torch.tensor(7).bitwise_and(3).item()
    floats = (torch.tensor(1) + 2.5).item(), torch.tensor(2.5).half().item(), complex(torch.tensor(3.0)), torch.tensor(2 + 3j).item()
    return x, integers, floats, bool(torch.tensor(0.0))


@program(mat(3, 8))
def float_index(x):
    return [1, 2][torch.tensor(1.0)]


@program(mat(3, 8))
def float_slice(x):
    return x[:torch.tensor(1.5)]


@program(mat(3, 8))
def two_elements(x):
    return x + torch.tensor([1, 2]).item()


@program(mat(3, 8))
def truth_of_two(x):
    if torch.tensor([1, 2]):
        return x
    return x + 1


@program(mat(3, 8))
def known_under_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = torch.full((2, 2), 1.001)
        b = (a @ a).sum()
        return x * b.item(), b.dtype


@scenario
def sizes_change(compile):
    def f(x):
        n = torch.tensor(x.shape[0]) // 2
        return x[:n] + n.item(), x * torch.tensor(x.shape[0]).item()
    g = compile(f)
    h = compile(f, dynamic=True)
    return [c(torch.arange(float(n))) for c in (g, h) for n in (4, 6, 9, 11, 4, 13)]


@scenario
def numbers_change(compile):
    def f(x, k):
        t = torch.tensor(k)
        return x + t.item() if t > 3 else x - t.item()
    g = compile(f)
    return [g(torch.ones(2), k) for k in (1, 2, 3, 4, 5, 9, 2.5)]


@program(vec(), lambda: ())
def one_object_or_another(x, nothing):
    t, f, s, n = (x, 1), frozenset([1]), "a" + str(len(x)), len(x) * 100
    none = tuple(i for i in nothing)
    return (
        [tuple(t) is t, t[:] is t, t * 1 is t, t + nothing is t, nothing + t is t, t[::1] is t, t[0:] is t, t[1:] is t],
        [tuple(none) is none, t[:0] is none, t * 0 is none, none is nothing, (*none,) is none, none + none is none],
        [frozenset(f) is f, str(s) is s, s[:] is s, (x,) is (x,), t + t is t, t * 2 is t, list(t) is t],
        [len(x) * 100 is n, len(x) is len(x), n is n, len(x) * 100 == n],  # noqa: PLR0124
        x + 1,
    )
