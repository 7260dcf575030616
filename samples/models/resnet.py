"""ResNet from transformers with random weights. RESNET_SIZE=50 gives ResNet-50 on 224x224 images."""

import os

import torch
from transformers import ResNetConfig, ResNetForImageClassification

SMALL = dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")


def get_model():
    torch.manual_seed(0)
    config = ResNetConfig() if os.environ.get("RESNET_SIZE") == "50" else ResNetConfig(**SMALL)
    return ResNetForImageClassification(config).eval().requires_grad_(False)


def get_inputs():
    size = 224 if os.environ.get("RESNET_SIZE") == "50" else 64
    return (torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0)),)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).logits.shape)
