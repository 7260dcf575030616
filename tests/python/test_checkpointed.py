"""torch.utils.checkpoint where nothing is differentiated."""

import pytest
import torch
import vitrine
from torch import nn
from torch.utils.checkpoint import checkpoint


@pytest.mark.parametrize("more", [{}, {"preserve_rng_state": False}])
def test_without_gradients_it_is_a_call(more):
    block = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.BatchNorm1d(4))

    def program(x):
        return checkpoint(block, x, use_reentrant=False, **more) + x

    vitrine.reset()
    with torch.no_grad():
        explained = vitrine.explain(program)(torch.ones(2, 4))
        torch.testing.assert_close(explained.result, program(torch.ones(2, 4)))
    assert not explained.graph_break_reasons, explained
    assert block[3].num_batches_tracked == 2
