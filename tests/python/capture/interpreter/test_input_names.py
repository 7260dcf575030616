"""What the inputs of a graph are called: parameters by their way through the modules, whatever gave them first."""

import re

import pytest
import torch
import vitrine
from torch import nn
from vitrine import _engine


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.fc(x))


class Net(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        if tied:
            self.layers[1].fc.weight = self.layers[0].fc.weight

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def inputs(function, *args):
    """{name: (kind, source)} of the captured graph's inputs, gradients off."""
    with torch.no_grad():
        description, _ = _engine.trace_call(function, args, {})
    found = re.findall(r"%?(\w+)[^=\n]*= (placeholder|parameter|buffer).*?source=\"?([^\s\"]+)", description["captured"])
    return {name: (kind, source) for name, kind, source in found}


X = torch.randn(3, 4)
WEIGHTS = [f"layers.{i}.fc.{name}" for i in (0, 1) for name in ("weight", "bias")]


def test_a_parameter_that_an_optimizer_gave_first_has_its_modules_name():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        for p in optimizer.param_groups[0]["params"]:
            x = x + p.sum()
        return model(x)

    found = inputs(step, X)
    assert {n: found[n] for n in found if n != "x"} == {
        f"model_{w.replace('.', '_')}": ("parameter", f"L['model'].{w}") for w in WEIGHTS
    }


def test_a_list_of_parameters_has_the_modules_names_without_the_module():
    model = Net()
    parameters = list(model.parameters())

    def total():
        return sum(p.sum() for p in parameters), model.training

    assert {s for _, s in inputs(total).values()} == {f"L['model'].{w}" for w in WEIGHTS}


class Trainer:
    def __init__(self):
        self.net = Net()
        self.held = {"net": self.net}
        self.parameters = list(self.net.parameters())


def test_the_model_of_an_object_is_known_by_its_attribute():
    trainer = Trainer()

    def norm(trainer):
        return torch.stack([p.norm() for p in trainer.parameters]).norm()

    assert {s for _, s in inputs(norm, trainer).values()} == {f"L['trainer'].net.{w}" for w in WEIGHTS}


def test_a_module_that_comes_later_names_what_a_list_gave_before():
    net = Net()
    held, parameters = {"deep": {"net": net}}, list(net.parameters())

    def step(held, parameters, x):
        total = parameters[0].sum()
        return held["deep"]["net"](x) + total

    found = inputs(step, held, parameters, X)
    assert [source for kind, source in found.values() if kind == "parameter"] == [
        f"L['held']['deep']['net'].{w}" for w in WEIGHTS
    ]


def test_tied_weights_have_the_first_name_of_named_parameters():
    model = Net(tied=True)
    tied = [model.layers[1].fc.weight]

    def read():
        return tied[0].sum(), model.training

    assert [s for _, s in inputs(read).values()] == ["L['model'].layers.0.fc.weight"]


def test_a_parameter_of_no_known_module_keeps_its_way():
    alone = [nn.Parameter(torch.ones(3))]

    def read(alone):
        return alone[0] * 2

    assert [s for _, s in inputs(read, alone).values()] == ["L['alone'][0]"]


@pytest.mark.parametrize("first", ["optimizer", "model"])
def test_a_whole_step_computes_as_eager_whatever_comes_first(first):
    def run(compiled):
        torch.manual_seed(0)
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

        def step(x):
            if first == "optimizer":
                optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            if first == "model":
                optimizer.zero_grad()
            return loss

        step = vitrine.compile(step) if compiled else step
        losses = [step(X).item() for _ in range(4)]
        return losses, [p.detach().clone() for p in model.parameters()]

    (losses, after), (expected, as_eager) = run(True), run(False)
    assert losses == pytest.approx(expected, rel=1e-5)
    for a, b in zip(after, as_eager):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
