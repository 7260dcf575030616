"""What a training program asks of autograd inside the compiled function: values and gradients are eager's."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import vitrine


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def product(x, w):
    return (x @ w).tanh()


def island(x, w):
    y = x @ w
    with torch.no_grad():
        size = y.norm()
    return y / size


def autocast(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return ((x @ w).relu() @ w.t()).float()


def hook(x, w):
    y = x @ w
    y.register_hook(lambda grad: grad * 2)
    return y.sin()


def descent(x, w):
    product(x, w).pow(2).mean().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
    return w.detach() * 1


def inner_loop(x, w):
    for _ in range(2):
        (grad,) = torch.autograd.grad(product(x, w).pow(2).mean(), [w])
        w = w - 0.1 * grad
    return w * 2


PROGRAMS = {
    "checkpoint": lambda x, w: checkpoint(product, x, w, use_reentrant=False).sin(),
    "checkpoint, reentrant": lambda x, w: checkpoint(product, x, w, use_reentrant=True).sin(),
    "checkpoint, dropout": lambda x, w: checkpoint(
        lambda a, b: F.dropout(product(a, b), 0.5), x, w, use_reentrant=False).sin(),
    "autograd.grad": lambda x, w: torch.autograd.grad(product(x, w).sum(), [x, w])[0] * 2,
    "no_grad": island,
    "autocast": autocast,
    "hook": hook,
    "mark_dirty": lambda x, w: Doubled.apply(x @ w).sin(),
    "in place through a view": lambda x, w: (x * 1).view(-1).add_(1).view(4, 5) @ w,
    "random factories": lambda x, w: (x @ w) * torch.bernoulli(torch.full((4, 3), 0.5)) + torch.rand_like(x @ w)
    + torch.randint(0, 5, (4, 3)),
    "rrelu, alpha dropout": lambda x, w: F.rrelu(x @ w, training=True) + F.alpha_dropout(x @ w, 0.3, training=True),
    "a leaf made inside": lambda x, w: (torch.ones(3).requires_grad_() * w.sum()).sum() + x.sum(),
    "descent by hand": descent,
    "inner loop": inner_loop,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_eagers(name):
    found = []
    for compile in (lambda f: f, vitrine.compile):
        generator = torch.Generator().manual_seed(0)
        x, w = (torch.randn(s, generator=generator).requires_grad_() for s in ((4, 5), (5, 3)))
        function = compile(PROGRAMS[name])
        torch.manual_seed(3)
        for _ in range(3):
            result = function(x, w)
            if result.requires_grad:
                result.sum().backward()
        found.append((result.detach(), x.grad, w.grad, w.detach(), torch.rand(1)))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_a_gradient_is_no_view():
    """AccumulateGrad keeps what the engine brings, a weight's transposed product, under another name."""

    def step(x):
        layer(x).sum().backward()

    layer, outcomes = torch.nn.Linear(3, 2), []
    for run in (step, vitrine.compile(step)):
        layer.zero_grad()
        run(torch.ones(4, 3))
        outcomes.append([(p.grad._is_view(), p.grad._base, p.grad.stride()) for p in layer.parameters()])
    assert outcomes[0] == outcomes[1] == [(False, None, (3, 1)), (False, None, (1,))]
