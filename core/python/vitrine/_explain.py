"""What ``vitrine.explain`` returns."""

import traceback
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BreakReason:
    """Why a graph ends before the function does."""

    kind: str
    reason: str
    hint: str
    stack: tuple[str, ...] = ()  # "file:line function", innermost first

    def __str__(self) -> str:
        lines = [f"{self.reason} [{self.kind}]"]
        lines += [f"    at {place}" for place in self.stack]
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)


@dataclass(repr=False)
class Explanation:
    """Graphs, breaks, operators and guards of one call. ``print`` it.

    A break is counted once by its cause: a function that breaks ends the graphs of its callers, too. ``torch.compile``
    counts graphs less one: ``torch_compile_break_count``.
    """

    compilations: list[dict]
    result: Any = None
    graphs: list[str] = field(init=False)
    graph_break_reasons: list[BreakReason] = field(init=False)
    ops: list[str] = field(init=False)
    ops_per_graph: list[list[str]] = field(init=False)
    guards: list[str] = field(init=False)
    messages: list[str] = field(init=False)
    gradients: list[str] = field(init=False)

    def __post_init__(self):
        with_graph = [c for c in self.compilations if c["graph"]]
        self.graphs = [c["graph"] for c in with_graph]
        self.ops_per_graph = [list(c["ops"]) for c in with_graph]
        self.ops = [op for ops in self.ops_per_graph for op in ops]
        self.guards = [guard for c in self.compilations for guard in c["guards"]]
        self.messages = [c["message"] for c in self.compilations if c["message"]]
        self.gradients = [c["gradients"] for c in self.compilations if "gradients" in c]
        self.graph_break_reasons = [
            BreakReason(b["kind"], b["reason"], b["hint"], tuple(b["stack"])) for b in _causes(self.compilations)
        ]

    @property
    def graph_breaks(self) -> list[BreakReason]:
        return self.graph_break_reasons

    @property
    def break_reasons(self) -> list[BreakReason]:
        """The name that ``torch._dynamo.explain`` has for them."""
        return self.graph_break_reasons

    @property
    def out_guards(self) -> list[str]:
        return self.guards

    @property
    def compile_times(self) -> str:
        """One line a graph: how long its compilation took."""
        return "\n".join(f"graph {i}: {c['seconds']:.4f} s" for i, c in enumerate((c for c in self.compilations if c["graph"]), 1))

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.graph_break_reasons)

    @property
    def torch_compile_break_count(self) -> int:
        """As ``torch._dynamo.explain`` counts breaks: graphs less one."""
        return max(0, self.graph_count - 1)

    @property
    def op_count(self) -> int:
        return len(self.ops)

    def __str__(self) -> str:
        def count(n, what):
            return f"{n} {what}{'' if n == 1 else 's'}"

        out = [
            f"{count(self.graph_count, 'graph')}, {count(self.graph_break_count, 'graph break')}, "
            f"{count(self.op_count, 'operator')}, {count(len(self.guards), 'guard')}"
        ]
        if self.torch_compile_break_count != self.graph_break_count:
            out.append(f"(torch.compile counts graphs less one: {count(self.torch_compile_break_count, 'graph break')})")
        for i, (graph, ops) in enumerate(zip(self.graphs, self.ops_per_graph), 1):
            out += ["", f"graph {i}: {count(len(ops), 'operator')}", _indent(graph)]
        for i, reason in enumerate(self.graph_break_reasons, 1):
            out += ["", f"break {i}: {reason}"]
        if self.guards:
            out += ["", "guards:", *(f"  {guard}" for guard in self.guards)]
        if self.gradients:
            out += ["", "gradients:", *(f"  {text}" for text in self.gradients)]
        if self.messages:
            out += ["", "messages:", *(f"  {message}" for message in self.messages)]
        return "\n".join(out)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from vitrine._notebook import explanation_page

        return explanation_page(self)


def as_pytorch_says(explanation: Explanation, graphs: list):
    """The same as what ``torch._dynamo.explain`` returns; ``graphs`` are its graphs as modules of ``torch.fx``."""
    from torch._dynamo.backends.debugging import ExplainOutput

    ops = [[node.target for node in graph.graph.nodes if node.op == "call_function"] for graph in graphs]
    reasons = [compile_reason(f"{reason.reason} [{reason.kind}]", reason.stack) for reason in explanation.graph_break_reasons]
    breaks = explanation.torch_compile_break_count
    return ExplainOutput(graphs, len(graphs), breaks, reasons, sum(map(len, ops)), ops, explanation.guards)


def compile_reason(reason: str, places):
    """Why a graph ends, as PyTorch says it; "": its function ends there."""
    from torch._dynamo.output_graph import GraphCompileReason

    return GraphCompileReason(reason or "return_value", [_frame(place) for place in places], graph_break=bool(reason))


def _frame(place: str) -> traceback.FrameSummary:
    """Of "file:line function"."""
    where, _, name = place.rpartition(" ")
    file, _, line = where.rpartition(":")
    return traceback.FrameSummary(file, int(line) if line.isdigit() else 0, name, lookup_line=False)


def _causes(compilations: list[dict]):
    """The breaks by what causes them, each once: where it is met alone, or else inside its callers. What the same line
    stops at again, without a graph between, is one with it: `print(f"{t}")` stops at the text, then at print."""
    causes: dict[str, dict] = {}
    before = None  # the break that the last compilation ended with
    for c in compilations:
        broke = c["break"]
        if broke and before and not c["graph"] and broke["stack"][:1] == before["stack"][:1]:
            before = broke
            continue
        if broke:
            known = causes.setdefault(broke["cause"] or f"break {len(causes)}", broke)
            if len(broke["stack"]) < len(known["stack"]):
                causes[broke["cause"]] = broke
        before = broke
    return causes.values()


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.rstrip().splitlines())
