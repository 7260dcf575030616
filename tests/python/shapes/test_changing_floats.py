"""Floats that change from call to call: one that changed becomes an argument of the compiled code."""

import math

import pytest
import torch
from tests.python.support.recorded import recorded
from torch import nn
from torch.nn import functional as F

import vitrine

X, Y = torch.randn(16, 8, generator=torch.Generator().manual_seed(1)), torch.arange(16) % 4
FLOATS = [0.1, 0.25, -3.0, 1e-30, 0.0, 1.0, 1e30, float("inf"), 0.3]


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def compilations(function, calls, folder):
    """How many graphs were compiled for these calls, each of which gives what eager does."""
    compiled = vitrine.compile(function, recompile_limit=64)
    with recorded(folder) as session:
        for args in calls:
            found, expected = compiled(*args), function(*args)
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=0, equal_nan=True)
            assert type(found) is type(expected)
    return len(session.rows("compilation", status="ok"))


PROGRAMS = {
    "scaled": lambda x, f: x * f,
    "from the left": lambda x, f: f - x,
    "over": lambda x, f: f / (x.abs() + 1),
    "computed": lambda x, f: x + (1 - f * 0.5) * 3,
    "divided by": lambda x, f: x * (1.0 / f) if f else x,
    "slope": lambda x, f: F.leaky_relu(x, f),
    "negated": lambda x, f: x.mul(-f),
    "in place": lambda x, f: x.clone().mul_(f).add_(f),
    "of doubles": lambda x, f: x.double() * f + f,
    "a float again": lambda x, f: (x * f, f * 2 + 1)[1],
    "of one element": lambda x, f: x[0] * f - x.abs().sum() / (f + 2),
    "of one element, in place": lambda x, f: x.abs().sum().mul_(f).add_(f) * 2,
    "compared": lambda x, f: torch.where(x > f, x, 0.0) + (f <= x[0]),
    "compared with doubles": lambda x, f: (x.double() < f, x == f * 0.5),
    "by a function of Python's": lambda x, f: x * math.atan(f) + (math.tanh(-3 * f) + abs(f) ** 0.5),
    "rounded": lambda x, f: x * round(math.atan(f) + 1, 2),
    "by a function of Python's, given back": lambda x, f: [x * 2, math.cos(math.atan(f) + 1)][1],
    "between": lambda x, f: (x.clamp(-f, f), torch.clamp(x, max=f), x.clip(0, f), x.clone().clamp_(min=f)),
    "a tensor of it": lambda x, f: (torch.tensor(f), x * torch.tensor([f, 1 - f, 2])[1], torch.as_tensor([[f], [1]])),
    "a tensor of it, like another": lambda x, f: x.double().new_tensor([f]) + torch.tensor(f, device=x.device),
    "full of it": lambda x, f: (torch.full((2, 3), f), torch.full_like(x, f) + x.new_full((), f), torch.full((), f)),
    "where it is": lambda x, f: (torch.where(x > 0, x, f), x.masked_fill(x < 0, f), x.clone().masked_fill_(x > 1, f)),
    "filled with it": lambda x, f: torch.empty(3, 2).fill_(f),
    "a factor of one that is added": lambda x, f: torch.add(x, x * 2, alpha=f),
    "on the way": lambda x, f: torch.lerp(x, x * 2 + 1, f),
    "asked": lambda x, f: x * f if f != 7.5 and isinstance(f, float) and f < float("inf") or f else x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_compilations_serve_all_values(name, tmp_path):
    x = torch.linspace(-2, 2, 12)
    found = compilations(PROGRAMS[name], [(x, f) for f in FLOATS], tmp_path)
    assert found <= (4 if name in ("asked", "divided by") else 2)


def schedule(x, t):
    weight = min(1.0, t * 2)
    rate = 0.5 if weight + t > 4 else max(0.1, 1 - t)
    return x * weight + rate if 0 < t * t < 30 or weight < t else x * (1 / (t + 0.5))


def test_what_is_asked_of_computed_floats_is_a_guard(tmp_path):
    x, floats = torch.linspace(-2, 2, 12), [0.1 * i for i in range(40)]
    assert compilations(schedule, [(x, t) for t in (*floats, *floats)], tmp_path) <= 7
    by_int = lambda x, n: x * min(0.99, (1 + n) / (10 + n)) + max(0, 1 - n / 8)  # noqa: E731
    assert compilations(by_int, [(x, n) for n in range(2, 30)], tmp_path) <= 3


def test_what_python_raises_of_computed_floats():
    def program(x, f):
        return x * math.log(f) + 1 / (f - 3) + (1e200 * f) ** 2

    compiled = vitrine.compile(program)
    for f in (1e-60, 2e-60, 3e-60, -1.0, 0.0, 3.0, 1.0, 1e-61):
        outcomes = []
        for run in (program, compiled):
            try:
                outcomes.append(run(torch.ones(2), f).tolist())
            except (ValueError, ArithmeticError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == pytest.approx(outcomes[1]) if isinstance(outcomes[0], list) else outcomes[0] == outcomes[1]


# What a tensor of one element would do otherwise than a number does.
OTHERWISE = {
    "of ints": lambda x, f: (x * 4).int() * f,
    "augmented": lambda x, f: x.clone().__imul__(f),
    "of halves": lambda x, f: x.bfloat16() * f,
    "of one half": lambda x, f: x[0].bfloat16() * f,
    "as a size": lambda x, f: x[: int(f) + 1],
    "as a shape of the program": lambda x, f: x * 2 if f > 0.2 else x,
    "by itself": lambda x, f: x * (1.0 / (f + 1e-9)),
    "to a function": lambda x, f: F.leaky_relu(x, f) if f == f and abs(f) < 2 else x,
    "as text": lambda x, f: x * len(str(f)),
    "full of halves": lambda x, f: (torch.full((2,), f, dtype=torch.bfloat16), x.bfloat16().clamp(-abs(f), abs(f))),
    "full of ints": lambda x, f: torch.full((2,), f, dtype=torch.int32),
    "a tensor of ints": lambda x, f: torch.tensor([f, 2], dtype=torch.int64) + x.int().new_tensor([f]),
    "one between": lambda x, f: x[0].clamp(max=f),
    "where nothing else is": lambda x, f: torch.where(x > 0, f, 0.0),
    "into another": lambda x, f: torch.add(x, f, out=torch.empty(12)),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_only_a_number_does_is_done_with_the_number(name, tmp_path):
    compilations(OTHERWISE[name], [(torch.linspace(-2, 2, 12), f) for f in FLOATS[:5]], tmp_path)


def test_division_by_zero_raises_as_python_does():
    def divide(x, f):
        return x * (1.0 / f)

    compiled = vitrine.compile(divide)
    for f in (1.0, 2.0, 4.0):
        assert compiled(torch.ones(2), f).tolist() == [1 / f] * 2
    with pytest.raises(ZeroDivisionError):
        compiled(torch.ones(2), 0.0)


def test_an_int_in_its_place_is_an_int():
    compiled = vitrine.compile(lambda x, f: x * f)
    x = torch.arange(3)
    for f in (1.5, 2.5, 2, 3.5):
        torch.testing.assert_close(compiled(x, f), x * f)
        torch.testing.assert_close(compiled(x * 1.0, f), x * 1.0 * f)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD, momentum, decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "SGD, foreach": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
    "Adam, amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
}
SCHEDULERS = {
    "exponential": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "lambda": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda i: 1 / (1 + i)),
    "one cycle, of momentum, too": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=40),
}


