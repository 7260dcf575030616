"""Operators in daily use that run in kernels of our own, forward and backward: no step of the plan is a PyTorch kernel, and
values, gradients, types and strides are eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from op_values import differences
from recorded import recorded

inf = float("inf")
PICTURES, ROWS = (2, 4, 6, 6), (8, 24)
# name: (function, sizes of its arguments)
FORWARD_AND_BACKWARD = {
    "norm of rows": (lambda x: torch.linalg.vector_norm(x, dim=-1), ROWS),
    "norm of all": (lambda x: x.norm(), ROWS),
    "norm 1": (lambda x: x.norm(1, dim=0), ROWS),
    "largest norm": (lambda x: x.norm(inf, dim=-1, keepdim=True), ROWS),
    "normalize": (lambda x: F.normalize(x, dim=-1), ROWS),
    "distance": (lambda x, y: F.pairwise_distance(x, y), ROWS, ROWS),
    "cosine": (lambda x, y: F.cosine_similarity(x, y), ROWS, ROWS),
    "logsumexp": (lambda x: torch.logsumexp(x, (0, 1)), ROWS),
    "deviation and mean": (lambda x: sum(torch.std_mean(x, -1)), ROWS),
    "numbers alone": (lambda x: torch.nansum(torch.where(x > 0, x, torch.nan), 0), ROWS),
    "smallest and largest": (lambda x: sum(torch.aminmax(x, dim=1)), ROWS),
    "glu": (lambda x: F.glu(x, 1), PICTURES),
    "celu": (lambda x: F.celu(x, 0.7), ROWS),
    "elu": (lambda x: F.elu(x, 0.7), ROWS),
    "selu": (F.selu, ROWS),
    "mish": (F.mish, ROWS),
    "softplus": (lambda x: F.softplus(x, 2, 1), ROWS),
    "logsigmoid": (F.logsigmoid, ROWS),
    "hardswish": (lambda x: F.hardswish(3 * x), ROWS),
    "hardsigmoid": (lambda x: F.hardsigmoid(3 * x), ROWS),
    "hardshrink": (F.hardshrink, ROWS),
    "softshrink": (F.softshrink, ROWS),
}
FORWARD = {
    "no norm": (lambda x: torch.linalg.vector_norm(x.round(), 0, dim=1), ROWS),
    "count": (lambda x: torch.count_nonzero(x > 0, 1), ROWS),
    "any of all but one": (lambda x: torch.any(x > 2, (1, 2)), PICTURES),
    "all of some": (lambda x: torch.all(x > -1, (0, 3), keepdim=True), PICTURES),
}


def inputs(sizes, dtype, gradients):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, generator=generator).to(dtype).requires_grad_(gradients) for n in sizes]


def by_pytorch(session):
    return [r["text"] for r in session.rows("launch") if r["kind"] in ("opaque", "library")]


def close(expected, found, dtype):
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    torch.testing.assert_close(found, expected, rtol=1e-5 if dtype is torch.float32 else 2e-2, atol=1e-5 if dtype is torch.float32 else 2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", [*FORWARD, *FORWARD_AND_BACKWARD])
def test_forward(name, dtype, tmp_path):
    function, *sizes = (FORWARD | FORWARD_AND_BACKWARD)[name]
    x = inputs(sizes, dtype, False)
    vitrine.reset()
    with recorded(tmp_path) as session:
        found = vitrine.compile(lambda *x: function(*x))(*x)
    close(function(*x), found, dtype)
    assert by_pytorch(session) == []


@pytest.mark.parametrize("name", FORWARD_AND_BACKWARD)
def test_backward(name, tmp_path):
    function, *sizes = FORWARD_AND_BACKWARD[name]
    x = inputs(sizes, torch.float32, True)
    vitrine.reset()
    with recorded(tmp_path) as session:
        y = vitrine.compile(lambda *x: function(*x))(*x)
        tangent = torch.linspace(-1, 1, y.numel()).view(y.shape)
        found = torch.autograd.grad(y, x, tangent)
    for e, f in zip(torch.autograd.grad(function(*x), x, tangent), found, strict=True):
        close(e, f, torch.float32)
    assert by_pytorch(session) == []


def test_a_norm_of_one_element_does_not_overflow():
    x = torch.tensor([[1e30], [-2e30]])
    assert torch.equal(vitrine.compile(lambda x: x.norm(dim=1) * 1)(x), torch.tensor([1e30, 2e30]))


def test_a_logarithm_of_infinities_is_eagers():
    x = torch.tensor([[inf, 1.0], [-inf, -inf], [-inf, inf], [float("nan"), 1.0]])
    assert not differences(torch.logsumexp(x, 1), vitrine.compile(lambda x: torch.logsumexp(x, 1))(x)).any()
