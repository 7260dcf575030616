"""One module, four batch sizes: a symbol once one has changed, from the start (dynamic=True), or where it is marked."""

import torch

import vitrine

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8))
model = model.eval().requires_grad_(False)
inputs = (torch.randn(16, 64),)
calls = [(torch.randn(n, 64),) for n in (16, 32, 64, 128, 16)]

if __name__ == "__main__":
    for name in ("automatic", "dynamic=True", "mark_dynamic"):
        vitrine.reset()
        compiled = vitrine.compile(model, dynamic=True if name == "dynamic=True" else None)
        for (x,) in calls:
            if name == "mark_dynamic":
                vitrine.mark_dynamic(x, 0, min=2, max=256)
            print(name, tuple(compiled(x).shape))
