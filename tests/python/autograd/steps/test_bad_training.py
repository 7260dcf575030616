"""What a user gets wrong in a training step: eager's exception, message and lines of his own, and a model that goes on working."""

import contextlib
import re
import traceback
import warnings

import pytest
import torch
from torch import nn
from torch.autograd import functional
from torch.nn import functional as F

import vitrine

W, X = torch.linspace(-1, 1, 12).reshape(3, 4), torch.linspace(0.1, 2, 8).reshape(2, 4)


def leaf(t):
    return t.detach().clone().requires_grad_()


def linear(x, w):
    y = F.linear(x, w)
    return (y * y).sum()


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no way back")


def raising(*_):
    raise KeyError("in a hook")


def data_replaced(compile):
    w = leaf(W)
    loss = compile(linear)(leaf(X), w)
    w.data = torch.ones(5, 4)
    loss.backward()


def data_resized(compile):
    w = leaf(W)
    loss = compile(linear)(leaf(X), w)
    w.data.resize_(7, 9)
    loss.backward()


def parameter_resized(compile):
    w = leaf(W)
    loss = compile(linear)(leaf(X), w)
    w.resize_(7, 9)
    loss.backward()


def saved_input_changed(compile):
    x = leaf(X)
    loss = compile(lambda x: (x * x).sum())(x)
    with torch.no_grad():
        x.add_(1)
    loss.backward()


def saved_result_changed(compile):
    y = compile(lambda x: x.exp())(leaf(X))
    y.mul_(2)
    y.sum().backward()


def parameter_stepped_too_early(compile):
    w = leaf(W)
    step, loss = torch.optim.SGD([w], 0.1), compile(lambda x, w: F.linear(F.linear(x, w), w[:, :3]).sum())(leaf(X), w)
    w.grad = torch.ones_like(w)
    step.step()
    loss.backward()


def twice(compile):
    loss = compile(linear)(leaf(X), leaf(W))
    loss.backward()
    loss.backward()


def raised_in_backward(compile):
    compile(lambda x: Raises.apply(x * 3).sum())(leaf(X)).backward()


def raised_in_a_hook(compile):
    def f(x):
        y = x * 3
        y.register_hook(raising)
        return y.exp().sum()

    compile(f)(leaf(X)).backward()


def raised_in_a_hook_outside(compile):
    y = compile(lambda x: x * 3)(leaf(X))
    y.register_hook(raising)
    y.sum().backward()


def raised_in_a_parameters_hook(compile):
    model = nn.Linear(4, 3)
    model.weight.register_hook(raising)
    compile(model)(X).sum().backward()


def derivative_not_there(compile):
    compile(lambda a, x: torch.igamma(a, x).sum())(leaf(X), X + 1).backward()


def shapes(compile):
    compile(linear)(leaf(X), leaf(W.t())).backward()


def not_a_scalar(compile):
    compile(lambda x: x * 2)(leaf(X)).backward()


def gradient_of_another_shape(compile):
    compile(lambda x: x * 2)(leaf(X)).backward(torch.ones(3))


def gradient_of_another_dtype(compile):
    x = leaf(X)
    compile(lambda x: x * 2)(x).backward(torch.ones(2, 4, dtype=torch.float64))
    return x.grad


def nothing_to_differentiate(compile):
    compile(lambda x: (x * 2).sum())(X).backward()


def detached_inside(compile):
    compile(lambda x: (x.detach() * 2).sum())(leaf(X)).backward()


def without_gradients(compile):
    with torch.no_grad():
        loss = compile(linear)(leaf(X), leaf(W))
    loss.backward()


def not_used(compile):
    x, y = leaf(X), leaf(X)
    torch.autograd.grad(compile(lambda x, y: (x * 2).sum())(x, y), [y])


def eigenvectors_phase(compile):
    compile(lambda x: torch.linalg.eig(x).eigenvectors.imag.sum())(leaf(W[:, :3])).backward()


