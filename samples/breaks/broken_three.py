"""Three graph breaks, each with its cause: a printed norm, a branch on a sum, sorting tensors by value."""

import torch

import vitrine


def broken_three(x, y):
    a = torch.sin(x)
    print(f"norm {a.norm():.4f}")
    b = a * 2 if a.sum() > 0 else a * 3
    low, high = sorted([b, y], key=lambda t: t.sum())
    return low - high


model = broken_three
inputs = (torch.ones(10), torch.full((10,), 0.5))

if __name__ == "__main__":
    print(vitrine.compile(broken_three)(*inputs))
    print(vitrine.explain(broken_three)(*inputs))
    try:
        vitrine.compile(broken_three, fullgraph=True)(*inputs)
    except vitrine.GraphBreakError as error:
        print("fullgraph=True:", str(error).splitlines()[0])
