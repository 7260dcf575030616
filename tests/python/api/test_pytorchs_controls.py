"""What PyTorch offers to steer its compiler holds for Vitrine: disable, graph_break, stances, switches of the environment; what is
not followed is named once."""

import functools
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
import torch._dynamo
from tests.python.support.control_programs import PROGRAMS, fail_on_recompile, fail_on_the_first_compilation

import vitrine
from vitrine.take_over import torch_compile_taken_over


def fields(value):
    """Plain Python, to compare."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [fields(item) for item in value]
    return value


def with_torch_compile(program):
    return fields(program(lambda f: torch.compile(f, backend="eager")))


@functools.cache
def by_torch_compile(program):
    if program not in (fail_on_recompile, fail_on_the_first_compilation):
        return with_torch_compile(program)
    # PyTorch's hook stays in place for the rest of a process in which this stance has forbidden a compilation.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as child:
        return child.submit(with_torch_compile, program).result()


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()
    vitrine.reset()


@pytest.mark.filterwarnings("ignore::vitrine.VitrineWarning")
@pytest.mark.parametrize("how", ["own", "taken over"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_control_does_what_it_does_in_torch_compile(program, how):
    expected = by_torch_compile(program)
    if how == "own":
        assert fields(program(lambda f: vitrine.compile(f, backend="eager"))) == expected
        return
    with torch_compile_taken_over():
        assert fields(program(lambda f: torch.compile(f, backend="eager"))) == expected


@torch.compiler.disable(reason="it reads a file")
def reads_a_file(x):
    return x * (2 if torch.compiler.is_compiling() else 3)


def around(x):
    return reads_a_file(x + 1)


def test_the_reason_of_disable_is_told():
    explanation = vitrine.explain(around)(torch.zeros(2))
    assert explanation.result.tolist() == [3, 3]
    (broke,) = explanation.graph_breaks
    assert broke.kind == "disabled"
    assert broke.reason == "function reads_a_file is marked torch.compiler.disable: it reads a file"


def test_vitrines_disable_takes_a_reason_and_leaves_what_is_called():
    told = []

    def deep(x):
        told.append(torch.compiler.is_compiling())
        return x * 2

    @vitrine.disable(recursive=False, reason="it is slow to capture")
    def inner(x):
        told.append(torch.compiler.is_compiling())
        return deep(x)

    explanation = vitrine.explain(lambda x: inner(x + 1))(torch.ones(2))
    assert told == [False, True]
    assert explanation.graph_breaks[0].reason.endswith("is marked vitrine.disable: it is slow to capture")


def test_a_disabled_function_under_fullgraph_is_an_error():
    with pytest.raises(vitrine.GraphBreakError, match="reads_a_file"):
        vitrine.compile(around, fullgraph=True)(torch.ones(2))


def broken(x):
    x = x + 1
    torch._dynamo.graph_break(msg="to look at x")
    return x * 2


def test_graph_break_breaks_and_is_an_error_under_fullgraph():
    explanation = vitrine.explain(broken)(torch.ones(2))
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    assert explanation.graph_breaks[0].reason == "torch._dynamo.graph_break(): to look at x"
    with pytest.raises(torch._dynamo.exc.Unsupported, match="to look at x"):
        vitrine.compile(broken, fullgraph=True)(torch.ones(2))


def test_dynamos_explain_tells_of_what_runs():
    with torch_compile_taken_over():
        for function in (broken, torch.compile(broken)):
            told = torch._dynamo.explain(function)(torch.ones(2))
            assert (told.graph_count, told.graph_break_count, told.op_count) == (2, 1, 2)
            assert "torch._dynamo.graph_break(): to look at x" in told.break_reasons[0].reason
            assert told.break_reasons[0].user_stack[0].name == "broken"
            assert "Graph Count: 2\nGraph Break Count: 1\n" in str(told)
            assert [len(graph.graph.nodes) for graph in told.graphs] == [3, 3]


def said(program, *environment):
    """What a process warns of that runs this program; its own output is printed."""
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import warnings\nimport torch\nimport vitrine\n" + program],
        capture_output=True, text=True, env={**os.environ, **dict(environment)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout, [line for line in run.stderr.splitlines() if "does not follow" in line]


TWO_COMPILATIONS = """
for factor in (2, 3):
    vitrine.compile(lambda x, factor=factor: x * factor, backend="eager")(torch.ones(2))
