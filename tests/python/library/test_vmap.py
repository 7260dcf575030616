"""torch.vmap in captured functions: one call of the graph, or a break where what is mapped does more than compute."""

import functools

import pytest
import torch
import torch.utils._pytree as pytree
import vitrine
from tests.python.support.same_as_eager import check


def scaled(x):
    return torch.vmap(lambda a: a.sum() * a)(x)


def closed_over(x):
    w = x[0].cos()

    def f(a, b):
        return torch.dot(a, b) + w.sum(), a * 2

    return torch.vmap(f, in_dims=(0, None))(x, w)


def nested(x):
    return torch.vmap(torch.vmap(lambda a: a.sin()), out_dims=1)(x)


def tuples(x):
    return torch.vmap(lambda t: (t[0] + t[1], 1.0 * t[0].max()), in_dims=((0, 1),))((x, x.t()))


def partials(x):
    def f(a):
        b = a * 2
        b += 1
        return b

    return torch.vmap(f)(x), torch.vmap(functools.partial(torch.mul, 3))(x)


def products(x):
    y = x.cos()
    return torch.vmap(lambda a: a @ y)(x @ x.t())


def empty(x):
    return torch.vmap(lambda a, b: torch.where(b, a, 1))(x[:0], x[:0] > 1)


class Log:
    def __init__(self):
        self.seen, self.scale = [], 2.0


LOG = Log()


def after_changes(x):
    LOG.seen.append(x.shape)
    LOG.scale += 1
    return torch.vmap(lambda a: a * 2)(x), list(LOG.seen)


def scan(x):
    from torch._higher_order_ops.associative_scan import associative_scan

    return associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x.cos()), dim=0, combine_mode="generic")


WHOLE = [scaled, closed_over, nested, tuples, partials, products, empty, after_changes, scan]


def reads_what_changed(x):
    LOG.scale += 1
    return torch.vmap(lambda a: a * LOG.scale)(x)


def reads_a_global_that_was_set(x):
    global SCALE
    SCALE = 3.0
    return torch.vmap(lambda a: a * SCALE)(x)


SCALE = 2.0


def remembers(x):
    log = []

    def f(a):
        log.append(1)
        return a

    return torch.vmap(f)(x), log


def writes(x):
    return torch.vmap(lambda a: a.mul_(2))(x), x


def draws(x):
    torch.manual_seed(0)
    return torch.vmap(lambda a: a + torch.rand(4), randomness="different")(x)


def dicts(x):
    return torch.vmap(lambda a: {"twice": a * 2})(x)


def branches(x):
    return torch.vmap(lambda a: a if a.sum() > 0 else -a)(x)


BREAKING = [remembers, writes, draws, dicts, branches, reads_what_changed, reads_a_global_that_was_set]


def forget_changes():
    global SCALE
    LOG.__init__()
    SCALE = 2.0


def arguments():
    return (torch.arange(12.0).reshape(3, 4) / 5,)


@pytest.mark.parametrize("program", WHOLE + BREAKING, ids=lambda f: f.__name__)
def test_same_as_eager(program):
    vitrine.reset()
    check(program, vitrine.compile(program), arguments, reset_world=forget_changes)


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_one_graph(program):
    vitrine.reset()
    assert vitrine.explain(program)(*arguments()).graph_break_count == 0


@pytest.mark.parametrize("program", [scaled, nested, scan], ids=lambda f: f.__name__)
def test_inference_mode(program):
    vitrine.reset()
    with torch.inference_mode():
        check(program, vitrine.compile(program), arguments)
        assert vitrine.explain(program)(*arguments()).graph_break_count == 0
        assert all(t.is_inference() for t in pytree.tree_leaves(vitrine.compile(program)(*arguments())))


def test_gradients():
    vitrine.reset()
    one, other = (torch.arange(12.0).reshape(3, 4).requires_grad_() for _ in range(2))
    scaled(one).sum().backward()
    vitrine.compile(scaled)(other).sum().backward()
    torch.testing.assert_close(one.grad, other.grad)


def differentiates(x):
    return torch.func.grad(lambda a: (a * a).sum())(x)


def with_value(x):
    return torch.func.grad_and_value(lambda a: (a * a).sum())(x)


def jacobians(x):
    return torch.func.jacrev(lambda a: a.sum(0))(x), torch.func.jacfwd(lambda a: a.sum(0))(x)


def gives_a_function(x):
    out, back = torch.func.vjp(torch.sin, x)
    return out, back(x)


@pytest.mark.parametrize("program", [differentiates, with_value, jacobians], ids=lambda f: f.__name__)
def test_derivatives_are_in_the_graph(program):
    vitrine.reset()
    check(program, vitrine.compile(program), arguments)
    assert vitrine.explain(program)(*arguments()).graph_break_count == 0


@pytest.mark.parametrize("program", [differentiates, with_value, jacobians], ids=lambda f: f.__name__)
def test_derivatives_in_inference_mode(program):
    vitrine.reset()
    with torch.inference_mode():
        check(program, vitrine.compile(program), arguments)


def test_a_function_that_is_given_differentiates_in_the_graph():
    vitrine.reset()
    check(gives_a_function, vitrine.compile(gives_a_function), arguments)
    assert vitrine.explain(gives_a_function)(*arguments()).graph_break_count == 0


def test_other_transforms_say_their_name():
    def leaves(x):
        return torch.func.vjp(torch.sin, x)[1]

    vitrine.reset()
    assert "torch.func.vjp" in str(vitrine.explain(leaves)(*arguments()).graph_break_reasons[0])
