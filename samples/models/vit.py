"""A vision transformer from transformers with random weights. VIT_SIZE=base gives ViT-B/16."""

import os

import torch
from transformers import ViTConfig, ViTForImageClassification

SMALL = dict(
    num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, image_size=64, patch_size=16
)


def get_model():
    torch.manual_seed(0)
    config = ViTConfig() if os.environ.get("VIT_SIZE") == "base" else ViTConfig(**SMALL)
    return ViTForImageClassification(config).eval().requires_grad_(False)


def get_inputs():
    size = 224 if os.environ.get("VIT_SIZE") == "base" else 64
    return (torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0)),)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).logits.shape)
