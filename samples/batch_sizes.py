"""One module, four batch sizes."""

import torch

import vitrine

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8))
model = model.eval().requires_grad_(False)
inputs = (torch.randn(16, 64),)
calls = [(torch.randn(n, 64),) for n in (16, 32, 64, 128, 16)]

if __name__ == "__main__":
    compiled = vitrine.compile(model)
    for args in calls:
        print(compiled(*args).shape)
