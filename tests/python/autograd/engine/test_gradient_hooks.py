"""Hooks on tensors that a compiled function computes: they run where eager's backward pass runs them."""

import pytest
import torch
import vitrine


def scaled(x, w):
    y = (x * w).tanh()
    y.register_hook(lambda g: g * 3)
    return (y * y).sum()


def clipped(x, w):
    limit = 0.1
    y = x @ w.T
    y.register_hook(lambda g: g.clamp(-limit, limit))
    z = y.relu()
    z.register_hook(lambda g: g.flip(0))
    return z.sum() + (y * y).sum()


def looked_at_only(x, w):
    y = x * w
    y.register_hook(lambda g: None)
    return y.exp().sum()


def changed_behind_it(x, w):
    y = x * w
    y.register_hook(lambda g: g + 1)
    y.mul_(2)
    return y.sum()


@pytest.mark.parametrize("program", [scaled, clipped, looked_at_only, changed_behind_it])
def test_gradients_are_eagers_in_one_graph(program):
    def run(call):
        x, w = (torch.linspace(a, 1, 12).reshape(3, 4).requires_grad_() for a in (-1, -2))
        out = []
        for _ in range(2):
            loss = call(x, w)
            loss.backward()
            out += [loss, x.grad.clone(), w.grad.clone()]
        return out

    vitrine.reset()
    explained = vitrine.explain(program)(*(torch.ones(3, 4, requires_grad=True) for _ in range(2)))
    assert not explained.graph_break_reasons, explained
    torch.testing.assert_close(run(vitrine.compile(program)), run(program))


def noting(x, seen):
    y = x * 2
    y.register_hook(seen.append)
    return (y * y).sum()


def removed(x, seen):
    y = x * 2
    handle = y.register_hook(lambda g: g * 100)
    handle.remove()
    return (y * y).sum()


@pytest.mark.parametrize("program", [noting, removed])
def test_what_is_no_arithmetic_runs_for_real(program):
    def run(call):
        x, seen = torch.linspace(-1, 1, 4).requires_grad_(), []
        call(x, seen).backward()
        return x.grad, seen

    vitrine.reset()
    torch.testing.assert_close(run(vitrine.compile(program)), run(program))
