"""Whole training steps of a GPT-2 from transformers: gradients to None, loss, backward, AdamW's update."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import vitrine


def make(layers=6, width=768, vocabulary=50257, batch=2, length=128):
    """(how it is run, what is compiled, what it changes)"""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=layers, n_embd=width, n_head=width // 64, vocab_size=vocabulary, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, vocabulary, (batch, length))

    def step(tokens):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        return loss

    return lambda step: step(tokens), step, list(model.parameters())


if __name__ == "__main__":
    run, step, _ = make()
    compiled = vitrine.compile(step)
    for _ in range(5):
        print(run(compiled).item())
