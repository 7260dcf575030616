"""`vitrine run --take-over`: a script written for torch.compile, unchanged, is compiled and recorded by Vitrine."""

import inspect
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn
from tests.python.support.recorded import recorded

import vitrine
from vitrine.take_over import torch_compile_taken_over

SCRIPT = """
import sys
import torch
from torch import nn


@torch.compile
def plain(x):
    return torch.relu(x) + 1


@torch.compile(backend="inductor", dynamic=None, fullgraph=True)
def with_arguments(x):
    return x * 3


@torch.compile(mode="max-autotune", dynamic=True)
def any_size(x):
    return x - 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x).tanh()


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(2, 4)
    net = Net().eval()
    with torch.no_grad():
        for _ in range(2):
            print(torch.equal(plain(x), torch.relu(x) + 1), torch.equal(with_arguments(x), x * 3), torch.equal(any_size(x), x - 2))
        compiled = torch.compile(net, options={"max_autotune": True})
        torch.testing.assert_close(compiled(x), net(x))
        expected = net(x)
        net.compile()
        torch.testing.assert_close(net(x), expected)
    print(type(compiled).__module__, sys.argv[1:], "torch._dynamo" in sys.modules)
"""


def test_a_script_is_compiled_as_it_stands(tmp_path):
    script, session = tmp_path / "program.py", tmp_path / "s.vitrine"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "vitrine._tools.run", script, "-o", session, "--take-over", "--", "its", "arguments"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:2] == ["True True True"] * 2
    assert lines[2].startswith("vitrine._module ['its', 'arguments']")
    assert result.stderr.count("{'max_autotune': True}) is taken over without it") == 1, result.stderr
    db = sqlite3.connect(session)
    captured = {name for (name,) in db.execute("SELECT code.qualname FROM frame JOIN code ON frame.code = code.id WHERE frame.state = 'captured'")}
    assert {"plain", "with_arguments", "any_size"} <= captured
    assert captured & {"Net.forward", "Module._call_impl"}
    assert {status for (status,) in db.execute("SELECT status FROM compilation")} <= {"ok", "no_graph"}
    assert db.execute("SELECT count(*) FROM compilation WHERE status = 'ok'").fetchone()[0] >= 5
    assert db.execute("SELECT status FROM run").fetchall() == [("finished",)]


def test_the_scripts_own_arguments_pass_the_command(tmp_path):
    vitrine_command = shutil.which("vitrine")
    if not vitrine_command:
        pytest.skip("the command vitrine is not built")
    script = tmp_path / "program.py"
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    command = [vitrine_command, "run", script, "-o", tmp_path / "s.vitrine", "--take-over", "--", "a", "--repeats", "-b"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and "['a', '--repeats', '-b']" in result.stdout, result.stderr


def test_without_the_option_torch_compile_is_torchs(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import torch\nprint(torch.compile.__module__)\n")
    command = [sys.executable, "-m", "vitrine._tools.run", script, "-o", tmp_path / "s.vitrine"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 1 and result.stdout == "torch\n", result.stderr
    assert "--take-over" in result.stderr


def add(x):
    return x + 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"backend": None},
        {"backend": "inductor"},
        {"backend": "eager"},
        {"backend": "aot_eager"},
        {"backend": "cudagraphs"},
        {"dynamic": None},
        {"dynamic": False},
        {"fullgraph": True},
        {"mode": "reduce-overhead"},
        {"name": "add", "recompile_limit": 3},
        {"isolate_recompiles": True},
        {"isolate_recompiles": False, "shapes_spec": None, "options": None},
    ],
)
def test_every_parameter_of_torch_compile(arguments):
    vitrine.reset()
    with torch_compile_taken_over(), warnings.catch_warnings():
        warnings.simplefilter("error")
        direct, decorated = torch.compile(add, **arguments), torch.compile(**arguments)(add)
    assert torch.compile is not vitrine.compile and torch.compile.__module__ == "torch"
    x = torch.ones(2)
    assert torch.equal(direct(x), x + 1) and torch.equal(decorated(x), x + 1)
    assert direct.__wrapped__ is add
    with torch_compile_taken_over():
        assert torch.compile(add, disable=True) is add


@pytest.mark.parametrize("arguments", [{"mode": "lite"}, {"options": {"max_autotune": True}}, {"shapes_spec": [1]}])
def test_what_is_left_out_is_said(arguments):
    with torch_compile_taken_over(), pytest.warns(vitrine.VitrineWarning, match="taken over without"):
        compiled = torch.compile(add, **arguments)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("arguments", [{"mode": "lite"}, {"options": {"max_autotune": True}}])
def test_what_is_left_out_is_said_at_the_users_line(arguments):
    with torch_compile_taken_over(), pytest.warns(vitrine.VitrineWarning) as caught:
        torch.compile(add, **arguments)
    assert [w.filename for w in caught] == [__file__]


def test_an_argument_that_torch_compile_has_not_is_an_error():
    with torch_compile_taken_over():
        assert {"recompile_limit", "options", "fullgraph"} <= set(inspect.signature(torch.compile).parameters)
        with pytest.raises(TypeError, match="unexpected keyword argument 'no_such'"):
            torch.compile(add, no_such=1)
        with pytest.raises(TypeError, match="no_such"):
            nn.Linear(2, 2).compile(no_such=1)


