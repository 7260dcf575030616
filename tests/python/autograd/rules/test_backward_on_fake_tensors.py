"""Backward passes over fake tensors of a GPU that is not there: what PyTorch's engine would record, node by node."""

import pytest
import torch
from tests.python.support.recorded_program import Program
from tests.python.autograd.rules.test_borrowed_operators import BORROWED
from tests.python.autograd.rules.test_own_gradients import BORROWED as WHOLE, OWN
from tests.python.autograd.steps.test_training import leaf
from torch import nn
from torch.nn import functional as F

from vitrine._autograd import in_autograd as _in_autograd, walked_backward as _walked_backward

torch.manual_seed(0)
NET = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8), nn.LayerNorm(8))
ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True)
CELL = nn.LSTMCell(4, 4)
NAMES = {net: list(net.state_dict()) for net in (NET, ATTENTION, CELL)}


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.save_for_backward(x, y)
        return x * y * factor

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * 2, None, (g * x).sum()


def called(net, tensors, *inputs):
    return torch.func.functional_call(net, dict(zip(NAMES[net], tensors)), inputs)


def tensors_of(net):
    return [t.detach().requires_grad_(t.is_floating_point() and "running" not in name) for name, t in net.state_dict().items()]


def cells(x, h, c, *weights):
    for _ in range(3):
        h, c = called(CELL, weights, x, (h, c))
    return h, c


# Those read tensors from outside.
PROGRAMS = {name: (fn, inputs) for name, (fn, inputs, *_) in {**OWN, **BORROWED, **WHOLE}.items()
            if "at a mask" not in name and name not in ("aten._fft_r2c.default", "aten._embedding_bag.default")}
PROGRAMS |= {
    "a network": (lambda x, *tensors: called(NET, tensors, x), [torch.randn(2, 3, 8, 8), *tensors_of(NET)]),
    "attention": (lambda x, *tensors: called(ATTENTION, tensors, x, x, x)[0], [leaf(2, 5, 8), *tensors_of(ATTENTION)]),
    "a recurrent cell": (cells, [leaf(3, 4), torch.zeros(3, 4), torch.zeros(3, 4), *tensors_of(CELL)]),
    "a loss": (lambda x: F.cross_entropy(x.double(), torch.tensor([1, 2, -100]), label_smoothing=0.1), [leaf(3, 4)]),
    "a function of the user's": (lambda x, y: Doubled.apply(x * 2, 3, y).exp(), [leaf(4), leaf(4, seed=1)]),
    "two results, one depends on the other": (lambda x: (lambda y: (y, y.exp().sum()))(x * 2), [leaf(4)]),
}


def joint(name, **how):
    fn, inputs = PROGRAMS[name]
    torch.manual_seed(0)
    found = Program(fn, inputs, joints=("borrowed",), **how).joints["borrowed"]
    return found if isinstance(found, str) else found["graph"] if isinstance(found["graph"], str) else found["graph"]["text"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_recorded_is_what_pytorchs_engine_does(name, monkeypatch):
    by_engine = joint(name)
    monkeypatch.setattr(_walked_backward, "_has_no_engine", lambda outputs: True)
    assert joint(name) == by_engine and "->" not in by_engine


def test_what_is_asked_again_is_used_up(monkeypatch):
    x = leaf(3)
    kept, used = x.exp().sum(), x.exp().sum()
    monkeypatch.setattr(_walked_backward, "_has_no_engine", lambda outputs: True)
    for y, retain in ((kept, True), (used, False)):
        _walked_backward.run_backward([y], [torch.ones(())], retain, [x])
    torch.testing.assert_close(_walked_backward.run_backward([kept], [torch.ones(())], False, [x])[0], x.detach().exp())
    with pytest.raises(RuntimeError, match="a second time") as raised:
        _walked_backward.run_backward([used], [torch.ones(())], False, [x])
    assert str(raised.value) == _in_autograd.BACKWARD_TWICE


def test_what_saves_nothing_can_be_asked_again(monkeypatch):
    x = leaf(3)
    y = (x + 1).sum()
    monkeypatch.setattr(_walked_backward, "_has_no_engine", lambda outputs: True)
    for _ in range(2):
        assert torch.equal(_walked_backward.run_backward([y], [torch.ones(())], False, [x])[0], torch.ones(3))


def test_which_gradients_an_operator_computes_is_the_engines_choice(monkeypatch):
    x, w = leaf(1, 2, 5), leaf(2, 2, 3)
    monkeypatch.setattr(_walked_backward, "_has_no_engine", lambda outputs: True)
    y = F.conv1d(x, w)
    with pytest.raises(_walked_backward.NotAsThere, match="convolution_backward"):
        _walked_backward.run_backward([y], [torch.ones_like(y)], False, [w])
    y = x.exp() * x.sin()
    (found,) = _walked_backward.run_backward([y], [torch.ones_like(y)], False, [x])
    torch.testing.assert_close(found, torch.autograd.grad((x.exp() * x.sin()).sum(), x)[0])


def test_an_input_that_nothing_reaches_has_no_gradient(monkeypatch):
    x, other = leaf(3), leaf(3)
    monkeypatch.setattr(_walked_backward, "_has_no_engine", lambda outputs: True)
    found = _walked_backward.run_backward([x * 2], [torch.ones(3)], False, [x, other])
    assert torch.equal(found[0], torch.full((3,), 2.0)) and found[1] is None
