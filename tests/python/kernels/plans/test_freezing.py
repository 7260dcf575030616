"""Weights that are said to be constant: what products pack of them is kept, until a write is seen."""

import pytest
import torch
import vitrine

FROZEN = {"freezing": True, "products": "generated"}


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def layers():
    return torch.nn.Sequential(torch.nn.Linear(300, 130), torch.nn.GELU(), torch.nn.Linear(130, 52, bias=False))


def same(mine, eager):
    torch.testing.assert_close(mine, eager, atol=1e-4, rtol=1e-5)


@torch.no_grad()
def test_every_write_that_pytorch_counts_is_seen():
    model, x = layers(), torch.randn(70, 300)
    compiled = vitrine.compile(model, options=FROZEN)
    weight = model[0].weight
    changes = [
        lambda: None, lambda: None, lambda: weight.mul_(1.5), lambda: weight[7:9].zero_(), lambda: weight.set_(weight.clone() + 0.1),
        lambda: setattr(weight, "data", weight * 2), lambda: setattr(model[0], "weight", torch.nn.Parameter(weight * 3)),
        lambda: model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()}), model.double, model.float,
    ]  # fmt: skip
    for change in changes:
        change()
        given = x.to(model[2].weight.dtype)
        same(compiled(given), model(given))
        same(compiled(given), model(given))


@torch.no_grad()
def test_a_write_that_pytorch_does_not_count_is_seen_where_most_elements_change():
    model, x = layers(), torch.randn(70, 300)
    compiled = vitrine.compile(model, options=FROZEN)
    for change in (lambda: model[0].weight.data.mul_(2), lambda: model[2].weight.detach().numpy().__imul__(0.5)):
        same(compiled(x), model(x))
        change()
        same(compiled(x), model(x))


def test_a_training_step_keeps_nothing():
    model, other, x = layers(), layers(), torch.randn(40, 300)
    other.load_state_dict(model.state_dict())
    compiled = vitrine.compile(model, options=FROZEN)
    for _ in range(3):
        for run, of in ((compiled, model), (other, other)):
            run(x).square().mean().backward()
            with torch.no_grad():
                for p in of.parameters():
                    p.data -= 0.1 * p.grad
                    p.grad = None
    for mine, eager in zip(model.parameters(), other.parameters()):
        same(mine, eager)


@torch.no_grad()
@pytest.mark.parametrize("m,k,n", [(1, 300, 49), (70, 600, 52), (9, 257, 130), (130, 64, 200)])
def test_every_edge_of_what_is_kept(m, k, n):
    x, w, v = torch.randn(m, k), torch.nn.Parameter(torch.randn(n, k)), torch.nn.Parameter(torch.randn(k, n))

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.v = w, v

        def forward(self, x):
            return x @ self.w.t(), x @ self.v

    compiled = vitrine.compile(Two(), options=FROZEN)
    for _ in range(3):
        for mine, exact in zip(compiled(x), (x.double() @ w.double().t(), x.double() @ v.double())):
            torch.testing.assert_close(mine.double(), exact, atol=1e-4 * k**0.5, rtol=1e-5)


@torch.no_grad()
def test_both_ways_are_measured_and_agree():
    model, x = layers(), torch.randn(128, 300)
    compiled = vitrine.compile(model, options={"freezing": True})
    for _ in range(3):
        same(compiled(x), model(x))
    with pytest.raises(TypeError, match="option 'freezing' does not take 1"):
        vitrine.compile(model, options={"freezing": 1})
