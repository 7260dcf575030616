"""GPT-2 from transformers with random weights, small; without its cache of keys and values."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def get_model():
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=1000, use_cache=False, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).eval().requires_grad_(False)


def get_inputs():
    return (torch.randint(0, 1000, (2, 24), generator=torch.Generator().manual_seed(0)),)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).logits.shape)
