"""The timing loop everybody writes: ten calls, eager against compiled, mode by mode."""

import time

import torch

import vitrine


def matmul_softmax(x, y):
    return torch.softmax(x @ y, dim=1)


torch.manual_seed(0)
model = matmul_softmax
inputs = (torch.randn(100, 100), torch.randn(100, 100))


def best_of_ten(fn):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        fn(*inputs)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


if __name__ == "__main__":
    print(f"eager                        {best_of_ten(matmul_softmax):8.1f} us")
    for mode in ("default", "reduce-overhead", "max-autotune"):
        compiled = vitrine.compile(matmul_softmax, mode=mode)
        compiled(*inputs)
        print(f"vitrine {mode:20} {best_of_ten(compiled):8.1f} us")
