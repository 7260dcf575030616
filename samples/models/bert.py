"""BERT from transformers with random weights. BERT_SIZE=base gives the 12-layer model at sequence length 128."""

import os

import torch
from transformers import BertConfig, BertModel

SMALL = dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=1000)


def get_model():
    torch.manual_seed(0)
    config = BertConfig() if os.environ.get("BERT_SIZE") == "base" else BertConfig(**SMALL)
    return BertModel(config).eval().requires_grad_(False)


def get_inputs():
    base = os.environ.get("BERT_SIZE") == "base"
    generator = torch.Generator().manual_seed(0)
    return (torch.randint(0, 1000, (1, 128) if base else (2, 24), generator=generator),)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).last_hidden_state.shape)
