"""A print after the sixth of eight layers breaks the graph there; without it there is one graph."""

import torch

import vitrine


class Tower(torch.nn.Module):
    def __init__(self, verbose=True, depth=8, width=32):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))
        self.verbose = verbose

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x))
            if self.verbose and i == 5:
                print(f"mean after layer 6: {x.mean().item():.4f}")
        return x


torch.manual_seed(0)
model = Tower().eval().requires_grad_(False)
fixed = Tower(verbose=False).eval().requires_grad_(False)
inputs = (torch.randn(4, 32),)

if __name__ == "__main__":
    vitrine.compile(model)(*inputs)
    vitrine.compile(fixed, fullgraph=True)(*inputs)
