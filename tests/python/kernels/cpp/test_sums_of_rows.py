"""Sums down columns against float64: rounded no worse than PyTorch's, which adds in several levels."""

import pytest
import torch
import vitrine


@pytest.mark.parametrize("rows", [40, 64, 100, 128, 200, 256, 300, 1000, 2048])
def test_sums_of_rows_are_as_exact_as_pytorchs(rows):
    """Equal rows, as gradients of a bias are where every sample has the same: each rounding goes the same way."""
    torch.manual_seed(rows)
    vitrine.reset()
    compiled = vitrine.compile(lambda x: (x * 1.0).sum(0))
    for x in (torch.randn(1, 200).expand(rows, 200).contiguous(), torch.randn(rows, 200) + 1):
        exact = x.double().sum(0)
        mine, eager = ((y - exact).abs().max().item() for y in (compiled(x), x.sum(0)))
        assert mine <= 3 * max(eager, torch.finfo(x.dtype).eps * exact.abs().max().item()), (mine, eager)
