"""Backward passes that are part of a graph: what a step leaves behind is what eager leaves behind."""

import contextlib
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine

X = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))
Y = torch.arange(16) % 4


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


def seen(value):
    """What a program can see of a value, for comparison."""
    if not isinstance(value, torch.Tensor):
        return value
    facts = value.dtype, value.stride(), value.requires_grad, value.is_leaf, value.grad_fn is not None
    return value.detach().clone(), str(facts)


def outcome(scenario, compile):
    torch.manual_seed(0)
    try:
        return [seen(v) for v in scenario(compile)]
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error), str(error).split("\n")[0]


def compiled(function):
    return vitrine.compile(function, recompile_limit=64)  # the scenarios share functions


# bfloat16's losses, in other orders of adding.
SHORT_NUMBERS = {"scaler_switched_off": 4e-3}


def same(scenario):
    with warnings.catch_warnings():
        warnings.simplefilter("error", vitrine.VitrineWarning)
        expected, found = outcome(scenario, lambda f: f), outcome(scenario, compiled)
    assert len(found) == len(expected)
    for value, wanted in zip(found, expected):
        if not isinstance(wanted, tuple):
            assert value == wanted
            continue
        torch.testing.assert_close(value[0], wanted[0], rtol=SHORT_NUMBERS.get(scenario.__name__, 1e-4), atol=1e-5)
        assert value[1] == wanted[1]


def breaks(function, *args):
    return [b.reason for b in vitrine.explain(function)(*args).graph_breaks]


def grads(parameters):
    return [p.grad for p in parameters]


def run(compile, make_step, model, steps=3, each=lambda i: None):
    """Losses, parameters and gradients of some steps."""
    step, out = compile(make_step), []
    for i in range(steps):
        out.append(step(X, Y))
        each(i)
    return [*out, *model.parameters(), *grads(model.parameters())]


def whole_step(model, optimizer, before=lambda: None, after=lambda: None):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_step_is_one_graph_without_autograd():
    model = network()
    step = whole_step(model, torch.optim.AdamW(model.parameters()))
    step(X, Y)
    explained = vitrine.explain(step)(X, Y)
    assert explained.graph_count == 1 and not explained.graph_breaks and not explained.messages
    compiled = vitrine.compile(step, fullgraph=True)
    compiled(X, Y)


def accumulating(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for a, b in zip(x.chunk(4), y.chunk(4)):
            loss = F.cross_entropy(model(a), b) / 4
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return run(compile, step, model)


def accumulating_over_calls(compile):
    model = network()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    step = compile(step)
    step(X, Y)
    first = grads(model.parameters())
    out = [step(X, Y), step(X * 2, Y)]
    return [*out, *first, *(a is b for a, b in zip(first, grads(model.parameters())))]


def tied(compile):
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Linear(8, 4))
    model[2].weight = model[0].weight
    return run(compile, whole_step(model, torch.optim.AdamW(model.parameters(), lr=0.01)), model)


def frozen(compile):
    model = network()
    model[0].requires_grad_(False)
    return run(compile, whole_step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)), model)


def unused(compile):
    model = network()
    model.register_parameter("idle", nn.Parameter(torch.ones(3)))
    return run(compile, whole_step(model, torch.optim.AdamW(model.parameters(), lr=0.1)), model)


def subset(compile):
    model = network()
    return run(compile, whole_step(model, torch.optim.SGD(model[0].parameters(), lr=0.1)), model)


