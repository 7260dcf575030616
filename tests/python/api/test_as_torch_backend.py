"""torch.compile(model, backend="vitrine"): TorchDynamo captures, Vitrine lowers, differentiates and generates. And PyTorch's own
backends for what Vitrine captures."""

import subprocess
import sys

import pytest
import torch
import torch._dynamo
from torch._dynamo.backends import registry
from torch._dynamo.testing import CompileCounter

import vitrine
from tests.python.support import segments
from vitrine.take_over import torch_compile_taken_over


@pytest.fixture(autouse=True)
def _forgotten():
    torch._dynamo.reset()
    vitrine.reset()
    yield
    torch._dynamo.reset()
    vitrine.reset()


def names_of_segments():
    return [c.name for c in segments.compiled()]


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))


def test_the_registry_knows_vitrine():
    assert "vitrine" in torch._dynamo.list_backends()
    assert registry.lookup_backend("vitrine") is vitrine._backends.vitrine


def test_no_import_is_needed():
    program = "import sys, torch\nprint(torch.compile(lambda x: x + 1, backend='vitrine')(torch.ones(2)).tolist(), 'vitrine' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert run.stdout.split("\n")[0] == "[2.0, 2.0] True", run.stderr


def test_dynamos_graphs_are_compiled():
    net = network()
    compiled = torch.compile(net, backend="vitrine")
    for rows in (4, 4):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(compiled(x), net(x))
    assert len(names_of_segments()) == 1


def test_gradients():
    net = network()
    compiled = torch.compile(net, backend="vitrine")
    x = torch.randn(5, 6, requires_grad=True)
    for _ in range(2):
        compiled(x).square().sum().backward()
    got = [x.grad.clone(), *(p.grad.clone() for p in net.parameters())]
    x.grad = None
    net.zero_grad()
    for _ in range(2):
        net(x).square().sum().backward()
    torch.testing.assert_close(got, [x.grad, *(p.grad for p in net.parameters())])


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_sizes_that_change(dynamic):
    def f(x, n):
        return x[: x.shape[0] // 2].reshape(2, -1) * x.shape[0] + n, x.sum() / x.shape[0]

    counter = CompileCounter()

    def counting(graph, inputs):
        counter(graph, inputs)
        return vitrine._backends.vitrine(graph, inputs)

    compiled = torch.compile(f, backend=counting, dynamic=dynamic)
    for size, n in ((8, 1), (12, 2), (16, 3), (20, 4), (8, 5)):
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x, n), f(x, n))
    if dynamic is not False:
        per_graph = len(names_of_segments()) / counter.frame_count
        assert per_graph <= 1.0, names_of_segments()  # a graph of all sizes is compiled once


def test_mode_and_options():
    x = torch.randn(4, 4)
    f = torch.compile(lambda x: x.relu() + 1, backend="vitrine", options={"fuse": False})
    assert torch.equal(f(x), x.relu() + 1)
    assert torch.equal(torch.compile(lambda x: x.relu() + 2, backend="vitrine", mode="max-autotune")(x), x.relu() + 2)
    with pytest.raises(Exception, match="unknown option 'no_such'"):
        torch.compile(lambda x: x + 3, backend="vitrine", options={"no_such": 1})(x)


def test_a_break_and_what_is_written_in_place():
    def f(x, seen):
        x.add_(1)
        torch._dynamo.graph_break()
        seen.append(x.sum())
        return x * 2

    x, y, seen, plain = torch.zeros(3), torch.zeros(3), [], []
    assert torch.equal(torch.compile(f, backend="vitrine")(x, seen), f(y, plain))
    assert torch.equal(x, y) and seen == plain


def test_settings_that_are_about_dynamo_leave_its_backend_alone():
    with torch._dynamo.config.patch(recompile_limit=1), torch.compiler.set_stance(force_backend="vitrine"):
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


def f(x):
    return (x @ x.T).relu().sum(0) + x.shape[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition", "eager_noexcept", "ts"])
@pytest.mark.parametrize("how", ["own", "taken over"])
def test_backends_of_pytorch_run_what_vitrine_captures(backend, how):
    if how == "own":
        compiled = vitrine.compile(f, backend=backend)
    else:
        with torch_compile_taken_over():
            compiled = torch.compile(f, backend=backend)
    x = torch.randn(4, 4, requires_grad=True)
    torch.testing.assert_close(compiled(x), f(x))
    (got,), (expected,) = (torch.autograd.grad(g(x).square().sum(), x) for g in (compiled, f))
    torch.testing.assert_close(got, expected)


def test_inductor_itself_is_looked_up_under_another_name():
    from torch._dynamo.backends.inductor import inductor

    assert vitrine._backends.foreign("torch_inductor").compiler_fn is inductor


def test_mode_and_options_go_on_to_a_backend():
    given = []

    def backend(graph, inputs, **more):
        given.append(more)
        return graph.forward

    for how in ({"options": {"level": 2}}, {"mode": "max-autotune"}, {}):
        vitrine.compile(lambda x: x + 1, backend=backend, **how)(torch.ones(2))
    assert given == [{"options": {"level": 2}}, {"mode": "max-autotune"}, {}]


def test_a_backend_that_a_program_registers():
    seen = []

    @registry.register_backend(name="of_this_test")
    def of_this_test(graph, inputs):
        seen.append(graph)
        return graph.forward

    try:
        for _ in range(2):
            assert torch.equal(vitrine.compile(f, backend="of_this_test")(torch.ones(2, 2)), f(torch.ones(2, 2)))
    finally:
        del registry._COMPILER_FNS["of_this_test"], registry._BACKENDS["of_this_test"]
    assert len(seen) == 1
    with pytest.raises(ValueError, match="unknown backend 'no_such'; there are .*'aot_eager'"):
        vitrine.compile(f, backend="no_such")
    with torch_compile_taken_over(), pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch.compile(f, backend="no_such")
