"""A flag argument decides at capture: the branch that is not taken never enters the graph."""

import torch

import vitrine


def sin_cos(x, with_cos=False):
    y = torch.sin(x)
    if with_cos:
        y = y + torch.cos(x)
    return y


model = sin_cos
inputs = (torch.linspace(0, 3, 64),)
calls = [inputs, (inputs[0], True)]

if __name__ == "__main__":
    import dis

    dis.dis(sin_cos)
    compiled = vitrine.compile(sin_cos)
    for args in calls:
        print(compiled(*args).sum())
