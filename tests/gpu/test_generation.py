"""A token a call with a cache: products of one row, attention of one query and the cache's writes are kernels of ours."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.gpu
DTYPES = [torch.float16, torch.bfloat16, torch.float32]


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    vitrine.reset()
    with torch.no_grad():
        yield


def check(program, *args, factor=2.0, reference=None):
    """Compiled is as close to float64 as eager is, but for `factor`, in every call."""
    compiled = vitrine.compile(program)
    exact = program(*(a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args))
    eager = program(*args)
    error = (eager.double() - exact).abs().max()
    for _ in range(3):
        found = compiled(*args)
        assert found.dtype == eager.dtype and found.stride() == eager.stride()
        assert (found.double() - exact).abs().max() <= factor * error + 1e-6


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows, columns, inner", [(1, 512, 2048), (1, 31, 100), (48, 1, 777), (1, 2048, 8192), (1, 1, 64), (40, 30, 1)])
def test_products_of_one_row(dtype, rows, columns, inner):
    x, w, b = torch.randn(rows, inner, device="cuda"), torch.randn(columns, inner, device="cuda") / inner**0.5, torch.randn(columns, device="cuda")
    check(lambda x, w, b: F.silu(F.linear(x, w, b)) + F.linear(x.tanh(), w), x.to(dtype), w.to(dtype), b.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("rows, columns, inner", [(2, 512, 2048), (4, 8192, 2048), (8, 4111, 264), (3, 40, 8), (16, 2048, 8192), (9, 33, 520)])
def test_products_of_few_rows(dtype, rows, columns, inner):
    x, w, v, b = (torch.randn(*s, device="cuda") for s in ((rows, inner), (columns, inner), (columns, inner), (columns,)))
    args = (t.to(dtype) for t in (x, w / inner**0.5, v / inner**0.5, b))
    check(lambda x, w, v, b: F.silu(F.linear(x, w, b)) * F.linear(x, v), *args)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_matrix_that_does_not_begin_at_a_multiple(dtype):
    x, w = torch.randn(1, 1023, device="cuda").to(dtype), torch.randn(64 * 1023 + 1, device="cuda").to(dtype)
    check(lambda x, w: F.linear(x, w[1:].view(64, 1023)) / 32, x, w)


MASKS = {
    "none": lambda b, h, t: None,
    "places": lambda b, h, t: (torch.arange(t, device="cuda") <= t // 2)[None, None, None, :],
    "numbers": lambda b, h, t: torch.randn(b, 1, 1, t, device="cuda"),
    "heads": lambda b, h, t: torch.rand(b, h, 1, t, device="cuda") < 0.5,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("batch, heads, groups, places, width", [(1, 16, 4, 1024, 128), (3, 4, 4, 77, 24), (2, 6, 2, 1, 64)])
def test_attention_of_one_query(dtype, mask, batch, heads, groups, places, width):
    q, k, v = (torch.randn(batch, n, t, width, device="cuda").to(dtype) for n, t in ((heads, 1), (groups, places), (groups, places)))
    allowed = MASKS[mask](batch, heads, places)
    if allowed is not None and allowed.is_floating_point():
        allowed = allowed.to(dtype)

    def attend(q, k, v, allowed):
        k, v = (x.repeat_interleave(heads // groups, 1) for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).reshape(batch, 1, -1)

    check(attend, q, k, v, allowed, factor=4.0)


def test_a_query_that_sees_no_place():
    q, k, v = (torch.randn(2, 3, n, 32, device="cuda", dtype=torch.float16) for n in (1, 50, 50))
    nothing = torch.zeros(2, 1, 1, 50, dtype=torch.bool, device="cuda")
    nothing[1] = True
    attend = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)  # noqa: E731
    with sdpa_kernel(SDPBackend.MATH):  # of PyTorch's kernels cuDNN's alone gives something else
        expected = attend(q, k, v, nothing)
    assert not expected[0].any()
    torch.testing.assert_close(vitrine.compile(attend)(q, k, v, nothing), expected, rtol=2e-3, atol=2e-3)


class Layer(nn.Module):
    """Attention with a static cache, whose heads share keys and values, and a gated feed-forward layer."""

    def __init__(self, width=256, heads=8, groups=2, places=64):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up, self.down = nn.Linear(width, 512, bias=False), nn.Linear(width, 512, bias=False), nn.Linear(512, width, bias=False)
        self.norm = nn.RMSNorm(width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, groups, places, self.size))

    def forward(self, x, place):
        h = self.norm(x)
        q, k, v = (f(h).view(1, 1, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        allowed = (torch.arange(self.keys.shape[2], device=x.device) <= place)[None, None, None]
        k, v = (c.repeat_interleave(self.heads // self.groups, 1) for c in (self.keys, self.values))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).reshape(1, 1, -1))
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_cache_is_written_in_place(dtype, mode):
    layers = nn.Sequential(Layer(), Layer()).cuda().to(dtype).eval()

    def step(x, place):
        for layer in layers:
            x = layer(x, place)
        return x

    compiled = vitrine.compile(step, mode=mode)
    words = torch.randn(20, 1, 1, 256, device="cuda").to(dtype)

    def run(f):
        for buffer in layers.buffers():
            buffer.zero_()
        at = [b.data_ptr() for b in layers.buffers()]
        out = torch.stack([f(x, torch.tensor([i], device="cuda")).clone() for i, x in enumerate(words)])
        assert [b.data_ptr() for b in layers.buffers()] == at
        return out, [b.clone() for b in layers.buffers()]

    tolerance = dict(rtol=1e-4, atol=1e-4) if dtype == torch.float32 else dict(rtol=3e-2, atol=3e-2)
    torch.testing.assert_close(run(compiled), run(step), **tolerance)


def test_every_kernel_of_a_token_is_ours():
    layer = Layer().cuda().half().eval()
    compiled, x = vitrine.compile(layer), torch.randn(1, 1, 256, device="cuda", dtype=torch.float16)
    place = torch.tensor([3], device="cuda")
    for _ in range(3):
        compiled(x, place)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        compiled(x, place)
        torch.cuda.synchronize()
    names = {e.name for e in recorded.events() if e.device_type == torch.autograd.DeviceType.CUDA}
    assert names and all(n.startswith("vitrine_") for n in names)
