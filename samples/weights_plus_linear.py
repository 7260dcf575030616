"""A parameter of one's own beside a Linear; the captured graph as a torch.fx graph, a table and code."""

import torch

import vitrine


class WeightsPlusLinear(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(width))
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.linear(x) + self.weight).clamp(min=0.0, max=1.0)


def show_three_ways(graph_module, example_inputs):
    print(graph_module.graph)
    for node in graph_module.graph.nodes:
        print(f"{node.op:15} {node.name}")
    print(graph_module.code)
    return graph_module.forward


torch.manual_seed(0)
model = WeightsPlusLinear().eval().requires_grad_(False)
inputs = (torch.randn(4, 16),)

if __name__ == "__main__":
    vitrine.compile(model, backend=show_three_ways)(*inputs)
