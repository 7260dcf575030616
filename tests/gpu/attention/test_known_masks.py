"""A mask of attention that leaves nothing out costs nothing on a GPU: the kernels are those of attention without one."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.gpu


def everywhere(n):
    return (torch.arange(n, device="cuda")[None, None, :, None] >= 0).expand(2, -1, n, n)


def earlier(n):
    places = torch.arange(n, device="cuda")
    return places <= places[:, None]


def kernels(f, *args):
    """Names of what a call launches, one after the other."""
    for _ in range(3):
        f(*args)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        f(*args)
        torch.cuda.synchronize()
    return sorted(e.name for e in recorded.events() if e.device_type == torch.autograd.DeviceType.CUDA)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("mask, causal", [(everywhere, False), (earlier, True)])
@pytest.mark.parametrize("grad", [False, True])
def test_the_kernels_are_those_without_a_mask(dtype, mask, causal, grad):
    def step(attend):
        def f(q, k, v):
            with torch.set_grad_enabled(grad):
                y = attend(q, k, v)
            if grad:
                q.grad = None
                y.float().square().sum().backward()
            return y.detach()

        return f

    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 128, 64, device="cuda", dtype=dtype) for _ in range(3))
    q.requires_grad_(grad)
    vitrine.reset()
    with_mask = vitrine.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask(q.shape[-2])))
    without = vitrine.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
    assert kernels(step(with_mask), q, k, v) == kernels(step(without), q, k, v)
    tolerance = 1e-4 if dtype == torch.float32 else 2e-2
    expected = step(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask(q.shape[-2])))(q, k, v)
    gradient = q.grad
    torch.testing.assert_close(step(with_mask)(q, k, v), expected, rtol=tolerance, atol=tolerance)
    if grad:
        torch.testing.assert_close(q.grad, gradient, rtol=10 * tolerance, atol=10 * tolerance)
