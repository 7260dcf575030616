"""A Llama-class language model from transformers with random weights, small."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SMALL = dict(
    num_hidden_layers=2,
    hidden_size=64,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=128,
    vocab_size=1000,
)


def get_model():
    torch.manual_seed(0)
    config = LlamaConfig(**SMALL, use_cache=False)
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def get_inputs():
    return (torch.randint(0, 1000, (2, 17), generator=torch.Generator().manual_seed(0)),)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).logits.shape)
