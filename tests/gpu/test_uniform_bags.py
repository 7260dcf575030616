"""Bags of as many embeddings each, which become lookups and a sum: values and gradients as eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    vitrine.reset()


def gradients(function, weight, *rest):
    weight.grad = None
    out = function(weight, *rest)
    (out.float().square().sum() / 2).backward()
    return out.detach(), weight.grad.clone()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("bags, each, rows", [(64, 4, 1000), (300, 1, 50), (7, 33, 9), (4096, 8, 5000), (4096, 9, 5000)])
def test_values_and_gradients(bags, each, rows, mode, dtype):
    torch.manual_seed(0)
    weight = torch.randn(rows, 48, device="cuda").to(dtype).requires_grad_()
    ids = torch.randint(0, rows, (bags, each), device="cuda")
    function = lambda w, i: F.embedding_bag(i, w, mode=mode)  # noqa: E731
    exact = gradients(function, weight.detach().double().requires_grad_(), ids)
    eager, ours = gradients(function, weight, ids), gradients(vitrine.compile(function), weight, ids)
    for got, its, right in zip(ours, eager, exact):
        assert got.dtype == its.dtype and got.shape == its.shape and got.stride() == its.stride()
        error, own = (((t.double() - right).norm() / right.norm()).item() for t in (got, its))
        assert error <= max(2 * own, 1e-6), (error, own)


def test_indices_of_a_larger_matrix():
    torch.manual_seed(0)
    tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(100, 16, mode="sum") for _ in range(3)).cuda()
    ids = torch.randint(0, 100, (64, 3, 4), device="cuda")
    function = lambda i: torch.cat([t(x) for t, x in zip(tables, i.unbind(1))], 1)  # noqa: E731
    with torch.no_grad():
        torch.testing.assert_close(vitrine.compile(function)(ids), function(ids))


@pytest.mark.parametrize("each", [{"padding_idx": 3}, {"max_norm": 1.0}, {"mode": "max"}, {"scale_grad_by_freq": True}], ids=str)
def test_other_bags(each):
    torch.manual_seed(0)
    weight = torch.randn(50, 16, device="cuda", requires_grad=True)
    ids = torch.randint(0, 50, (64, 4), device="cuda")
    function = lambda w, i: F.embedding_bag(i, w * 1, **{"mode": "sum", **each})  # noqa: E731
    for got, its in zip(gradients(vitrine.compile(function), weight, ids), gradients(function, weight, ids)):
        torch.testing.assert_close(got, its)