"""


def test_what_is_not_followed_is_named_once():
    program = """
import torch._dynamo.config, torch._inductor.config
torch._dynamo.config.trace_numpy = False
torch._dynamo.config.recompile_limit = 9
torch._inductor.config.triton.cudagraphs = True
""" + TWO_COMPILATIONS + """
torch._dynamo.config.compiled_autograd = True
""" + TWO_COMPILATIONS
    _, lines = said(program, ("TORCHINDUCTOR_FREEZING", "1"), ("TORCH_COMPILE_DISABLE", "0"))
    first, second = lines
    assert "torch._dynamo.config.trace_numpy = False (default True); NumPy's arrays are captured" in first
    assert "torch._inductor.config.triton.cudagraphs = True" in first and 'mode="reduce-overhead"' in first
    assert "TORCHINDUCTOR_FREEZING=1 in the environment" in first
    assert "recompile_limit" not in first  # followed
    assert "DISABLE" not in first  # followed
    assert "compiled_autograd" in second and "trace_numpy" not in second


def test_a_program_that_sets_nothing_hears_nothing_and_loads_nothing():
    out, lines = said(TWO_COMPILATIONS + "import sys; print('torch._dynamo' in sys.modules, 'torch._inductor' in sys.modules)")
    assert not lines
    assert out.split() == ["False", "False"]


def test_a_part_of_a_stance_that_is_not_followed_is_named():
    program = """
