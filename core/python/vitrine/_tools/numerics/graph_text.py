"""Graphs in their text form (core/ir/graph.h), taken apart line by line: which lines stay, which become inputs, what is returned."""

import re
from dataclasses import dataclass, field, replace

import torch

from vitrine import _engine

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_REFERENCE = re.compile(r"%(\w+)(?:\.(\d+))?")
FLOATS = re.compile(r"\b(f32|f16|bf16)\b")


@dataclass(frozen=True)
class Node:
    """One line; value: "mm", or "var_mean.1" for a further output."""

    name: str
    text: str  # without indentation
    op: str = ""  # "" for an input
    reads: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    writes: bool = False
    view: bool = False
    random: bool = False

    @property
    def values(self) -> list[str]:
        return [self.name + (f".{i}" if i else "") for i in range(len(self.types))]

    @property
    def is_view(self) -> bool:
        """Its values are those of what it views. An operator that nothing is known of may be, and has values of its own where
        its schema says so."""
        return self.view and may_view(self.op)

    @property
    def is_uninitialised(self) -> bool:
        return self.op.startswith(("aten.empty", "aten.new_empty", "aten._empty"))

    @property
    def place(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


@dataclass(frozen=True)
class Graph:
    stage: str
    nodes: tuple[Node, ...]
    results: tuple[str, ...]  # as the text has them: "%mm", "None"
    by_name: dict = field(default_factory=dict, compare=False)

    def __post_init__(self):
        self.by_name.update((node.name, node) for node in self.nodes)

    @property
    def inputs(self) -> list[Node]:
        return [node for node in self.nodes if not node.op]

    @property
    def operators(self) -> list[Node]:
        return [node for node in self.nodes if node.op]

    @property
    def writes(self) -> bool:
        return any(node.writes for node in self.nodes)

    def __str__(self) -> str:
        lines = "".join(f"  {node.text}\n" for node in self.nodes)
        return f"graph {self.stage} {{\n{lines}  return {', '.join(self.results)}\n}}\n"

    def in_float64(self) -> str:
        return FLOATS.sub("f64", str(self))

    def returning(self, results) -> "Graph":
        return replace(self, results=tuple(results), by_name={})

    def with_nodes(self, nodes) -> "Graph":
        return replace(self, nodes=tuple(nodes), by_name={})

    def node_of(self, value: str) -> Node:
        return self.by_name[value.partition(".")[0]]

    def type_of(self, value: str) -> str:
        name, _, output = value.partition(".")
        return self.by_name[name].types[int(output or 0)]

    def returned(self) -> list[str]:
        """The values that are returned, each once."""
        return list(dict.fromkeys(value for text in self.results for value in references(text)))

    def free_name(self, wanted: str) -> str:
        """The name, or one like it that no node has."""
        while wanted in self.by_name:
            wanted += "_"
        return wanted

    def without_dead(self) -> "Graph":
        """Only the lines that what is returned needs, and all inputs; what is written may be seen through one, and stays."""
        needed = {value.partition(".")[0] for value in self.returned()}
        kept = []
        for node in reversed(self.nodes):
            if node.name in needed or node.writes or not node.op:
                kept.append(node)
                needed.update(value.partition(".")[0] for value in node.reads)
        return self.with_nodes(reversed(kept))

    def up_to(self, values) -> "Graph":
        """All inputs, and of the operators those that these values depend on: by what they read, and by what was written before
        to the memory of it. What one operator may write to is all that it reads."""
        owner = {}  # of a value, by the node that made its memory
        for node in self.nodes:
            shares = (node.view or node.writes) and node.reads
            owner[node.name] = owner.get(node.reads[0].partition(".")[0]) if shares else node.name
        needed, memory, kept = {value.partition(".")[0] for value in values}, set(), []
        for node in reversed(self.nodes):
            reads = {value.partition(".")[0] for value in node.reads}
            if not node.op:
                kept.append(node)
            elif node.name in needed or node.random or (node.writes and memory & {owner[name] for name in reads}):
                kept.append(node)
                needed |= reads
                memory |= {owner[name] for name in reads | {node.name}}
        return self.with_nodes(reversed(kept))

    def without_unread_inputs(self) -> "Graph":
        read = {value.partition(".")[0] for node in self.nodes for value in node.reads} | {v.partition(".")[0] for v in self.returned()}
        return self.with_nodes(node for node in self.nodes if node.op or node.name in read)


def may_view(op: str) -> bool:
    namespace, _, rest = op.partition(".")
    name, _, overload = rest.partition(".")
    try:
        schema = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")._schema
    except AttributeError:
        return True
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(f"{namespace}::{name}.{overload}".removesuffix(".default"), "CompositeImplicitAutograd")
    return composite or any(value.alias_info for value in schema.returns)


def references(text: str) -> list[str]:
    """The values that a piece of text names, in order."""
    found = _REFERENCE.findall(_STRING.sub('""', text))
    return [name + (f".{output}" if output else "") for name, output in found]


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other values in the places of some; strings stay as they are."""

    def put(match):
        value = match[1] + (f".{match[2]}" if match[2] and int(match[2]) else "")
        return "%" + names[value] if value in names else match[0]

    parts = re.split(f"({_STRING.pattern})", text)
    return "".join(part if part.startswith('"') else _REFERENCE.sub(put, part) for part in parts)


def split_top(text: str) -> list[str]:
    """Parts between the commas that stand in no bracket and no string."""
    out, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
        i += 1
    return [part for part in (*out, text[start:].strip()) if part]


def read(text: str) -> Graph:
    """Raises ValueError where it is no graph."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "^"))]
    stage = lines[0].split()[1]
    facts = _engine.graph_nodes(text)
    nodes = []
    for line, known in zip(lines[1:], facts):
        kind = known.pop("kind")
        known["op"] = known["op"] if kind == "op" else ""
        nodes.append(Node(text=line, **{**known, "reads": tuple(known["reads"]), "types": tuple(known["types"])}))
    returned = lines[1 + len(facts)].removeprefix("return").strip()
    return Graph(stage, tuple(nodes), tuple(split_top(returned)))


def again(graph: Graph) -> Graph:
    """The graph with its facts read anew. Raises ValueError where its lines do not fit one another."""
    return read(str(graph))
