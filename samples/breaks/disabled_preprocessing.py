"""A clean island: the function marked vitrine.disable runs as it is, between two graphs."""

import torch

import vitrine


@vitrine.disable
def clip_outliers(x):
    limit = float(x.abs().quantile(0.99))
    return x.clamp(-limit, limit)


def pipeline(x):
    x = clip_outliers(x * 2)
    return torch.relu(x) + 1


torch.manual_seed(0)
model = pipeline
inputs = (torch.randn(1000),)

if __name__ == "__main__":
    print(vitrine.compile(pipeline)(*inputs).sum())
