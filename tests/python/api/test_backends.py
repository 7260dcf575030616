"""A backend of the user's own: what it receives, what it may return, and whose its exceptions are."""

import io
import subprocess
import sys
from contextlib import redirect_stdout

import pytest
import torch
from torch import fx

import vitrine

from tests.python.support.places import ROOT


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Keep:
    """A backend that runs the graph as it is, and keeps what it was given."""

    def __init__(self):
        self.modules, self.inputs, self.calls = [], [], 0

    def __call__(self, graph_module, example_inputs):
        self.modules.append(graph_module)
        self.inputs.append(example_inputs)

        def run(*inputs):
            self.calls += 1
            return graph_module.forward(*inputs)

        return run


def test_receives_a_graph_module_with_calls_as_the_user_wrote_them():
    def f(a, b):
        return torch.abs(a).add(1) / b

    keep = Keep()
    a, b = torch.linspace(-2, 2, 32), torch.linspace(1, 2, 32)
    compiled = vitrine.compile(f, backend=keep)
    for _ in range(3):
        assert torch.equal(compiled(a, b), f(a, b))
    (module,) = keep.modules
    assert keep.calls == 3
    assert isinstance(module, fx.GraphModule)
    nodes = list(module.graph.nodes)
    assert [n.op for n in nodes] == ["placeholder", "placeholder", "call_function", "call_method", "call_function", "output"]
    assert [n.target for n in nodes[:2]] == ["a", "b"]
    assert nodes[2].target is torch.abs and nodes[3].target == "add" and nodes[4].target.__name__ == "truediv"
    assert nodes[4].args == (nodes[3], nodes[1])
    for node in nodes[:-1]:
        assert node.meta["val"].shape == (32,) and node.meta["val"].dtype == torch.float32
    assert nodes[0].meta["val"].device.type == "cpu"
    assert keep.inputs[0][0] is a and keep.inputs[0][1] is b
    assert torch.equal(module.forward(a, b)[0], f(a, b))


def test_prints_as_graph_table_and_code():
    def f(x):
        return torch.relu(x).clamp(min=0.0, max=1.0).view(-1, 2)[:, 0]

    keep = Keep()
    x = torch.randn(4, 4)
    assert torch.equal(vitrine.compile(f, backend=keep)(x), f(x))
    (module,) = keep.modules
    assert "call_function[target=torch.relu]" in str(module.graph)
    assert "def forward(self, x)" in module.code and "torch.relu(x)" in module.code
    assert "clamp(min = 0.0, max = 1.0)" in module.code
    table = [f"{n.op:15} {n.name:10} {n.target}" for n in module.graph.nodes]
    assert table[0] == "placeholder     x          x" and table[2] == "call_method     clamp      clamp"
    out = io.StringIO()
    with redirect_stdout(out):
        module.print_readable()
    assert "relu" in out.getvalue()


def test_print_tabular():
    pytest.importorskip("tabulate")
    keep = Keep()
    vitrine.compile(lambda x: x.sin(), backend=keep)(torch.ones(1))
    out = io.StringIO()
    with redirect_stdout(out):
        keep.modules[0].graph.print_tabular()
    assert "call_method" in out.getvalue()


def test_parameters_and_buffers_are_inputs():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU()).eval().requires_grad_(False)
    keep = Keep()
    x = torch.randn(3, 4)
    assert torch.equal(vitrine.compile(net, backend=keep)(x), net(x))
    placeholders = [n.target for n in keep.modules[0].graph.nodes if n.op == "placeholder"]
    assert len(placeholders) == len(keep.inputs[0]) == 7  # x, and the weight and bias of both, and the running mean and variance
    assert any(t is net[0].weight for t in keep.inputs[0]) and any(t is net[1].running_mean for t in keep.inputs[0])
    assert torch.equal(keep.modules[0](*keep.inputs[0])[0], net(x))


def test_gradients_flow_through_what_the_backend_returns():
    net = torch.nn.Linear(4, 2)
    keep = Keep()
    x = torch.randn(3, 4)
    vitrine.compile(net, backend=keep)(x).sum().backward()
    got, net.weight.grad = net.weight.grad, None
    net(x).sum().backward()
    assert keep.calls == 1 and torch.equal(got, net.weight.grad)


