"""Sizes that change from call to call on a GPU: eager's results but for the order of sums, kernels that are compiled few times, and graphs that are recorded for each."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support import segments

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def files(folder):
    return len([f for f in folder.rglob("*") if f.is_file()])


PROGRAMS = {
    "rows": lambda x: (F.layer_norm(x, x.shape[1:]) * 1.5 + x, torch.softmax(x, -1), x.sum(-1)),
    "columns": lambda x: (x.mean(0), x.var(0), x.amax(0), x / x.norm()),
    "pointwise": lambda x: (torch.relu(x * 2 + 1) * 0.5, x + x[:, :1], x.unsqueeze(1) * x[0]),
    "moves": lambda x: (torch.cat([x, x * 2], 1), x.t().contiguous(), F.pad(x, (1, 2)), x.flip(1), x[x.shape[0] // 2 :] + 1),
    "picks": lambda x: (x[torch.arange(x.shape[0], device="cuda").flip(0)], x.gather(0, (x > 0).long()), x.cumsum(0)),
    "statistics": lambda x: ((x - x.mean(0)) / (x.var(0) + 1e-5).sqrt(), F.cross_entropy(x, x.argmax(1))),
}
SIZES = [(8, 96), (12, 96), (33, 96), (64, 96), (64, 100), (64, 101), (1000, 96), (2048, 512), (70000, 8), (3, 40000), (2, 7)]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name, mode):
    compiled = vitrine.compile(PROGRAMS[name], dynamic=True, mode=mode)
    for size in SIZES * (1 if mode == "default" else 3):
        x = torch.randn(*size, device="cuda")
        for got, expected in zip(compiled(x), PROGRAMS[name](x), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
            assert got.stride() == expected.stride()


@pytest.mark.parametrize("name", ["rows", "columns", "pointwise", "moves", "statistics"])
def test_kernels_are_compiled_few_times(name, tmp_path, monkeypatch):
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    compiled = vitrine.compile(PROGRAMS[name], dynamic=True)
    kept = []
    for n in (72, 76, 80, 84, 88, 92, 96, 100, 104, 108):
        compiled(torch.randn(n, 96, device="cuda"))
        kept.append(files(tmp_path))
    assert kept[0] < kept[2] and len(set(kept[6:])) == 1, kept


def test_training_at_many_lengths():
    """Gradients are eager's, and dropout draws what eager draws."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Dropout(0.1), torch.nn.Linear(64, 5)).cuda()
    compiled = vitrine.compile(model, dynamic=True)
    for n in (4, 9, 16, 31, 100, 1000):
        x, y = torch.randn(n, 32, device="cuda"), torch.randint(0, 5, (n,), device="cuda")
        gradients = []
        for call in (model, compiled):
            torch.manual_seed(1)
            model.zero_grad()
            F.cross_entropy(call(x), y).backward()
            gradients.append([p.grad.clone() for p in model.parameters()] + [torch.rand(3, device="cuda")])
        torch.testing.assert_close(gradients[1], gradients[0])


def test_tuned(tmp_path, monkeypatch):
    """A shape that was measured for one size is no other size's."""
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    compiled = vitrine.compile(PROGRAMS["rows"], dynamic=True, mode="max-autotune")
    for size in SIZES[:5]:
        x = torch.randn(*size, device="cuda")
        for got, expected in zip(compiled(x), PROGRAMS["rows"](x), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def how_made():
    return [i.how for c in segments.compiled() for i in c.instances]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_compiled_for_any_length(dtype, causal):
    """Its values and gradients are eager's to the precision of their type; no length but the first is recorded by itself."""

    def attention(x):
        q, k, v = x.unbind(2)
        return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal) * 2

    compiled, allowed = vitrine.compile(attention, dynamic=True), 1e-4 if dtype == torch.float32 else 3e-2
    for n in (8, 15, 22, 64, 65, 200, 333):
        x = torch.randn(2, n, 3, 4, 32, device="cuda", dtype=dtype)
        torch.testing.assert_close(compiled(x), attention(x), rtol=allowed, atol=allowed)
        found = []
        for call in (attention, compiled):
            leaf = x.clone().requires_grad_()
            call(leaf).float().square().sum().backward()
            found.append(leaf.grad)
        torch.testing.assert_close(found[1], found[0], rtol=allowed, atol=10 * allowed)
    assert "recorded" not in how_made(), how_made()


def test_layers_of_attention_under_autocast():
    """PyTorch's layer is recorded twice, as its attention wants numbers at first: casts of weights are made anew."""
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, norm_first=True).cuda()
    compiled = vitrine.compile(layer, dynamic=True)
    for n in (8, 15, 22, 64, 65):
        x, found = torch.randn(2, n, 64, device="cuda"), []
        for call in (layer, compiled):
            layer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                y = call(x)
            y.float().square().mean().backward()
            found.append([y, *(p.grad for p in layer.parameters())])
        for got, expected in zip(found[1], found[0], strict=True):
            torch.testing.assert_close(got, expected, rtol=3e-2, atol=3e-2 * expected.abs().max().item())
    assert "recorded" not in how_made(), how_made()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_any_size(dtype):
    """cuBLASLt's algorithm for about a size computes each size near it."""

    def products(x, w, b):
        y = F.relu(x @ w + b)
        batch = torch.bmm(x.expand(3, *x.shape), w.expand(3, *w.shape))
        return torch.addmm(b, x, w), y @ w.t(), batch, x.t() @ y, torch.addmm(x, y, w.t(), beta=0.5, alpha=2)

    compiled = vitrine.compile(products, dynamic=True)
    w, b = torch.randn(96, 160, device="cuda", dtype=dtype), torch.randn(160, device="cuda", dtype=dtype)
    for n in [*range(2, 200, 7), 500, 1000, 1001, 1024, 3000]:
        x = torch.randn(n, 96, device="cuda", dtype=dtype)
        for got, expected in zip(compiled(x, w, b), products(x, w, b), strict=True):
            torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())
            assert got.stride() == expected.stride()
    assert "recorded" not in how_made(), how_made()
