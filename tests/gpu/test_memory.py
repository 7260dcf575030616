"""Memory on a GPU: training in the default mode needs no more of it than eager does."""

import gc

import pytest
import torch
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu


def peak(run, model, x):
    """Bytes above what was there before, at the worst moment of a step."""
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        run(x).square().mean().backward()
    model.zero_grad(set_to_none=True)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run(x).square().mean().backward()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_training_needs_no_more_than_eager(dropout):
    vitrine.reset()
    block = lambda: nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.Dropout(dropout), nn.LayerNorm(512))  # noqa: E731
    model = nn.Sequential(*(block() for _ in range(6))).cuda()
    x = torch.randn(4096, 512, device="cuda")
    eager, ours = peak(model, model, x), peak(vitrine.compile(model), model, x)
    assert ours <= 1.01 * eager, f"{ours / 1e6:.0f} MB, eager {eager / 1e6:.0f} MB"


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.gate, self.up, self.down = nn.RMSNorm(512), nn.Linear(512, 1408), nn.Linear(512, 1408), nn.Linear(1408, 512)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def test_a_whole_step_needs_no_more_than_eager():
    def peak_of(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(*(Gated() for _ in range(8))).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

        def step(x):
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run, x = compiled(step), torch.randn(4096, 512, device="cuda")
        for _ in range(3):
            run(x)
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run(x)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    vitrine.reset()
    eager, ours = peak_of(lambda f: f), peak_of(vitrine.compile)
    assert ours <= 1.01 * eager, f"{ours / 1e6:.0f} MB, eager {eager / 1e6:.0f} MB"
