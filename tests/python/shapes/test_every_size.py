"""Every size from 2 to 199, one after the other: eager's results each time, and few compilations in all."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine

MOST = 3  # compilations


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(2, -1, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))


def modules():
    torch.manual_seed(0)
    return {
        "slice": (lambda x: x[1:] + x[:-1], lambda n: [torch.randn(n, 3)]),
        "cat": (lambda x: torch.cat([x, x[:1] * 2], 0).relu(), lambda n: [torch.randn(n, 5)]),
        "matmul": (lambda x, y: (x @ y.t()).softmax(-1), lambda n: [torch.randn(n, 8), torch.randn(n, 8)]),
        "attention": (Attention(), lambda n: [torch.randn(2, n, 16)]),
        "linear at the end": (nn.Sequential(nn.ReLU(), nn.Linear(16, 8)), lambda n: [torch.randn(2, n, 16)]),
        "heads": (lambda x: (x * 2).view(2, -1, 4, 3).transpose(1, 2), lambda n: [torch.randn(2, n, 12)]),
        "layer norm": (nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 7), nn.GELU()), lambda n: [torch.randn(3, n, 24)]),
        "norm of the size": (lambda x: F.layer_norm(x, x.shape[-1:]), lambda n: [torch.randn(4, n)]),
        "conv": (nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.ReLU()), lambda n: [torch.randn(2, 3, n)]),
        "batch of images": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).eval(), lambda n: [torch.randn(n, 3, 6, 6)]),
        "cumsum": (lambda x: x.cumsum(0) * 0.5, lambda n: [torch.randn(n, 4)]),
        "embedding": (nn.Embedding(50, 12), lambda n: [torch.randint(50, (3, n))]),
        "loss": (lambda x, y: F.cross_entropy(x, y), lambda n: [torch.randn(n, 10), torch.randint(10, (n,))]),
        "mask": (lambda x: x.masked_fill(torch.ones(x.shape[0], x.shape[0]).tril() == 0, -1.0).sum(-1), lambda n: [torch.randn(n, n)]),
        "positions": (lambda x: x * torch.arange(x.shape[0])[:, None], lambda n: [torch.randn(n, 3)]),
        "two sizes": (lambda x, y: (x[:, None] * y[None]).sum(1).amax(0), lambda n: [torch.randn(n, 3), torch.randn(2 * n + 1, 3)]),
    }  # fmt: skip


NAMES = list(modules())


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_inference(name):
    fn, make = modules()[name]
    compiled = vitrine.compile(fn, fullgraph=True, recompile_limit=MOST)
    for n in range(2, 200):
        inputs = make(n)
        torch.testing.assert_close(compiled(*inputs), fn(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("embedding", "mask", "positions")])
def test_gradients(name):
    fn, make = modules()[name]
    compiled = vitrine.compile(fn, fullgraph=True, recompile_limit=MOST)
    weights = list(fn.parameters()) if isinstance(fn, nn.Module) else []
    for n in range(2, 200, 11):
        inputs = [x.requires_grad_() if x.is_floating_point() else x for x in make(n)]
        leaves = [x for x in [*inputs, *weights] if x.requires_grad]
        seed = None
        grads = []
        for run in (compiled, fn):
            out = run(*inputs)
            seed = torch.randn_like(out) if seed is None else seed
            grads.append(torch.autograd.grad(out, leaves, seed))
        torch.testing.assert_close(grads[0], grads[1], rtol=1e-3, atol=1e-4)


def test_no_size_is_left_to_eager():
    def program(x):
        return x.sin() * 2 if torch.compiler.is_compiling() else x.sin() * 3

    compiled = vitrine.compile(program)
    for grad in (False, True):
        for n in range(2, 200):
            x = torch.randn(n, 3, requires_grad=grad)
            torch.testing.assert_close(compiled(x), x.sin() * 2)


def test_a_new_size_prepares_no_operator_anew(monkeypatch):
    """What PyTorch's operators are called with gets its numbers; an operator's schema is read when it is prepared."""

    def scatters(x, i):
        total = torch.zeros(x.shape[0], 3).index_add(0, i, x * 2)
        return total.scatter_reduce(0, i[:, None].expand(-1, 3), x, "amax"), x.new_zeros(x.shape[0] + 1, 2).view(-1)

    compiled = vitrine.compile(scatters)
    read = []
    for n in range(5, 30):
        if n == 20:
            schema = property(lambda op: read.append(n) or op.__dict__["_schema"])
            monkeypatch.setattr(torch._ops.OpOverload, "_schema", schema, raising=False)
        given = torch.randn(n, 3), torch.arange(n) // 2
        for a, b in zip(compiled(*given), scatters(*given), strict=True):
            torch.testing.assert_close(a, b)
    assert not read


def test_views_are_views_at_every_size():
    def program(x, w):
        y = (x @ w).view(2, -1, 2, 4)
        return y.transpose(1, 2), y.mean(), x[:, 1:]

    compiled = vitrine.compile(program, fullgraph=True, recompile_limit=2 * MOST)
    for grad in (False, True):
        w = torch.randn(6, 8, requires_grad=grad)
        for n in range(2, 60):
            x = torch.randn(2, n, 6)
            got, expected = compiled(x, w), program(x, w)
            for a, b in zip(got, expected):
                torch.testing.assert_close(a, b)
                assert (a.stride(), a.storage_offset(), a._is_view()) == (b.stride(), b.storage_offset(), b._is_view())
            assert got[2].data_ptr() == expected[2].data_ptr()


def test_sizes_that_run_inside_each_other():
    """A call at one size begins another at a second one, and a backward pass comes when other sizes have run."""
    inner = vitrine.compile(lambda x: (x @ x.t()).softmax(-1) @ x)
    kept = []
    for n in range(2, 40):
        x = torch.randn(n, 5, requires_grad=True)
        kept.append((x, inner(x)))
    for x, got in reversed(kept):
        expected = (x @ x.t()).softmax(-1) @ x
        torch.testing.assert_close(got, expected)
        seed = torch.randn_like(expected)
        torch.testing.assert_close(torch.autograd.grad(got, x, seed), torch.autograd.grad(expected, x, seed))


def test_a_whole_step():
    def made():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
        return net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step(net, optimizer, x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    (ours, o), (eagers, e) = made(), made()
    compiled = vitrine.compile(step)
    for n in range(2, 200, 3):
        x, y = torch.randn(n, 8), torch.randn(n, 1)
        torch.testing.assert_close(compiled(ours, o, x, y), step(eagers, e, x, y), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(list(ours.parameters()), list(eagers.parameters()), rtol=1e-3, atol=1e-4)
