"""Layer norm over (2^i, 256), every shape by itself against dynamic=True: compilations, and what first calls cost."""

import time

import torch

import vitrine

norm = torch.nn.LayerNorm(256).eval().requires_grad_(False)
model = norm
inputs = (torch.randn(16, 256),)
calls = [(torch.randn(2**i, 256),) for i in range(4, 9)]


def first_calls(dynamic):
    """Milliseconds that the first calls for all shapes took together."""
    compiled, total = vitrine.compile(norm, dynamic=dynamic, recompile_limit=16), 0.0
    for i in range(4, 14):
        x = torch.randn(2**i, 256)
        start = time.perf_counter()
        compiled(x)
        total += time.perf_counter() - start
    return total * 1e3


def graphs(dynamic):
    """How many graphs a backend is given for these shapes."""
    seen = []
    compiled = vitrine.compile(norm, dynamic=dynamic, recompile_limit=16, backend=lambda graph, inputs: seen.append(graph) or graph)
    for i in range(4, 14):
        compiled(torch.randn(2**i, 256))
    return len(seen)


if __name__ == "__main__":
    for dynamic in (False, None, True):
        print(f"dynamic={dynamic}: {graphs(dynamic)} graphs, first calls {first_calls(dynamic):.1f} ms")
