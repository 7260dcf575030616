"""A graph of the compiler as a ``torch.fx.GraphModule``: its inputs are placeholders, its operators calls of ``torch.ops``.

``node.meta`` has ``"val"`` (what it computes, as a tensor without memory), ``"stack_trace"`` (the user's line), ``"module"``,
``"source"`` of an input, and ``"vitrine"``: the node's name and operator in the compiler's own graph.
"""

import linecache
import operator

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.shape_prop import _extract_tensor_metadata


def overload(name: str):
    """Of "aten.add.Tensor"."""
    namespace, packet, variant = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), variant)


def name_of(target) -> str:
    """ "aten.add.Tensor" of the overload; "" of anything else."""
    if not isinstance(target, torch._ops.OpOverload):
        return ""
    return f"{target.namespace}.{target._schema.name.partition('::')[2]}.{target._overloadname}"


def result_paths(target, count: int) -> list[tuple[int, ...]]:
    """Where in what an operator returns its tensors are, in order; where it returns none, they are those that it writes."""
    returns = target._schema.returns
    if len(returns) == 1:
        return [()] if str(returns[0].type) == "Tensor" else [(i,) for i in range(count)]
    return [(i,) for i, value in enumerate(returns) if str(value.type) == "Tensor"]


class Built:
    """A module, and which of its nodes stands for which node of the compiler's graph."""

    def __init__(self, facts: dict):
        self.facts = facts
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.graph = fx.Graph()
        self.inputs: list[fx.Node] = []
        self.values: dict[str, object] = {}  # by the compiler's names: what a node computes
        self._values: dict[tuple[int, int], object] = {}
        for node in facts["nodes"]:
            self._operator(node) if node["kind"] == "op" else self._input(node)
        self.graph.output(tuple(self._argument(result) for result in facts["results"]))
        self.graph.lint()
        self.module = fx.GraphModule(torch.nn.Module(), self.graph, class_name=f"{facts['stage'].title()}Graph")

    def _input(self, node: dict) -> None:
        made = self.graph.create_node("placeholder", node["name"], name=node["name"])
        made.target = made.name  # two inputs never share a name
        made.meta["source"] = node["source"]
        self._describe(made, node, [self._fake(node, 0)])
        self.inputs.append(made)
        self._values[node["id"], 0] = made

    def _operator(self, node: dict) -> None:
        target = overload(node["op"])
        args = tuple(self._argument(value) for value in node["args"])
        kwargs = {word: self._argument(value) for word, value in node["kwargs"].items()}
        made = self.graph.create_node("call_function", target, args, kwargs, name=node["name"])
        values = [self._fake(node, i) for i in range(len(node["types"]))]
        self._describe(made, node, values)
        if not target._schema.returns:
            written = [arg for arg, param in zip(args, target._schema.arguments) if param.alias_info and param.alias_info.is_write]
            flat = [v for arg in written for v in (arg if isinstance(arg, (list, tuple)) else (arg,))]
            self._values.update(((node["id"], i), value) for i, value in enumerate(flat))
            return
        for i, path in enumerate(result_paths(target, len(values))):
            self._values[node["id"], i] = (made, path, values[i] if i < len(values) else None) if path else made

    def _value(self, of: tuple[int, int]) -> fx.Node:
        """A result of an operator that has several is taken out where it is first read."""
        value = self._values[of]
        if isinstance(value, tuple):
            made, (index,), fake = value
            value = self._values[of] = self.graph.call_function(operator.getitem, (made, index))
            value.meta["val"] = fake
        return value

    def _fake(self, node: dict, i: int):
        dtype, sizes, strides, offset = node["types"][i]
        with self.mode:
            extent = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides)) if 0 not in sizes else 0
            memory = torch.empty(offset + extent, dtype=getattr(torch, dtype), device=node["devices"][i])
            return torch.as_strided(memory, sizes, strides, offset)

    def _describe(self, made: fx.Node, node: dict, values: list) -> None:
        if made.op == "placeholder" or len(values) == 1 and result_paths(made.target, 1) == [()]:
            made.meta["val"] = values[0]
        else:
            made.meta["val"] = tuple(values)
        self.values[node["name"]] = made.meta["val"]
        if isinstance(made.meta["val"], torch.Tensor):
            made.meta["tensor_meta"] = _extract_tensor_metadata(made.meta["val"])
        if node["file"]:
            text = linecache.getline(node["file"], node["line"]).strip()
            made.meta["stack_trace"] = f'  File "{node["file"]}", line {node["line"]}' + (f"\n    {text}" if text else "")
        made.meta["module"] = node["module"]
        made.meta["vitrine"] = {"name": node["name"], "op": node["op"], "rule": node["rule"]}

    def _argument(self, value):
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        if not isinstance(value, tuple):
            return value
        kind, *rest = value
        if kind == "ref":
            return self._value(tuple(rest))
        return getattr(torch, rest[0]) if kind == "dtype" else word(rest[0])


def word(text: str):
    """Of "torch.channels_last", "torch.strided", "cuda:0"."""
    if text.startswith("torch."):
        return getattr(torch, text.removeprefix("torch."))
    try:
        return torch.device(text)
    except RuntimeError:
        return text
