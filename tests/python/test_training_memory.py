"""Memory of training steps: what eager has given back by then is not held."""

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional as F

import vitrine

watched, seen = [], []


@torch.library.custom_op("vitrine_tests::look", mutates_args=())
def look(x: torch.Tensor) -> torch.Tensor:
    """Whether the gradients of the last step are gone, while this one is computed."""
    seen.append([ref.expired() for ref in watched])
    return x.clone()


@look.register_fake
def _(x):
    return torch.empty_like(x)


def gradients_gone(compile):
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        with torch.no_grad():
            noted = look(loss.detach())
        loss.backward()
        optimizer.step()
        return noted

    run, out = compile(step), []
    seen.clear()
    for _ in range(3):
        watched[:] = [StorageWeakRef(p.grad.untyped_storage()) for p in model.parameters() if p.grad is not None]
        out.append(run(torch.randn(8, 6), torch.randint(0, 4, (8,))))
    return [gone for gone in seen if gone], torch.stack(out), [p.detach() for p in model.parameters()]


def test_gradients_of_the_last_step_go_before_this_one_computes():
    eager, ours = gradients_gone(lambda f: f), gradients_gone(vitrine.compile)
    assert eager[0][-1] == ours[0][-1] == [True, True]
    torch.testing.assert_close(ours[1:], eager[1:])


def test_a_gradient_that_is_still_read_stays():
    def step(p, x):
        old, p.grad = p.grad, None
        (p * x).sum().backward()
        return old * 2 + p.grad

    found = []
    for run in (step, vitrine.compile(step)):
        p = torch.ones(3, requires_grad=True)
        p.grad = torch.full((3,), 5.0)
        found.append([run(p, torch.arange(3.0)).detach() for _ in range(3)] + [p.grad])
    torch.testing.assert_close(found[1], found[0])


def test_a_step_that_fails_is_eagers():
    model = nn.Linear(6, 4)

    def step(x, y):
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    run = vitrine.compile(step)
    for _ in range(2):
        run(torch.randn(3, 6), torch.tensor([0, 1, 2]))
    try:
        run(torch.randn(3, 6), torch.tensor([0, 1, 4]))
    except IndexError as error:
        assert "out of bounds" in str(error)
    assert model.weight.grad is None  # zero_grad() came before the error


def test_nothing_of_a_call_is_held_behind_it():
    p = torch.ones(3, requires_grad=True)

    @vitrine.compile
    def read(flag):
        return p.grad + 1 if flag else p.grad - 1

    held = []
    for flag in (True, True, False, False):  # of the last call of the code that is compiled for True, too
        p.grad = torch.full((3,), 5.0)
        read(flag)
        held.append(StorageWeakRef(p.grad.untyped_storage()))
        p.grad = None
    assert [ref.expired() for ref in held] == [True] * 4
