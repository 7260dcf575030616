"""Backends that compile what they are given (AOTAutograd and its like): sizes that change, guards, grad mode, as under torch.compile."""

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func

import vitrine


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def simplified(graph_module, example_inputs):
    return aot_module_simplified(graph_module, example_inputs, fw_compiler=lambda g, inputs: make_boxed_func(g.forward))


BACKENDS = {"aot_module_simplified": simplified, "aot_autograd": aot_autograd(fw_compiler=lambda g, inputs: g), "make_fx": lambda g, inputs: g.forward}


class Counting:
    """A backend that counts what it compiles, and keeps the graphs."""

    def __init__(self, backend=simplified):
        self.backend, self.graphs, self.grad_modes = backend, [], []

    def __call__(self, graph_module, example_inputs):
        self.graphs.append(graph_module)
        self.grad_modes.append(torch.is_grad_enabled())
        return self.backend(graph_module, example_inputs)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=list(BACKENDS))
def test_sizes_and_ints_are_not_baked_in(backend, dynamic):
    def mean(x, d):
        return x.sum() / x.shape[0] + d, x[: x.shape[0] // 2].view(2, -1) * (x.shape[0] % 3)

    counting = Counting(backend)
    compiled = vitrine.compile(mean, backend=counting, dynamic=dynamic)
    for n, d in ((4, 1), (8, 2), (12, 3), (20, 4), (16, -5)):
        x = torch.arange(n, dtype=torch.float32)
        torch.testing.assert_close(compiled(x, d), mean(x, d), rtol=0, atol=0)
    assert len(counting.graphs) <= 2


def test_training_with_sizes_that_change():
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 2))
    counting = Counting()
    compiled = vitrine.compile(net, backend=counting)
    for rows in (3, 5, 8, 9):
        x = torch.randn(rows, 4)
        compiled(x).square().sum().backward()
        got = [p.grad.clone() for p in net.parameters()]
        net.zero_grad()
        net(x).square().sum().backward()
        torch.testing.assert_close(got, [p.grad for p in net.parameters()])
        net.zero_grad()
    assert len(counting.graphs) == 2


def test_what_a_backend_receives():
    seen = []

    def backend(graph_module, example_inputs):
        context = torch._guards.TracingContext.get()
        seen.append((graph_module, example_inputs, context.fake_mode))
        assert torch._guards.detect_fake_mode(example_inputs) is context.fake_mode
        return graph_module.forward

    compiled = vitrine.compile(lambda x, w: (x @ w).sum(0) * x.shape[0], backend=backend, dynamic=True)
    x, w = torch.randn(6, 4), torch.nn.Parameter(torch.randn(4, 3))
    compiled(x, w)
    (graph_module, inputs, mode), *_ = seen
    values = [node.meta["example_value"] for node in graph_module.graph.find_nodes(op="placeholder")]
    assert len(values) == len(inputs)
    assert {id(v.node.shape_env) for v in values if isinstance(v, torch.SymInt)} == {id(mode.shape_env)}
    fakes = [v for v in values if isinstance(v, torch.Tensor)]
    assert all(isinstance(f, torch._subclasses.FakeTensor) and f.fake_mode.shape_env is mode.shape_env for f in fakes)
    assert fakes[0].shape[0] in values and fakes[1].requires_grad
    product = next(node for node in graph_module.graph.nodes if node.name == "matmul")
    assert product.meta["example_value"].shape[0] == values[0]
    assert any(i is x for i in inputs) and any(i is w for i in inputs)


