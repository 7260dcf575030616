"""One compilation for all sizes, of a GPU's kernels and attention, on a machine that has none: all but the launches."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import vitrine
from tests.python.support import segments


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def ways(name):
    """How each size's plan was made, of the segments of a function."""
    return [(i.how, i.why) for c in segments.compiled() if c.name.endswith(name) for i in c.instances]


def for_gpu(f, **settings):
    return vitrine.compile(f, dynamic=True, options={"target": "sm_90", **settings})


class Cached(nn.Module):
    """Attention whose keys grow by one a call."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(64, 192), nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x, keys, values):
        q, k, v = self.qkv(self.norm(x)).view(1, 1, 3, 4, 16).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 1, 64)
        return x + self.out(y), k, v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cache_that_grows(dtype):
    model = Cached().to(dtype).eval()
    compiled = for_gpu(model)
    k = v = torch.randn(1, 4, 8, 16, dtype=dtype)
    with torch.no_grad():
        for _ in range(6):
            _, k, v = compiled(torch.randn(1, 1, 64, dtype=dtype), k, v)
    made = ways("Cached.forward")
    assert sum(how == "instantiated" for how, _ in made) >= 3 and sum(how == "compiled" for how, _ in made) <= 2, made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("causal", [False, True])
def test_training_at_many_lengths(dtype, causal):
    def loss(qkv):
        q, k, v = qkv.unbind(2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal)
        return y.float().square().mean()

    compiled = for_gpu(loss)
    for n in (8, 15, 22, 33, 47, 64):
        compiled(torch.randn(2, n, 3, 4, 16, dtype=dtype, requires_grad=True))
    made = ways("loss")
    assert sum(how == "instantiated" for how, _ in made) >= 4, made
