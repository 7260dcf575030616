"""A library call with what follows it in one kernel: x @ w, then bias, relu and scale."""

import torch

import vitrine


def matmul_chain(x, w, bias, scale):
    return torch.relu(x @ w + bias) * scale


torch.manual_seed(0)
model = matmul_chain
inputs = (torch.randn(128, 256), torch.randn(256, 512), torch.randn(512), 0.125)

if __name__ == "__main__":
    print(vitrine.compile(matmul_chain)(*inputs).mean())
