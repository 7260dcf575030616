"""The timing loop everybody writes: ten calls, eager against compiled, mode by mode, and by other backends."""

import time

import torch

import vitrine


def matmul_softmax(x, y):
    return torch.softmax(x @ y, dim=1)


torch.manual_seed(0)
model = matmul_softmax
inputs = (torch.randn(100, 100), torch.randn(100, 100))


def my_backend(graph_module, example_inputs):
    return graph_module.forward


def best_of_ten(fn):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        fn(*inputs)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


if __name__ == "__main__":
    print(f"eager                        {best_of_ten(matmul_softmax):8.1f} us")
    ways = [{"mode": mode} for mode in ("default", "reduce-overhead", "max-autotune")]
    ways += [{"backend": backend} for backend in ("eager", "cudagraphs", my_backend)]
    for way in ways:
        compiled = vitrine.compile(matmul_softmax, **way)
        compiled(*inputs)
        ((key, value),) = way.items()
        name = f"{key}={getattr(value, '__name__', value)}"
        print(f"{name:28} {best_of_ten(compiled):8.1f} us")
