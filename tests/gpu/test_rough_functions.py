"""Functions that are computed roughly because 16 bits are left of them: every 16-bit number, against float64."""

import pytest
import torch
import torch.nn.functional as F
import vitrine

pytestmark = pytest.mark.gpu
FUNCTIONS = {
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "gate": lambda x: F.glu(torch.stack([x, x.flip(0)]), 0),
    "silu's derivative": lambda x: torch.ops.aten.silu_backward(torch.ones_like(x), x),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(name, dtype):
    vitrine.reset()
    function = FUNCTIONS[name]
    x = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).cuda().view(dtype)
    with torch.no_grad():
        got, eager = vitrine.compile(function)(x), function(x)
    exact = function(x.double())
    assert torch.equal(got.isnan(), eager.isnan()) and torch.equal(got.isinf(), eager.isinf())
    numbers = ~exact.isnan() & ~got.isinf()
    ulp = torch.finfo(dtype).eps * exact.abs().clamp_min(torch.finfo(dtype).tiny)
    ours, its = (((r.double() - exact).abs() / ulp)[numbers].amax().item() for r in (got, eager))
    assert ours <= max(1.0, 1.01 * its), (ours, its)
