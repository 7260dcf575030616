"""Captured graphs as ``torch.fx.GraphModule``, for a backend of the user's own."""

import operator

import torch
from torch import fx

# What the code of a graph module can spell; any other constant becomes an attribute of the module.
_SPELT = (type(None), bool, int, float, complex, str, type(...), torch.dtype, torch.device, torch.memory_format, torch.layout)


class GraphBuilder:
    """Receives the captured program call by call. Values of the program are ``fx.Node``."""

    def __init__(self):
        self.root = torch.nn.Module()
        self.graph = fx.Graph()
        self._fake = None

    def placeholder(self, name: str, source: str, tensor) -> fx.Node:
        node = self.graph.create_node("placeholder", name, name=name)
        node.target = node.name  # two inputs never share a name
        node.meta["source"] = source
        self._describe(node, str(tensor.dtype).removeprefix("torch."), tensor.shape, tensor.stride(), tensor.device)
        return node

    def integer(self, expression: str, source: str, value: int) -> fx.Node:
        """An int that may be another one in the next call; `expression` is over the program's symbols ("s0", "2*s0+1")."""
        name = expression if expression.isidentifier() else "size"
        node = self.graph.create_node("placeholder", name, name=name)
        node.target = node.name
        node.meta.update(source=source, expression=expression, val=value, example_value=value)
        return node

    def constant(self, name: str, source: str, tensor) -> fx.Node:
        node = self._attribute(tensor, name)
        self._describe(node, str(tensor.dtype).removeprefix("torch."), tensor.shape, tensor.stride(), tensor.device)
        return node

    def call(self, op: str, name: str, callable_, args, kwargs, paths, types, place) -> list[fx.Node]:
        """One torch call. ``paths`` says where the tensors are in what it returns, ``types`` what they are."""
        kwargs = {key: self._argument(value) for key, value in (kwargs or {}).items()}
        args = tuple(self._argument(value) for value in args)
        kind, target, args = _spelling(op, callable_, args)
        node = self.graph.create_node(kind, target, args, kwargs, name=name)
        if place[0]:
            node.meta["stack_trace"] = f'  File "{place[0]}", line {place[1]}'
        values = []
        for path, how in zip(paths, types):
            value = node
            for index in path:
                value = self.graph.create_node("call_function", operator.getitem, (value, index))
            self._describe(value, *how)
            values.append(value)
        return values

    def output(self, values) -> None:
        self.graph.output(tuple(values))

    def finish(self) -> fx.GraphModule:
        self.graph.lint()
        return fx.GraphModule(self.root, self.graph)

    def _attribute(self, value, name: str) -> fx.Node:
        base, count = name, 0
        while hasattr(self.root, name):
            count += 1
            name = f"{base}_{count}"
        if isinstance(value, torch.Tensor):
            self.root.register_buffer(name, value)
        else:
            setattr(self.root, name, value)
        return self.graph.create_node("get_attr", name)

    def _argument(self, value):
        if isinstance(value, fx.Node) or type(value) in _SPELT:
            return value
        if type(value) in (tuple, list, torch.Size):
            return (list if type(value) is list else tuple)(self._argument(item) for item in value)
        if type(value) is dict and all(type(key) is str for key in value):
            return {key: self._argument(item) for key, item in value.items()}
        if type(value) is slice:
            return slice(self._argument(value.start), self._argument(value.stop), self._argument(value.step))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._argument(item) for item in value))
        return self._attribute(value, "_constant")

    def _describe(self, node: fx.Node, dtype: str, sizes, strides, device) -> None:
        """Sets ``meta["val"]`` and ``meta["example_value"]``: a tensor of that type without memory."""
        if self._fake is None:
            from torch._subclasses.fake_tensor import FakeTensorMode

            self._fake = FakeTensorMode(allow_non_fake_inputs=True)
        with self._fake:
            value = torch.empty_strided(tuple(sizes), tuple(strides), dtype=getattr(torch, dtype), device=device)
        node.meta["val"] = node.meta["example_value"] = value


def _spelling(op: str, callable_, args):
    """How a call is written in a torch.fx graph: (kind of node, target, arguments)."""
    name = op.removeprefix("Tensor.")
    if name == op or not args:
        return "call_function", callable_, args
    if callable(getattr(torch.Tensor, name, None)):
        return "call_method", name, args
    return "call_function", getattr, (args[0], name)  # x.T
