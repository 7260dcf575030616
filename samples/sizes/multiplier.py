"""A Python number as argument: guarded by its value, so a new value compiles again and an old one is found again."""

import torch

import vitrine


def multiply(x, multiplier):
    return x * multiplier


model = multiply
inputs = (torch.arange(8.0), 2)
calls = [(inputs[0], 2), (inputs[0], 3), (inputs[0], 2)]

if __name__ == "__main__":
    compiled = vitrine.compile(multiply)
    for args in calls:
        print(compiled(*args))
