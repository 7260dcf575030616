"""A call into NumPy in the middle: a break, then the graph goes on."""

import numpy as np
import torch

import vitrine


def numpy_island(x):
    y = torch.sin(x)
    z = torch.from_numpy(np.sort(y.numpy()))
    return z * 2 + 1


torch.manual_seed(0)
model = numpy_island
inputs = (torch.randn(64),)

if __name__ == "__main__":
    print(vitrine.compile(numpy_island)(*inputs)[:4])
