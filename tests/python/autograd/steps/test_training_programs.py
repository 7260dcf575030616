"""Training programs that a generator (tests/fuzz/training_fuzz.py) made and that once were not eager's."""

import pytest
import torch
import vitrine


def leaf(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def same(program):
    """The program, given what compiles, gives what it gives eagerly; twice."""
    expected = program(lambda f: f)
    for _ in range(2):
        torch.testing.assert_close(program(vitrine.compile), expected)


class ZerosForNothing(torch.autograd.Function):
    """A gradient that is not there becomes zeros."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_what_leads_to_an_input_that_is_only_detached_is_not_come_by():
    def program(compile):
        w, v = leaf(4), leaf(4, seed=1)
        compile(lambda x, v: (x.detach() * v).sum())(ZerosForNothing.apply(w), v).backward()
        return w.grad, v.grad

    same(program)


def test_hooks_of_a_leaf_without_a_gradient_do_not_run():
    def program(compile):
        w, v, seen = leaf(4), leaf(4, seed=1), []
        w.register_hook(seen.append)
        w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))

        def f(w, v):
            unused = w * v
            return (v * 2).sum() + unused.shape[0]

        compile(f)(w, v).backward()
        return w.grad, v.grad, seen

    same(program)


def test_a_write_to_what_is_saved_for_its_size_is_eagers_error():
    def program(compile):
        x = leaf(4, 4)

        def f(x):
            y = x * 2
            picked = y.gather(1, torch.tensor([[0, 1, 1, 3]] * 4))
            y[1:].tanh_()
            return picked

        try:
            compile(f)(x).sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error), x.grad
        return False, x.grad

    assert program(lambda f: f)[0]
    same(program)


@pytest.mark.parametrize("turn", ["squeeze_", "t_"])
def test_to_autograd_what_is_reshaped_in_place_is_written_to(turn):
    def program(compile):
        x = leaf(4, 3)

        def f(x):
            y = x * 2
            square = y * y
            getattr(y, turn)()
            return square

        try:
            compile(f)(x).sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error), x.grad
        return False, x.grad

    assert program(lambda f: f)[0]
    same(program)


def test_a_result_that_is_written_to_after_another_was_computed_from_it():
    def program(compile):
        x, w = leaf(4, 4).detach(), leaf(4, seed=1)

        def f(x, w):
            y = x * w
            ordered = y.sort(0).values
            y[0] = ordered[1]
            return y, ordered

        y, ordered = compile(f)(x, w)
        (y.sin().sum() + ordered.cos().sum()).backward()
        return y, ordered, w.grad

    same(program)


def test_a_gradient_of_some_tensors_leaves_the_rest_of_the_graph_to_others():
    def program(compile):
        x, r = leaf(4, 4), leaf(4, 4, seed=1)

        def f(x, r):
            y = x.sin() * 0.5
            (slope,) = torch.autograd.grad((r * y).sin().sum(), r)
            return y.exp(), slope.detach() + x

        first, second = compile(f)(x, r)
        (first.sum() + second.cos().sum()).backward()
        return first, second, x.grad

    same(program)


def test_a_graph_that_was_used_up_in_the_function_raises_for_some_gradients_too():
    def program(compile):
        w = leaf(4)

        def f(w):
            loss = w.exp().sum()
            loss.backward()
            return loss

        loss = compile(f)(w)
        try:
            return torch.autograd.grad(loss, [w], allow_unused=True)
        except RuntimeError as error:
            return "second time" in str(error), w.grad

    assert program(lambda f: f)[0] is True
    same(program)
