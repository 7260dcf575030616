"""The way back: a module that came from ``to_fx`` and was changed, as the text form of the compiler's graphs (core/ir/graph.h).

Nodes that are as they were keep their lines. What is new, or reads what has changed, gets its type by running it on tensors
without memory.
"""

import math
import operator
import re

import torch
from torch import fx

from vitrine._graphs.to_fx import Built, name_of, result_paths


class NotAGraph(Exception):
    """What a pass left cannot be written as a graph of the compiler: the user's error."""


class Reading:
    """Of one module; `built` is what the pass was given."""

    def __init__(self, module: fx.GraphModule, built: Built, replaced: dict[str, set[str]]):
        self.module, self.built = module, built
        self.old = {node["name"]: node for node in built.facts["nodes"]}
        self._lines = dict(_lines(built.facts["text"]))
        self._replaced = replaced  # name of a new node -> names of the nodes that it was put in the place of
        self._names: dict[fx.Node, str] = {}
        self._values: dict[fx.Node, object] = {}  # as fakes
        self._changed: set[fx.Node] = set()
        self._outputs: dict[fx.Node, tuple[fx.Node, int]] = {}  # of operator.getitem: the operator's result that it is
        self._claim_names()

    def text(self) -> str:
        lines = []
        for node in self.module.graph.nodes:
            if node.op == "output":
                lines.append("return " + ", ".join(map(self._argument, _flat(node.args[0]))))
            elif line := self._line(node):
                lines.append(line)
        return f"graph {self.built.facts['stage']} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"

    def origins(self) -> dict[str, list[str]]:
        """By name of a new node: the old ones that it stands for, as far as the pass tells."""
        out: dict[fx.Node, set[str]] = {}
        for node in reversed(self.module.graph.nodes):
            if node not in self._names or self._is_kept(node):
                continue
            named = node.meta.get("vitrine", {}).get("name")
            known = set(self._replaced.get(node.name, ())) | ({named} if named in self.old else set())
            for user in node.users:  # a step on the way to one that has a place
                known = known or out.get(self._outputs.get(user, (user,))[0], set())
            out[node] = known
        return {self._names[node]: sorted(known) for node, known in out.items() if known}

    def _claim_names(self) -> None:
        taken = set()
        for node in self.module.graph.nodes:
            known = self.old.get(node.meta.get("vitrine", {}).get("name"))
            op = "" if node.op == "placeholder" else name_of(node.target)
            if known and known["op"] == op and known["name"] not in taken:
                self._names[node] = known["name"]
                taken.add(known["name"])
        taken |= set(self.old)
        for node in self.module.graph.nodes:
            if node.op == "output" or node in self._names or node.target is operator.getitem:
                continue
            base = node.name
            if base in self.old and name_of(node.target):  # its operator was exchanged in place
                base = node.target._schema.name.partition("::")[2]
            name, count = base, 0
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            self._names[node] = name
            taken.add(name)

    def _is_kept(self, node: fx.Node) -> bool:
        return self._names.get(node) in self.old

    def _line(self, node: fx.Node) -> str:
        """ "" of what is part of another line."""
        if node.op == "placeholder":
            if not self._is_kept(node):
                raise NotAGraph(f"adds the input {node.name}: a pass cannot be given more than the graph has")
            self._values[node] = self._given(node)
            return self._lines[self._names[node]]
        if node.op == "call_function" and node.target is operator.getitem:
            return self._item(node)
        if node.op != "call_function" or not name_of(node.target):
            raise NotAGraph(f"leaves {node.format_node()}, which is no call of an operator: write it with torch.ops, as torch.ops.aten.relu.default")
        args = ", ".join([*map(self._argument, node.args), *(f"{word}={self._argument(value)}" for word, value in node.kwargs.items())])
        return self._typed(node, f"%{self._names[node]} = {name_of(node.target)}({args})")

    def _typed(self, node: fx.Node, call: str) -> str:
        before = self._lines.get(self._names[node], "")
        same_call = self._is_kept(node) and before.startswith(call) and re.match(r" (\[source=|: )", before[len(call):])
        if same_call and not any(given in self._changed for given in node.all_input_nodes):
            self._values[node] = self._given(node)
            return before
        value = self._run(node)
        self._values[node] = value
        types = ", ".join(map(_type, self._tensors(node, value)))
        line = f"{call} : {types or '()'}"
        if not self._is_kept(node) or types != ", ".join(map(_type, self._tensors(node, self._given(node)))):
            self._changed.add(node)
        return line

    def _item(self, node: fx.Node) -> str:
        source, index = node.args
        if not isinstance(source, fx.Node) or source not in self._values or not isinstance(index, int):
            raise NotAGraph(f"leaves {node.format_node()}: operator.getitem is for results of an operator alone")
        of, path = (source, (index,)) if source not in self._outputs else (None, ())
        count = len(self._values[source]) if isinstance(self._values[source], (tuple, list)) else 1
        paths = result_paths(of.target, count) if of is not None else []
        if path not in paths:
            raise NotAGraph(f"leaves {node.format_node()}: {source.name} has no tensor there")
        self._outputs[node] = (of, paths.index(path))
        self._values[node] = self._values[source][paths.index(path) if len(paths) == count else index]
        if source in self._changed:
            self._changed.add(node)
        return ""

    def _given(self, node: fx.Node):
        """What the node computes as the compiler has it; the pass may have changed the node's meta."""
        return self.built.values[self._names[node]]

    def _run(self, node: fx.Node):
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: self._values[n])
        try:
            with self.built.mode, torch.no_grad():
                return node.target(*args, **kwargs)
        except Exception as error:
            raise NotAGraph(f"leaves {node.format_node()}, which cannot run: {error}") from error

    def _tensors(self, node: fx.Node, value) -> list[torch.Tensor]:
        if not node.target._schema.returns:
            return [v for arg in node.args for v in (self._values.get(arg) if isinstance(arg, fx.Node) else None,) if isinstance(v, torch.Tensor)]
        found = [item for item in self._results(node, value) if isinstance(item, torch.Tensor)]
        if not found:
            raise NotAGraph(f"leaves {node.format_node()}, which computes no tensor: sizes are plain numbers here")
        return found

    def _results(self, node: fx.Node, value) -> list:
        """What it computes, one a tensor: the compiler's own are all that a kept node has."""
        kinds = [str(kind.type) for kind in node.target._schema.returns]
        if not isinstance(value, (tuple, list)) or len(kinds) == 1 or (self._is_kept(node) and value is self._given(node)):
            return list(value) if isinstance(value, (tuple, list)) else [value]
        with self.built.mode:  # what is not computed is an empty tensor
            return [torch.empty(0) if item is None else item for item, kind in zip(value, kinds) if kind == "Tensor"]

    def _argument(self, value) -> str:
        match value:
            case fx.Node():
                of, output = self._outputs.get(value, (value, 0))
                if of not in self._names:
                    raise NotAGraph(f"reads {value.format_node()}, which is no value of the graph")
                return f"%{self._names[of]}" + (f".{output}" if output else "")
            case bool() | None:
                return str(value)
            case int():
                return str(value)
            case float():
                return repr(value) if math.isfinite(value) else str(value)
            case str():
                return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            case torch.dtype():
                return str(value).removeprefix("torch.")
            case torch.device() | torch.layout() | torch.memory_format():
                return str(value)
            case list() | tuple():
                return "[" + ", ".join(map(self._argument, value)) + "]"
        raise NotAGraph(f"leaves the argument {value!r}, which a graph has no place for")


def _flat(results):
    return results if isinstance(results, (tuple, list)) else (results,)


def _type(value: torch.Tensor) -> str:
    """As the text form has it: "float32[8,64]{64,1}@16cuda:0"."""
    numbers = [list(value.shape), list(value.stride()), [value.storage_offset()]]
    if not all(type(n) is int for row in numbers for n in row):
        raise NotAGraph("leaves a tensor whose sizes depend on data")
    sizes, strides = (",".join(map(str, row)) for row in numbers[:2])
    offset = f"@{value.storage_offset()}" if value.storage_offset() else ""
    device = "" if value.device.type == "cpu" else f"{value.device.type}:{value.device.index or 0}"
    return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]{{{strides}}}{offset}{device}"


def _lines(text: str):
    """(name, line) of each node."""
    for line in text.splitlines():
        if found := re.match(r"\s+%(\w+) = ", line):
            yield found[1], line.strip()
