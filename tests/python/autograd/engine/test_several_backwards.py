"""One compiled region, several backward passes: results that are differentiated one after the other, hooks in eager's order, and
tensors that have changed in between. Each program's outcome is eager's."""

import warnings

import pytest
import torch
from tests.python.autograd.steps.test_training import leaf
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


def sum_in_another_order(compiled):
    """The gradients of the two results meet in a sum that lies transposed; the second backward brings one of them alone."""
    x, w = leaf(3, 4), leaf(4, 5, seed=1)

    def f(x, w):
        y = (x @ w).unflatten(1, (5, 1)).permute(2, 1, 0).tanh()
        return y.permute(1, 2, 0).exp(), y.sin()

    if compiled is vitrine.compile:
        assert not vitrine.explain(f)(x, w).messages
    both = compiled(f)
    first, second = both(x, w)
    (first.sum() + second.square().sum()).backward()
    for i in range(2):
        both(x, w)[i].square().sum().backward()
    return x.grad, w.grad


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


def one_that_saves_nothing_comes_again(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a + 1, b.exp()))()
    torch.autograd.backward([first.sum(), second.sum()])
    return outcome(first.sum().backward), outcome(second.sum().backward), a.grad, b.grad


def one_that_saves_nothing_beside_borrowed_gradients(compiled):
    """What is written to by another name has PyTorch's own backward, for all results of the region."""
    x, q = leaf(4, 4), leaf(4, 4, seed=1)

    def f(x, q):
        second = x.exp()
        third = second * 1
        third[:, 1] *= second[:, 0]
        return q + 1, second, third

    results = compiled(f)(x, q)
    total = sum(r.sum() for r in results)
    total.backward()
    failed = outcome(lambda: torch.autograd.grad(total, [x, q]))[0]
    results[0].backward(torch.ones(4, 4).t())
    return failed, x.grad, q.grad, outcome(results[2].sum().backward)


def results_that_share_nothing_beside_borrowed_gradients(compiled):
    """What is overwritten has PyTorch's own backward, for all results of the region; each still has its own graph."""
    a, b, c = leaf(4), leaf(4, seed=1), leaf(4, seed=2)

    def f(a, b, c):
        over = a.clone()
        over.copy_(torch.ones(()))
        shared = c.exp()
        return over, b.sin(), shared * 2, shared.cos() * b

    over, sine, double, product = compiled(f)(a, b, c)
    sine.sum().backward()
    over.sum().backward()
    product.square().sum().backward()
    again = [outcome(r.sum().backward) for r in (sine, double, product)]
    return again, a.grad, b.grad, c.grad


def written_between_beside_borrowed_gradients(compiled):
    a, b = leaf(4), leaf(4, seed=1)

    def f(a, b):
        over = a.clone()
        over.copy_(torch.ones(()))
        return over, a.exp() * b, b.sin()

    results = compiled(f)(a, b)
    results[2].sum().backward()
    with torch.no_grad():
        a.mul_(2)
        b.mul_(2)
    return outcome(results[0].sum().backward), outcome(results[1].sum().backward)[0], a.grad, b.grad


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


SEPARATE = [
    separate_results,
    sum_in_another_order,
    shared_operator,
    shared_operator_that_saves_nothing,
    one_that_saves_nothing_comes_again,
    one_that_saves_nothing_beside_borrowed_gradients,
    results_that_share_nothing_beside_borrowed_gradients,
    written_between_beside_borrowed_gradients,
    many_losses,
    kept_and_then_used_up,
    written_in_between,
]


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


def hooks_of_separate_results(compiled):
    """A hook on a leaf, on what stands before the region, and on a module: eager calls those that a pass reaches."""
    log = []

    def note(name):
        return lambda grad: log.append((name, None if grad is None else grad.clone()))

    a, b, c = leaf(3), leaf(3, seed=1), leaf(3, seed=2)
    for name, t in (("a", a), ("b", b)):
        t.register_hook(note(name))
    before = c.exp()
    before.register_hook(note("before"))
    first, second = compiled(lambda a, b, c: (a.sin() * 2, b.cos() * c))(a, b, before)
    first.sum().backward()
    log.append("between")
    second.sum().backward()
    (first.detach() + 1).sum()
    return log, a.grad, b.grad, c.grad


def hooks_of_results_together(compiled):
    log = []
    a, b = leaf(3), leaf(3, seed=1)
    for name, t in (("a", a), ("b", b)):
        t.register_hook(lambda grad, name=name: log.append((name, grad.clone())))
    first, second = compiled(lambda: (a.sin() * b, b.cos()))()
    (first.sum() + second.sum()).backward(retain_graph=True)
    (first.sum() * second.sum()).backward()
    return log, a.grad, b.grad, outcome(first.sum().backward)


