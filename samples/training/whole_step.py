"""A training step as one compiled function: gradients to None, forward, backward, AdamW's update; with SGD's in its place."""

import torch
from torch import nn
from torch.nn import functional as F

import vitrine


def make(width=128, batch=64, sgd=False):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 10))
    if sgd:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(batch, 32), torch.randint(0, 10, (batch,))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return lambda step: step(x, y), step, list(model.parameters())


if __name__ == "__main__":
    for sgd in (False, True):
        run, step, _ = make(sgd=sgd)
        compiled = vitrine.compile(step)
        for _ in range(20):
            print(run(compiled).item())