def test_a_filter_of_guards_is_not_handed_to_a_backend():
    taken = []

    def backend(graph, inputs, **more):
        taken.append(more)
        return graph.forward

    with torch_compile_taken_over():
        for options in ({"guard_filter_fn": lambda guards: [False] * len(guards)}, {"guard_filter_fn": None, "a": 1}):
            vitrine.reset()
            assert torch.equal(torch.compile(add, backend=backend, options=options)(torch.ones(2)), torch.full((2,), 2.0))
    assert taken == [{}, {"options": {"a": 1}}]


@pytest.mark.parametrize(
    "arguments, says",
    [({"mode": "fastest"}, "Unrecognized mode=fastest"), ({"mode": "default", "options": {}}, "Either mode or options")],
)
def test_wrong_arguments_are_torch_compiles_errors(arguments, says):
    with torch_compile_taken_over(), pytest.raises(RuntimeError, match=says):
        torch.compile(add, **arguments)
    with pytest.raises(RuntimeError, match=says):
        torch.compile(add, **arguments)  # PyTorch's own


def test_a_backend_of_ones_own():
    vitrine.reset()
    seen = []
    with torch_compile_taken_over():
        compiled = torch.compile(add, backend=lambda gm, inputs: seen.append(gm) or gm.forward)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0)) and isinstance(seen[0], torch.fx.GraphModule)


def test_recompile_limit_of_a_callable():
    vitrine.reset()
    compiled = vitrine.compile(lambda x: x + 1, dynamic=False, recompile_limit=2)
    with pytest.warns(vitrine.VitrineWarning, match="was compiled 2 times"):
        for size in (1, 2, 3):
            assert torch.equal(compiled(torch.ones(size)), torch.full((size,), 2.0))
    with pytest.raises(TypeError, match="recompile_limit"):
        vitrine.compile(add, recompile_limit=0)


def test_what_forgets_torchs_compiled_code_forgets_ours(tmp_path):
    before = torch.compiler.reset
    with recorded(tmp_path) as session, torch_compile_taken_over():
        compiled = torch.compile(add)
        for _ in range(2):
            compiled(torch.ones(2))
            torch.compiler.reset()
    assert len(session.rows("compilation", status="ok")) == 2
    assert torch.compiler.reset is before


ASKS_FOR_PYTORCHS_CLASS = """
import sys
import torch
from vitrine.take_over import torch_compile_taken_over

with torch_compile_taken_over():
    ours = torch.compile(torch.nn.Linear(2, 2))
    assert "torch._dynamo" not in sys.modules
    import torch._dynamo
    from torch._dynamo.eval_frame import OptimizedModule
    theirs = torch._dynamo.optimize("eager")(torch.nn.Linear(2, 2))
    for asked in OptimizedModule, torch._dynamo.OptimizedModule:
        print([isinstance(module, asked) for module in (ours, theirs, ours._orig_mod)])
print(isinstance(ours, torch._dynamo.OptimizedModule), OptimizedModule is torch._dynamo.OptimizedModule)
"""


def test_libraries_know_a_compiled_module():
    """Those that unwrap one ask for PyTorch's class, which a script may load later than it compiles."""
    run = subprocess.run([sys.executable, "-c", ASKS_FOR_PYTORCHS_CLASS], capture_output=True, text=True)
    assert run.stdout.splitlines() == ["[True, True, False]"] * 2 + ["False False"], run.stderr


CATCHES_PYTORCHS_ERROR = """
import torch
from vitrine.take_over import torch_compile_taken_over

@torch.no_grad()
def run():
    @torch.compile(fullgraph=True)
    def f(x):
        print("here")
        return x + 1

    try:
        f(torch.ones(2))
    except torch._dynamo.exc.Unsupported as error:
        print("caught", type(error).__name__, "print" in str(error))
        print(error.msg == str(error), [(frame.filename, frame.name) for frame in error.real_stack])

with torch_compile_taken_over():
    run()
    run()
import vitrine
print(vitrine.GraphBreakError.__bases__[0].__name__, issubclass(vitrine.GraphBreakError, torch._dynamo.exc.Unsupported))
"""


def test_a_script_catches_our_errors_as_pytorchs():
    """Also where the except clause is the first that asks for PyTorch's class."""
    run = subprocess.run([sys.executable, "-c", CATCHES_PYTORCHS_ERROR], capture_output=True, text=True)
    caught = ["caught GraphBreakError True", "True [('<string>', 'run.<locals>.f')]"]
    assert run.stdout.splitlines() == caught * 2 + ["CompileError True"], run.stdout + run.stderr


def test_a_program_that_never_stops_it_ends_in_silence():
    program = "import torch, vitrine.take_over as t; t.start(); print(torch.compile(torch.relu, backend='eager')(torch.ones(1)).item())"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "1.0" and ended.stderr == ""


def test_it_may_be_entered_twice_and_decorate():
    own = torch.compile

    @torch_compile_taken_over()
    def inside(deeper):
        assert torch.compile.__module__ == "vitrine.take_over"
        return deeper and inside(False)

    with torch_compile_taken_over():
        inside(True)
        assert torch.compile is not own
    assert torch.compile is own
