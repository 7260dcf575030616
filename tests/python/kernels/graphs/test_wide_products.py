"""Products of 16-bit numbers: as exact as eager's, whether the CPU has instructions for them or not, forward and backward."""

import pytest
import torch
import torch.nn.functional as F
import vitrine

PROGRAMS = {
    "mm": (lambda x, w: (x @ w).relu(), (33, 40), (40, 24)),
    "linear": (lambda x, w: F.linear(x, w, w[:, 0]), (5, 17, 40), (24, 40)),
    "bmm": (lambda x, w: x @ w.transpose(1, 2), (3, 17, 40), (3, 21, 40)),
    "baddbmm": (lambda x, w: torch.baddbmm(x[:, :, :1], x, w, beta=0.5, alpha=2.0), (3, 17, 40), (3, 40, 9)),
    "convolution": (lambda x, w: F.conv2d(x, w, w[:, 0, 0, 0], padding=1).sigmoid(), (2, 6, 13, 11), (8, 6, 3, 3)),
    "groups": (lambda x, w: F.conv1d(x, w, stride=2, groups=2), (2, 6, 31), (8, 3, 3)),
    "channels last": (lambda x, w: F.conv2d(x.to(memory_format=torch.channels_last), w), (2, 6, 13, 11), (8, 6, 3, 3)),
    "transposed": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (2, 6, 7, 5), (6, 8, 3, 3)),
    "attention": (lambda x, w: F.scaled_dot_product_attention(x, w, w, attn_mask=w[0, 0, :7, :8] @ w[0, 0, :, :8].T), (2, 3, 7, 16), (2, 3, 9, 16)),
    "causal": (lambda x, w: F.scaled_dot_product_attention(x, w, w, is_causal=True), (2, 3, 9, 16), (2, 3, 9, 16)),
    "shared": (lambda x, w: (x @ w) @ w, (20, 32), (32, 32)),
}


def far(a, reference):
    return ((a.double() - reference).norm() / (reference.norm() + 1e-30)).item()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_16_bits(name, dtype):
    torch.manual_seed(0)
    function, *shapes = PROGRAMS[name]
    values = [torch.randn(shape).to(dtype) for shape in shapes]
    vitrine.reset()
    compiled = vitrine.compile(function, fullgraph=True)

    def outputs(f, wide):
        args = [v.to(wide).requires_grad_() for v in values]
        y = f(*args)
        return [y.detach(), *torch.autograd.grad(y.sum() + (y * y).sum(), args)], y.detach()

    exact, _ = outputs(function, torch.float64)
    eager, y = outputs(function, dtype)
    mine, z = outputs(compiled, dtype)
    assert z.stride() == y.stride()
    for reference, theirs, ours in zip(exact, eager, mine):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert far(ours, reference) <= 2 * far(theirs, reference) + torch.finfo(dtype).eps
    with torch.no_grad():
        assert far(compiled(*values), exact[0]) <= 2 * far(eager[0], exact[0]) + torch.finfo(dtype).eps


def test_infinities_and_nans_stay():
    x, w = torch.randn(4, 8).bfloat16(), torch.randn(8, 4).bfloat16()
    x[0, 0], x[1, 1], w[2, 2] = float("inf"), float("nan"), float("-inf")
    found, expected = vitrine.compile(lambda a, b: a @ b)(x, w), x @ w
    torch.testing.assert_close(found, expected, equal_nan=True)
