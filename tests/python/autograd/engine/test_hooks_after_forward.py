"""Hooks on leaves that are registered between forward and backward run in eager's order."""

import pytest
import torch
import vitrine
from torch import nn


def noted(seen, name, p, after):
    if after:
        p.register_post_accumulate_grad_hook(lambda p: seen.append(name))
    else:
        p.register_hook(lambda grad: seen.append(name))


@pytest.fixture(autouse=True)
def many_compilations(monkeypatch):
    monkeypatch.setattr(vitrine.config, "recompile_limit", 200)


def both(make, inputs, after):
    """The order in which leaves' hooks run in a second pass, eager's and ours."""
    orders = []
    for compiled in (lambda m: m, vitrine.compile):
        torch.manual_seed(0)
        module = make()
        run = compiled(module)
        for hooks in (False, True):
            given, seen = inputs(), []
            out = run(*given)
            if hooks:
                leaves = [*module.named_parameters(), *((f"input {i}", t) for i, t in enumerate(given) if t.is_leaf and t.requires_grad)]
                for name, p in leaves:
                    noted(seen, name, p, after)
            out = out if isinstance(out, tuple) else (out,)
            sum(o.sum() for o in out).backward()
        orders.append(seen)
    return orders


def chain(n):
    return nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh())])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("kind", ["leaf", "no grad", "computed"])
def test_of_one_result(n, kind, after):
    def inputs():
        x = torch.randn(3, 4, requires_grad=kind != "no grad")
        return (x * 2,) if kind == "computed" else (x,)

    eager, ours = both(lambda: chain(n), inputs, after)
    assert eager and ours == eager


def test_an_input_that_is_a_leaf_at_one_call_alone():
    m = chain(3)
    run, x = vitrine.compile(m), torch.randn(3, 4, requires_grad=True)
    for make in (lambda: x, lambda: x * 2) * 2:
        orders = []
        for f in (m, run):
            out, seen, handles = f(make()), [], []
            for name, p in [*m.named_parameters(), ("x", x)]:
                handles.append(p.register_hook(lambda grad, name=name, seen=seen: seen.append(name)))
            out.sum().backward()
            orders.append(seen)
            for handle in handles:
                handle.remove()
        assert orders[0] == orders[1]


class Two(nn.Module):
    def __init__(self, n, kind):
        super().__init__()
        self.kind = kind
        self.a, self.b = (nn.ModuleList([nn.Linear(4, 4) for _ in range(n)]) for _ in range(2))
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        h = u = v = self.first(x).tanh()
        for layer in self.a:
            u = layer(u).tanh()
        for layer in self.b:
            v = layer(v).relu()
        return {"apart": (u, v), "with a point": (u, v, h), "one of the other": (u, v * u)}[self.kind]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("kind", ["apart", "with a point", "one of the other"])
def test_of_several_results(n, kind, after):
    eager, ours = both(lambda: Two(n, kind), lambda: (torch.randn(3, 4),), after)
    assert eager and ours == eager


def test_gradients_are_those_of_their_leaves():
    """However the edges lie: every number of leaves, each of a shape of its own."""
    for n in range(1, 12):
        leaves = [torch.randn(i + 1, requires_grad=True) for i in range(n)]
        weights = [torch.randn(i + 1) for i in range(n)]

        def loss(*leaves, weights=weights):
            return sum((leaf * weight).sum() for leaf, weight in zip(leaves, weights))

        vitrine.compile(loss)(*leaves).backward()
        for leaf, weight in zip(leaves, weights):
            assert torch.equal(leaf.grad, weight)
