"""Sequences of 100, 200 and 300, padded to the longest and cut afterwards: one compilation serves all."""

import torch
import torch.nn.functional as F

import vitrine

LONGEST = 300
torch.manual_seed(0)
layer = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU()).eval().requires_grad_(False)
model = layer
inputs = (torch.randn(2, 100, 32),)
calls = [(torch.randn(2, n, 32),) for n in (100, 200, 300)]


def padded(compiled, x):
    n = x.shape[1]
    return compiled(F.pad(x, (0, 0, 0, LONGEST - n)))[:, :n]


if __name__ == "__main__":
    compiled = vitrine.compile(layer)
    for args in calls:
        print(padded(compiled, *args).shape)
