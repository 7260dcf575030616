"""An operator of one's own, registered with torch.library: it stays one node."""

import torch

import vitrine


@torch.library.custom_op("vitrine_samples::scaled_sign", mutates_args=())
def scaled_sign(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.sign(x) * scale


@scaled_sign.register_fake
def _(x, scale):
    return torch.empty_like(x)


def use_operator(x):
    return scaled_sign(x + 1, 0.5) * 2


model = use_operator
inputs = (torch.linspace(-3, 3, 32),)

if __name__ == "__main__":
    print(vitrine.compile(use_operator)(*inputs)[:4])