def test_every_kind_of_value():
    def f(x, names):
        low, high = torch.aminmax(x)  # a named tuple
        parts = torch.split(x, [1, 3], dim=-1)
        x = torch.cat(parts, dim=-1).to(torch.float64).T
        y = torch.einsum("ij,jk->ik", x, x.mT) + torch.tensor([1.0], dtype=torch.float64)
        y = y + torch.full(x.shape[:1], float("inf")).clamp(max=2)
        best = y.max(dim=0)
        return {"y": y[..., None, ::2], "low": low, names[0]: (best.values, best.indices), "high": high}

    keep = Keep()
    x = torch.randn(5, 4)
    got, expected = vitrine.compile(f, backend=keep)(x, ("best",)), f(x, ("best",))
    assert list(got) == list(expected)
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert "max" in keep.modules[0].code and len(keep.modules) == 1


def test_writes_in_place_and_random_numbers():
    def f(x):
        x.add_(1)
        x[0] = 5
        return x * torch.rand(4)

    keep = Keep()
    a, b = torch.zeros(4), torch.zeros(4)
    torch.manual_seed(1)
    got = vitrine.compile(f, backend=keep)(a)
    torch.manual_seed(1)
    assert torch.equal(got, f(b)) and torch.equal(a, b) and keep.calls == 1


def test_one_graph_a_segment_and_a_size():
    def f(x):
        y = x + 1
        print("between")
        return y * 2

    keep = Keep()
    compiled = vitrine.compile(f, backend=keep)
    for size in (3, 3, 4):
        assert torch.equal(compiled(torch.ones(size)), torch.full((size,), 4.0))
    assert len(keep.modules) == 4


@pytest.mark.parametrize("dynamic, most", [(None, 4), (True, 2)])
def test_sizes_and_ints_that_change_are_one_graph(dynamic, most):
    def f(x, n):
        return x[:n] * 2 + torch.arange(n).view(n, 1), x.reshape(x.size(0) * 2, -1), n + 1

    keep = Keep()
    compiled = vitrine.compile(f, backend=keep, dynamic=dynamic)
    for n in range(100):
        x = torch.randn(100, 4)
        torch.testing.assert_close(compiled(x, n), f(x, n), rtol=0, atol=0)
    for rows in (102, 7, 64):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x, 5), f(x, 5), rtol=0, atol=0)
    assert len(keep.modules) <= most and keep.calls == 103  # 100 numbers, and rows that change
    module, inputs = keep.modules[-1], keep.inputs[-1]
    ints = [n for n in module.graph.nodes if n.op == "placeholder" and isinstance(n.meta["val"], torch.SymInt)]
    assert ints and [type(v) for v in inputs[: len(ints)]] == [torch.SymInt] * len(ints)
    values = [v.node.hint if isinstance(v, torch.SymInt) else v for v in inputs]
    n = values[[i.meta["source"] for i in ints].index("L['n']")]
    assert torch.equal(module(*values)[0], f(inputs[-1], n)[0])


def test_sizes_of_inputs_are_inputs_before_them():
    keep = Keep()
    norm = torch.nn.LayerNorm(16)
    compiled = vitrine.compile(norm, backend=keep)
    for i in range(4, 14):
        x = torch.randn(2**i, 16)
        torch.testing.assert_close(compiled(x), norm(x), rtol=0, atol=0)
    assert len(keep.modules) == 2 and keep.calls == 10
    assert [type(value) for value in keep.inputs[1]] == [torch.SymInt, torch.Tensor, torch.nn.Parameter, torch.nn.Parameter]


def test_with_fixed_sizes_each_is_a_graph():
    keep = Keep()
    compiled = vitrine.compile(lambda x: x + 1, backend=keep, dynamic=False)
    for size in (3, 4, 5, 4):
        assert torch.equal(compiled(torch.ones(size)), torch.full((size,), 2.0))
    assert len(keep.modules) == 3 and keep.calls == 4


def test_a_float_that_changes_is_a_tensor_of_the_graph():
    keep = Keep()
    compiled = vitrine.compile(lambda x, scale: x * scale, backend=keep)
    x = torch.randn(4)
    for scale in (0.5, 1.5, 2.5, 3.5):
        torch.testing.assert_close(compiled(x, scale), x * scale, rtol=0, atol=0)
    assert len(keep.modules) == 2 and keep.calls == 4