def written_where_the_other_does_not_read(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp() * a, b.sigmoid() * b))()
    first.sum().backward()
    with torch.no_grad():
        a.sub_(a.grad)
    second.sum().backward()
    with torch.no_grad():
        b.add_(1)
    return a.grad, b.grad


def written_before_another_is_asked(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp() * a, b.sigmoid() * b))()
    with torch.no_grad():
        a.add_(1)
    second.sum().backward()
    return b.grad, a.grad, outcome(first.sum().backward)[0]


def some_inputs_alone(compiled):
    a, b = leaf(3), leaf(3, seed=1)
    first, second = compiled(lambda: (a.exp() * b, b.sigmoid() * b))()
    found = torch.autograd.grad(first.sum() + second.sum(), b, retain_graph=True)
    return found, torch.autograd.grad(second.sum(), (a, b), allow_unused=True), a.grad


@pytest.mark.parametrize("program", [
    hooks_of_separate_results, hooks_of_results_together, written_where_the_other_does_not_read, written_before_another_is_asked,
    some_inputs_alone,
], ids=lambda p: p.__name__)
def test_a_backward_pass_reaches_what_eagers_reaches(program):
    same(program)


@pytest.mark.parametrize("body", [lambda x: x.sin() * 2, lambda x: (x * 3).t() + 1, lambda x: (x.exp(), x.cos() * 3), lambda x: x @ x.t().sin(),
                                  lambda x: x.sum(0) * x,
                                  lambda x: x + x.detach(), lambda x: (x + 1).t()], ids=["one", "turned", "two", "product", "sum", "same", "same turned"])
def test_gradients_lie_as_in_eager(body):
    """By the layout of what is handed in."""
    def program(compiled):
        found = []
        for turned in (False, True, "expanded"):
            x = leaf(4, 4)
            out = compiled(body)(x)
            out = out if isinstance(out, tuple) else (out,)
            give = [torch.ones(()).expand(o.shape) if turned == "expanded" else (torch.ones(4, 4).cos() * o.detach().exp()) for o in out]
            give = [g.t().contiguous().t() if turned is True else g for g in give]
            found += [(g, g.stride()) for g in torch.autograd.grad(out, x, give)]
        return found

    same(program)


def written_result(f, x):
    y = f(x)
    y.add_(1)
    y.sum().backward()


def written_first_result(f, x):
    y, z = f(x)
    y.add_(1)
    (y.sum() + z.sum()).backward()


def written_input(f, x):
    h = x * 2
    y = f(h)
    h.add_(1)
    (y if isinstance(y, torch.Tensor) else y[0]).sum().backward()


def written_leaf(f, x):
    y = f(x)
    with torch.no_grad():
        x.add_(1)
    (y if isinstance(y, torch.Tensor) else y[0]).sum().backward()


