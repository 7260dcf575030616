"""A slice whose length is an argument: the second length makes it a symbol, and one compilation serves the rest."""

import torch

import vitrine


def slice_by_n(x, n):
    return x[:n] + 1


x = torch.arange(100.0)
model = slice_by_n
inputs = (x, 5)
calls = [(x, n) for n in (0, 1, 2, 5, 2, 50)]

if __name__ == "__main__":
    compiled = vitrine.compile(slice_by_n)
    for n in range(100):
        assert torch.equal(compiled(x, n), x[:n] + 1)
    print("100 lengths, all as eager")