def two_branches(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        hidden = model[0](x)
        first, second = F.cross_entropy(model[3](hidden), y), hidden.square().mean()
        (first + 0.5 * second).backward()
        optimizer.step()
        return first, second

    def tuples(x, y):
        return step(x, y)[0]

    return run(compile, tuples, model)


def two_backwards_through_one_trunk(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        hidden = model[0](x)
        first, second = F.cross_entropy(model[3](hidden), y), hidden.square().mean()
        first.backward(retain_graph=True)
        second.backward()
        optimizer.step()
        return first + second

    return run(compile, step, model)


def backward_of_several(compile):
    model = network()

    def step(x, y):
        h = model(x)
        torch.autograd.backward([h.mean(), h], [None, torch.ones_like(h)])
        return h.detach()

    return run(compile, step, model)


def with_a_gradient(compile):
    model = network()

    def step(x, y):
        h = model(x)
        h.backward(torch.full_like(h, 0.5))
        return h

    return run(compile, step, model)


def by_autograd_grad(compile):
    model = network()

    def step(x, y):
        x = x * 1
        h = model(x)
        loss = F.cross_entropy(h, y)
        found = torch.autograd.grad(loss, [h, *model.parameters()])
        with torch.no_grad():
            for p, g in zip(model.parameters(), found[1:]):
                p -= 0.1 * g
        return found[0]

    return run(compile, step, model)


def set_by_the_user(compile):
    model = network()
    given = [torch.full_like(p, 2.0) for p in model.parameters()]
    for p, g in zip(model.parameters(), given):
        p.grad = g

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    out = run(compile, step, model, steps=2)
    return [*out, *(p.grad is g for p, g in zip(model.parameters(), given))]


def one_gradient_of_two(compile):
    w = nn.ParameterList([torch.ones(3), torch.ones(3)])

    def step(x, y):
        loss = ((w[0] + w[1]) * x[0, :3]).sum()
        loss.backward()
        with torch.no_grad():
            w[0].grad.mul_(2)
        return loss.detach()

    return run(compile, step, w)


def gradients_of_other_layouts(compile):
    w = nn.ParameterList([torch.rand(4, 8), torch.rand(8, 4).t(), torch.rand(8, 4)])

    def step(x, y):
        loss = ((x @ w[0].t()) * (x @ w[1].t()) * (x @ w[2])).sum() + w[0].sum()
        loss.backward()
        return loss

    return run(compile, step, w)


def clipped(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return norm

    return run(compile, step, model)


def scaler_switched_off(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return [v for v in run(compile, step, model) if not isinstance(v, torch.Tensor) or v.numel() == 1]


def islands_without_gradients(compile):
    model = network()

    def step(x, y):
        with torch.no_grad():
            scale = model[0](x).abs().mean()
        loss = F.cross_entropy(model(x) / scale, y)
        loss.backward()
        return loss

    return run(compile, step, model)


def dropout(compile):
    model = nn.Sequential(network(), nn.Dropout(0.5))
    out = run(compile, whole_step(model, torch.optim.SGD(model.parameters(), lr=0.1)), model)
    return [*out, torch.rand(2)]


def batch_norm(compile):
    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[:, None]), y)
        loss.backward()
        optimizer.step()
        return loss

    return [*run(compile, step, model), *model.buffers()]


def two_steps_in_one_call(compile):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        for _ in range(2):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return loss

    return run(compile, step, model)


SCENARIOS = [
    accumulating, accumulating_over_calls, tied, frozen, unused, subset, two_branches, two_backwards_through_one_trunk,
    backward_of_several, with_a_gradient, by_autograd_grad, set_by_the_user, one_gradient_of_two, gradients_of_other_layouts,
    clipped, scaler_switched_off, islands_without_gradients, dropout, batch_norm, two_steps_in_one_call,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_what_is_left_is_eagers(scenario):
    same(scenario)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_nothing_breaks(scenario):
    found = []

    def explained(f):
        found.append(f)
        return f

    torch.manual_seed(0)
    scenario(explained)
    assert breaks(found[0], X, Y) == []


# What must run for real, with a word of the reason.
def with_a_hook(model, x, y):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
@pytest.mark.parametrize("when", [0, 1])
def test_hooks_of_parameters_run(register, when):
    def scenario(compile):
        model, called = network(), []
        step = compile(with_a_hook)
        if when == 1:
            step(model, X, Y)
        getattr(model[0].weight, register)(lambda g: called.append(g.sum().item()) or None)
        step(model, X, Y)
        return [len(called), *grads(model.parameters())]

    same(scenario)


def test_a_hook_is_the_reason_of_the_break():
    model = network()
    model[0].weight.register_hook(lambda g: None)
    assert ["hook" in r for r in breaks(with_a_hook, model, X, Y)] == [True]


def graph_from_before(compile):
    model = network()
    h = model(X)

    def finish(h, y):
        loss = F.cross_entropy(h, y)
        loss.backward()
        return loss

    return [compile(finish)(h, Y), *grads(model.parameters())]


def a_result_that_is_differentiated_later(compile):
    model = network()

    def step(x, y):
        h = model(x)
        F.cross_entropy(h, y).backward(retain_graph=True)
        return h

    h = compile(step)(X, Y)
    h.square().sum().backward()
    return [h, *grads(model.parameters())]


def another_result_with_a_graph(compile):
    model = network()

    def step(x, y):
        F.cross_entropy(model(x), y).backward()
        return model(x * 2).sum()

    step(X, Y).backward()
    return grads(model.parameters())


def nothing_saved(compile):
    w = torch.ones(3, requires_grad=True)

    def step(x):
        loss = (w * 2).sum()
        loss.backward()
        return loss

    loss = compile(step)(X)
    loss.backward()  # allowed: this graph keeps nothing
    return [loss, w.grad]


def second_derivative(compile):
    w = torch.ones(3, requires_grad=True)

    def step(x):
        (w**3).sum().backward(create_graph=True)
        return x * 1

    step(X)
    return [w.grad.detach()]


def retained(compile):
    model = network()

    def step(x, y):
        h = model(x)
        h.retain_grad()
        F.cross_entropy(h, y).backward()
        return h.grad

    return [compile(step)(X, Y), *grads(model.parameters())]


def own_function(compile):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 7

    w = torch.ones(3, requires_grad=True)

    def step(x):
        loss = Twice.apply(w).square().sum()
        loss.backward()
        return loss

    return [compile(step)(X), w.grad]


@pytest.mark.parametrize(
    "scenario",
    [graph_from_before, a_result_that_is_differentiated_later, another_result_with_a_graph, nothing_saved, second_derivative, retained, own_function],
    ids=lambda s: s.__name__,
)
def test_where_autograd_is_needed_it_is_there(scenario):
    same(scenario)


# Errors are eager's, and so is what they leave.
def backward_twice(compile):
    model = network()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    compile(step)(X, Y).backward()
    return []


def backward_twice_inside(compile):
    model = network()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        loss.backward()
        return loss

    compile(step)(X, Y)
    return []


def through_another_result(compile):
    model = network()

    def step(x, y):
        h = model(x)
        F.cross_entropy(h, y).backward()
        return h

    compile(step)(X, Y).sum().backward()
    return []


def no_scalar(compile):
    model = network()

    def step(x, y):
        model(x).backward()

    compile(step)(X, Y)
    return []


def no_gradient(compile):
    def step(x, y):
        x.sum().backward()

    compile(step)(X, Y)
    return []


@pytest.mark.parametrize(
    "scenario", [backward_twice, backward_twice_inside, through_another_result, no_scalar, no_gradient], ids=lambda s: s.__name__
)
def test_errors_are_eagers(scenario):
    expected = outcome(scenario, lambda f: f)
    assert isinstance(expected, tuple) and outcome(scenario, compiled) == expected


def test_what_an_error_in_the_middle_leaves():
    def scenario(compile):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y, index):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return x[index]

        step = compile(step)
        good, bad = torch.tensor([1]), torch.tensor([99])
        out = [step(X, Y, good)]
        with contextlib.suppress(IndexError):
            step(X, Y, bad)
            out.append("no error")
        return [*out, *model.parameters(), *grads(model.parameters())]

    same(scenario)


def test_a_parameter_that_becomes_the_result_of_something():
    def step(w, x):
        loss = (w * w * x).sum()
        loss.backward()
        return loss.detach()

    for compile in (lambda f: f, vitrine.compile):
        step_, leaf = compile(step), torch.ones(3, requires_grad=True)
        step_(leaf, torch.ones(3)), step_(leaf, torch.ones(3))
        computed = leaf * 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step_(computed, torch.ones(3))
        assert leaf.grad.tolist() == [6, 6, 6] and computed.is_leaf is False


def test_gradients_in_graphs_of_sizes_that_change():
    def scenario(compile):
        model = network()
        step, out = compile(whole_step(model, torch.optim.SGD(model.parameters(), lr=0.1))), []
        for n in (4, 7, 9, 16, 7):
            out.append(step(X[:n], Y[:n]))
        return [*out, *model.parameters(), *grads(model.parameters())]

    same(scenario)
