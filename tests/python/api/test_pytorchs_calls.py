"""What torch.compiler and torch._dynamo offer around compiled functions is true of Vitrine, under take-over and under its own name."""

import dataclasses
import importlib

import pytest
import torch
import torch._dynamo
import torch.utils._pytree as pytree
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend

import vitrine
from vitrine.take_over import torch_compile_taken_over

pytestmark = pytest.mark.filterwarnings("ignore::vitrine.VitrineWarning")


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.callback_handler.clear()
    torch._dynamo.reset()
    vitrine.reset()


def opaque(x):
    return x.sin() + 1


def allowed_in_graph():
    torch.compiler.allow_in_graph(opaque)
    try:
        counter = CompileCounterWithBackend("eager")
        result = torch.compile(lambda x: opaque(x + 1) * 2, backend=counter, fullgraph=True)(torch.ones(3))
    finally:
        torch._dynamo.disallow_in_graph(opaque)
    targets = [node.target for node in counter.graphs[0].graph.nodes if node.op == "call_function"]
    return result.tolist(), counter.op_count, opaque in targets


def allowed_although_it_breaks():
    @torch._dynamo.nonstrict_trace
    def inner(x, y):
        torch._dynamo.graph_break()
        return x * y

    return torch.compile(lambda x: inner(x, x + 1) - 1, fullgraph=True, backend="aot_eager")(torch.ones(2)).tolist()


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor | None = None
    factor: int = 2


class Node:
    def __init__(self, held):
        self.held = held


class Scale:
    def __init__(self, by):
        self.by = by

    def __eq__(self, other):
        return isinstance(other, Scale) and self.by == other.by

    def __hash__(self):
        return hash(self.by)


pytree.register_dataclass(Pair)
pytree.register_pytree_node(Node, lambda node: ([node.held], "held"), lambda leaves, context: Node(*leaves))
pytree.register_constant(Scale)


@torch._dynamo.nonstrict_trace
def of_trees(pair, node, *more, scale=None):
    torch._dynamo.graph_break()
    factor = pair.factor if scale is None else scale.by
    return Pair(pair.a * factor + node.held, None if pair.b is None else pair.b.sin(), factor), {"more": [Node(each + 1) for each in more]}


def allowed_and_given_trees():
    def made_inside(x, k):
        pair, rest = of_trees(Pair(x, x + 1, k), Node(x), x, x * 2)
        return [pair.a, pair.b, *[node.held for node in rest["more"]]], pair.factor, type(pair).__name__

    def from_outside(pair, node, **scale):
        return of_trees(pair, node, **scale)[0].a * 2

    x = torch.arange(3.0)
    inside = torch.compile(made_inside, fullgraph=True, backend="aot_eager")
    outside = torch.compile(from_outside, fullgraph=True, backend="aot_eager")
    told = [[[t.tolist() for t in tensors], factor, name] for tensors, factor, name in (inside(x, 2), inside(x, 3), inside(torch.ones(4), 3))]
    told += [outside(Pair(x, b), Node(x), **scale).tolist() for b in (None, x) for scale in ({}, {"scale": Scale(5)}, {"scale": Scale(7)})]
    held = x.clone().requires_grad_()
    outside(Pair(held * 2), Node(held)).sum().backward()
    return told, held.grad.tolist()


def allowed_and_given_a_module():
    @torch._dynamo.nonstrict_trace
    def run(module, x):
        torch._dynamo.graph_break()
        return module(x) * 2

    inner = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        inner[0].weight.copy_(torch.arange(6.0).view(2, 3))
        inner[0].bias.zero_()
    compiled = torch.compile(lambda x: run(inner, x).sin(), fullgraph=True, backend="aot_eager")
    x = torch.arange(6.0).view(2, 3) / 10
    compiled(x).sum().backward()
    told = [inner[0].weight.grad.tolist(), inner[1].running_mean.tolist()]
    inner.eval()
    return [[round(v, 4) for v in torch.tensor(t).flatten().tolist()] for t in [*told, compiled(x).tolist()]]


def refused_outside_of_trees():
    class Other:
        by = 3

    @torch._dynamo.nonstrict_trace
    def given(x, other):
        return x * other.by

    @torch._dynamo.nonstrict_trace
    def gives(x):
        made = Other()
        made.held = x + 1
        return made

    told = []
    for f in (lambda x: given(x, Other()), lambda x: gives(x).held, lambda x: of_trees(Pair(x), Node(x), scale=Scale(2))[0].a):
        with pytest.raises(torch._dynamo.exc.Unsupported):
            told.append(torch.compile(f, fullgraph=True, backend="eager")(torch.ones(2)))
    return told


def allowed_and_differentiated():
    torch.compiler.allow_in_graph(opaque)
    try:
        x = torch.arange(3.0, requires_grad=True)
        torch.compile(lambda x: (opaque(x) * x).sum())(x).backward()
    finally:
        torch._dynamo.disallow_in_graph(opaque)
    return [round(g, 4) for g in x.grad.tolist()]


