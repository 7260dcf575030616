"""A branch on data: Python must know which way to go, so the graph breaks there."""

import torch

import vitrine


def tour_1(x):
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


model = tour_1
inputs = (torch.ones(16),)
calls = [inputs, (-torch.ones(16),)]

if __name__ == "__main__":
    print(vitrine.explain(tour_1)(*inputs))
    compiled = vitrine.compile(tour_1)
    for args in calls:
        print(compiled(*args))
