"""How often a tensor was written to (`_version`), of results, inputs, parameters and buffers: as in eager."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn

# A program that names the attribute is compiled otherwise: this one asks without its knowledge.
VERSION = "".join(["_ver", "sion"])


class Counting(nn.Module):
    """With buffers n (a counter) and m, which `change` writes to."""

    def __init__(self, change):
        super().__init__()
        self.change = change
        self.register_buffer("n", torch.tensor(0))
        self.register_buffer("m", torch.zeros(4))

    def forward(self, x):
        self.change(self, x)
        return x * self.m + self.n


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.out(y), y, h, c, self.out(h[-1])


class Twice(nn.Module):
    """One batch norm, called twice."""

    def __init__(self, between=lambda norm: None):
        super().__init__()
        self.norm, self.between = nn.BatchNorm1d(4), between

    def forward(self, x):
        y = self.norm(x)
        self.between(self.norm)
        return self.norm(y)


def add_to_mean(norm):
    norm.running_mean.add_(1)


def counted(self, x):
    self.n += 1
    self.m.mul_(0.9).add_(x.detach().mean(0))
    self.m[0] += 1


def copied(self, x):
    self.n.copy_(self.n + 1)
    torch.add(self.m, 1, out=self.m)
    self.m.view(2, 2).add_(1)


def anew(self, x):
    self.n = self.n + 1
    self.m = self.m.clone()
    self.m += 1


MODULES = {
    "lstm": lambda: nn.LSTM(4, 5), "lstm of two layers": lambda: nn.LSTM(4, 5, 2, bidirectional=True), "gru": lambda: nn.GRU(4, 5), "rnn": lambda: nn.RNN(4, 5),
    "lstm before a layer": Tagger, "batch norm": lambda: nn.Sequential(nn.Conv1d(3, 3, 1), nn.BatchNorm1d(3), nn.ReLU(inplace=True)),
    "instance norm": lambda: nn.InstanceNorm1d(3, track_running_stats=True), "dropout": lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5, inplace=True)),
    "rrelu": lambda: nn.Sequential(nn.Linear(4, 4), nn.RReLU(inplace=True)), "spectral norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
    "attention": lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
}  # fmt: skip
ROWS = {
    "batch norm twice": Twice, "batch norm between writes": lambda: Twice(add_to_mean), "momentum of none": lambda: nn.BatchNorm1d(4, momentum=None), "eval": lambda: nn.BatchNorm1d(4).eval(),
    "lstm cell": lambda: nn.LSTMCell(4, 5), **{f.__name__: lambda f=f: Counting(f) for f in (counted, copied, anew)},
    "zeroed": lambda: Counting(lambda self, x: (self.n.zero_(), self.n.add_(3), self.m.copy_(x[0].detach()))),
    "data": lambda: Counting(lambda self, x: self.m.data.add_(1)), "drawn": lambda: Counting(lambda self, x: (self.m.normal_(), self.n.random_(3))),
    "nothing": lambda: Counting(lambda self, x: (self.m.add_(0), self.m.mul_(1))), "gathered": lambda: Counting(lambda self, x: self.m.index_add_(0, torch.tensor([1]), torch.ones(1))),
}  # fmt: skip
FUNCTIONS = {
    "in place": lambda x: x.add_(1), "items": lambda x: (x.__setitem__(0, 1), x[:, 1].mul_(2), x)[2], "of a view": lambda x: (x.view(-1).add_(1), x), "chain": lambda x: x.clone().add_(1).mul_(2),
    "out": lambda x: torch.add(x.detach(), 1, out=torch.empty(6, 4)), "out twice": lambda x: (lambda o: (torch.mul(x.detach(), 2, out=o), torch.sub(x.detach(), 1, out=o), o))(torch.empty(6, 4)), "stacked": lambda x: torch.stack([x.detach()] * 2, out=torch.empty(0)),
    "copied": lambda x: torch.zeros(6, 4).copy_(x), "scattered": lambda x: torch.zeros(6, 4).scatter_(0, torch.zeros(1, 4, dtype=torch.long), x), "drawn": lambda x: torch.empty(4).uniform_(), "bernoulli": lambda x: torch.empty(4).bernoulli_(0.5),
    "dropout": lambda x: F.dropout(x * 1, 0.5, inplace=True), "one_hot": lambda x: F.one_hot(torch.tensor([1, 2]), 3), "foreach": lambda x: (lambda ts: (torch._foreach_add_(ts, 1), ts)[1])([x * 1, x * 2]), "normalize": F.normalize,
    "linear": lambda x: F.linear(x[None].transpose(1, 2), torch.ones(3, 6), torch.ones(3)), "linear of two": lambda x: F.linear(x, torch.ones(3, 4), torch.ones(3)), "linear of four": lambda x: F.linear(x[None, None], torch.ones(3, 4), torch.ones(3)),
    "no bias": lambda x: F.linear(x[None].transpose(1, 2), torch.ones(3, 6)), "linear and relu": lambda x: F.relu_(F.linear(x[None].transpose(1, 2), torch.ones(3, 6), torch.ones(3))), "max": lambda x: torch.max(x.detach(), 1, out=(torch.empty(6), torch.empty(6, dtype=torch.long))),
    "batch norm": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True), "svd": lambda x: torch.linalg.svd(x), "sorted": lambda x: x.sort(0), "turned": lambda x: (x * 1).t_(), "detached": lambda x: (x * 1).detach_().add_(1),
}  # fmt: skip


def versions(*values):
    return [getattr(t, VERSION) for v in values for t in (versions_of(v))]


def versions_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in versions_of(v)] if isinstance(value, (tuple, list)) else []


def after_calls(f, make, state=()):
    told = []
    for seed in range(3):
        torch.manual_seed(seed)
        x = make()
        told.append((versions(f(x), x), [(name, getattr(t, VERSION)) for name, t in state()] if state else ()))
    return told


def module_versions(make, x, compiled):
    torch.manual_seed(0)
    module = make()
    tensors = lambda: [*module.named_parameters(), *module.named_buffers()]  # noqa: E731
    return after_calls(vitrine.compile(module) if compiled else module, lambda: x.clone(), tensors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", [*MODULES, *ROWS])
def test_modules(name, grad):
    vitrine.reset()
    make, x = (MODULES[name], torch.randn(2, 3, 4)) if name in MODULES else (ROWS[name], torch.randn(6, 4))
    with torch.set_grad_enabled(grad):
        assert module_versions(make, x, True) == module_versions(make, x, False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, grad):
    vitrine.reset()
    f = FUNCTIONS[name]
    x = torch.randn(6, 4)
    make = lambda: x.clone().requires_grad_() * 1 if grad else x.clone()  # noqa: E731
    assert after_calls(vitrine.compile(f), make) == after_calls(f, make)
