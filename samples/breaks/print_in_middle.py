"""A print between two halves: two graphs, and the text comes out in order."""

import torch

import vitrine


def print_in_middle(x, use_cos=False):
    y = x * 2
    print("shape in the middle:", tuple(y.shape))
    if use_cos:
        return torch.cos(y)
    return y + 1


model = print_in_middle
inputs = (torch.arange(12.0).reshape(3, 4),)
calls = [inputs, (inputs[0], True)]

if __name__ == "__main__":
    compiled = vitrine.compile(print_in_middle)
    for args in calls:
        print(compiled(*args))
