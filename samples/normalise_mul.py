"""A backend of one's own: it receives a real torch.fx.GraphModule and returns something to call."""

import torch

import vitrine


def normalise_mul(a, b):
    return a / (torch.abs(a) + 1) * b


def show_graph(graph_module, example_inputs):
    for node in graph_module.graph.nodes:
        print(f"{node.op:15} {node.name:12} {node.target}")
    return graph_module.forward


model = normalise_mul
inputs = (torch.linspace(-2, 2, 32), torch.linspace(0, 1, 32))

if __name__ == "__main__":
    compiled = vitrine.compile(normalise_mul, backend=show_graph)
    for _ in range(100):
        result = compiled(*inputs)
    print(torch.equal(result, normalise_mul(*inputs)))
