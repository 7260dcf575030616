"""What tracing silently gets wrong: the sign decides, and both signs must be right."""

import torch

import vitrine


def branch_select(x, y):
    if x.sum() > 0:
        return y
    return -y


model = branch_select
inputs = (torch.ones(4), torch.arange(4.0))
calls = [inputs, (-torch.ones(4), torch.arange(4.0))]

if __name__ == "__main__":
    compiled = vitrine.compile(branch_select)
    for args in calls:
        print(compiled(*args))
