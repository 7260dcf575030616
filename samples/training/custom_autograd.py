"""A torch.autograd.Function with saved tensors: its own backward stands in the joint graph."""

import torch
from torch import nn
from torch.nn import functional as F

import vitrine


class ClippedSquare(torch.autograd.Function):
    """x * x with a gradient of at most `limit` in size."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (2 * x).clamp(-ctx.limit, ctx.limit), None


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = nn.Linear(16, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.second(ClippedSquare.apply(self.first(x), 0.5))


def make(width=32, batch=8):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    model = Model(width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(batch, 16), torch.randint(0, 4, (batch,))

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
    for _ in range(10):
        print(run(compiled).item())
