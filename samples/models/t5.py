"""T5 from transformers with random weights, small: encoder and decoder in one call, without a cache."""

import torch
from transformers import T5Config, T5Model


def get_model():
    torch.manual_seed(0)
    config = T5Config(num_layers=2, d_model=128, d_kv=32, d_ff=256, num_heads=4, vocab_size=1000, use_cache=False)
    return T5Model(config).eval().requires_grad_(False)


def get_inputs():
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 1000, (2, 24), generator=generator)
    mask = torch.ones_like(tokens)
    mask[1, 18:] = 0
    return tokens, mask, torch.randint(0, 1000, (2, 10), generator=generator)


if __name__ == "__main__":
    import vitrine

    print(vitrine.compile(get_model())(*get_inputs()).last_hidden_state.shape)
