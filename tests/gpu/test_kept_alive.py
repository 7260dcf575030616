"""On a GPU too, a compiled function keeps nothing alive: not its class, its weights, its kernels, nor a CUDA Graph's memory."""

import gc
import weakref

import pytest
import torch
import vitrine

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def once(mode, train):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(256, 256, device="cuda")

        def forward(self, x):
            return torch.nn.functional.gelu(self.linear(x)).sum(-1)

    block = Block()
    compiled = vitrine.compile(block, mode=mode)
    x = torch.randn(8, 256, device="cuda")
    for _ in range(3):
        with torch.set_grad_enabled(train):
            result = compiled(x)
        if train:
            result.sum().backward()
    torch.testing.assert_close(result.detach(), block(x).detach(), rtol=1e-4, atol=1e-4)
    return weakref.ref(Block), weakref.ref(block.linear.weight)


@pytest.mark.parametrize("train", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_what_is_dropped_goes(mode, train):
    once(mode, train)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    kept = [once(mode, train) for _ in range(30)]
    gc.collect()
    torch.cuda.synchronize()
    assert not any(cls() or weight() for cls, weight in kept)
    assert torch.cuda.memory_allocated() - before < 4 << 20


def test_a_dropped_function_ends_while_a_graph_is_recorded():
    """Its kernels are unloaded in the middle of another function's capture of a CUDA Graph."""
    x = torch.randn(8, 256, device="cuda")
    dropped = vitrine.compile(lambda x: (x * 3).sin().sum(-1))
    dropped(x)
    expected = x.cos()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.cos()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        result = x.cos()
        del dropped
        gc.collect()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(result, expected)