def constant_result():
    calls = []

    @torch.compiler.assume_constant_result
    def scale(name):
        calls.append(name)
        return len(calls) * 10

    compiled = torch.compile(lambda x: x + scale("a"), fullgraph=True, backend="eager")
    results = [compiled(torch.zeros(2)).tolist() for _ in range(3)]
    return results, set(calls)


def constant_result_of_a_method():
    class Table:
        def __init__(self):
            self.held = {"weight": 3.0}

        @torch.compiler.assume_constant_result
        def look(self, name):
            return self.held[name]

    table = Table()
    compiled = torch.compile(lambda x: x * table.look("weight"), fullgraph=True, backend="eager")
    first = compiled(torch.ones(2)).tolist()
    table.held["weight"] = 5.0
    return first, compiled(torch.ones(2)).tolist()


def nested_region():
    @torch.compiler.nested_compile_region
    def block(x):
        return x.sin() + 1

    counter = CompileCounter()
    result = torch.compile(lambda x: block(x) + block(x), backend=counter, fullgraph=True)(torch.ones(3))
    return [round(v, 4) for v in result.tolist()], counter.frame_count


def told_of_export():
    return torch.compile(lambda x: x + (1 if torch.compiler.is_exporting() else 2), backend="eager")(torch.zeros(1)).tolist()


def step_begins_inside():
    def f(x):
        torch.compiler.cudagraph_mark_step_begin()
        return x + 1

    torch.compiler.cudagraph_mark_step_begin()
    return torch.compile(f, backend="eager")(torch.zeros(1)).tolist()


def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x.sin().cos()


def callbacks():
    log = []
    torch._dynamo.on_compile_start(lambda arguments: log.append("start"))
    torch._dynamo.on_compile_end(lambda arguments: log.append("end"))
    torch.compile(broken, backend="eager")(torch.ones(2))
    return log


def counters():
    from torch._dynamo.utils import counters

    counters.clear()
    torch.compile(broken, backend="eager")(torch.ones(2))
    return dict(counters["frames"]), dict(counters["stats"]), sum(counters["graph_break"].values())


def explained_by_a_backend():
    from torch._dynamo.backends.debugging import ExplainWithBackend

    backend = ExplainWithBackend("eager")
    torch.compile(broken, backend=backend)(torch.ones(2))
    told = backend.output()
    return told.graph_count, told.graph_break_count, told.op_count


def optimized():
    counter = CompileCounter()
    for compiled in (torch._dynamo.optimize(counter)(lambda x: x + 1), torch._dynamo.optimize_assert(counter)(lambda x: x + 2)):
        compiled(torch.ones(2))
    return counter.frame_count


def decorated_class():
    counter = CompileCounter()

    @torch.compile(backend=counter)
    class Add(torch.nn.Module):
        def forward(self, x):
            return x + 1

    return Add()(torch.ones(2)).tolist(), counter.frame_count


def a_block_in_which_breaks_matter():
    def f(x):
        with torch._dynamo.error_on_graph_break(False):
            return x + 1

    return torch.compile(f, backend="eager")(torch.zeros(1)).tolist()


def counted(function, calls, **settings):
    """What the calls give, and how many graphs a backend got."""
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, **settings)
    return [compiled(*call).tolist() for call in calls], counter.frame_count


def sizes_and_ints():
    sizes = [(torch.ones(n),) for n in (3, 4, 5, 6, 1, 0)]
    numbers = [(torch.ones(2), n) for n in (3, 4, 5, 0, 1, -1)]
    return counted(lambda x: x * 2, sizes), counted(lambda x, n: x * n, numbers)


def sizes_that_are_marked():
    def marked(mark):
        calls = [(torch.ones(n),) for n in (3, 4, 5)]
        for (x,) in calls:
            mark(x, 0)
        return calls

    return counted(lambda x: x * 2, marked(torch._dynamo.mark_static), dynamic=True), counted(lambda x: x + 2, marked(torch._dynamo.maybe_mark_dynamic))


def stances_that_wait():
    told = []
    for stance in ("eager_then_compile", "aot_eager_then_compile"):
        with torch.compiler.set_stance(stance):
            told.append(counted(lambda x: x * 2, [(torch.ones(n),) for n in (3, 4, 5)]))
        torch._dynamo.reset()
    return told


