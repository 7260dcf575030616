"""Whole training steps of a T5 from transformers: gradients to None, loss, backward, AdamW's update."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

import vitrine


def make(layers=2, width=128, vocabulary=1000, batch=2, length=24):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    config = T5Config(num_layers=layers, d_model=width, d_kv=32, d_ff=2 * width, num_heads=width // 32,
                      vocab_size=vocabulary, dropout_rate=0.0, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, vocabulary, (batch, length))
    labels = torch.randint(0, vocabulary, (batch, length // 2))

    def step(tokens, labels):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        optimizer.step()
        return loss

    return lambda step: step(tokens, labels), step, list(model.parameters())


if __name__ == "__main__":
    run, step, _ = make()
    compiled = vitrine.compile(step)
    for _ in range(5):
        print(run(compiled).item())
