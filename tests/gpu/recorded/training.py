"""Training steps of a small language model on the GPU: forward, backward and AdamW in one compiled function."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import vitrine
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "samples"))
from transformer_block import Block  # noqa: E402

torch.manual_seed(0)
WORDS, WIDTH = 8192, 384
model = nn.Sequential(nn.Embedding(WORDS, WIDTH), *(Block(WIDTH, 6) for _ in range(4)), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


@vitrine.compile
def step(words):
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        scores = model(words[:, :-1])
    loss = F.cross_entropy(scores.flatten(0, 1).float(), words[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    return loss.detach()


words = torch.randint(0, WORDS, (8, 257), device="cuda")
losses = [step(words).item() for _ in range(6)]
print("loss:", *(f"{loss:.3f}" for loss in losses))
