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


def get_inputs(length=17):
    return (torch.randint(0, 1000, (2, length), generator=torch.Generator().manual_seed(0)),)


calls = [get_inputs(17), get_inputs(29)]  # two prompts

if __name__ == "__main__":
    import vitrine

    compiled = vitrine.compile(get_model(), dynamic=True)
    for prompt in calls:
        print(compiled(*prompt).logits.shape)