def hermitian_eigenvectors_phase(compile):
    compile(lambda x: torch.linalg.eigh(torch.complex(x + x.t(), x - x.t())).eigenvectors.imag.sum())(leaf(W[:, :3])).backward()


def singular_vectors_phase_in_a_step(compile):
    def step(x):
        u = torch.linalg.svd(torch.complex(x, x * x)).U
        (u.real + u.imag).sum().backward()

    compile(step)(leaf(W[:, :3]))


def target_out_of_range(compile):
    compile(lambda x: F.cross_entropy(x, torch.tensor([1, 9])))(leaf(X)).backward()


def index_out_of_range(compile):
    compile(lambda w, i: F.embedding(i, w).sum())(leaf(W), torch.tensor([0, 3])).backward()


def approximation_of_another_name(compile):
    compile(lambda x: F.gelu(x, approximate="tan"))(leaf(X))


def threshold_below_zero(compile):
    compile(lambda x: F.softshrink(x, -0.5))(leaf(X))


def leaf_written(compile):
    def f(x):
        x.mul_(2)
        return x.sum()

    compile(f)(leaf(X)).backward()


def view_of_a_leaf_written(compile):
    def f(x):
        x[0].mul_(2)
        return x.sum()

    compile(f)(leaf(X)).backward()


def view_of_two_written(compile):
    def f(x):
        a, b = (x * 1).unbind(0)
        a.mul_(2)
        return (a + b).sum()

    compile(f)(leaf(X)).backward()


def to_numpy(compile):
    compile(lambda x: (x * 2).numpy())(leaf(X))


def gradient_for_integers(compile):
    compile(lambda x: (x.long() * 2).sum())(leaf(X)).backward()


def nan_with_anomaly_detection(compile):
    with torch.autograd.detect_anomaly(check_nan=True):
        compile(lambda x: (x * 0).sqrt().sum() * 0)(leaf(X)).backward()


def another_optimizer_state(compile):
    model = nn.Linear(4, 3)
    run, step = compile(model), torch.optim.AdamW(model.parameters())
    run(X).sum().backward()
    model.weight.data = torch.ones(3, 5)
    step.step()


def saved_hook_raises(compile):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: raising(t)):
        loss = compile(linear)(leaf(X), leaf(W))
    loss.backward()


