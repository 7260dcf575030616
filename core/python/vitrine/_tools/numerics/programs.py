"""Compiled graphs with what they were called with: seen as they run for the first time, and run again in parts."""

import contextlib
import os
import re
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property

import torch

import vitrine
from vitrine import _checking, _engine
from vitrine._tools.accuracy import compare, nudge, widened
from vitrine._tools.gpu import set_random_states
from vitrine._tools.numerics import graph_text
from vitrine._tools.numerics.graph_text import Graph

MOST_HELD = 1 << 27  # bytes of values that are held at once, five times over: eager's, compiled and in float64
KEPT_IN_MEMORY = 1 << 26  # bytes of a program's inputs; more of them wait in a file
_BYTES = {"f64": 8, "i64": 8, "c64": 8, "c128": 16, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}


@dataclass
class Program:
    """One compiled graph and one call of it."""

    text: str
    inputs: "list | KeptInputs"
    rng: tuple
    plan: object = None  # as the engine made it for the user's program; None: compiled here
    compilation: int = 0
    name: str = ""
    why: str = ""  # of what eager() gave None for

    @cached_property
    def graph(self) -> Graph:
        return graph_text.read(self.text)

    def compiled(self, graph: Graph, disabled: tuple[str, ...] = ()):
        """A plan of the graph, whose inputs are this program's. Raises RuntimeError."""
        return _engine.plan_compile(str(graph), True, vitrine.config.cache_dir, "", "", "measured", 0, list(disabled))

    def call(self, plan, convert=None, run=_engine.plan_run, names=None):
        """What the plan gives for copies of the inputs, from the generators' state of the call. Raises what it raises.
        names: of the inputs that the plan has, all without it."""
        kept = list(self.inputs)
        if names is not None:
            kept = [value for node, value in zip(self.graph.inputs, kept, strict=True) if node.name in names]
        own = [convert(value) for value in kept] if convert else kept
        # What nobody writes is read as it is: a plan of a graph without writes leaves its inputs alone.
        if self.graph.writes and not isinstance(self.inputs, KeptInputs):
            own = [_checking.copies([value])[0] if value is before else value for value, before in zip(own, kept)] if convert else _checking.copies(own)
        del kept
        set_random_states(self.rng)
        with torch.no_grad():
            return run(plan, own)

    def eager(self, results: list[str], text=None, convert=None, graph: Graph | None = None) -> list | None:
        """These values by PyTorch's operators, one after the other; None where the graph does not run so."""
        graph = asking(graph or self.graph, results, self.inputs_share)
        names = None
        if not self.inputs_share:  # only what these values need is converted
            graph = graph.without_unread_inputs()
            names = {node.name for node in graph.inputs}
        self.why = ""
        try:
            plan = _engine.plan_compile(text(graph) if text else str(graph), False, vitrine.config.cache_dir)
            return list(self.call(plan, convert, names=names))
        except Exception as error:
            self.why = str(error) or type(error).__name__
            return None

    @cached_property
    def inputs_share(self) -> bool:
        """Whether what is written to one input may be read from another."""
        places = [value.untyped_storage().data_ptr() for value in self.inputs if isinstance(value, torch.Tensor)]
        return len(set(places)) < len(places)

    def exact(self, results: list[str], graph: Graph | None = None) -> list | None:
        """The same in float64."""
        return self.eager(results, Graph.in_float64, widened, graph)

    def nudged(self, results: list[str], draw: int, graph: Graph | None = None) -> list | None:
        return self.eager(results, None, lambda value: nudge(_checking.copies([value])[0], draw), graph)

    def rounds_to_tf32(self) -> bool:
        return _checking.rounds_to_tf32(self.text)