WRITTEN = {
    "result": (lambda x: torch.relu(x * 2), written_result), "softmax": (lambda x: torch.softmax(x * 2, 0), written_result),
    "of two": (lambda x: (torch.relu(x * 2), (x * 3).exp()), written_first_result), "input": (lambda x: x * x.sin(), written_input),
    "input of two": (lambda x: (x.sin(), (x * 3).exp()), written_input), "leaf": (lambda x: x * x.sin(), written_leaf),
    "leaf of two": (lambda x: (x.sin(), (x * 3).exp()), written_leaf),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_an_error_about_what_was_written_names_eagers_operator(name):
    f, program = WRITTEN[name]
    expected, found = (outcome(lambda g=g: program(g, leaf(3))) for g in (f, vitrine.compile(f)))
    assert expected[0] is RuntimeError
    assert found == expected


def test_nodes_are_called_as_in_eager():
    for f in (lambda x: torch.relu(x * 2), lambda x: (torch.relu(x * 2), x.exp()), lambda x: x.unsafe_chunk(3)):
        expected, found = (pytree.tree_leaves(g(leaf(3))) for g in (f, vitrine.compile(f)))
        assert [t.grad_fn.name() for t in found] == [t.grad_fn.name() for t in expected]
        assert [str(t.grad_fn).split(" at ")[0] for t in found] == [str(t.grad_fn).split(" at ")[0] for t in expected]


W = torch.arange(9.0).reshape(3, 3)
AGAIN = {
    "sum": lambda x: x + 1, "scaled": lambda x: x * 2, "negated": lambda x: -x, "total": lambda x: x.sum(), "mean": lambda x: x.mean(),
    "view": lambda x: x[1:] + 0, "shape": lambda x: x.reshape(1, -1) * 3, "turned": lambda x: x.expand(2, 3).t() + 1,
    "joined": lambda x: torch.cat([x, x + 1]), "double": lambda x: x.double() / 3, "copied": lambda x: x.clone(),
    "square": lambda x: x * x, "relu": torch.relu, "exp": torch.exp, "abs": lambda x: x.abs() + 1, "softmax": lambda x: torch.softmax(x, 0),
    "product": lambda x: W @ x, "chosen": lambda x: torch.where(W[0] > 0, x, -x), "by a tensor": lambda x: x * W[0],
    "picked": lambda x: x[W[0].long() % 3] + 1, "extreme": lambda x: x.amax(), "sorted": lambda x: x.sort()[0],
    "chain": lambda x: (x + 1) * 2 - x.sum(), "last saves": lambda x: (x + 1).exp(), "first saves": lambda x: x.exp() + 1,
    "of two": lambda x: (x + 1, x.exp()), "of two that save nothing": lambda x: (x + 1, -x),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
def test_what_saves_nothing_may_come_again(name):
    def twice(g):
        x = leaf(3)
        results = [r.sum() for r in pytree.tree_leaves(g(x))]
        sum(results).backward()
        sum(results).backward()
        return x.grad.tolist()

    f = AGAIN[name]
    assert outcome(lambda: twice(vitrine.compile(f))) == outcome(lambda: twice(f))


def test_gradients_by_the_batch():
    """PyTorch brings tensors without memory, each for all elements of a batch."""

    def both(a, b):
        return a * b.exp(), (b @ a).sin().sum(0)

    def program(compiled):
        f, a, b = compiled(both), leaf(3, 3), leaf(3, 3, seed=1)
        tangents = [torch.randn(4, 3, 3), torch.randn(4, 3)]
        of_both = torch.autograd.grad(f(a, b), (a, b), tangents, is_grads_batched=True)
        second = f(a, b)[1]
        of_one = torch.autograd.grad(second, b, tangents[1], is_grads_batched=True, retain_graph=True)
        of_one += torch.autograd.grad(second, b, tangents[1], is_grads_batched=True)
        jacobians = torch.autograd.functional.jacobian(f, (a, b), vectorize=True)
        return of_both, of_one, jacobians, outcome(second.sum().backward)

    def seeded(compiled):
        torch.manual_seed(0)
        return program(compiled)

    same(seeded)


def test_gradients_by_the_batch_inside():
    def inside(x):
        return torch.autograd.grad(x.sin(), x, torch.eye(3), is_grads_batched=True)

    same(lambda compiled: compiled(inside)(leaf(3)))


def on_the_way(x, w):
    h = x @ w
    return h, h.relu().sum(), w.sum()


def test_hooks_on_results_that_nothing_is_computed_from():
    def program(f):
        x, w, seen = leaf(2, 3), leaf(3, 2, seed=1), []
        _, loss, other = f(on_the_way)(x, w)
        loss.register_hook(lambda g: (seen.append(g), g * 2)[1])
        other.register_hook(lambda g: (seen.append(g), g * 3)[1])
        (loss + other).backward()
        return x.grad, w.grad, seen

    vitrine.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(program)


def test_a_backward_pass_goes_only_where_eagers_does():
    """A result of before the break enters the graph behind it for nothing; the nodes of what was written to cannot run."""

    def f(x):
        norm = x.norm(dim=1)
        norm[1:] += norm[:-1]
        steps, twice = torch.diff(norm), x * 2
        twice[twice > 0]
        steps.softmax(-1)
        return twice * 3

    def program(compiled):
        x = leaf(2, 8)
        compiled(f)(x).sum().backward()
        return x.grad

    same(program)


@pytest.mark.parametrize("names", [(0,), (1,), (0, 1)])
def test_a_number_added_to_a_gradient_that_is_missing_goes_with_it(names):
    """The derivative of logcumsumexp adds its input to what comes of the gradient: without it there is no such sum."""

    def f(x):
        t = x * 2
        return torch.logcumsumexp(t, 1), t

    x = torch.tensor([[1.0, 400.0, -2.0], [float("inf"), 0.5, 3.0]]).requires_grad_()
    found = []
    for run in (f, vitrine.compile(f)):
        results = [run(x)[i] for i in names]
        found.append(torch.autograd.grad(results, x, [torch.ones_like(r) for r in results])[0])
    torch.testing.assert_close(*found, equal_nan=True)
    both = vitrine.compile(f)(x)
    torch.testing.assert_close(torch.autograd.grad(both, x, [torch.ones_like(r) for r in both])[0], torch.autograd.grad(f(x), x, [torch.ones_like(x)] * 2)[0], equal_nan=True)
