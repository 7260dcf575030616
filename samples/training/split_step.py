"""The usual split: the model is compiled, the loss and the optimizer run as they are."""

import torch
from torch import nn
from torch.nn import functional as F

import vitrine


def make(width=128, batch=64):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, width), nn.SiLU(), nn.Dropout(0.1), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    x, y = torch.randn(batch, 32), torch.randint(0, 10, (batch,))

    def run(model):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return run, model, list(model.parameters())


if __name__ == "__main__":
    run, model, _ = make()
    compiled = vitrine.compile(model)
    for _ in range(20):
        print(run(compiled).item())