def asking(graph: Graph, values: list[str], inputs_share: bool = True) -> Graph:
    """The graph that returns these values, each as it was when it was computed: where something is written, as a copy."""
    if not graph.writes:
        return graph.returning([f"%{value}" for value in values]).without_dead()
    if not inputs_share:
        graph = graph.up_to(values)
    nodes, returned = [], {}
    wanted = set(values)
    for node in graph.nodes:
        nodes.append(node)
        for value, kind in zip(node.values, node.types):
            if value not in wanted:
                continue
            name = graph.free_name(f"copy_{len(returned)}")
            kind = re.sub(r"@[^{}\s]*?(?=cuda|cpu|$)", "", kind)  # a copy begins where its memory does
            line = f"%{name} = aten.clone.default(%{value}) : {kind}"
            nodes.append(graph_text.Node(name, line, "aten.clone.default", (value,), (kind,)))
            returned[value] = f"%{name}"
    return graph.with_nodes(nodes).returning([returned[value] for value in values])


def bytes_of(kind: str) -> int:
    """Of "f32[8,64]{64,1}cuda:0"."""
    found = re.match(r"(\w+)\[([\d,]*)\]", kind)
    count = 1
    for size in found[2].split(",") if found else ():
        count *= int(size or 1)
    return count * (_BYTES.get(found[1], 1) if found else 1)


def chunks(graph: Graph, values: list[str], most: int = MOST_HELD) -> list[list[str]]:
    """The values in runs that may be held together."""
    out, held = [[]], 0
    for value in values:
        held += bytes_of(graph.type_of(value))
        if out[-1] and held > most:
            out.append([])
            held = bytes_of(graph.type_of(value))
        out[-1].append(value)
    return [chunk for chunk in out if chunk]


class KeptInputs:
    """Inputs that wait in a file: the user's program goes on meanwhile, with as many tensors of its own. Each time they are asked
    for they are mapped anew, so that whoever writes to them writes to copies."""

    def __init__(self, inputs: list):
        folder = vitrine.config.cache_dir if os.path.isdir(vitrine.config.cache_dir or "") else None
        handle, self.path = tempfile.mkstemp(".inputs", dir=folder)
        self.end = weakref.finalize(self, os.unlink, self.path)
        with open(handle, "wb") as file:
            torch.save(_checking.detached(inputs), file)

    def __iter__(self):
        return iter(torch.load(self.path, weights_only=False, mmap=True))

    def __getitem__(self, i):
        return list(self)[i]


def kept(inputs: list):
    """Copies. Raises where one cannot be copied."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    if sum(value.nbytes for value in tensors) > KEPT_IN_MEMORY and all(type(value.detach()) is torch.Tensor and value.device.type == "cpu" for value in tensors):
        with contextlib.suppress(OSError, RuntimeError):  # there is no room
            return KeptInputs(inputs)
    return _checking.copies(inputs)


@contextlib.contextmanager
def watching():
    """While it is active, what is compiled is seen: gives the list of programs, which grows as they run first."""
    seen: list[Program] = []

    def see(plan, text, compilation, place, inputs):
        seen.append(Program(text, kept(inputs), _checking.random_states(), plan, compilation, place))

    _engine.observe_plans(see)
    try:
        yield seen
    finally:
        _engine.observe_plans(None)


@dataclass
class Judge:
    """Whether what a graph gives is as right as eager's."""

    program: Program
    graph: Graph

    @cached_property
    def returned(self) -> list[str]:
        return self.graph.returned()

    @cached_property
    def references(self) -> tuple[list | None, list | None]:
        return self.program.eager(self.returned, graph=self.graph), self.program.exact(self.returned, self.graph)

    def difference(self, disabled: tuple[str, ...] = ()) -> str:
        """How the compiled graph differs from eager; "": not at all."""
        eager, exact = self.references
        if eager is None:
            return ""
        try:
            compiled = list(self.program.call(self.program.compiled(asking(self.graph, self.returned), disabled)))
        except Exception as error:
            return f"the compiled graph fails: {error}"
        rows = compare(eager, compiled, lambda: exact, self.program.rounds_to_tf32, lambda draw: self.program.nudged(self.returned, draw, self.graph))
        wrong = next((row for row in rows if row["verdict"] == "differs"), None)
        if wrong is None:
            return ""
        at = re.search(r"\d+", wrong["output"])
        value = self.returned[int(at[0])] if at else wrong["output"]
        return f"{value} {wrong['type']}: {wrong['message']}"
