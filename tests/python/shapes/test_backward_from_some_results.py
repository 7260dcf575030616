"""A program with several results: a backward pass comes from some of them, and serves any size whichever these are."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine
from tests.python.support.segments import compiled, made_anew


layer = nn.Linear(4, 5)


def loss_and_logits(x):
    logits = layer(x)
    return F.cross_entropy(logits, torch.arange(x.shape[0]) % 5), logits


def centred(x):
    mean = x.mean(0)
    return ((x - mean) ** 2).amax(1), mean, layer(x).sum(1)


@pytest.mark.parametrize("from_results", [(0,), (1,), (0, 1), (0, 2)], ids=str)
@pytest.mark.parametrize("function", [loss_and_logits, centred])
def test_any_size(function, from_results):
    def gradients(fn, x):
        x = x.clone().requires_grad_()
        results = fn(x)
        chosen = [results[i] for i in from_results if i < len(results)]
        return torch.autograd.grad(sum(r.square().sum() for r in chosen), [x, layer.weight], allow_unused=True)

    vitrine.reset()
    ours = vitrine.compile(function)
    for n in (3, 5, 6, 7, 9, 12, 17):
        x = torch.randn(n, 4)
        torch.testing.assert_close(gradients(ours, x), gradients(function, x))
    assert not made_anew() and 1 <= sum(c.backwards for c in compiled()) <= 4
