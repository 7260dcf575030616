"""Forward and loss under autocast: products in bfloat16, norms and the loss in float32, gradients of float32 parameters."""

import torch
from torch import nn
from torch.nn import functional as F

import vitrine


def make(width=64, batch=16):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(batch, 32), torch.randint(0, 10, (batch,))

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x), y)

    def run(loss_of):
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return run, loss_of, list(model.parameters())


if __name__ == "__main__":
    run, loss_of, _ = make()
    compiled = vitrine.compile(loss_of)
    for _ in range(10):
        print(run(compiled).item())