def trained(compile, optimizer, scheduler):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    scheduler = SCHEDULERS[scheduler](optimizer)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    losses = []
    for _ in range(8):
        losses.append(step(X, Y).detach())
        scheduler.step()
    return [torch.stack(losses), *(p.detach() for p in model.parameters())]


CASES = [(o, "exponential") for o in OPTIMIZERS] + [("AdamW", "lambda"), ("Adam", "one cycle, of momentum, too"),
                                                    ("SGD, foreach", "one cycle, of momentum, too")]  # fmt: skip


@pytest.mark.parametrize("optimizer, scheduler", CASES)
def test_a_scheduler_costs_one_compilation(optimizer, scheduler, tmp_path):
    expected = trained(lambda f: f, optimizer, scheduler)
    with recorded(tmp_path) as session:
        found = trained(lambda f: vitrine.compile(f, recompile_limit=64, fullgraph=True), optimizer, scheduler)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    # Without gradients and state, with them, and where the rate is the first to have changed.
    assert len(session.rows("compilation", status="ok")) <= 3
    assert not session.rows("graph_break")


def test_a_weight_of_a_loss_costs_one_compilation(tmp_path):
    """A loss of one element that is weighted by a number of the program, which changes from step to step."""

    def gradient(x, weight):
        x = x.detach().requires_grad_()
        ((1 - weight) * x.square().mean() + x.abs().sum() * weight).backward()
        return x.grad

    assert compilations(gradient, [(X, 0.1 * i) for i in range(6)], tmp_path) == 2


def test_a_nan_is_not_itself():
    def program(x, t, limit):
        return x + 1 if t != t else x + 2 if t == limit else x + 3

    for f in (vitrine.compile(program),):
        for t in (0.5, 0.25, math.nan, 0.125, math.nan):
            for limit in (math.nan, t):
                expected = program(torch.ones(2), t, limit)
                assert torch.equal(f(torch.ones(2), t, limit), expected), (t, limit)


