"""Three ways to say compile: the module, a decorator, and only a submodule inside forward."""

import torch

import vitrine


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 64)
        self.second = torch.nn.Linear(64, 10)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class OnlyFirstCompiled(MLP):
    def __init__(self):
        super().__init__()
        self.first = vitrine.compile(self.first)


torch.manual_seed(0)
model = MLP().eval().requires_grad_(False)
inputs = (torch.randn(8, 32),)


@vitrine.compile
def decorated(x):
    return model(x).softmax(-1)


if __name__ == "__main__":
    print(vitrine.compile(model)(*inputs).shape, decorated(*inputs).shape)
    print(OnlyFirstCompiled().eval().requires_grad_(False)(*inputs).shape)
