"""A slice whose length is an argument: the second length makes it a symbol, and one compilation serves the rest."""

import torch

import vitrine


def slice_by_n(x, n):
    return x[:n] + 1


x = torch.arange(100.0)
model = slice_by_n
inputs = (x, 5)
calls = [(x, n) for n in (0, 1, 2, 5, 2, 50)]


class Counter:
    """A backend that counts the graphs it is given, and runs them as they are."""

    graphs = 0

    def __call__(self, graph_module, example_inputs):
        self.graphs += 1
        return graph_module


if __name__ == "__main__":
    for dynamic in (None, True):
        vitrine.reset()
        compiled = vitrine.compile(slice_by_n, dynamic=dynamic)
        counter = Counter()
        counted = vitrine.compile(slice_by_n, dynamic=dynamic, backend=counter)
        for n in range(100):
            assert torch.equal(compiled(x, n), x[:n] + 1) and torch.equal(counted(x, n), x[:n] + 1)
        print(f"dynamic={dynamic}: 100 lengths, all as eager, {counter.graphs} graphs")
