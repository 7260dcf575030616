"""Weak references, attributes that a module looks up elsewhere."""

import weakref

import torch
from torch import nn
from tests.python.programs.registry import mat, program, scenario, vec


def recurrent(kind, **how):
    def make():
        torch.manual_seed(1)
        return kind(6, 4, **how).eval().requires_grad_(False)

    return make


@program(recurrent(nn.LSTM, batch_first=True), mat(2, 5, 6))
def lstm(net, x):
    y, (h, c) = net(x * 2)
    return y.tanh(), h + c


@program(recurrent(nn.GRU, bidirectional=True, num_layers=2), mat(5, 2, 6))
def gru(net, x):
    return net(x)[0].relu()


class Owner:
    def __init__(self, t):
        self.t = t


@program(lambda: Owner(torch.ones(6)), vec())
def weakly_held(owner, x):
    other = weakref.ref(owner)
    try:
        other(1)
    except TypeError as error:
        kind = type(error).__name__
    return x * other().t, kind, other() is owner


@scenario
def target_of_a_reference_dies(compile):
    owner = Owner(torch.full((3,), 2.0))
    reference = weakref.ref(owner)

    def f(x):
        held = reference()
        return x if held is None else x * held.t

    run, seen = compile(f), []
    seen.append(run(torch.ones(3)))
    owner.t = torch.full((3,), 5.0)
    seen.append(run(torch.ones(3)))
    del owner
    seen.append(run(torch.ones(3)))
    return seen
