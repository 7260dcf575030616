"""A whole training step in one compiled function: zero_grad, forward, backward and the optimizer's update."""

import copy
import sqlite3
import subprocess

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine
from tests.python.support.recorded import recorded

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD, momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD, nesterov, decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD, foreach": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, foreach=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
    "Adam, amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "Adam, amsgrad, foreach": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True, foreach=True, maximize=True),
}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


X, Y = torch.randn(32, 8, generator=torch.Generator().manual_seed(1)), torch.arange(32) % 4


def training(model, optimizer, zero=True, clip=None):
    def step(x, y):
        optimizer.zero_grad(set_to_none=zero)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss

    return step


def compiled(function):
    return vitrine.compile(function, recompile_limit=64)  # the tests share functions


def both(make_optimizer, steps=5, each=lambda optimizer, i: None, **how):
    """(losses, parameters, optimizer state) by eager and compiled."""
    found = []
    for compile in (lambda f: f, compiled):
        model = network()
        optimizer = make_optimizer(model.parameters())
        step = compile(training(model, optimizer, **how))
        losses = []
        for i in range(steps):
            losses.append(step(X, Y).item())
            each(optimizer, i)
        found.append((losses, list(model.parameters()), optimizer.state_dict()["state"]))
    return found


def agree(found):
    (losses, parameters, state), (losses2, parameters2, state2) = found
    torch.testing.assert_close(torch.tensor(losses2), torch.tensor(losses), rtol=1e-4, atol=1e-6)
    for p, q in zip(parameters2, parameters):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-5)
    assert state.keys() == state2.keys()
    for i in state:
        assert state[i].keys() == state2[i].keys()
        for k in state[i]:
            torch.testing.assert_close(state2[i][k], state[i][k], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_parameters_and_state_are_eagers(name):
    agree(both(OPTIMIZERS[name]))


def test_gradients_are_kept_and_set_to_zero():
    agree(both(OPTIMIZERS["SGD, momentum"], zero=False))


def test_gradients_are_clipped():
    agree(both(OPTIMIZERS["SGD"], clip=0.1))


def test_a_learning_rate_that_changes():
    def slower(optimizer, i):
        optimizer.param_groups[0]["lr"] *= 0.5

    agree(both(OPTIMIZERS["SGD"], each=slower))


def test_state_that_is_loaded_takes_effect():
    def forget(optimizer, i):
        if i == 2:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            for p in optimizer.param_groups[0]["params"]:
                optimizer.state[p]["exp_avg"].zero_()

    agree(both(OPTIMIZERS["AdamW"], each=forget))


def test_another_parameter_in_the_group():
    found = []
    for compile in (lambda f: f, compiled):
        p, q = (torch.ones(3, requires_grad=True) for _ in "pq")
        optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.5)
        step = compile(optimizer.step)
        for which in (p, p, q, p):
            optimizer.param_groups[0]["params"][0] = which
            which.grad = torch.full((3,), 2.0)
            step()
        found.append((p, q))
    torch.testing.assert_close(found[1], found[0])


