"""Modules that convert a part of themselves in their forward, as routers of experts do to compute in f32."""

import copy

import pytest
import torch
import vitrine
from torch import nn


class Router(nn.Module):
    def __init__(self, convert):
        super().__init__()
        self.classifier, self.convert = nn.Linear(4, 3), convert

    def forward(self, x):
        self.classifier = self.convert(self.classifier)
        return self.classifier(x.to(self.classifier.weight.dtype)).softmax(-1)


WAYS = {
    "nothing to do": lambda m: m.to(torch.float32),
    "another type": lambda m: m.double(),
    "with the input's device": lambda m: m.to("cpu"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_conversion_is_eagers(way):
    torch.manual_seed(0)
    eager = Router(WAYS[way])
    ours = copy.deepcopy(eager)
    vitrine.reset()
    run = vitrine.compile(ours)
    for rows in (2, 2, 5):
        x = torch.randn(rows, 4)
        results = []
        for model, call in ((eager, eager), (ours, run)):
            model.zero_grad()
            y = call(x)
            y.square().sum().backward()
            results.append([y, *(p.grad for p in model.parameters()), *(p.detach().clone() for p in model.parameters())])
        torch.testing.assert_close(results[1], results[0])


def test_one_that_changes_nothing_is_no_break():
    model = Router(lambda m: m.to(torch.float32))
    for rows_may_change in (False, True):
        vitrine.reset()
        x = torch.ones(2, 4)
        if rows_may_change:
            vitrine.mark_dynamic(x, 0)
        explained = vitrine.explain(model)(x)
        assert not explained.graph_break_reasons, explained
