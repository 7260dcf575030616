"""Results from which others are computed, and hooks on them, on leaves and on nodes: what runs before what, what is accumulated by
then, and what is left when one of them raises, is eager's."""

import itertools

import pytest
import torch
import vitrine
from vitrine._autograd import training as _training


class Refused(Exception):
    pass


def one_behind_the_other(x, w, u, v, z):
    h = (x @ w).relu()
    k = (h * u).exp()
    return h, k, ((k @ v).sin() * z).sum()


def two_of_one(x, w, u, v, z):
    h = (x @ w).relu()
    return h, (h * u).sum(), (h * v + u).exp().sum()


def made_before(x, w, u, v, z):
    doubled = v * 2
    h = (x @ w).relu()
    return h, (h * u + doubled).sum()


def used_on_both_sides(x, w, u, v, z):
    h = (x @ w + u).relu()
    return h, (h * u * v).sum() + z.sum()


def seen_as_a_view(x, w, u, v, z):
    h = (x @ w).relu()
    return h.t(), (h * u).sum()


PROGRAMS = [one_behind_the_other, two_of_one, made_before, used_on_both_sides, seen_as_a_view]
RAISING = [None, "result 0", "result -1", "node 0", "leaf 2", "accumulated 2"]


def pass_of(call, raising, leaf_hooks, auxiliary):
    """(The error, gradients, the log) of a backward pass with hooks wherever there can be one."""
    leaves = [torch.randn(3, 3, generator=torch.Generator().manual_seed(i)).requires_grad_() for i in range(5)]
    log = []

    def hook(name):
        def note(*given):
            log.append((name, [leaf.grad is not None for leaf in leaves]))
            if name == raising:
                raise Refused(name)

        return note

    for i in (1, 2) if leaf_hooks else ():
        leaves[i].register_hook(hook(f"leaf {i}"))
        leaves[i].register_post_accumulate_grad_hook(hook(f"accumulated {i}"))
    results = call(*leaves)
    results[0].register_hook(hook("result 0"))
    results[0].grad_fn.register_prehook(hook("node 0"))
    results[-1].register_hook(hook("result -1"))
    loss = sum(r.sum() for r in results[1:]) + (results[0].sum() if auxiliary else 0)
    try:
        loss.backward()
    except Refused as error:
        log.append(str(error))
    return [leaf.grad for leaf in leaves], log


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("raising", RAISING, ids=str)
def test_hooks_run_and_raise_where_eagers_do(program, raising):
    for leaf_hooks, auxiliary in itertools.product((False, True), repeat=2):
        gradients, log = pass_of(program, raising, leaf_hooks, auxiliary)
        compiled = vitrine.compile(program)
        for _ in range(2):
            found, noted = pass_of(compiled, raising, leaf_hooks, auxiliary)
            assert noted == log
            torch.testing.assert_close(found, gradients)


def test_where_only_the_last_result_is_differentiated_the_backward_is_one_plan(monkeypatch):
    runs = []
    run_backward = _training.Region.run_backward

    def noted(self, saved, given, keep, cut=False):
        runs.append((keep, cut))
        return run_backward(self, saved, given, keep, cut)

    monkeypatch.setattr(_training.Region, "run_backward", noted)
    layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])

    @vitrine.compile
    def run(x):
        hidden = list(itertools.accumulate(layers, lambda x, layer: torch.relu(layer(x)), initial=x))[1:]
        return hidden[-1].sum(), *hidden

    run(torch.ones(2, 4))[0].backward()
    assert runs == [(False, False)]
