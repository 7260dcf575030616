"""torch.autograd.Function where it is differentiated: part of the graph, with the gradients that its backward gives."""

import pytest
import torch
from torch import nn

import vitrine


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias, slope):
        ctx.save_for_backward(x, bias)
        ctx.slope = slope
        return x * torch.sigmoid(slope * (x + bias))

    @staticmethod
    def backward(ctx, grad):
        x, bias = ctx.saved_tensors
        s = torch.sigmoid(ctx.slope * (x + bias))
        inner = grad * x * s * (1 - s) * ctx.slope
        return grad * s + inner, inner.sum() * 3, None  # three times too much: it is the user's word that counts


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.width = inputs[0].shape[-1]

    @staticmethod
    def backward(ctx, grad):
        return torch.nn.functional.hardtanh(grad) / ctx.width


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad * ctx.by, None


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, of_sin, of_cos):
        (x,) = ctx.saved_tensors
        return of_sin * 2 + of_cos * x


settings = {"scale": 1.0}


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * settings["scale"]


class Branching(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad if grad.sum() > 0 else grad * 5


PROGRAMS = {
    "gate": lambda x, m, b: Gate.apply(m(x), b, 1.5).exp(),
    "straight": lambda x, m, b: (Straight.apply(m(x)) * b).sum() + m(x).mean(),
    "reversed": lambda x, m, b: Reversed.apply(m(x), 0.5) * b,
    "reversed, as it is": lambda x, m, b: [Reversed.apply(h := m(x), 0.5), h * b],
    "two": lambda x, m, b: Two.apply(m(x))[0] * b,
    "two, both": lambda x, m, b: [t * b for t in Two.apply(m(x))],
    "scaled": lambda x, m, b: Scaled.apply(m(x) * b),
    "branching": lambda x, m, b: Branching.apply(m(x) * b),
}


def run(function, sign=1.0):
    torch.manual_seed(0)
    m, b = nn.Linear(3, 4), nn.Parameter(torch.tensor(0.3))
    out = []
    settings["scale"] = 1.0
    for rows in (2, 2, 5, 2):
        settings["scale"] += 0.5
        result = function(torch.randn(rows, 3), m, b)
        loss = sum(each.sum() for each in result) if isinstance(result, list) else result.sum()
        (loss * sign).backward()
        out += [loss.detach(), m.weight.grad.clone(), None if b.grad is None else b.grad.clone()]
    return out


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_its_own(name, sign):
    vitrine.reset()
    expected, got = run(PROGRAMS[name], sign), run(vitrine.compile(PROGRAMS[name]), sign)
    for a, b in zip(expected, got):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(b, a)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "branching"])
def test_it_is_no_break(name):
    vitrine.reset()
    explained = vitrine.explain(PROGRAMS[name])(torch.randn(2, 3), nn.Linear(3, 4), nn.Parameter(torch.tensor(0.3)))
    assert not explained.graph_break_reasons, explained


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * torch.rand(3)

    @staticmethod
    def backward(ctx, g):
        return g


class Adds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, counter):
        counter.add_(1)
        return x * counter

    @staticmethod
    def backward(ctx, g):
        return g, None


def test_a_function_that_draws_behind_another_draw():
    """It is read through before PyTorch applies it: its numbers must not be drawn twice."""

    def program(x):
        return torch.rand(3), Noisy.apply(x), torch.rand(2)

    found = []
    for run in (program, vitrine.compile(program)):
        torch.manual_seed(0)
        found.append([*run(torch.ones(3, requires_grad=True)), torch.get_rng_state()])
    for expected, got in zip(*found):
        torch.testing.assert_close(got, expected)


def test_a_function_that_writes_what_was_written_before():
    def program(x, counter):
        counter.mul_(2)
        return Adds.apply(x, counter) + counter

    for run in (program, vitrine.compile(program)):
        counter = torch.ones(3)
        assert run(torch.ones(3, requires_grad=True), counter).tolist() == [6, 6, 6] and counter.tolist() == [3, 3, 3]