def test_hooks_of_the_optimizer_run():
    found = []
    for compile in (lambda f: f, compiled):
        model, seen = network(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
        optimizer.register_step_post_hook(lambda *_: seen.append("after"))
        step = compile(training(model, optimizer))
        step(X, Y), step(X, Y)
        found.append(seen)
    assert found[1] == found[0]


def test_gradients_as_attributes():
    def swap(a, b):
        a.grad, b.grad = b.grad, None
        return a.grad * 2

    for compile in (lambda f: f, compiled):
        a, b = (torch.ones(3, requires_grad=True) for _ in "ab")
        a.grad, b.grad = torch.zeros(3), torch.full((3,), 4.0)
        was = b.grad
        assert compile(swap)(a, b).tolist() == [8, 8, 8]
        assert a.grad is was and b.grad is None


def test_a_gradient_that_does_not_fit_is_eagers_error():
    def assign(a, g):
        a.grad = g

    with pytest.raises(RuntimeError, match="assign a gradient of size"):
        vitrine.compile(assign)(torch.ones(3, requires_grad=True), torch.ones(4))


FOREACH = {
    "add": lambda a, b: torch._foreach_add(a, b, alpha=2),
    "mul number": lambda a, b: torch._foreach_mul(a, 3),
    "numbers": lambda a, b: torch._foreach_mul(a, [3.0, 4.0]),
    "div_": lambda a, b: torch._foreach_div_(a, b),
    "addcdiv": lambda a, b: torch._foreach_addcdiv(a, b, b, [2.0, 3.0]),
    "addcmul_": lambda a, b: torch._foreach_addcmul_(a, b, b, 0.5),
    "lerp": lambda a, b: torch._foreach_lerp(a, b, 0.3),
    "norm": lambda a, b: torch._foreach_norm(a, 2),
    "maximum_": lambda a, b: torch._foreach_maximum_(a, b),
    "pow": lambda a, b: torch._foreach_pow(2.0, a),
    "sqrt": lambda a, b: torch._foreach_sqrt(b),
}


@pytest.mark.parametrize("name", FOREACH)
def test_operators_on_lists(name):
    def lists():
        torch.manual_seed(0)
        return [torch.randn(3), torch.randn(2, 2)], [torch.rand(3) + 1, torch.rand(2, 2) + 1]

    (a, b), (c, d) = lists(), lists()
    expected, found = FOREACH[name](a, b), vitrine.compile(FOREACH[name])(c, d)
    assert type(expected) is type(found) and (expected is a) == (found is c)
    torch.testing.assert_close((found, c), (expected, a))


@pytest.mark.parametrize("name", ["maximum", "minimum", "clamp_min", "clamp_max"])
def test_equals_in_lists_share_the_gradient_as_in_eager(name):
    def gradients(compile, others):
        x, y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        (out,) = compile(lambda x, y: getattr(torch, "_foreach_" + name)([x], [y] if others else 1.0))(x, y)
        return torch.autograd.grad(out.sum(), [x, y] if others else [x])

    for others in (True, False):
        torch.testing.assert_close(gradients(vitrine.compile, others), gradients(lambda f: f, others))


LOSSES = {
    "huber": lambda x, y: F.huber_loss(x, y), "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y), "mse": lambda x, y: F.mse_loss(x, y),
    "max": lambda x, y: x.max() + y.max(), "median": lambda x, y: x.median() + y.nanmedian(), "xlogy": lambda x, y: torch.xlogy(x, y).sum(),
    "clamp": lambda x, y: torch.clamp(x.contiguous(), y, y + 1).sum() + x.sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_turned_tensors_lie_as_eagers(name):
    found = []
    for compile in (lambda f: f, vitrine.compile):
        torch.manual_seed(0)
        x, y = (torch.rand(4, 3).t().requires_grad_() for _ in "xy")
        found.append([g.stride() for g in torch.autograd.grad(compile(LOSSES[name])(x, y), [x, y])])
    assert found[1] == found[0]


def test_an_optimizer_with_very_many_parameters_has_few_guards_on_its_memory():
    parameters = [torch.ones(2, requires_grad=True) for _ in range(120)]
    for p in parameters:
        p.grad = torch.ones(2)
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    explained = vitrine.explain(optimizer.step)()
    assert explained.graph_count == 1 and len(explained.guards) < 20 * len(parameters)
    vitrine.compile(optimizer.step)()
    assert all(p.tolist() == [0, 0] for p in parameters)  # explain ran it, too


UPDATE = """
import torch, vitrine
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.{}(model.parameters(), {})
step = vitrine.compile(optimizer.step)
for _ in range(3):
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    step()
"""


@pytest.mark.parametrize("optimizer, options", [("SGD", "lr=0.1, momentum=0.9, weight_decay=0.1"), ("AdamW", "foreach=True")])
def test_all_parameters_are_updated_by_one_kernel_in_their_own_memory(optimizer, options, tmp_path):
    (tmp_path / "update.py").write_text(UPDATE.format(optimizer, options))
    path = tmp_path / "run.vitrine"
    done = subprocess.run(["vitrine", "run", tmp_path / "update.py", "-o", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = sqlite3.connect(path).execute(
        "SELECT launch.kind, launch.text, args FROM launch JOIN compilation ON compilation.id = launch.compilation "
        "WHERE compilation.id = (SELECT max(compilation) FROM launch) ORDER BY launch.ordinal").fetchall()
    updates = [args.split(", ") for kind, _, args in rows if kind == "kernel" and "_grad" in args]
    assert len(updates) == 1
    for i in range(2):
        assert sum(a.endswith(f"param_groups_0_params_{i}") for a in updates[0]) == 2  # read and written
    assert not [text for _, text, _ in rows if text.endswith("_")]


def test_an_input_is_not_written_when_the_call_fails():
    def update(x, y, index):
        x.mul_(2).add_(1)
        y = y * x
        return y[index]

    x, y = torch.ones(3), torch.ones(3)
    compiled = vitrine.compile(update)
    assert compiled(x, y, torch.tensor([0])).tolist() == [3] and x.tolist() == [3, 3, 3]
    with pytest.raises(IndexError):
        compiled(x, y, torch.tensor([7]))
    assert x.tolist() == [7, 7, 7]  # eager ran it again: it writes before it raises


def writing(x, y):
    before = x * 1
    x.mul_(y).add_(1)
    between = x.exp()
    x[0] = 5
    y.copy_(x)
    y.sub_(before)
    return between, y * 2, x


def swapped(x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


def through_a_view(x, y):
    v = x.view(-1)
    x.add_(1)
    v.mul_(2)
    y.add_(v.view(y.shape))
    return y.sum(0)


@pytest.mark.parametrize("function", [writing, swapped, through_a_view])
@pytest.mark.parametrize("make", [lambda: torch.rand(4, 4), lambda: torch.rand(4, 4).t(), lambda: torch.rand(8, 4)[::2]])
def test_writes_to_inputs(function, make):
    try:
        make().view(-1)
    except RuntimeError:
        if function is through_a_view:
            pytest.skip("no view")
    inputs = make(), make()
    again = [x.clone(memory_format=torch.preserve_format) for x in inputs]
    compiled = vitrine.compile(function)
    for _ in range(2):
        versions = [x._version for x in (*inputs, *again)]
        expected, found = function(*inputs), compiled(*again)
        torch.testing.assert_close((found, again), (expected, list(inputs)))
        assert all(x._version > v for x, v in zip((*inputs, *again), versions))


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_fused_optimizer_does_not_count_its_writes(optimizer):
    """Nor does PyTorch's own."""
    versions = []
    for compiled in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 4)
        steps = optimizer(layer.parameters(), 0.1, fused=True, **({"momentum": 0.9} if optimizer is torch.optim.SGD else {}))

        def step(x):
            steps.zero_grad()
            layer(x).square().mean().backward()
            steps.step()

        run = vitrine.compile(step) if compiled else step
        for _ in range(3):
            run(torch.ones(2, 4))
        state = {k: v._version for k, v in steps.state[layer.weight].items() if isinstance(v, torch.Tensor)}
        versions.append((layer.weight._version, layer.weight.grad._version, state))
    assert versions[0] == versions[1]


def written_then_detached(p, x, y, out):
    """Parts of steps that update a parameter, and hand on what needs no gradient of what does."""
    with torch.no_grad():
        p.sub_(p.grad, alpha=0.5)
    return out.detach(), (out > 0).sum(), x * y


def test_an_update_compiles_beside_a_detached_loss():
    """The region behind a backward pass that ran for real: nothing in it is autograd's."""
    x, y = torch.randn(3), torch.randn(3)
    results = []
    for function in (written_then_detached, vitrine.compile(written_then_detached)):
        p = torch.arange(3.0).requires_grad_()
        for _ in range(2):
            p.grad, out = torch.ones(3), (p * 2).exp()
            found = function(p, x, y, out)
            assert found[0]._base is None and found[0].data_ptr() == out.data_ptr()
            assert not any(t.requires_grad for t in found) and found[0]._version == out._version
        results.append((found, p.detach()))
        out.sum().backward()
        results[-1] += (p.grad,)
    torch.testing.assert_close(results[1], results[0])
    assert "PyTorch's autograd" not in str(vitrine.explain(written_then_detached)(p, x, y, out))


def test_a_view_of_what_requires_grad_is_eagers():
    def function(p, out):
        with torch.no_grad():
            p.sub_(1)
            part = out[:1]
        return part, out.detach()

    told = []
    for f in (function, vitrine.compile(function)):
        p = torch.ones(2).requires_grad_()
        results = f(p, out := p * 3)
        told.append([(t.requires_grad, t.grad_fn, t._base is out) for t in results])
    assert told[1] == told[0]


class Updates(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).square().sum()

    def clipped_before(self, x):
        with torch.no_grad():
            for p in self.parameters():
                p.clamp_(-0.2, 0.2)
        return self(x)

    def stepped_before(self, x):
        self(x).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return self(x + 1)

    def stepped_twice(self, x):
        for k in range(2):
            self(x * (k + 1)).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return self(x)

    def updated_below(self, x):
        return self.clipped_before(x) * 2


def writes(model):
    return [p._version for p in model.parameters()]


UPDATES = [Updates.clipped_before, Updates.stepped_before, Updates.stepped_twice, Updates.updated_below]


@pytest.mark.parametrize("function", UPDATES, ids=lambda f: f.__name__)
def test_what_is_differentiated_behind_an_update_is_compiled(function):
    """The segment ends between them: the update and what needs gradients have a plan each."""
    x, results = torch.linspace(-1, 1, 8).reshape(2, 4), []
    for run in (function, vitrine.compile(function)):
        model, seen = Updates(), []
        for _ in range(3):
            loss = run(model, x)
            loss.backward()
            seen.append((loss.detach(), [p.grad.clone() for p in model.parameters()], writes(model)))
        results.append((seen, [p.detach() for p in model.parameters()]))
    torch.testing.assert_close(results[1], results[0])
    told = vitrine.explain(function)(Updates(), x)
    assert "PyTorch's autograd" not in str(told)
    assert {b.kind for b in told.graph_break_reasons} == {"update"}


@pytest.mark.parametrize("function", [Updates.clipped_before, Updates.updated_below], ids=lambda f: f.__name__)
@pytest.mark.parametrize("before", [False, True])
def test_with_fullgraph_an_update_ends_nothing(function, before):
    seen = []
    if before:
        vitrine.compile(function)(Updates(), torch.ones(2, 4)).backward()
    for run in (function, vitrine.compile(function, fullgraph=True)):
        model = Updates()
        run(model, torch.ones(2, 4)).backward()
        seen.append([(p.detach(), p.grad) for p in model.parameters()])
    torch.testing.assert_close(seen[1], seen[0])


def test_the_end_behind_an_update_has_its_line(tmp_path):
    with recorded(tmp_path) as session:
        vitrine.compile(Updates.clipped_before)(Updates(), torch.ones(2, 4)).backward()
    (found,) = session.rows("graph_break")
    assert found["kind"] == "update" and "compiled apart" in found["hint"]
