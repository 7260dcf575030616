"""Floats that a program reads from tensors: they stay in one graph where only arithmetic follows, and leave it as floats."""

import math

import pytest
import torch
from torch import nn

import vitrine


def scaled(x):
    return x * x.sum().item(), x / float(x.abs().max()), x - x.mean().item() + 1


def returned(x):
    total = x.sum()
    return total.item(), float(x[0]), {"mean": x.mean().item() * 2, "list": x[:3].tolist()}


def normalised(x):
    norm = x.norm().item()
    return x / (norm + 1e-6), 1.0 / (norm + 1e-6)


def summed(x):
    total = 0
    for row in x.unsqueeze(0).expand(3, -1):
        total += row.max().item()
    return x * total, total, -total


def of_other_types(x):
    return x * x.double().sum().item(), x + x.half()[0].item(), x.bfloat16().sum().item(), x.view(-1, 1)[:1].item()


def written_afterwards(x):
    y, z = x.clone(), x.double()
    first, wide = y[0].item(), z[1].item()
    y.add_(1)
    z.mul_(3)
    return y * first, z * wide, first, wide


def told(x):
    return torch.full((3,), x.max().item()), torch.clamp(x, max=x.mean().item()), torch.tensor([x[0].item(), 2.0])


def through_float(x):
    value = float(x.sum().item())
    return x * value, isinstance(value, float), type(value) is float


PROGRAMS = [scaled, returned, normalised, summed, of_other_types, written_afterwards, told, through_float]


def inputs(seed):
    return torch.randn(5, generator=torch.Generator().manual_seed(seed))


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6, equal_nan=True, check_stride=True)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_graph_for_all_values(f):
    assert vitrine.explain(f)(inputs(0)).graph_break_count == 0
    compiled = vitrine.compile(f, fullgraph=True)
    for x in (*(inputs(seed) for seed in range(6)), torch.tensor([math.nan, 1.0, -2.0, math.inf, 0.0]), torch.full((5,), -0.0)):
        same(compiled(x), f(x))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_sizes_change(f):
    compiled = vitrine.compile(f)
    for n in (5, 7, 4, 9, 3):
        x = torch.randn(n, generator=torch.Generator().manual_seed(n))
        same(compiled(x), f(x))


def test_a_float_that_is_returned_is_the_very_number():
    def f(x):
        return x.sum().item(), (x * 0.1)[2].item(), x.double().exp()[1].item()

    compiled = vitrine.compile(f, fullgraph=True)
    x = torch.arange(4.0) / 3
    found = compiled(x)
    assert [type(v) for v in found] == [float] * 3
    assert found[:2] == f(x)[:2] and math.isclose(found[2], f(x)[2], rel_tol=1e-15)


def test_a_training_step_returns_its_loss():
    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        history = []

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            return loss.item()

        return step, history

    (step, history), (own, own_history) = make(), make()
    assert vitrine.explain(make()[0])(torch.ones(3, 4)).graph_break_count == 0
    compiled = vitrine.compile(own)
    for i in range(5):
        x = torch.arange(12.0).view(3, 4) / (i + 5)
        assert math.isclose(compiled(x), step(x), rel_tol=1e-5)
    same(own_history, history)
    assert all(type(v) is float for v in own_history)


def test_gradients_do_not_go_through_it():
    def f(x):
        return (x * x.detach().norm().item()).sum() + x.sum() * x.sum().item()

    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(3):
        grads = []
        for each in (f, compiled):
            x = inputs(seed).requires_grad_()
            each(x).backward()
            grads.append(x.grad)
        same(grads[1], grads[0])


def test_a_zero_divisor_raises_as_in_eager():
    def f(x):
        return x * (1.0 / x.sum().item())

    compiled = vitrine.compile(f)
    for x in (torch.ones(3), torch.zeros(3), torch.full((3,), 2.0), torch.zeros(3)):
        if x.sum():
            same(compiled(x), f(x))
            continue
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            compiled(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if x.sum().item() > 0 else x - 1,
        lambda x: (x * int(x.abs().sum().item()), x + 1),
        lambda x: x * len(f"{x.sum().item():.3f}"),
        lambda x: x * math.exp(x.max().item()),
        lambda x: x * round(x.sum().item(), 1),
        lambda x: x * max(x.sum().item(), 0.5),
        lambda x: (x.sum().item() in (1.0, 2.0), x + 1),
        lambda x: x + len({x.sum().item(): 1}),
        lambda x: x * x.sum().item() ** 2,
    ],
    ids=["branch", "int", "text", "exp", "round", "max", "in", "key", "power"],
)  # fmt: skip
def test_who_looks_at_the_number_breaks_there(f):
    compiled = vitrine.compile(f)
    for seed in range(5):
        x = inputs(seed)
        same(compiled(x), f(x))
    breaks = vitrine.explain(f)(inputs(0)).graph_break_reasons
    assert breaks and breaks[0].kind == "scalar_read"


def test_float_of_what_requires_a_gradient_warns_as_in_eager():
    def f(x):
        return x * float(x.sum())

    x = torch.ones(3, requires_grad=True)
    same(vitrine.compile(f)(x), f(x))
    assert vitrine.explain(f)(x).graph_break_count == 1


def test_it_is_a_break_where_the_user_says_so():
    compiled = vitrine.compile(scaled, options={"capture_data_sizes": False}, fullgraph=True)
    with pytest.raises(Exception, match="reads the value of a tensor"):
        compiled(inputs(0))


def test_a_number_alone_is_left_to_python():
    def f(x):
        return x.item()

    def whole(x):
        return x.item()

    assert vitrine.compile(f)(torch.tensor(2.5)) == 2.5
    assert vitrine.explain(f)(torch.tensor(2.5)).graph_break_count == 1
    assert vitrine.compile(whole, fullgraph=True)(torch.tensor(1.5)) == 1.5
