"""The walk through all stages: one Linear, relu, and a scale."""

import torch

import vitrine


class TinyModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)

    def forward(self, x):
        return torch.relu(self.linear(x)) * 0.5


torch.manual_seed(0)
model = TinyModel().eval().requires_grad_(False)
inputs = (torch.randn(8, 64),)

if __name__ == "__main__":
    print(vitrine.compile(model)(*inputs).shape)
