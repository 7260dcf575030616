"""branch_select without a break: torch.where computes both and chooses by data."""

import torch

import vitrine


def where_fixed(x, y):
    return torch.where(x.sum() > 0, y, -y)


model = where_fixed
inputs = (torch.ones(4), torch.arange(4.0))
calls = [inputs, (-torch.ones(4), torch.arange(4.0))]

if __name__ == "__main__":
    compiled = vitrine.compile(where_fixed, fullgraph=True)
    for args in calls:
        print(compiled(*args))
