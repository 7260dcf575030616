"""Delta debugging of a compiled graph: the same failure with fewer results, fewer operators, smaller sizes, plainer inputs."""

import re
from dataclasses import dataclass, field, replace

import torch

from vitrine import _engine
from vitrine._tools.numerics import graph_text
from vitrine._tools.numerics.graph_text import Graph, Node, renamed
from vitrine._tools.numerics.programs import Judge, Program
from vitrine._tools.numerics.rows import numerics_rows

MOST_ENDS = 64  # operators
_SHAPE = re.compile(r"(?<=\w)\[([\d,]*)\](\{[\d,]*\})?")


@dataclass
class Case:
    """A graph with its inputs, that fails."""

    graph: Graph
    inputs: dict[str, object]  # by name
    rng: tuple
    made: dict[str, str] = field(default_factory=dict)  # by name of an input, the expression that makes it

    def program(self) -> Program:
        return Program(str(self.graph), [self.inputs[node.name] for node in self.graph.inputs], self.rng)

    def failure(self) -> str:
        """"": it does not fail."""
        try:
            program = self.program()
            return Judge(program, program.graph).difference()
        except (RuntimeError, ValueError, KeyError):
            return ""


def kind_of(failure: str) -> str:
    return "fails" if failure.startswith("the compiled graph fails") else "differs" if failure else ""


