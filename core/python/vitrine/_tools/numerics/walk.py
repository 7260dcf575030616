"""One run of a graph by PyTorch's operators, in stretches: each begins with the values that the one before left for it. So a
large graph runs once however many parts of it are compared, and only what later operators read is held.
"""

import re
from dataclasses import dataclass, field, replace

import torch

import vitrine
from vitrine import _checking, _engine
from vitrine._tools.accuracy import widened
from vitrine._tools.gpu import set_random_states
from vitrine._tools.numerics.graph_text import Graph, Node, renamed
from vitrine._tools.numerics.programs import Program


@dataclass
class Walk:
    """convert: of an input; text: of a graph. What the graph writes to is the walk's own: inputs are copied for it, and a value
    that is asked for is a copy of when it was computed. Inputs that share memory would not share it then."""

    program: Program
    convert: object = None
    text: object = str
    at: int = 0  # the first operator that has not run
    held: dict = field(default_factory=dict)  # value -> tensor, of what is read later
    recent: dict = field(default_factory=dict)  # the values of the last operator that ran: another part may ask for the rest
    states: object = None

    def __post_init__(self):
        graph = self.program.graph
        self.operators = graph.operators
        self.place = {node.name: i for i, node in enumerate(self.operators)}
        self.last = {value: i for i, node in enumerate(self.operators) for value in node.reads}
        self.known = {node.name: i for i, node in enumerate(graph.inputs)}

    def values(self, wanted: list[str]) -> list | None:
        """These values; None where the walk is past them, or the operators do not run so: then it is over."""
        if all(value in self.recent for value in wanted):
            return [self.recent[value] for value in wanted]
        ends = [self.place[value.partition(".")[0]] for value in wanted]
        if min(ends) < self.at:
            return None
        try:
            return self.stretch(wanted, max(ends) + 1)
        except Exception:
            self.at, self.held, self.recent = len(self.operators), {}, {}
            return None

    def stretch(self, wanted: list[str], end: int) -> list:
        graph, nodes = self.program.graph, self.operators[self.at : end]
        asked = dict.fromkeys([*wanted, *nodes[-1].values])
        made = {value for node in nodes for value in node.values}
        read = dict.fromkeys(value for node in nodes for value in node.reads if value not in made)
        names = {value: graph.free_name(value.replace(".", "_o")) for value in read if "." in value}
        inputs = [self.placeholder(value, names.get(value, value)) for value in read]
        kept = [value for value in made if self.last.get(value, -1) >= end]
        lines, copies = [], {}
        for node in nodes:
            lines.append(replace(node, text=renamed(node.text, names)))
            if graph.writes:
                lines += (self.copy_of(value, copies) for value in node.values if value in asked)
        results = list(dict.fromkeys([*(copies.get(value, value) for value in asked), *kept]))
        part = Graph(graph.stage, (*inputs, *lines), tuple(f"%{value}" for value in results))
        plan = _engine.plan_compile(self.text(part.without_dead()), False, vitrine.config.cache_dir)
        own = [self.value(value) for value in read]
        set_random_states(self.states or self.program.rng)
        with torch.no_grad():
            got = dict(zip(results, _engine.plan_run(plan, own)))
        self.states = _checking.random_states()
        self.held = {value: tensor for value, tensor in {**self.held, **{value: got[value] for value in kept}}.items() if self.last.get(value, -1) >= end}
        self.at, self.recent = end, {value: got[copies.get(value, value)] for value in nodes[-1].values}
        return [got[copies.get(value, value)] for value in wanted]

    def copy_of(self, value: str, copies: dict) -> Node:
        graph = self.program.graph
        copies[value] = name = graph.free_name("copy_of_" + value.replace(".", "_o"))
        kind = re.sub(r"@[^{}\s]*?(?=cuda|cpu|$)", "", graph.type_of(value))
        return Node(name, f"%{name} = aten.clone.default(%{value}) : {kind}", "aten.clone.default", (value,), (kind,))

    def placeholder(self, value: str, name: str) -> Node:
        graph = self.program.graph
        if value in self.known:
            return graph.by_name[value]
        kind = re.sub(r"@\d+", "", graph.type_of(value))
        return Node(name, f"%{name} = placeholder() : {kind}", types=(kind,))

    def value(self, value: str):
        if value not in self.known:
            return self.held[value]
        if value not in self.held:  # an input is converted once
            given = self.program.inputs[self.known[value]]
            own = self.convert(given) if self.convert else given
            self.held[value] = _checking.copies([own])[0] if own is given and self.program.graph.writes else own
        return self.held[value]


class Walks:
    """A program's values by eager and in float64, asked for in the graph's order; what a walk cannot give, a run of its own does."""

    def __init__(self, program: Program):
        self.program = program
        shared = program.graph.writes and program.inputs_share
        self.plain = None if shared else Walk(program)
        self.wide = None if shared else Walk(program, widened, Graph.in_float64)

    def eager(self, values: list[str]) -> list | None:
        return (self.plain and self.plain.values(values)) or self.program.eager(values)

    def exact(self, values: list[str]) -> list | None:
        return (self.wide and self.wide.values(values)) or self.program.exact(values)
