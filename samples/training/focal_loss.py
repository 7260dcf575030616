"""Weighted focal loss of 4096 scores over 1000 classes, and its gradient: reductions and pointwise work fused."""

import torch
from torch.nn import functional as F

import vitrine


def focal_loss(scores, target, weights):
    cross_entropy = F.cross_entropy(scores, target, reduction="none")
    p = torch.exp(-cross_entropy)
    return ((1 - p) ** 2 * cross_entropy * weights[target]).mean()


def make(rows=4096, classes=1000):
    """(step, its arguments, what it changes)"""
    torch.manual_seed(0)
    scores = torch.randn(rows, classes, requires_grad=True)
    target = torch.randint(0, classes, (rows,))
    weights = torch.rand(classes) + 0.5

    def step(loss_function):
        scores.grad = None
        loss = loss_function(scores, target, weights)
        loss.backward()
        return loss

    return step, focal_loss, [scores]


if __name__ == "__main__":
    step, loss, _ = make()
    compiled = vitrine.compile(loss)
    for _ in range(5):
        print(step(compiled).item())