class Shrinker:
    def __init__(self, case: Case, say=lambda text: None, most: int = 2000):
        self.case, self.say, self.runs, self.most = case, say, 1, most
        self.kind = kind_of(case.failure())

    def attempt(self, case: Case | None) -> bool:
        """Takes the case in the place of the one at hand if it fails in the same way."""
        if case is None or self.runs >= self.most:
            return False
        self.runs += 1
        if kind_of(case.failure()) != self.kind:
            return False
        self.case = case
        return True

    def run(self) -> Case:
        if not self.kind:
            return self.case
        self.end_at_divergence()
        self.fewer_results()
        while True:
            before = len(self.case.graph.nodes)
            self.cut_above()
            self.cut_each()
            self.end_earlier()
            self.leave_out()
            self.fewer_results()
            if len(self.case.graph.nodes) == before:
                break
        self.smaller_sizes()
        self.plainer_inputs()
        return self.case

    # ---- parts of the graph

    def fewer_results(self) -> None:
        results = self.case.graph.returned()
        size = max(1, len(results) // 2)
        while len(results) > 1:
            for start in range(0, len(results), size):
                for chosen in (results[start : start + size], results[:start] + results[start + size :]):
                    if chosen and len(chosen) < len(results) and self.attempt(trimmed(self.case, chosen)):
                        break
                else:
                    continue
                break
            now = self.case.graph.returned()
            if now == results:
                if size == 1:
                    break
                size = max(1, size // 2)
            results = now
        self.attempt(trimmed(self.case, self.case.graph.returned()))

    def end_at_divergence(self) -> None:
        """The first value that differs is mostly where the graph can end."""
        first = next((row["name"] for row in numerics_rows(self.case.program()) if row.get("first")), None)
        if first:
            self.attempt(trimmed(self.case, [first]))

    def cut_above(self) -> None:
        """As many of the first operators as can go become inputs, with the values that they have in eager."""
        low, high = 0, len(self.case.graph.operators)
        case = self.case
        while high - low > 1:
            middle = (low + high) // 2
            names = [node.name for node in case.graph.operators[:middle]]
            if self.attempt(cut(case, names)):
                low = middle
            else:
                high = middle

    def cut_each(self) -> None:
        for node in self.case.graph.operators:
            if node.name in self.case.graph.by_name:
                self.attempt(cut(self.case, [node.name]))

    def end_earlier(self) -> None:
        """The first operator whose value alone fails is where the graph ends; of a long graph the first ones are asked."""
        for node in self.case.graph.operators[:-1][:MOST_ENDS]:
            for value in node.values:
                if self.case.graph.returned() != [value] and self.attempt(trimmed(self.case, [value])):
                    return

    def leave_out(self) -> None:
        """An operator's value is one of those it reads, where that has the same type."""
        for node in reversed(self.case.graph.operators):
            known = self.case.graph.by_name.get(node.name)
            if known is None or len(node.values) != 1:
                continue
            for read in known.reads:
                if self.case.graph.type_of(read) == known.types[0] and self.attempt(without(self.case, node.name, read)):
                    break

    # ---- sizes and values

    def smaller_sizes(self) -> None:
        sizes = sorted({int(n) for node in self.case.graph.nodes for t in node.types for n in dims_of(t)}, reverse=True)
        for size in sizes:
            now = size
            for smaller in (1, 2, 3, 4, 8, 16, 17, 32, 64, 128):
                if smaller < now and self.attempt(resized(self.case, now, smaller)):
                    break
            else:
                while now > 1 and self.attempt(resized(self.case, now, now // 2)):
                    now //= 2

    def plainer_inputs(self) -> None:
        for node in self.case.graph.inputs:
            tensor = self.case.inputs[node.name]
            if not isinstance(tensor, torch.Tensor):
                continue
            for text in makers(tensor):
                fresh = eval(text, {"torch": torch})
                if fresh.stride() != tensor.stride():
                    fresh = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(fresh)
                case = replace(self.case, inputs={**self.case.inputs, node.name: fresh.to(tensor.device)}, made={**self.case.made, node.name: text})
                if self.attempt(case):
                    break


def makers(tensor) -> list[str]:
    """Expressions that make a tensor of that type, the plainest first; nothing where its memory lies in a way of its own."""
    shape, dtype = tuple(tensor.shape), tensor.dtype
    overlaps = torch._debug_has_internal_overlap(tensor) == 1
    if overlaps or tensor.storage_offset():
        return []
    kind = str(dtype)
    if dtype.is_floating_point:
        drawn = f"torch.randn({shape}, generator=torch.Generator().manual_seed(0)).to({kind})"
        return [f"torch.ones({shape}, dtype={kind})", drawn, drawn.replace("randn", "rand")]
    return [f"torch.zeros({shape}, dtype={kind})", f"torch.ones({shape}, dtype={kind})"]


def with_inputs_of(case: Case, graph: Graph, more: dict | None = None) -> Case:
    """The case of another graph, whose inputs are known or come along; those that nobody reads go."""
    read = {value.partition(".")[0] for node in graph.nodes for value in node.reads} | {v.partition(".")[0] for v in graph.returned()}
    graph = graph.with_nodes([node for node in graph.nodes if node.op or node.name in read])
    known = {**case.inputs, **(more or {})}
    return replace(case, graph=graph, inputs={node.name: known[node.name] for node in graph.inputs}, made={k: v for k, v in case.made.items() if k in known})


def trimmed(case: Case, results: list[str]) -> Case:
    return with_inputs_of(case, case.graph.returning([f"%{value}" for value in results]).without_dead())


def cut(case: Case, names: list[str]) -> Case | None:
    """These operators are inputs."""
    graph, gone = case.graph, set(names)
    read = {value for node in graph.nodes if node.name not in gone for value in node.reads} | set(graph.returned())
    needed = [value for node in graph.operators if node.name in gone for value in node.values if value in read]
    results = graph.returned()
    if not needed or all(value.partition(".")[0] in gone for value in results) or any(graph.by_name[n].writes for n in gone):
        return None
    values = case.program().eager(needed)
    if values is None:
        return None
    names_now, inputs, more = {}, [], {}
    for value, tensor in zip(needed, values):
        name = value if "." not in value else graph.free_name(value.replace(".", "_o"))
        kind = re.sub(r"@\d+", "", graph.type_of(value))
        line = f"%{name} = placeholder() : {kind}"
        if name != value:
            names_now[value] = name
        inputs.append(Node(name, line, types=(kind,)))
        more[name] = tensor.detach().clone()
    kept = [node for node in graph.nodes if node.name not in gone]
    first = next((i for i, node in enumerate(kept) if node.op), len(kept))
    kept = [replace(node, text=renamed(node.text, names_now)) for node in kept]
    changed = graph.with_nodes([*kept[:first], *inputs, *kept[first:]]).returning([renamed(f"%{value}", names_now) for value in results])
    return anew(case, changed, more)


def anew(case: Case, graph: Graph, more: dict | None = None) -> Case | None:
    """The case of a graph whose text was changed; None where its lines do not fit one another any more."""
    try:
        return with_inputs_of(case, graph_text.again(graph).without_dead(), more)
    except (ValueError, KeyError, StopIteration, IndexError):
        return None


def without(case: Case, name: str, instead: str) -> Case | None:
    kept = [replace(node, text=renamed(node.text, {name: instead})) for node in case.graph.nodes if node.name != name]
    results = [renamed(text, {name: instead}) for text in case.graph.results]
    return anew(case, case.graph.with_nodes(kept).returning(results))


def dims_of(kind: str) -> list[str]:
    found = _SHAPE.search(kind)
    return [size for size in found[1].split(",") if size] if found else []


def resized(case: Case, size: int, smaller: int) -> Case | None:
    """Each dimension of that size has another one; the operators' own types are derived from those of the inputs."""

    def number(match):
        return str(smaller) if int(match[0]) == size else match[0]

    lines, inputs = [], {}
    for node in case.graph.nodes:
        call, _, kinds = node.text.rpartition(" : ")
        if node.op:
            head, bracket, arguments = call.partition("(")
            parts = re.split(r'("(?:[^"\\]|\\.)*"|%\w+(?:\.\d+)?)', arguments)
            call = head + bracket + "".join(p if p[:1] in ('"', "%") else re.sub(r"(?<![\w.])\d+(?![\w.])", number, p) for p in parts)
            lines.append(replace(node, text=f"{call} : {kinds}"))
            continue
        tensor = case.inputs[node.name]
        if not isinstance(tensor, torch.Tensor) or str(size) not in dims_of(node.types[0]):
            inputs[node.name] = tensor
            lines.append(node)
            continue
        taken = tensor[tuple(slice(0, smaller if n == size else n) for n in tensor.shape)]
        order = sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))
        inputs[node.name] = taken.permute(order).clone(memory_format=torch.contiguous_format).permute([order.index(d) for d in range(tensor.dim())])
        before = re.match(r"(\w+)\[.*?\](\{.*?\})?(@\d+)?", node.types[0])
        kind = type_of(before[1], inputs[node.name]) + node.types[0][before.end() :]
        lines.append(replace(node, text=f"{call} : {kind}", types=(kind,)))
    try:
        return derived(replace(case, inputs=inputs, made={}), case.graph.with_nodes(lines))
    except (RuntimeError, ValueError, KeyError, IndexError):
        return None


def type_of(dtype: str, tensor) -> str:
    sizes, strides = ",".join(map(str, tensor.shape)), tuple(tensor.stride())
    plain = torch.empty(tensor.shape, device="meta").stride()
    return f"{dtype}[{sizes}]" + ("" if strides == tuple(plain) else "{" + ",".join(map(str, strides)) + "}")


def derived(case: Case, graph: Graph) -> Case | None:
    """Types of operators anew, one after the other, as the operator table gives them."""
    nodes = list(graph.nodes)
    for i, node in enumerate(nodes):
        if not node.op:
            continue
        so_far = Graph(graph.stage, tuple(nodes[: i + 1]), ())
        types = dict((name, types) for name, types, _ in _engine.op_types(str(so_far)))[node.name]
        if not types:
            return None
        nodes[i] = replace(node, text=node.text.rpartition(" : ")[0] + f" : {types}")
    return anew(case, graph.with_nodes(nodes))
