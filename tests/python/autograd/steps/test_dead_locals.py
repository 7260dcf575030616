"""A training step that breaks behind its backward pass: what is left in locals that nobody reads again needs no autograd."""

import pytest
import torch
import vitrine
from torch import nn

X = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.beside = nn.Linear(8, 8), nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        mean, scale = self.first(x).chunk(2, -1)
        return self.second(mean * scale.tanh()), mean, scale, self.beside(x)


def update(model, loss):
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 0.01 * p.grad


def read_as_a_number(model, x):
    y, mean, scale, beside = model(x)
    loss = y.square().mean() + mean.square().mean() - scale.mean()
    update(model, loss)
    return loss.item()


def read_in_a_loop(model, x):
    losses = []
    for k in range(3):
        y, mean, _, beside = model(x + k)
        loss = (y - mean.mean()).square().mean()
        update(model, loss)
        losses.append(loss.item())
    return losses


NEVER_READ = [read_as_a_number, read_in_a_loop]


def differentiated_later(model, x):
    y, mean, scale, beside = model(x)
    loss = y.square().mean()
    update(model, loss)
    value = loss.item()
    beside.sum().backward()
    return value


def differentiated_in_a_handler(model, x):
    y, mean, scale, beside = model(x)
    try:
        loss = y.square().mean()
        update(model, loss)
        raise KeyError(loss.item())
    except KeyError:
        beside.sum().backward()
    return loss.detach()


def differentiated_in_the_next_round(model, x):
    beside = None
    for k in range(3):
        if beside is not None:
            beside.sum().backward()
        y, mean, scale, beside = model(x + k)
        loss = y.square().mean()
        update(model, loss)
        if loss.item() < 0:
            beside = None
    return loss.detach()


def written_to(model, x):
    y, mean, scale, beside = model(x)
    loss = y.square().mean()
    update(model, loss)
    value = loss.item()
    with torch.no_grad():
        mean.mul_(2)
    return value, scale.detach(), mean._version, scale._version


def seen_by_name(model, x):
    y, mean, scale, beside = model(x)
    loss = y.square().mean()
    update(model, loss)
    if loss.item() > 0:
        locals()["beside"].sum().backward()
    return loss.detach()




READ = [differentiated_later, differentiated_in_a_handler, differentiated_in_the_next_round, written_to, seen_by_name]


def outcome(compile, step):
    model = Model()
    compiled = compile(step)
    found = [compiled(model, X) for _ in range(3)]
    return found, [(p.detach(), p.grad) for p in model.parameters()]


@pytest.mark.parametrize("step", NEVER_READ + READ)
def test_a_step_does_what_eagers_does(step):
    torch.testing.assert_close(outcome(vitrine.compile, step), outcome(lambda f: f, step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("step", NEVER_READ)
def test_the_backward_pass_is_part_of_the_graph(step):
    found = vitrine.explain(step)(Model(), X)
    assert not found.graph_breaks and len(found.graphs) == 1
