"""Parameters, modules and other leaves of autograd that a captured function makes or changes itself."""

import warnings

import pytest
import torch
import vitrine
from tests.python.support.same_as_eager import check
from torch import nn

PROGRAMS = []


def program(*make, grad=False):
    """Registers a program that is captured whole."""

    def register(function):
        PROGRAMS.append(pytest.param(function, make, grad, id=function.__name__))
        return function

    return register


def X():
    return torch.randn(4, 4)


class Own(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n))
        self.register_buffer("b", torch.ones(n))
        self.inner = nn.Linear(n, n)
        self.k = 3

    def forward(self, x):
        return self.inner(x * self.w + self.b) * self.k


@program(X)
def parameter(x):
    p = nn.Parameter(torch.ones(4) * 2)
    return x * p, p, p.is_leaf, p.grad_fn, isinstance(p, nn.Parameter)


@program(X, grad=True)
def parameter_with_gradient(x):
    p = nn.Parameter(torch.ones(4) * 2)
    return x * p, p


@program(X, grad=True)
def parameter_differentiated(x):
    p = nn.Parameter(torch.ones(4) * 2)
    (x * p).sum().backward()
    return p, p.grad


@program(X)
def parameter_without_gradient(x):
    p = nn.Parameter(torch.ones(4), requires_grad=False)
    return x * p, p, nn.Parameter()


@program(X)
def layers(x):
    own = Own()
    x = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU())(own(x))
    for m in nn.ModuleList([nn.Linear(4, 4), nn.Identity()]):
        x = m(x)
    for p in nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(2)]):
        x = x * p
    return x, own


@program(X, Own)
def members_assigned(x, m):
    m.extra = nn.ReLU()
    m.w = nn.Parameter(x[0] + 1)
    m.register_parameter("c", nn.Parameter(x[0] * 2))
    m.b = x[1]
    y = m.extra(m(x)) + m.c
    m.inner = nn.Identity()
    return y + m(x)


@program(X, Own)
def members_deleted(x, m):
    del m.inner
    del m.w
    return x * m.b, hasattr(m, "inner"), hasattr(m, "w"), [name for name, _ in m.named_modules()]


@program(X)
def attributes_of_tensors(x):
    y = x + 1
    y.tag = [x, "t"]
    x.scale = 3
    return y, y.tag[1], x * x.scale, hasattr(y, "other")


@program(X, Own)
def frozen(x, m):
    m.requires_grad_(False)
    return m(x)


@program(X)
def starts_to_require(x):
    y = x + 1
    y.requires_grad_()
    return y * 2, y, y.requires_grad, (x * 2).requires_grad_(False)


@program(X, grad=True)
def gradient_of_a_copy(x):
    y = x.detach().clone().requires_grad_(True)
    (g,) = torch.autograd.grad((y**3).sum(), y)
    return g


@program(X, grad=True)
def gradient_of_an_input(x):
    x.requires_grad_(True)
    (g,) = torch.autograd.grad((x**3).sum(), x)
    return g


@program(X, grad=True)
def leaves_of_factories(x):
    w = torch.ones(4, requires_grad=True)
    b = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    c = x.detach()
    c.requires_grad = True
    (w * c + b).sum().backward()
    return w.grad, b.grad, c.grad, w


@program(X, grad=True)
def a_leaf_that_goes(x):
    return (torch.ones(4, requires_grad=True) * x).sum()


@program(X, lambda: nn.Linear(4, 4), grad=True)
def sign_attack(x, m):
    y = x.detach().requires_grad_(True)
    m(y).pow(2).mean().backward()
    return x + 0.1 * y.grad.sign()


@program(X)
def data_of_an_input(x):
    x.data = x.data * 2
    x.data.add_(1)
    return x + 1, x._version if False else 0


@program(X)
def data_of_a_result(x):
    y = x + 1
    y.data = x * 3
    return y * 2, y


@program(X, lambda: nn.Linear(4, 4))
def weight_clipped(x, m):
    m.weight.data.clamp_(-0.1, 0.1)
    m.bias.data = m.bias.data * 0.9
    return m(x)


@program(X, lambda: nn.Linear(4, 4), grad=True)
def weight_clipped_and_used(x, m):
    m.weight.data.clamp_(-0.1, 0.1)
    m.bias.data = m.bias.data * 0.9
    return m(x)


@program(X, lambda: nn.Linear(4, 1), grad=True)
def descent_by_hand(x, m):
    for _ in range(2):
        loss = m(x).pow(2).mean()
        loss.backward()
        for p in m.parameters():
            p.data -= 0.1 * p.grad
            p.grad = None
    return loss.detach()


@pytest.mark.parametrize("function, make, grad", PROGRAMS)
def test_captured_whole(function, make, grad):
    vitrine.reset()
    torch.manual_seed(0)
    with torch.set_grad_enabled(grad), warnings.catch_warnings():
        warnings.simplefilter("error", vitrine.VitrineWarning)
        explained = vitrine.explain(function)(*(m() for m in make))
        check(function, vitrine.compile(function), lambda: [m() for m in make])
    assert not explained.graph_break_reasons, explained


def test_gradients_reach_what_was_made():
    def function(x):
        m = nn.Linear(4, 2)
        return m(x).sum(), m

    results = []
    for f in (function, vitrine.compile(function)):
        torch.manual_seed(0)
        loss, m = f(torch.ones(3, 4))
        loss.backward()
        results.append((m.weight.grad, m.bias.grad))
    torch.testing.assert_close(*results)


def test_writes_through_data_do_not_count():
    def clip(w):
        w.data.clamp_(-0.1, 0.1)
        return w * 2

    for f in (clip, vitrine.compile(clip)):
        w = torch.randn(4, requires_grad=True)
        with torch.no_grad():
            f(w)
        assert w._version == 0
        with torch.no_grad():
            w.add_(1)
            f(w)
        assert w._version == 1


def test_objects_made_inside_are_keys_and_elements():
    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = None

        def forward(self, x):
            if self.layer is None:
                self.layer = nn.Linear(x.shape[-1], 3)
            return self.layer(x)

    def function(x, m):
        y, a, b = m(x), x + 1, x + 2
        names = {a: "a", b: "b"}
        return y, [name for name, _ in m.named_parameters()], {a, b}, names

    vitrine.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        explained = vitrine.explain(function)(X(), Lazy())
        assert not explained.graph_break_reasons, explained
        x = X()
        y, names, several, table = vitrine.compile(function)(x, Lazy())
    assert names == ["layer.weight", "layer.bias"] and y.shape == (4, 3)
    assert list(table.values()) == ["a", "b"] and several == set(table)
    torch.testing.assert_close(list(table), [x + 1, x + 2])
    torch.testing.assert_close(sum(several), 2 * x + 3)


def test_other_weights_for_one_call():
    layer = nn.Linear(4, 4)

    def function(x):
        return torch.func.functional_call(layer, {k: v * 2 for k, v in layer.named_parameters()}, (x,))

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", vitrine.VitrineWarning)
        x = X()
        torch.testing.assert_close(vitrine.compile(function)(x), function(x))
        torch.testing.assert_close(vitrine.compile(function)(x), x @ (layer.weight * 2).T + layer.bias * 2)
