"""One block under torch.utils.checkpoint, whose values backward computes again, and one that keeps what it needs."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import vitrine


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.first, self.second = Block(width), Block(width)

    def forward(self, x):
        return self.second(checkpoint(self.first, x, use_reentrant=False))


def make(width=64, batch=8):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    model = Model(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(batch, width)

    def run(model):
        optimizer.zero_grad()
        loss = (model(x) - x.roll(1, -1)).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return run, model, list(model.parameters())


if __name__ == "__main__":
    run, model, _ = make()
    compiled = vitrine.compile(model)
    for _ in range(10):
        print(run(compiled).item())
