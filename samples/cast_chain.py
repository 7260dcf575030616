"""Fusion across a change of dtype: float32 in, float16 out, one kernel."""

import torch

import vitrine


def cast_chain(x):
    return torch.relu(x * 2 + 1).to(torch.float16)


torch.manual_seed(0)
model = cast_chain
inputs = (torch.randn(64, 333),)

if __name__ == "__main__":
    print(vitrine.compile(cast_chain)(*inputs).dtype)