PROGRAMS = [
    allowed_in_graph, allowed_although_it_breaks, allowed_and_differentiated, constant_result, constant_result_of_a_method, nested_region,
    allowed_and_given_trees, allowed_and_given_a_module, refused_outside_of_trees, told_of_export, step_begins_inside, callbacks, counters,
    explained_by_a_backend, optimized, decorated_class, a_block_in_which_breaks_matter, sizes_and_ints, sizes_that_are_marked, stances_that_wait,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_call_does_what_it_does_for_torch_compile(program):
    if program is allowed_and_differentiated:  # Inductor would have to write C++
        x = torch.arange(3.0, requires_grad=True)
        (opaque(x) * x).sum().backward()
        expected = [round(g, 4) for g in x.grad.tolist()]
    else:
        expected = program()
    torch._dynamo.callback_handler.clear()
    torch._dynamo.reset()
    with torch_compile_taken_over():
        assert program() == expected


@pytest.mark.skipif(not hasattr(torch._dynamo.decorators, "leaf_function"), reason="newer than this PyTorch")
def test_a_leaf_function_runs_as_eager_has_it():
    @torch._dynamo.decorators.leaf_function
    def leaf(x):
        return (x * 2 if x.sum() > 0 else x * 3,)

    leaf.register_fake(lambda x: (torch.empty_like(x),))
    seen = []
    leaf.register_multi_grad_hook(lambda gradient: seen.append(gradient.tolist()))

    def f(x):
        return (leaf(x * x - 1)[0] + 1).sum()

    compiled = vitrine.compile(f, backend="eager")
    for x in (torch.arange(3.0), torch.zeros(3)):
        gradients = []
        for function in (f, compiled):
            given = x.clone().requires_grad_()
            function(given).backward()
            gradients.append((given.grad.tolist(), seen.pop()))
        assert gradients[0] == gradients[1] and not seen


@pytest.mark.parametrize("name", sorted(vitrine._OF_PYTORCH))
def test_what_pytorch_has_has_vitrine(name):
    assert getattr(vitrine, name) is getattr(importlib.import_module(vitrine._OF_PYTORCH[name]), name)
    assert name in vitrine.__all__ and name in dir(vitrine)


def test_vitrines_graph_break():
    def f(x):
        x = x + 1
        vitrine.graph_break()
        return x * 2

    assert vitrine.explain(f)(torch.ones(2)).graph_count == 2
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        vitrine.no_such


def test_an_explanation_has_dynamos_names():
    ours = vitrine.explain(broken)(torch.ones(2))
    theirs = torch._dynamo.explain(broken)(torch.ones(2))
    assert ours.graph_count == theirs.graph_count == 2 and ours.graph_break_count == theirs.graph_break_count == 1
    assert len(ours.break_reasons) == len(theirs.break_reasons) == 1
    assert ours.out_guards == ours.guards and len(ours.ops_per_graph) == len(theirs.ops_per_graph)
    assert ours.compile_times.count(" s") == 2 and len(ours.graphs) == 2


def test_a_break_is_an_error_in_the_block_that_says_so():
    def f(x, inside):
        with torch._dynamo.error_on_graph_break(True):
            x = x + 1
            if inside:
                torch._dynamo.graph_break()
            with torch._dynamo.error_on_graph_break(False):
                torch._dynamo.graph_break()
        torch._dynamo.graph_break()
        return x * 2

    only = vitrine.compile(f, backend="eager")
    assert only(torch.ones(1), False).item() == 4
    with pytest.raises(vitrine.GraphBreakError, match="graph_break"):
        only(torch.ones(1), True)
    assert torch._dynamo.decorators._get_error_on_graph_break() is False


def test_a_break_is_an_error_in_a_block_around_the_first_call():
    def errors(make, error):
        with torch._dynamo.error_on_graph_break(True), pytest.raises(error):
            make()(torch.ones(1))
        compiled = make()
        assert compiled(torch.ones(1)).tolist() == broken(torch.ones(1)).tolist()
        with torch._dynamo.error_on_graph_break(True):  # nothing is compiled in it
            compiled(torch.ones(1))
            with torch._dynamo.error_on_graph_break(False):
                make()(torch.ones(1))

    errors(lambda: torch.compile(lambda x: broken(x), backend="eager"), torch._dynamo.exc.Unsupported)
    errors(lambda: vitrine.compile(lambda x: broken(x), backend="eager"), vitrine.GraphBreakError)


def test_a_function_may_say_that_its_breaks_are_errors():
    @torch._dynamo.error_on_graph_break(True)
    def strict(x):
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(vitrine.GraphBreakError):
        vitrine.compile(lambda x: strict(x) * 2, backend="eager")(torch.ones(1))


def test_what_a_program_raises_in_such_a_block_is_no_break():
    def f(x):
        with torch._dynamo.error_on_graph_break(True):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        vitrine.compile(f, backend="eager")(torch.ones(1))


def test_a_function_is_left_alone_while_a_program_is_exported():
    class Inner(torch.nn.Module):
        def forward(self, x):
            return vitrine.compile(lambda x: x * 2)(x) + 1

    program = torch.export.export(Inner(), (torch.ones(3),))
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 3.0))
