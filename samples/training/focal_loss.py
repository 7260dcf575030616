"""Focal loss of 4096 scores over 1000 classes, and its gradient: one forward and one backward kernel chain."""

import torch
from torch.nn import functional as F

import vitrine


def focal_loss(scores, target, gamma=2.0):
    log_p = F.log_softmax(scores, dim=-1).gather(1, target[:, None]).squeeze(1)
    return (-((1 - log_p.exp()) ** gamma) * log_p).mean()


def make(rows=4096, classes=1000):
    """(step, its arguments, what it changes)"""
    torch.manual_seed(0)
    scores = torch.randn(rows, classes, requires_grad=True)
    target = torch.randint(0, classes, (rows,))

    def step(loss_function):
        scores.grad = None
        loss = loss_function(scores, target)
        loss.backward()
        return loss

    return step, focal_loss, [scores]


if __name__ == "__main__":
    step, loss, _ = make()
    compiled = vitrine.compile(loss)
    for _ in range(5):
        print(step(compiled).item())
