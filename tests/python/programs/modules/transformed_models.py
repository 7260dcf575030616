"""Torch.vmap and torch.func of functions that read tensors of modules, objects and globals."""

import copy

import torch
from tests.python.programs.registry import mat, program, scenario
from torch import nn
from torch.func import grad, hessian, jacrev, jvp, vjp, vmap
from torch.nn import functional as F

torch.manual_seed(0)
WEIGHT = torch.randn(4, 3)
LINEAR = nn.Linear(4, 3)
FIELD = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).requires_grad_(False)
NORM = nn.BatchNorm1d(4).eval()
ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True).eval()
TABLE = [torch.ones(4), torch.zeros(4)]


@program(mat(3, 4))
def globals_of_mapped(x):
    return vmap(lambda r: r @ WEIGHT)(x), vmap(lambda r: r[: WEIGHT.shape[0] - 1] + TABLE[0][0] - TABLE[1].sum())(x)


@program(mat(3, 4))
def globals_of_differentiated(x):
    f = lambda r: (r @ WEIGHT).sin()  # noqa: E731
    value, pull = vjp(f, x)
    return grad(lambda r: f(r).sum())(x), jacrev(f)(x), value, pull(torch.ones(3, 3)), jvp(f, (x,), (x,))


@program(mat(3, 4))
def modules_mapped(x):
    return vmap(LINEAR)(x), vmap(lambda r: LINEAR(r) * 2)(x), vmap(lambda r: NORM(r[None])[0])(x)


@program(mat(3, 4))
def derivatives_of_a_field(x):
    u = lambda r: FIELD(r).squeeze()  # noqa: E731
    return vmap(grad(u))(x), vmap(hessian(u))(x)


@program(mat(3, 4))
def gradients_that_reach_parameters(x):
    return grad(lambda r: LINEAR(r).sum())(x)


@program(lambda: mat(3, 4)().requires_grad_())
def mapped_under_autograd(x):
    y = vmap(lambda r: F.linear(r, LINEAR.weight, LINEAR.bias))(x).sum()
    return (y, *torch.autograd.grad(y, [x, LINEAR.weight])) if y.requires_grad else y


@program(lambda: torch.randn(3, 2, 5, 8, generator=torch.Generator().manual_seed(0)))
def attention_mapped(x):
    return vmap(lambda r: ATTENTION(r, r, r, need_weights=False)[0])(x)


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4))
        self.scale, self.calls = 2.0, 0
        self.register_buffer("offset", torch.ones(4))

    def one(self, row):
        return self.net(row) * self.scale + self.offset


class Maps(Holder):
    def forward(self, x):
        self.offset.add_(1)
        return vmap(self.one)(x) + vmap(lambda row: self.one(row) - self.offset)(x)


class Counts(Holder):
    def forward(self, x):
        self.calls += 1
        return vmap(lambda row: self.one(row) + self.calls)(x)


class Replaces(Holder):
    def forward(self, x):
        self.offset = self.offset + 1
        return vmap(lambda row: self.one(row) + self.offset)(x)


torch.manual_seed(1)
MAPS, COUNTS, REPLACES = Maps(), Counts(), Replaces()


def trained(model, x):
    loss = model(x).pow(2).sum()
    if loss.requires_grad:
        loss.backward()
    return loss, [p.grad for p in model.parameters()]


@program(lambda: copy.deepcopy(MAPS), mat(3, 4))
def methods_mapped(model, x):
    return trained(model, x)


@program(lambda: copy.deepcopy(COUNTS), mat(3, 4))
def methods_of_what_has_changed(model, x):
    return trained(model, x)


@program(lambda: copy.deepcopy(REPLACES), mat(3, 4))
def methods_of_replaced_buffers(model, x):
    return trained(model, x)


class Scaled:
    shift = torch.arange(4.0)

    def __init__(self):
        self.by = torch.ones(4) * 3

    def __call__(self, row):
        return row * self.by + self.shift


@program(lambda: Scaled(), mat(3, 4))
def objects_mapped(scaled, x):
    return vmap(scaled)(x), vmap(scaled.__call__)(x)


@scenario
def batches_closed_over(compile):
    def program(batch, x):
        return vmap(lambda row: row * batch.by + batch.shift)(x)

    compiled = compile(program)
    out = []
    for n in range(12):
        batch = Scaled()
        batch.by = batch.by + n
        out.append(compiled(batch, torch.ones(2, 4)))
    return out


@scenario
def globals_that_change(compile):
    global WEIGHT
    before = WEIGHT

    def program(x):
        return vmap(lambda r: r @ WEIGHT)(x), grad(lambda r: (r @ WEIGHT).cos().sum())(x)

    compiled = compile(program)
    out = []
    with torch.no_grad():
        for columns in (3, 3, 5, 6, 7):
            WEIGHT = torch.arange(4.0 * columns).reshape(4, columns) / 9
            out.append(compiled(torch.ones(columns, 4)))
            WEIGHT.mul_(2)
            out.append(compiled(torch.ones(columns, 4)))
    WEIGHT = before
    return out
