"""200 training steps of small models: the compiled loss curve is as far from float64's as eager's own, step by step.

A part of the steps by default, all of them with VITRINE_TESTS=all.
"""

import copy

import pytest
import torch

import vitrine
from tests.python.support.sweep import WHOLE
from tests.python.capture.test_models import MODELS

STEPS = 200 if WHOLE else 15
NAMES = ["bert", "gpt2", "vit", "resnet"]


def quiet(model):
    """Without dropout: float64 draws other numbers."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
    return model.train()


def batches(args, kwargs, dtype):
    """Four batches in turn, of the shapes of the model's own input."""
    generator = torch.Generator().manual_seed(3)
    out = []
    for _ in range(4):
        (x,) = args
        if x.is_floating_point():
            given, wanted = torch.randn(x.shape, generator=generator), kwargs["labels"].flip(0)
        else:
            given = wanted = torch.randint(0, 50, x.shape, generator=generator)
        given = given.to(dtype) if given.is_floating_point() else given
        out.append(((given,), {**kwargs, "labels": wanted}))
    return out


def curve(model, compile, args, kwargs, dtype=torch.float32):
    run, given = compile(model), batches(args, kwargs, dtype)
    step = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    for i in range(STEPS):
        x, k = given[i % len(given)]
        step.zero_grad()
        loss = run(*x, **k).loss
        loss.backward()
        step.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_curve(name):
    vitrine.reset()
    model, args, kwargs = MODELS[name]()
    quiet(model)
    exact = curve(copy.deepcopy(model).double(), lambda m: m, args, kwargs, torch.float64)
    eager = curve(copy.deepcopy(model), lambda m: m, args, kwargs)
    compiled = curve(copy.deepcopy(model), vitrine.compile, args, kwargs)
    assert exact[-4:].mean() < 0.9 * exact[:4].mean(), "nothing was learnt"
    # Rounding grows along a curve: eager's own distance so far is the measure.
    allowed = 5 * (eager - exact).abs().cummax(0).values + 2e-5 * exact.abs().max()
    wrong = (compiled - exact).abs() > allowed
    assert not wrong.any(), f"step {wrong.nonzero()[0].item()}: {compiled[wrong][0]} against {exact[wrong][0]}, eager {eager[wrong][0]}"
