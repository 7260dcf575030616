"""Four pointwise operators, one kernel."""

import torch

import vitrine


def mul_add_relu_mul(x, bias, scale):
    return torch.relu(x * 2 + bias) * scale


torch.manual_seed(0)
model = mul_add_relu_mul
inputs = (torch.randn(256, 1024), torch.randn(1024), torch.tensor(0.5))

if __name__ == "__main__":
    print(vitrine.compile(mul_add_relu_mul)(*inputs).mean())
