"""A first training step is the same program as every later one: gradients that are not there yet are not asked for, and
what an optimizer is about to make of a parameter is there before the program begins."""

import copy
import subprocess
import sys
import warnings

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.unused = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def make(optimizer=torch.optim.AdamW, to_none=True, zero_last=False, by_model=False, groups=False, **options):
    torch.manual_seed(0)
    model = Model()
    params = model.parameters()
    if groups:
        params = [{"params": [*model.first.parameters(), model.unused]}, {"params": model.second.parameters(), "lr": 1e-3}]
    optimizer = optimizer(params, lr=1e-2, **options)
    clears = model if by_model else optimizer

    def step(x):
        if not zero_last:
            clears.zero_grad(set_to_none=to_none)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        if zero_last:
            clears.zero_grad(set_to_none=to_none)
        return loss.detach()

    return model, optimizer, step


def state_of(model, optimizer):
    state = {}
    for name, p in model.named_parameters():
        own = optimizer.state.get(p)
        state[name] = p.detach(), p.grad, None if own is None else dict(own)
    return copy.deepcopy(state)


def compare(found, expected):
    assert found.keys() == expected.keys()
    for name, (value, grad, own) in expected.items():
        value2, grad2, own2 = found[name]
        torch.testing.assert_close(value2, value)
        assert (grad is None, own is None) == (grad2 is None, own2 is None), name
        if grad is not None:
            torch.testing.assert_close(grad2, grad)
        if own is not None:
            assert list(own) == list(own2)
            for key in own:
                torch.testing.assert_close(own2[key], own[key])
                assert own2[key].dtype == own[key].dtype


SAME_FROM_THE_FIRST_ON = {
    "plain": {},
    "adam": {"optimizer": torch.optim.Adam},
    "amsgrad": {"amsgrad": True},
    "not for each": {"foreach": False},
    "groups": {"groups": True},
    "cleared at the end": {"zero_last": True},
    "cleared by the model": {"by_model": True},
    "momentum": {"optimizer": torch.optim.SGD, "momentum": 0.9},
    "momentum, not for each": {"optimizer": torch.optim.SGD, "momentum": 0.9, "foreach": False, "weight_decay": 1e-2},
    "nesterov": {"optimizer": torch.optim.SGD, "momentum": 0.9, "nesterov": True, "maximize": True},
    "rmsprop": {"optimizer": torch.optim.RMSprop, "centered": True, "momentum": 0.9},
    "adagrad": {"optimizer": torch.optim.Adagrad},
    "nadam": {"optimizer": torch.optim.NAdam},
    "adamax": {"optimizer": torch.optim.Adamax},
    "adadelta": {"optimizer": torch.optim.Adadelta},
    "rprop": {"optimizer": torch.optim.Rprop},
    "radam": {"optimizer": torch.optim.RAdam},
    "radam, decayed": {"optimizer": torch.optim.RAdam, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "asgd": {"optimizer": torch.optim.ASGD, "t0": 1, "weight_decay": 0.1},
    "adafactor": {"optimizer": torch.optim.Adafactor, "weight_decay": 0.1},
}
CASES = {
    **SAME_FROM_THE_FIRST_ON,
    "zeros": {"to_none": False},
    "zeros by the model": {"to_none": False, "by_model": True},
    "dampened": {"optimizer": torch.optim.SGD, "momentum": 0.9, "dampening": 0.1},
}


@pytest.mark.parametrize("case", CASES)
def test_steps_are_as_eager_from_the_first_on(case):
    model, optimizer, step = make(**CASES[case])
    model2, optimizer2, step2 = make(**CASES[case])
    compiled = vitrine.compile(step2)
    for _ in range(8):
        torch.testing.assert_close(compiled(X), step(X))
        compare(state_of(model2, optimizer2), state_of(model, optimizer))


@pytest.mark.parametrize("case", SAME_FROM_THE_FIRST_ON)
def test_the_second_step_compiles_nothing(case, tmp_path):
    vitrine.reset()
    _, _, step = make(**CASES[case])
    compiled = vitrine.compile(step)
    with recorded(tmp_path) as session:
        for _ in range(3):
            compiled(X)
    assert len(session.rows("compilation", status="ok")) == 1
    assert not session.rows("recompilation")


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Rprop])
def test_state_lies_as_the_gradient_that_it_is_made_of(optimizer):
    """A gradient that another program has set may have other strides than its parameter."""
    grads = [torch.arange(12.0).view(4, 3).T, torch.tensor([-0.0, 0.0, 1.0])]
    states = []
    for run in (lambda f: f, vitrine.compile):
        params = [torch.nn.Parameter(torch.ones(3, 4)), torch.nn.Parameter(torch.ones(3))]
        for p, grad in zip(params, grads, strict=True):
            p.grad = grad.clone()
        own = optimizer(params, lr=0.125, **({"momentum": 0.5} if optimizer is torch.optim.SGD else {}))
        step = run(lambda own=own: own.step())
        for _ in range(2):
            step()
            states.append([(v.stride(), v.tolist()) for p in params for v in own.state[p].values()])
    assert str(states[:2]) == str(states[2:])  # which tells -0. from 0.


