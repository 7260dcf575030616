"""Products of one row on a CPU: values and types in every form; weights that are stored narrow are wide nowhere in memory."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded

WEIGHTS = {
    "int8 and a scale": lambda w, s: w.to(s.dtype) * s,
    "int8, a scale and a zero": lambda w, s: (w.to(s.dtype) - 3) * s,
    "int8 alone": lambda w, s: w.to(s.dtype),
    "scales of groups": lambda w, s: (w.to(s.dtype).view(w.shape[0], -1, 32) * s[:, :, None]).view(w.shape),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", WEIGHTS)
def test_values(name, dtype):
    torch.manual_seed(0)
    weight, scale = torch.randint(-127, 128, (300, 256), dtype=torch.int8), (torch.rand(300, 1) * 0.01).to(dtype)
    x, bias = torch.randn(1, 256).to(dtype), torch.randn(300).to(dtype)
    f = lambda x: F.linear(x, WEIGHTS[name](weight, scale), bias)  # noqa: E731
    with torch.no_grad():
        found, eager = vitrine.compile(f)(x), f(x)
    assert (found.dtype, found.shape, found.stride()) == (eager.dtype, eager.shape, eager.stride())
    wide = F.linear(x.double(), WEIGHTS[name](weight, scale).double(), bias.double())
    scale_of = wide.abs().max()
    assert (found.double() - wide).abs().max() <= 2 * (eager.double() - wide).abs().max() + 4 * torch.finfo(dtype).eps * scale_of


FORMS = {
    "a layer": lambda x, w, b: F.linear(x, w),
    "a bias": lambda x, w, b: F.linear(x, w, b),
    "what follows": lambda x, w, b: F.silu(F.linear(x, w, b)) * F.linear(x, w) + b,
    "what comes before": lambda x, w, b: F.linear(F.rms_norm(x, x.shape[-1:]), w),
    "a matrix that lies across": lambda x, w, b: x @ w.t().contiguous(),
    "a query": lambda x, w, b: torch.bmm(x[None].expand(3, 1, -1), w.view(3, 100, -1).transpose(1, 2)),
    "two rows": lambda x, w, b: F.linear(torch.cat([x, -x]), w, b),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.float16])
@pytest.mark.parametrize("name", FORMS)
def test_forms(name, dtype):
    torch.manual_seed(0)
    compiled = vitrine.compile(FORMS[name], dynamic=True)
    for inner in (256, 257, 3000):
        args = [torch.randn(1, inner).to(dtype), torch.randn(300, inner).to(dtype) / 16, torch.randn(300).to(dtype)]
        with torch.no_grad():
            found, eager, wide = compiled(*args), FORMS[name](*args), FORMS[name](*(a.double() for a in args))
        assert (found.dtype, found.shape, found.stride()) == (eager.dtype, eager.shape, eager.stride())
        allowed = 2 * (eager.double() - wide).abs().max() + 4 * torch.finfo(dtype).eps * wide.abs().max()
        assert (found.double() - wide).abs().max() <= allowed


def test_gradients():
    x, w, b = torch.randn(1, 256, requires_grad=True), torch.randn(300, 256, requires_grad=True), torch.randn(300, requires_grad=True)
    mine = [t.detach().clone().requires_grad_() for t in (x, w, b)]
    F.linear(x, w, b).square().sum().backward()
    vitrine.compile(lambda x, w, b: F.linear(x, w, b).square().sum())(*mine).backward()
    for found, eager in zip(mine, (x, w, b)):
        torch.testing.assert_close(found.grad, eager.grad, rtol=1e-4, atol=1e-3)


def test_the_wide_weight_is_nowhere(tmp_path):
    weight, scale = torch.randint(-127, 128, (512, 256), dtype=torch.int8), torch.rand(512, 1)
    with torch.no_grad(), recorded(tmp_path) as session:
        vitrine.compile(lambda x: F.linear(x, weight.float() * scale))(torch.randn(1, 256))
    assert session.rows("kernel") and not [b for b in session.rows("buffer") if b["bytes"] >= 4 * weight.numel()]