BAD = [value for value in list(globals().values()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("compile",)]


def outcome(scenario, compile):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return scenario(compile), None, None
        except Exception as error:
            lines = [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
            text = f"{type(error).__name__}: {error}".split("\n")[0]
            # Which of the saved tensors it names first is autograd's own affair.
            return None, re.sub(r"(inplace operation: ).*(; expected)", r"\1\2", text), [line for line in lines if line[0] != "outcome"]


@pytest.mark.parametrize("warm", [False, True], ids=["first call", "warm"])
@pytest.mark.parametrize("scenario", BAD, ids=lambda f: f.__name__)
def test_eagers_exception_at_the_users_line(scenario, warm):
    vitrine.reset()
    expected, expected_error, expected_lines = outcome(scenario, lambda f: f)
    made = {}

    def compiled(f):
        return vitrine.compile(f) if isinstance(f, nn.Module) else made.setdefault(f.__code__, vitrine.compile(f))

    if warm:
        outcome(scenario, compiled)
    found, error, lines = outcome(scenario, compiled)
    assert error == expected_error
    assert lines == expected_lines
    if expected is not None:
        torch.testing.assert_close(found, expected)
    # What went wrong is behind: the next step is eager's again.
    x, w, y, v = leaf(X), leaf(W), leaf(X), leaf(W)
    compiled(linear)(x, w).backward()
    linear(y, v).backward()
    torch.testing.assert_close([x.grad, w.grad], [y.grad, v.grad])


def test_a_gradient_that_the_function_itself_differentiates_again_is_eagers():
    """A gradient penalty: what is differentiated twice is left to PyTorch's autograd."""
    def penalised(x, w):
        y = torch.tanh(x @ w).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        return y + slope.pow(2).sum()

    compiled = vitrine.compile(penalised)
    for _ in range(2):
        found = []
        for f in (penalised, compiled):
            x, w = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_(), torch.linspace(0, 1, 8).reshape(4, 2).requires_grad_()
            loss = f(x, w)
            loss.backward()
            found.append((loss, x.grad, w.grad))
        torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("step", [False, True])
def test_complex_vectors_whose_phase_does_not_count(step):
    def f(x):
        vectors = torch.linalg.eig(x).eigenvectors
        loss = (vectors.abs() * torch.linalg.svd(torch.complex(x, x * x)).U.abs()).sin().sum()
        if step:
            loss.backward()
        return loss

    found = []
    for run in (f, vitrine.compile(f)):
        x = leaf(W[:, :3])
        loss = run(x)
        if not step:
            loss.backward()
        found.append((loss.detach(), x.grad))
    torch.testing.assert_close(found[1], found[0])


def cubes(x):
    return (x**3).sum()


@pytest.mark.parametrize(
    "derived",
    [
        lambda x: functional.hessian(cubes, x),
        lambda x: functional.hvp(cubes, x, torch.ones(3))[1],
        lambda x: functional.vhp(cubes, x, torch.ones(3))[1],
        lambda x: functional.jvp(lambda x: x**3, x, torch.ones(3))[1],
        lambda x: functional.jacobian(lambda x: x**3, x),
        lambda x: functional.jacobian(lambda x: x**3, x, create_graph=True),
        lambda x: functional.vjp(lambda x: x**3, x, torch.ones(3), create_graph=True)[1],
    ],
    ids=["hessian", "hvp", "vhp", "jvp", "jacobian", "jacobian_graph", "vjp_graph"],
)
def test_what_pytorch_differentiates_again_inside_is_eagers(derived):
    compiled, x = vitrine.compile(derived), torch.tensor([0.5, -1.0, 2.0])
    for _ in range(2):
        torch.testing.assert_close(compiled(x), derived(x))


def test_second_derivatives_are_refused_by_name():
    x = leaf(X)
    (first,) = torch.autograd.grad(linear(x, W), x, create_graph=True)
    assert first.requires_grad
    with pytest.raises(RuntimeError, match="create_graph=True.*linear.*vitrine.disable"):
        torch.autograd.grad(vitrine.compile(linear)(x, W), x, create_graph=True)
    with contextlib.suppress(RuntimeError):
        vitrine.compile(linear)(x, W).backward(create_graph=True)
    vitrine.compile(linear)(x, W).backward()
    torch.testing.assert_close(x.grad, first.detach())


UPDATED = {
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3)), (2, 2, 7, 7)),
    "slopes and a norm": (lambda: nn.Sequential(nn.Linear(4, 4), nn.PReLU(), nn.LayerNorm(4)), (2, 4)),
    "an encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
    "products": (lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 3)), (2, 4)),
    "products of sequences": (lambda: nn.Sequential(nn.Linear(4, 8, bias=False), nn.Tanh(), nn.Linear(8, 3, bias=False)), (2, 3, 4)),
}


@pytest.mark.parametrize("name", UPDATED)
def test_of_many_updated_parameters_the_error_names_eagers(name):
    """A graph that is kept, all its parameters updated: the one is named whose operator backward comes by first."""
    make, sizes = UPDATED[name]
    found = []
    for compile in (lambda m: m, vitrine.compile):
        torch.manual_seed(0)
        model = make()
        loss = compile(model)(torch.randn(sizes)).square().sum()
        loss.backward(retain_graph=True)
        torch.optim.SGD(model.parameters(), 0.1).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
            loss.backward()
        found.append((str(raised.value), raised.value.__context__))
    assert found[0] == found[1]