torch.compiler.set_stance("default", skip_guard_eval_unsafe=True)
""" + TWO_COMPILATIONS
    _, (line,) = said(program)
    assert "skip_guard_eval_unsafe=True); guards are always checked" in line


@pytest.mark.parametrize("switch", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_the_environment_switches_compilation_off(switch):
    program = "def f(x): return torch.compiler.is_compiling()\ng = vitrine.compile(f)\nprint(g(torch.ones(2)), g is f)"
    assert said(program, (switch, "1"))[0].split() == ["False", "True"]
    assert said(program, (switch, "0"))[0].split() == ["True", "False"]


def test_set_stance_is_not_captured():
    def f(x):
        with torch.compiler.set_stance("force_eager"):
            return x + 1

    assert torch.equal(vitrine.compile(f, backend="eager")(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(vitrine.GraphBreakError, match="set_stance"):
        vitrine.compile(f, fullgraph=True)(torch.ones(2))
    assert torch._dynamo.eval_frame._stance.stance == "default"


def duck(graph, inputs):
    raise RuntimeError("duck!")


def test_a_backends_error_is_what_torch_compile_makes_of_it():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="backend='duck' raised:\nRuntimeError: duck!") as caught:
        vitrine.compile(lambda x: x + 1, backend=duck)(torch.ones(2))
    assert caught.value.inner_exception.args == ("duck!",)
    assert caught.traceback[-1].name == "duck"


def interrupted(graph, inputs):
    raise KeyboardInterrupt


def test_an_interrupt_in_a_backend_stays_one():
    with pytest.raises(KeyboardInterrupt):
        vitrine.compile(lambda x: x + 1, backend=interrupted)(torch.ones(2))


def test_a_contradicted_mark_is_caught_as_pytorchs_error():
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    x = torch.ones(10)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(ConstraintViolationError, match="specialized it to be a constant"):
        vitrine.compile(lambda x: x + (x.shape[0] == 10))(x)
    with pytest.raises(ConstraintViolationError):
        vitrine.mark_dynamic(x, 0, max=5)


def asked_of_sizes():
    from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true, statically_known_false, statically_known_true

    def ranged(x):
        if x.shape[0] > 9:
            return statically_known_true(x.shape[0] > 5), x + 1
        return None, x

    def before(x):
        long = x.shape[0] > 9
        return statically_known_true(long), x + 1

    def both(x):
        long = x.shape[0] > 9
        known = statically_known_false(long)
        return (known, statically_known_true(x.shape[0] > 5)) if long else known, x + 1

    return [
        lambda x: (statically_known_true(x.shape[0] > 9), x + 1),
        lambda x: (statically_known_true(x.shape[0] > 1), x + 1),
        lambda x: (statically_known_true(10 == x.shape[0]), x + 1),
        lambda x: (statically_known_true(x.shape[0] != 10), x + 1),
        lambda x: (statically_known_false(x.shape[0] == 10), x + 1),
        lambda x: (statically_known_false(x.shape[0] < 0), x + 1),
        lambda x: (statically_known_true(x.shape[0] * 2 >= x.shape[0]), x + 1),
        lambda x: (guard_or_false(x.shape[0] > 9), x + 1),
        lambda x: (guard_or_true(x.shape[0] > 90), x + 1),
        ranged,
        before,
        both,
    ]


@pytest.mark.parametrize("which", range(12))
def test_a_question_without_a_guard_is_answered_as_by_torch_compile(which):
    def ask(compile):
        x = torch.ones(10)
        torch._dynamo.mark_dynamic(x, 0)
        return compile(asked_of_sizes()[which])(x)[0]

    assert ask(lambda f: vitrine.compile(f, backend="eager")) == ask(lambda f: torch.compile(f, backend="eager"))


def test_it_serves_other_sizes_then():
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    x = torch.ones(10)
    vitrine.mark_dynamic(x, 0)
    f = vitrine.compile(lambda x: (statically_known_true(x.shape[0] > 9), x + 1), backend="eager", fullgraph=True, recompile_limit=1)
    assert f(x)[0] is False
    assert f(torch.ones(4))[0] is False  # no guard
    assert f(torch.ones(40))[0] is False


def one(x):
    return torch.cond(torch.tensor(True), lambda x: x + 100, lambda x: x.clone(), (x,))


def of_operators():
    from functorch.experimental import control_flow
    from torch._higher_order_ops import associative_scan, scan, while_loop

    a = torch.arange(15.0).reshape(3, 5)

    def gradient():
        x = torch.arange(4.0, requires_grad=True)
        result = torch.cond(torch.tensor(False), lambda x: x.sin(), lambda x: x.cos(), (x,))
        return torch.autograd.grad(result.sum(), x)[0]

    return {
        "cond": lambda: one(a),
        "vmap of cond": lambda: torch.vmap(one)(a),
        "gradient of cond": gradient,
        "map": lambda: control_flow.map(lambda x, y: x + y, a, torch.ones(5)),
        "while_loop": lambda: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), a)),
        "scan": lambda: scan(lambda c, x: (c + x, c * x), torch.zeros(5), a, dim=0),
        "associative_scan": lambda: associative_scan(lambda x, y: x + y, a, 0, combine_mode="generic"),
    }


@pytest.mark.parametrize("name", ["cond", "vmap of cond", "gradient of cond", "map", "while_loop", "scan", "associative_scan"])
def test_an_operator_that_takes_functions_works_as_before_when_compile_is_taken_over(name):
    expected = of_operators()[name]()
    with torch_compile_taken_over():
        found = of_operators()[name]()
    assert type(found) is type(expected)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.skipif(not hasattr(torch.compiler, "set_default_backend"), reason="newer than this PyTorch")
def test_the_default_backend_is_taken_over():
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch.compiler.set_default_backend(keep)
    try:
        with torch_compile_taken_over():
            torch.compile(lambda x: x + 1)(torch.ones(2))
    finally:
        torch.compiler.set_default_backend(None)
    assert len(graphs) == 1


def test_pytorchs_own_marks_break_no_training_step():
    """Optimizers ask for a graph break in each step, and torch._dynamo disables functions of theirs once it is loaded."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    explanation = vitrine.explain(step)(torch.ones(2, 4))
    assert (explanation.graph_count, explanation.graph_breaks) == (1, [])
