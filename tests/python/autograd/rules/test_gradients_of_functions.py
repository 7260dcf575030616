"""Gradients that an autograd.Function gives of what it did not compute with, or that need no gradient of its results."""

import itertools

import pytest
import torch

import vitrine


class Given(torch.autograd.Function):
    """Its value comes from x alone; the gradient of a is what `of` makes of both and of the result's gradient."""

    @staticmethod
    def forward(ctx, a, x, of):
        ctx.save_for_backward(a, x)
        ctx.of = of
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return ctx.of(*ctx.saved_tensors, g), g, None


def written(a, x, g):
    out = torch.zeros_like(x)
    out[:, 1:].add_(a[:, :-1] * g[:, 1:])
    return out


def written_from_others(a, x, g):
    out = torch.ones_like(x)
    out[:, 1:].mul_(3)
    return out


OF = {
    "zeros": lambda a, x, g: torch.zeros_like(x),
    "ones": lambda a, x, g: torch.ones_like(x),
    "both inputs": lambda a, x, g: a * x,
    "written in place": written,
    "written from others": written_from_others,
    "the result's": lambda a, x, g: g * x,
}


class Pair(torch.autograd.Function):
    """Two results; each gradient is made of another set of theirs."""

    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return a * 2, x * 3

    @staticmethod
    def backward(ctx, of_first, of_second):
        a, x = ctx.saved_tensors
        out = torch.zeros_like(a)
        out[0].add_(of_first[0])
        return of_first * x, out


class Alone(Pair):
    @staticmethod
    def backward(ctx, of_first, of_second):
        return of_first * 5, of_second * 7


class Constant(Pair):
    @staticmethod
    def backward(ctx, of_first, of_second):
        return torch.ones_like(of_first), torch.full_like(of_second, 3.0)


def gradients(function, used):
    torch.manual_seed(0)
    leaves = [torch.randn(3, 4, requires_grad=True) for _ in range(2)]
    results = function(*leaves)
    sum((results[i] * (i + 1.5)).sum() for i in used).backward()
    return [leaf.grad for leaf in leaves]


def same(found, expected):
    assert [g is None for g in found] == [g is None for g in expected]
    for mine, its in zip(found, expected):
        if its is not None:
            torch.testing.assert_close(mine, its)
            assert mine.stride() == its.stride()


@pytest.mark.parametrize("name", OF)
def test_of_what_the_value_does_not_come_from(name):
    def function(a, x):
        return (Given.apply(a * 2, x, OF[name]),)

    same(gradients(vitrine.compile(function), (0,)), gradients(function, (0,)))


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("function", [Pair, Alone, Constant])
def test_of_some_results(function, used):
    """PyTorch gives zeros for a result's gradient that is not there: what is made of them is zeros, not nothing."""
    def both(a, x):
        return function.apply(a.sin(), x.sin())

    same(gradients(vitrine.compile(both), used), gradients(both, used))


@pytest.mark.parametrize("name,used", list(itertools.product(OF, [(0,), (1,), (0, 1)])), ids=str)
def test_beside_another_result(name, used):
    def function(a, x):
        return Given.apply(a * 2, x, OF[name]), x * 3

    same(gradients(vitrine.compile(function), used), gradients(function, used))


class Cleared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.clamp(min=0)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        g = g.clone()
        g[out == 0] = 0
        return g * torch.tensor(2.0)


def test_a_constant_of_the_backward_pass_alone():
    def function(a, x):
        return (Cleared.apply(a * x),)

    compiled = vitrine.compile(function)
    same(gradients(compiled, (0,)), gradients(function, (0,)))
    explained = vitrine.explain(function)(torch.ones(2, requires_grad=True), torch.ones(2))
    assert explained.graph_count == 1 and not explained.messages
