"""What is written into the dicts of modules, in every way that Python has, is seen by the next call."""

import gc

import pytest
import torch
import vitrine
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
        self.scale, self.table = 2.0, {"shift": 3.0}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale + self.table["shift"]


def parameter():
    return nn.Parameter(torch.randn(2, 2))


def replaced_parameters(m):
    m.layers[1].__dict__["_parameters"] = dict(m.layers[1]._parameters, weight=parameter())


def another_dict(m):
    m.layers[0].__dict__ = dict(m.layers[0].__dict__)
    m.layers[0]._parameters["weight"] = parameter()


def popped(m):
    m.__dict__.pop("scale")
    m.scale = 9.0


CHANGES = {
    "attribute": lambda m: setattr(m, "scale", 5.0),
    "item": lambda m: m.table.__setitem__("shift", 1.0),
    "another table": lambda m: setattr(m, "table", {"shift": 4.0}),
    "update": lambda m: m.__dict__.update(scale=7.0),
    "popped": popped,
    "merged": lambda m: m.table.__ior__({"shift": 6.0}),
    "a parameter": lambda m: setattr(m.layers[2], "weight", parameter()),
    "its dict": lambda m: m.layers[2]._parameters.__setitem__("weight", parameter()),
    "its dict replaced": replaced_parameters,
    "all attributes replaced": another_dict,
    "a hook": lambda m: m.layers[1].register_forward_hook(lambda module, args, y: y * 2),
    "a hook in its dict": lambda m: m.layers[1]._forward_hooks.__setitem__(0, lambda module, args, y: y + 1),
    "a module": lambda m: m.layers.__setitem__(0, nn.Linear(2, 2)),
    "modules taken away": lambda m: m.layers.__delitem__(slice(1, 3)),
    "data": lambda m: setattr(m.layers[0].weight, "data", torch.randn(2, 2)),
}


def same(compiled, m):
    with torch.no_grad():
        for x in torch.randn(3, 1, 2):
            torch.testing.assert_close(compiled(x), m(x))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_calls(change):
    m = Layers()
    compiled = vitrine.compile(m)
    same(compiled, m)
    CHANGES[change](m)
    gc.collect()
    same(compiled, m)


def test_all_of_them_one_after_the_other():
    m = Layers()
    compiled, again = vitrine.compile(m), vitrine.compile(m)
    for change in [*CHANGES.values()] * 2:
        same(compiled, m)
        change(m)
        same(again, m)
        if len(m.layers) < 3:
            m.layers.extend([nn.Linear(2, 2), nn.Linear(2, 2)])
    del m
    gc.collect()
    with torch.no_grad():
        compiled(torch.randn(1, 2))


def test_another_dict_at_the_place_of_one_that_ended():
    m = Layers()
    compiled = vitrine.compile(m)
    for k in range(50):
        m.table = {"shift": float(k)}
        same(compiled, m)