def test_a_gradient_that_came_from_elsewhere_is_cleared_too():
    both = [make(), make()]
    steps = [both[0][2], vitrine.compile(both[1][2])]
    for i in range(3):
        for (model, _, _), step in zip(both, steps, strict=True):
            if i:
                model.unused.grad = torch.ones(3)
            step(X)
            assert model.unused.grad is None
    compare(state_of(*both[1][:2]), state_of(*both[0][:2]))


def test_a_step_that_fails_leaves_the_state_as_it_was():
    table = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = torch.optim.AdamW([table])

    def step(where):
        optimizer.zero_grad()
        loss = torch.nn.functional.embedding(where, table).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = vitrine.compile(step)
    with pytest.raises(IndexError):
        compiled(torch.tensor([1, 9]))
    assert not optimizer.state
    compiled(torch.tensor([1, 2]))
    assert optimizer.state[table]["step"] == 1


def test_state_that_the_program_looks_at_before_is_as_it_was():
    _, optimizer, step = make()
    seen = []

    def looks(x):
        seen.append(len(optimizer.state))
        return step(x)

    compiled = vitrine.compile(looks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(X)
    assert seen == [0, 4, 4]


def test_state_that_the_program_looks_at_behind_a_break_is_as_it_was():
    _, optimizer, step = make()
    seen = []

    def looks(x):
        y = x + 1
        seen.append(len(optimizer.state))
        print(end="")
        return step(y)

    compiled = vitrine.compile(looks)
    for _ in range(3):
        compiled(X)
    assert seen == [0, 4, 4]


def test_a_model_clears_gradients_that_are_not_there():
    torch.manual_seed(0)
    model = Model()

    def step(x):
        model.zero_grad()
        model(x).sum().backward()

    compiled = vitrine.compile(step)
    for _ in range(2):
        compiled(X)
        found = [p.grad for p in model.parameters()]
        step(X)
        for a, p in zip(found, model.parameters(), strict=True):
            assert (a is None) == (p.grad is None)
            if a is not None:
                torch.testing.assert_close(a, p.grad)


def test_pytorchs_own_marks_are_no_break():
    """torch.compile's first use puts wrappers into the classes of optimizers."""
    program = """
import torch, vitrine, torch._dynamo
torch._dynamo.eval_frame.TorchPatcher.patch()
p = torch.ones(3, requires_grad=True)
optimizer = torch.optim.AdamW([p])

@vitrine.compile(fullgraph=True)
def step():
    optimizer.zero_grad()
    p.square().sum().backward()
    optimizer.step()

step()
step()
print(int(optimizer.state[p]["step"]), sum("step" in row[0] for row in vitrine._engine.segments()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["2", "1"], done.stderr


def test_gradients_that_are_set_to_zero_are_no_break():
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.AdamW([p])

    def step():
        optimizer.zero_grad(set_to_none=False)
        p.square().sum().backward()
        optimizer.step()

    assert not vitrine.explain(step)().graph_break_reasons
