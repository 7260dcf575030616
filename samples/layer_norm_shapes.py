"""Layer norm over (2^i, 256): the second shape makes the rows a symbol; a new number of rows costs a first call."""

import time

import torch

import vitrine

norm = torch.nn.LayerNorm(256).eval().requires_grad_(False)
model = norm
inputs = (torch.randn(16, 256),)
calls = [(torch.randn(2**i, 256),) for i in range(4, 9)]

if __name__ == "__main__":
    compiled = vitrine.compile(norm)
    for i in range(4, 14):
        x = torch.randn(2**i, 256)
        start = time.perf_counter()
        compiled(x)
        first = time.perf_counter() - start
        start = time.perf_counter()
        compiled(x)
        print(f"{2**i:6} rows: first call {first * 1e3:7.1f} ms, then {(time.perf_counter() - start) * 1e6:7.1f} us")
