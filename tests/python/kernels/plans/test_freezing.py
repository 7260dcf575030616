"""Weights that are said to be constant: what products pack of them is kept, until a write is seen."""

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded

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


class Cast(torch.nn.Module):
    """Under autocast each call casts the weights; `scaled` is made of two of them by a sum and a quotient."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(96, 160), torch.nn.Linear(160, 48)
        self.v, self.g = torch.nn.Parameter(torch.randn(32, 48)), torch.nn.Parameter(torch.rand(32, 1) + 0.5)

    def forward(self, x):
        scaled = self.v * (self.g / self.v.norm(dim=1, keepdim=True))
        return torch.nn.functional.linear(self.second(torch.nn.functional.relu(self.first(x))), scaled)


def autocast(function):
    def call(*args):
        with torch.autocast("cpu", torch.bfloat16):
            return function(*args)

    return call


@torch.no_grad()
def test_what_weights_alone_become_is_made_again_when_one_of_them_was_written():
    model, x = Cast(), torch.randn(40, 96)
    compiled, once = vitrine.compile(autocast(model), options={"freezing": True}), vitrine.compile(autocast(model))
    changes = [
        lambda: None, lambda: model.first.weight.mul_(1.5), lambda: model.v[3].zero_().add_(1), lambda: model.g.add_(1),
        lambda: model.second.weight.set_(model.second.weight.clone() + 0.1), lambda: setattr(model.v, "data", model.v * 2),
        lambda: setattr(model.first, "weight", torch.nn.Parameter(model.first.weight * 3)), lambda: model.first.weight.data.mul_(2),
        lambda: model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()}),
    ]  # fmt: skip
    for change in changes:
        change()
        for _ in range(3):
            mine = compiled(x)
            torch.testing.assert_close(mine, autocast(model)(x), atol=0.05 * mine.abs().max().item(), rtol=0)
            torch.testing.assert_close(mine, once(x), atol=0, rtol=0)


@torch.no_grad()
def test_what_weights_alone_become_is_made_once():
    model, x = Cast(), torch.randn(40, 96)
    compiled = vitrine.compile(autocast(model), options={"freezing": True})
    before = compiled(x).clone()
    for weight in (model.first.weight, model.second.weight, model.v):
        weight.data.view(-1)[1] += 100  # one of few elements, past PyTorch's count: who freezes says that nobody does
    torch.testing.assert_close(compiled(x), before, atol=0, rtol=0)
    model.g.add_(0)  # a write that is counted: all that is made of it is made again, and no more
    assert (compiled(x) != before).any(dim=1).all()
    torch.testing.assert_close(compiled(x)[:, 1:], before[:, 1:], atol=0, rtol=0)


@torch.no_grad()
def test_what_leaves_or_is_changed_is_made_in_each_call():
    w, b = torch.nn.Parameter(torch.randn(64, 64)), torch.nn.Parameter(torch.randn(64))

    class Several(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = w, b

        def forward(self, x):
            narrow, kept, other = self.w.bfloat16(), self.w * 2, self.w + self.b
            other[0] = x[0]
            return x.bfloat16() @ narrow, kept, narrow.t(), other, (self.b + 1)[1:], x + self.w.sum(0)

    compiled = vitrine.compile(Several(), options={"freezing": True})
    for i in range(4):
        x = torch.randn(64, 64)
        wanted = Several()(x)
        found = compiled(x)
        for mine, eager in zip(found, wanted):
            torch.testing.assert_close(mine, eager, atol=1e-4, rtol=0.02)
        for each in found:
            each.zero_()
        if i == 2:
            w.mul_(2)


@torch.no_grad()
def test_numbers_that_are_drawn_are_drawn_in_each_call():
    w = torch.nn.Parameter(torch.ones(2000))

    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = w

        def forward(self, x):
            return x + torch.nn.functional.dropout(self.w, 0.5) + torch.rand_like(self.w)

    compiled = vitrine.compile(Noise(), options={"freezing": True})
    x = torch.zeros(2000)
    for seed in range(3):
        torch.manual_seed(seed)
        found = compiled(x), compiled(x)
        torch.manual_seed(seed)
        for mine in found:
            torch.testing.assert_close(mine, Noise()(x), atol=0, rtol=0)


@torch.no_grad()
def test_a_model_without_elements_or_with_weights_laid_apart():
    whole = torch.randn(40, 40)
    apart, empty = torch.nn.Parameter(whole[::2, 1::3]), torch.nn.Parameter(torch.empty(0, 13))

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.apart, self.empty = apart, empty

        def forward(self, x):
            return torch.cat([x @ self.apart.double().t(), x @ self.empty.double().t()], 1)

    compiled = vitrine.compile(Odd(), options={"freezing": True})
    x = torch.randn(3, 13, dtype=torch.float64)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), Odd()(x))
        whole.mul_(2)


@torch.no_grad()
def test_a_session_tells_what_is_kept_and_that_a_call_moves_none_of_it(tmp_path):
    compiled = vitrine.compile(autocast(Cast()), options={"freezing": True})
    with recorded(tmp_path) as session:
        for _ in range(3):
            compiled(torch.randn(40, 96))
    kernels = [k for k in session.rows("kernel") if k["kind"] == "generated"]
    kept = [k for k in kernels if k["name"].endswith("_kept")]
    assert kept and len(kept) < len(kernels)
    assert all((k["bytes"] == 0) == (k in kept) for k in kernels), kernels