def test_a_bound_that_is_nan_is_one():
    compiled = vitrine.compile(lambda x, f: (x.clamp(min=f), torch.full((2,), f), torch.where(x > 0, x, f)))
    x = torch.linspace(-2, 2, 12)
    for f in (1.0, math.nan, -0.0, -math.inf, math.nan):
        for found, expected in zip(compiled(x, f), (x.clamp(min=f), torch.full((2,), f), torch.where(x > 0, x, f))):
            assert torch.equal(found.isnan(), expected.isnan())
            assert torch.equal(found.signbit(), expected.signbit()) or expected.isnan().any()
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_gradients_of_what_is_clipped_by_one(tmp_path):
    def gradient(x, f):
        x = x.detach().requires_grad_()
        kept = torch.where(x > 2, x * x, f) + x.masked_fill(x < -1, f)
        (torch.min(x * 2, x.clamp(1 - f, 1 + f) * 3) + kept).sum().backward()
        return x.grad

    x = torch.linspace(-3, 3, 25)
    assert compilations(gradient, [(x, 0.125 * i) for i in range(6)], tmp_path) == 2


def test_an_annealed_temperature_costs_one_compilation(tmp_path):
    def program(x, tau, hard):
        torch.manual_seed(0)
        return F.gumbel_softmax(x, tau, hard=hard), F.gumbel_softmax(x, tau=tau, dim=0)

    x = torch.linspace(-3, 3, 24).reshape(4, 6)
    assert compilations(program, [(x, 0.25 * i, False) for i in range(1, 7)], tmp_path) == 2
    assert compilations(program, [(x, 0.25 * i, True) for i in range(1, 7)], tmp_path) == 1


def test_a_tensor_of_ints_that_change_costs_one_compilation(tmp_path):
    program = lambda x, n: (torch.tensor([n]), x * torch.tensor([[n, 2], [3, n + 1]]).sum(), torch.tensor([n, 0.5]))  # noqa: E731
    assert compilations(program, [(torch.ones(2), n) for n in range(2, 12)], tmp_path) == 2


def test_two_that_change_are_compared_by_a_guard(tmp_path):
    def program(x, t, limit):
        kept = x * min(t, limit * 2)
        return kept * 2 if t < limit else kept * limit if limit * 0.5 != t else kept

    x = torch.linspace(-2, 2, 12)
    calls = [(x, 0.1 * i, 0.5 + 0.03 * i) for i in range(20)] + [(x, 1.5, 3.0), (x, math.nan, 2.0), (x, 1.0, math.nan)]
    assert compilations(program, calls, tmp_path) <= 7


class Keeper:
    def __init__(self):
        self.best = float("inf")

    def step(self, x):
        value = x.square().mean().item()
        if value < self.best:
            self.best = value
            return x * 2
        return x + self.best


def test_the_best_so_far_is_no_reason_to_compile_again(tmp_path):
    """Both what is compared and what is kept change from call to call."""
    eager, keeper = Keeper(), Keeper()
    step = vitrine.compile(keeper.step, recompile_limit=64)
    with recorded(tmp_path) as session:
        for i in range(24):
            x = torch.full((4,), 3.0 + (i % 5) - 0.1 * i)
            assert torch.equal(step(x), eager.step(x)) and keeper.best == eager.best
    assert len(session.rows("compilation", status="ok")) <= 8


def test_what_failed_is_said_as_a_comparison(tmp_path):
    compiled = vitrine.compile(lambda x, t, limit: x * 2 if t < limit else x + 1 if t * 2 < 5.5 else x - 1)
    with recorded(tmp_path) as session:
        for t, limit in ((0.1, 0.2), (0.15, 0.3), (0.4, 0.2), (9.0, 0.3)):
            compiled(torch.ones(2), t, limit)
    failed = [row["failed"] for row in session.rows("recompilation")]
    assert failed == ["L['t'] == 0.1", "L['limit'] > L['t']", "mul(L['t'], 2) < 5.5"]


def test_one_is_compared_with_itself_and_what_comes_of_it(tmp_path):
    """A bound in a cell, which changes between two uses."""

    def program(x, t):
        bound = t

        def clipped():
            return x.clamp(-bound, bound) if bound > t * 0.75 else x.clamp(max=bound)

        first = clipped()
        bound = min(t * 0.5, bound)
        return first, clipped(), torch.tensor([bound, t]), [bound < t, t < t, t == bound * 2, bound != bound]

    x = torch.linspace(-2, 2, 12)
    floats = [0.3, 0.7, -0.2, 1.5, 0.1, math.nan, 0.0, 2.0, math.inf, 0.9]
    assert compilations(program, [(x, t) for t in floats], tmp_path) <= 5


@pytest.mark.parametrize("rows", [3, 0])
def test_views_are_clipped_in_place(rows, tmp_path):
    def program(x, t):
        x = x.clone()
        below, turned = x[1:], x.t()
        below.clamp_(-t, t)
        turned.masked_fill_(turned > t * 0.5, t)
        return x, below, turned

    x = torch.linspace(-1, 1, 12)[: rows * 4].reshape(rows, 4)
    assert compilations(program, [(x, 0.25 * i) for i in range(6)], tmp_path) == 2
