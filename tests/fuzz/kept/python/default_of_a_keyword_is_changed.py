import torch


def make_args(call):
    return torch.ones(2) * call, call


def scaled(t, *, k=2, seen={}):
    seen[len(seen)] = t.sum()
    return t * k + len(seen)


def f(t, n):
    first = scaled(t)
    scaled.__kwdefaults__["k"] = n
    if n > 2:
        scaled.__kwdefaults__["seen"] = {}
    return first, scaled(t)
