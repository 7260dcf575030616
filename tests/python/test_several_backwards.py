"""One compiled region, several backward passes: results that are differentiated one after the other, hooks in eager's order, and
tensors that have changed in between. Each program's outcome is eager's."""

import pytest
import torch
from test_training import leaf
from torch import nn
from torch.utils import _pytree as pytree

import vitrine


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def same(program):
    expected, found = program(lambda f: f), program(vitrine.compile)
    leaves = [pytree.tree_flatten(tree, is_leaf=lambda t: isinstance(t, type)) for tree in (expected, found)]
    assert leaves[0][1] == leaves[1][1]
    for a, b in zip(leaves[0][0], leaves[1][0]):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
        else:
            assert a == b


def separate_results(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp() * b, (a * 3).sin()))()
    first.sum().backward()
    second.sum().backward()
    return a.grad, b.grad, outcome(first.sum().backward)


def shared_operator(compiled):
    x = leaf(3)

    def f(x):
        h = x.exp()
        return h.sin(), h.cos()

    first, second = compiled(f)(x)
    first.sum().backward()
    return outcome(second.sum().backward), x.grad


def shared_operator_that_saves_nothing(compiled):
    x = leaf(3)

    def f(x):
        h = x + 1
        return h.sin(), h.cos()

    first, second = compiled(f)(x)
    first.sum().backward()
    return outcome(second.sum().backward), x.grad


def many_losses(compiled):
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
    losses = compiled(lambda x: [layer(x).tanh().sum() for layer in layers])(torch.ones(2, 3))
    for loss in losses:
        loss.backward()
    return [p.grad for p in layers.parameters()], outcome(losses[1].backward)


def kept_and_then_used_up(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp().sum(), b.sin().sum()))()
    first.backward(retain_graph=True)
    second.backward()
    first.backward()
    return a.grad, b.grad, outcome(first.backward), outcome(second.backward)


def written_in_between(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp(), b.sigmoid() * a))()
    first.sum().backward()
    with torch.no_grad():
        b.add_(1)
        a.add_(1)
    return outcome(second.sum().backward)[0], a.grad


SEPARATE = [separate_results, shared_operator, shared_operator_that_saves_nothing, many_losses, kept_and_then_used_up, written_in_between]


@pytest.mark.parametrize("program", SEPARATE, ids=lambda p: p.__name__)
def test_results_are_differentiated_one_after_the_other(program):
    same(program)


def layers_with(register):
    torch.manual_seed(0)
    model = nn.ModuleDict({"table": nn.Embedding(5, 4), "a": nn.Linear(4, 4), "norm": nn.LayerNorm(4), "b": nn.Linear(4, 4)})
    log = []
    for name, p in model.named_parameters():
        register(p, lambda name=name: log.append(name))
    forward = lambda i: model["b"](model["norm"](model["a"](model["table"](i)).tanh()) + model["table"](i)).sum()  # noqa: E731
    return model, forward, log


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_parameters_run_in_eagers_order(kind):
    def program(compiled):
        model, forward, log = layers_with(lambda p, note: getattr(p, kind)(lambda _: note()))
        step = compiled(forward)
        for _ in range(2):
            step(torch.tensor([1, 2])).backward()
        return log, [p.grad for p in model.parameters()]

    same(program)


def test_what_was_done_before_a_hook_raised_is_eagers():
    def program(compiled):
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        step = compiled(model)
        step(torch.ones(2, 4)).sum().backward()  # the hook comes when the model has been compiled

        def refuse(_):
            raise ValueError("no such gradient")

        model.weight.register_hook(refuse)
        return outcome(step(torch.ones(2, 4)).sum().backward), model.bias.grad, model.weight.grad

    same(program)


@pytest.mark.parametrize("now", [torch.ones(4, 5), torch.ones(4, 4, dtype=torch.float64)], ids=["size", "type"])
def test_a_weight_that_is_another_in_backward(now):
    def program(compiled):
        w, x = leaf(4, 4), leaf(3, 4, seed=1)
        y = compiled(lambda x: (x @ w).tanh())(x)
        w.data = now
        return outcome(y.sum().backward), x.grad

    same(program)


def test_a_factor_of_another_type_in_backward_converts_as_in_eager():
    def program(compiled):
        w, x = leaf(4, 4), leaf(4, 4, seed=1)
        y = compiled(lambda x: (x * w).tanh())(x)
        w.data = w.data.double()
        return outcome(y.sum().backward), x.grad

    same(program)
