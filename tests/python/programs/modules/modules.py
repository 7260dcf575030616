"""Nn.Module."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from tests.python.programs.registry import mat, program


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.LayerNorm(6), nn.ReLU(), nn.Dropout(0.5)])
        self.extra = nn.ParameterDict({"w": nn.Parameter(torch.ones(6))})
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x, *, twice=False):
        for layer in self.layers:
            x = layer(x)
        self.calls += 1
        if twice:
            x = x * 2
        return {"out": x * self.extra["w"], "calls": self.calls, "seen": self.seen + 1}


@program(lambda: Net().eval().requires_grad_(False), mat(2, 6))
def module_attributes(net, x):
    return net(x), net(x, twice=True)


@program(lambda: Net().train().requires_grad_(False), mat(2, 6))
def module_dropout_random(net, x):
    torch.manual_seed(5)
    return net(x), torch.rand(2), random.Random(3).random()


@program(lambda: nn.BatchNorm1d(6).train().requires_grad_(False), mat(4, 6))
def batch_norm_training(bn, x):
    y = bn(x)
    return y, bn.running_mean, bn.num_batches_tracked


@program(lambda: nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2)).requires_grad_(False), mat(3, 6))
def sequential_slicing(net, x):
    return net[:2](x), net[-1].weight.shape, len(net), [type(m).__name__ for m in net]


@program(lambda: nn.Linear(6, 6), mat(2, 6))
def gradients(lin, x):
    y = lin(x).relu().sum()
    y.backward()
    g = lin.weight.grad.clone(), lin.bias.grad.clone()
    lin.zero_grad()
    return y.detach(), g


@program(lambda: nn.Linear(6, 6), mat(2, 6))
def grad_modes(lin, x):
    with torch.no_grad():
        a = lin(x)
    b = lin(x)
    with torch.enable_grad():
        c = lin(x).detach()
    return a.requires_grad, b.requires_grad, a + c, torch.is_grad_enabled()


@program(lambda: nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False), mat(2, 3, 8))
def attention_module(mha, x):
    return mha(x, x, x, need_weights=True)


@program(lambda: nn.LSTM(4, 5, batch_first=True).eval().requires_grad_(False), mat(2, 3, 4))
def recurrent_module(lstm, x):
    out, (h, c) = lstm(x)
    return out + 1, h * c


@program(lambda: nn.Embedding(10, 4).requires_grad_(False), lambda: torch.tensor([[1, 2], [3, 9]]))
def embedding_lookup(emb, ids):
    return emb(ids).mean(1) * 2, F.one_hot(ids, 10).sum()


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6).requires_grad_(False)
        nn.init.ones_(self.inner.weight)
        self.inner.register_forward_hook(lambda m, a, out: out * 10)
        self.inner.register_forward_pre_hook(lambda m, a: (a[0] + 1,))

    def forward(self, x):
        return self.inner(x) - self.inner.bias * 10


@program(lambda: Hooked(), mat(2, 6))
def forward_hooks(net, x):
    return net(x)


def padded_encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)


@program(padded_encoder, mat(2, 4, 8))
def encoder_with_padding(net, x):
    """Eager takes a way through nested tensors that leaves zeros in padded rows."""
    mask = torch.tensor([[False] * 4, [False, False, True, True]])
    return net(x, src_key_padding_mask=mask), torch.compiler.is_compiling() is None
