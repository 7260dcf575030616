"""One model in each mode; on the CPU they agree."""

import torch

import vitrine

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.GELU())
model = model.eval().requires_grad_(False)
inputs = (torch.randn(32, 64),)

if __name__ == "__main__":
    for mode in ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        vitrine.reset()
        print(mode, vitrine.compile(model, mode=mode)(*inputs).sum().item())
