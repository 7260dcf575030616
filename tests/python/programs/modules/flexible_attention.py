"""Flex_attention with scores and masks of the program's own."""

import torch
from tests.python.programs.registry import program
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

SLOPES = torch.tensor([0.5, 0.25])
DOCUMENT = torch.arange(16) // 5
CAUSAL = create_block_mask(lambda b, h, q, k: q >= k, None, None, 16, 16, device="cpu", BLOCK_SIZE=8)
PACKED = create_block_mask(
    lambda b, h, q, k: (DOCUMENT[q] == DOCUMENT[k]) & (q >= k), 2, None, 16, 16, device="cpu", BLOCK_SIZE=8
)


def of_heads(seed):
    return lambda: torch.randn(2, 2, 16, 8, generator=torch.Generator().manual_seed(seed))


@program(of_heads(0), of_heads(1), of_heads(2))
def scores_changed(q, k, v):
    window = 4
    near = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i - j < window, s, -float("inf")))
    return near, flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + SLOPES[h] * (j - i))


@program(of_heads(0), of_heads(1), of_heads(2))
def scores_masked(q, k, v):
    return flex_attention(q, k, v, block_mask=CAUSAL), flex_attention(q, k, v, block_mask=PACKED, scale=0.5)


@program(of_heads(0), of_heads(1), of_heads(2))
def heads_shared(q, k, v):
    return flex_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k[:, :1], v[:, :1], enable_gqa=True)


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1, 1, 62).reshape(2, 31))
        self.project = nn.Linear(8, 8)

    def forward(self, q, k, v):
        def score(s, b, h, i, j):
            return s + self.bias[h, i - j + 15]

        return flex_attention(self.project(q), k, v, score_mod=score, block_mask=CAUSAL)


torch.manual_seed(0)
BIASED = Biased()


@program(of_heads(0), of_heads(1), of_heads(2))
def scores_learned(q, k, v):
    return BIASED(q, k, v)
