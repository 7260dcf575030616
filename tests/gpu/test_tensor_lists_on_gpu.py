"""Operators that take lists of a GPU's tensors: eager's results, and its own where a graph replays them."""


import pytest
import torch
import vitrine

from tests.python.library.test_tensor_lists import CALLS, vectors

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("name", CALLS)
def test_as_eager(name, mode):
    torch.manual_seed(0)
    vitrine.reset()
    with torch.device("cuda"):
        ts = vectors()
        compiled = vitrine.compile(CALLS[name], mode=mode)
        for _ in range(4):
            with torch.no_grad():
                torch.testing.assert_close(compiled(ts), CALLS[name](ts), rtol=1e-6, atol=1e-5)
            for t in ts:
                t.mul_(1.5)