@pytest.mark.parametrize(
    "asks, compilations",
    [
        (lambda n: n, 1),
        (lambda n: int(n), 5),
        (lambda n: n > 6, 2),
        (lambda n: n % 2 == 0, 2),
        (lambda n: (n * 3) // 2 == 6, 2),
        (lambda n: n == 4 or n == 8, 3),
        (lambda n: (n == 4) | (n == 8), 3),
        (lambda n: (n > 4) & (n < 8), 3),
        (lambda n: torch.sym_max(n, 6) == 6, 2),
        (lambda n: n * n <= 36, 2),
        (lambda n: torch.sym_sqrt(n) > 2, 5),  # Vitrine has no word for it: each size alone
    ],
)
def test_what_a_backend_asks_of_a_size_is_a_guard(asks, compilations):
    answers = []

    def backend(graph_module, example_inputs):
        answer = asks(next(v for v in example_inputs if isinstance(v, torch.SymInt)))
        answer = bool(answer) if isinstance(answer, torch.SymBool) else answer
        answers.append(answer)

        def run(n, x):
            now = asks(n)
            assert isinstance(answer, torch.SymInt) or now == answer
            return graph_module(n, x)

        return run

    compiled = vitrine.compile(lambda x: x * x.shape[0], backend=backend, dynamic=True)
    for n in (4, 8, 5, 9, 6):
        x = torch.ones(n)
        assert torch.equal(compiled(x), x * n)
    for n in (4, 8, 5, 9, 6):
        compiled(torch.ones(n))
    assert len(answers) == compilations


def test_a_mark_that_a_backend_contradicts():
    def backend(graph_module, example_inputs):
        int(example_inputs[0])
        return graph_module.forward

    x = torch.ones(5)
    vitrine.mark_dynamic(x, 0)
    with pytest.raises(vitrine.ConstraintViolationError, match="specialized"):
        vitrine.compile(lambda x: x + 1, backend=backend)(x)


def test_strides_that_a_backend_was_told_are_guarded():
    told = []

    def backend(graph_module, example_inputs):
        fake = [n.meta["val"] for n in graph_module.graph.find_nodes(op="placeholder") if isinstance(n.meta["val"], torch.Tensor)][0]
        told.append(fake.stride())

        def run(n, m, x):
            assert x.stride()[0] == (m if told[-1][0] is not None and len(told) == 1 else x.stride()[0])
            return graph_module(n, m, x)

        return run

    compiled = vitrine.compile(lambda x: x * 2, backend=backend, dynamic=True)
    for rows, columns in ((4, 6), (5, 7), (9, 3)):
        x = torch.randn(rows, columns)
        assert torch.equal(compiled(x), x * 2)
    assert len(told) == 1
    for rows, columns in ((4, 6), (5, 7)):
        x = torch.randn(columns, rows).t()
        assert torch.equal(compiled(x), x * 2)
    assert len(told) == 2


def break_in_no_grad(a):
    with torch.no_grad():
        c = a * 2
        print("", end="")
        c = c + 1
    return a * c


def break_after_no_grad(a):
    with torch.no_grad():
        c = a * 2
    print("", end="")
    return a * c


def break_in_enabled(a):
    with torch.no_grad():
        with torch.enable_grad():
            c = a * 2
            print("", end="")
            c = c * a
        print("", end="")
        d = c + a
    return c * d


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=list(BACKENDS))
@pytest.mark.parametrize("program", [break_in_no_grad, break_after_no_grad, break_in_enabled])
def test_a_break_where_gradients_are_off_loses_no_gradient(program, backend):
    counting = Counting(backend)
    results = []
    for function in (program, vitrine.compile(program, backend=counting)):
        x = torch.arange(3.0, requires_grad=True)
        for _ in range(2):
            y = function(x.add(1))
        y.sum().backward()
        results.append((y.detach(), x.grad))
    torch.testing.assert_close(*results)
    assert counting.grad_modes[0] and counting.grad_modes[-1] and torch.is_grad_enabled()


def test_what_a_backend_leaves_on_is_undone():
    def backend(graph_module, example_inputs):
        torch.manual_seed(5)
        torch.set_grad_enabled(False)
        torch.set_autocast_enabled("cpu", True)

        def run(*inputs):
            torch.set_grad_enabled(False)
            return graph_module(*inputs)

        return run

    torch.manual_seed(3)
    before = torch.get_rng_state()
    compiled = vitrine.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        compiled(torch.ones(2))
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode], ids=["no_grad", "inference_mode"])
def test_inference_with_sizes_that_change(mode):
    compiled = vitrine.compile(lambda x: torch.cat([x, x * 2]).view(2, -1).sum(1), backend=simplified)
    with mode():
        for n in (3, 4, 7, 8):
            x = torch.randn(n)
            torch.testing.assert_close(compiled(x), torch.stack([x.sum(), 2 * x.sum()]))