def test_a_mark_holds_for_a_backend():
    keep = Keep()
    compiled = vitrine.compile(lambda x: x if x.size(0) == 5 else x + 1, backend=keep)
    x = torch.ones(5)
    vitrine.mark_dynamic(x, 0)
    with pytest.raises(vitrine.ConstraintViolationError):
        compiled(x)


def test_what_the_backend_does_is_what_runs():
    def f(x):
        return x + 1

    def minus(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.op == "call_function":
                node.target = torch.sub
        graph_module.recompile()
        return graph_module

    x = torch.ones(2)
    assert torch.equal(vitrine.compile(f, backend=minus)(x), x - 1)
    assert torch.equal(vitrine.compile(f)(x), x + 1)  # and the code of another backend stays apart
    assert torch.equal(vitrine.compile(f, backend=lambda gm, inputs: lambda x: [x * 9])(x), x * 9)


class Refused(Exception):
    pass


def test_exceptions_are_the_users():
    def refuse(graph_module, example_inputs):
        raise Refused("no")

    def refuse_to_run(graph_module, example_inputs):
        def run(*inputs):
            raise Refused("not now")

        return run

    def f(x):
        return x + 1

    import torch._dynamo

    for backend, error in ((refuse, torch._dynamo.exc.BackendCompilerFailed), (refuse_to_run, Refused)):
        compiled = vitrine.compile(f, backend=backend)
        for _ in range(2):
            with pytest.raises(error):
                compiled(torch.ones(2))


@pytest.mark.parametrize(
    "returned, says",
    [
        (None, "cannot be called"),
        (lambda *a: 3, "tuple or list of tensors, not a int"),
        (lambda *a: (), "returned 0 values, the graph has 1"),
        (lambda *a: ("x",), "returned a str where the graph has a tensor"),
    ],
)
def test_a_wrong_return_says_so(returned, says):
    import torch._dynamo

    with pytest.raises((TypeError, torch._dynamo.exc.BackendCompilerFailed), match=says):
        vitrine.compile(lambda x: x + 1, backend=lambda gm, inputs: returned)(torch.ones(2))


def test_a_backend_may_itself_compile():
    def again(graph_module, example_inputs):
        return vitrine.compile(graph_module.forward)

    def f(x):
        return torch.sin(x) * 2

    x = torch.randn(5)
    assert torch.allclose(vitrine.compile(f, backend=again)(x), f(x), rtol=1e-6)


@pytest.mark.parametrize(
    "name, lines",
    [
        ("normalise_mul", ["placeholder     a", "call_function   truediv", "True"]),
        ("weights_plus_linear", ["placeholder     x", "call_function   relu", "def forward(self"]),
    ],
)
def test_samples_show_their_graph(name, lines):
    sample = ROOT / "samples" / f"{name}.py"
    result = subprocess.run([sys.executable, sample], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    for line in lines:
        assert line in result.stdout


def test_hooks_on_gradients_are_part_of_what_a_backend_is_given():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 3)
        return y.sum()

    for backend in ("eager", "aot_eager"):
        x = torch.ones(3, requires_grad=True)
        vitrine.compile(f, backend=backend)(x).backward()
        assert x.grad.tolist() == [6.0] * 3


def selected(x):
    return x[x.nonzero()[:, 0]] * 2


def as_long_as_its_sum(x):
    k = x.sum().long().item()
    return torch.zeros(k + 1) + x.mean(), k


@pytest.mark.parametrize("function", [selected, as_long_as_its_sum], ids=lambda f: f.__name__)
def test_sizes_of_data_leave_no_break_under_fullgraph(function):
    """Each piece of the graph goes to the backend; without fullgraph the graph ends there, as torch.compile's does."""
    for backend in (Keep(), "aot_eager"):
        run = vitrine.compile(function, backend=backend, fullgraph=True)
        for x in (torch.tensor([0.0, 1, 2]), torch.tensor([3.0, 0, 4]), torch.tensor([1.0, 1, 1, 2])):
            torch.testing.assert_close(run(x), function(x), rtol=0, atol=0)
        assert isinstance(backend, str) or backend.calls >= 3
