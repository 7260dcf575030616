"""Operators without a gradient rule of ours get PyTorch's own backward, each for itself: the rest of the graph keeps our rules."""

import pytest
import torch
from tests.python.autograd.rules.test_own_gradients import sentence
from tests.python.autograd.steps.test_training import agree, leaf
from torch import linalg
from torch.nn import functional as F

import vitrine

CHANNELS_LAST = torch.randn(2, 4, 5, 5).to(memory_format=torch.channels_last).requires_grad_()
PAIRS, ORDER, WINDOW = torch.tensor([[0, 1], [2, 3]]), torch.arange(12.0).view(4, 3), torch.ones(16)

BORROWED = {
    "aten._cdist_forward.default": (lambda x, y: torch.cdist(x * 2, y).exp(), [leaf(4, 3), leaf(5, 3, seed=1)]),
    "aten.linalg_inv_ex.default": (lambda x: linalg.inv(x * 2).exp(), [leaf(4, 4)]),
    "aten._linalg_solve_ex.default": (lambda x, y: linalg.solve(x * 2, y).exp(), [leaf(4, 4), leaf(4, 2, seed=1)]),
    "aten.grid_sampler_2d.default": (lambda x, at: F.grid_sample(x * 2, at, align_corners=False).exp(),
                                     [leaf(1, 2, 4, 4), leaf(1, 3, 3, 2, seed=1)]),
    "aten._fft_r2c.default": (lambda x: torch.stft(x * 2, 16, return_complex=True, window=WINDOW).abs().exp(), [leaf(64)]),
    "aten._embedding_bag.default": (lambda w: F.embedding_bag(PAIRS, w * 2).exp(), [leaf(4, 3)]),
    "aten.renorm.default": (lambda x: (x * 2).renorm(2, 0, 1.0).exp(), [leaf(5, 4)]),
    "twice": (lambda x: linalg.solve(x * 2, x @ x).sin() + torch.cdist(x, x + 1).exp(), [leaf(3, 3)]),
}


@pytest.mark.parametrize("name", BORROWED)
def test_one_operator_is_borrowed_and_the_rest_is_ours(name):
    function, inputs = BORROWED[name]
    said = sentence(function, *inputs)
    assert said.startswith("the derivative is written by our own rules, but for ")
    assert name in said or name == "twice"
    assert "aten.mul" not in said and "aten.exp" not in said
    agree(function, *inputs, rtol=1e-3, atol=1e-4)


def test_a_result_that_backward_reads_and_that_is_written_raises_as_in_eager():
    def f(x):
        y = linalg.inv(x * 2)
        y.mul_(2)
        return y

    found = []
    for function in (f, vitrine.compile(f)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
            function(leaf(3, 3)).sum().backward()
        found.append(str(raised.value))
    assert found[0] == found[1]


def test_zeros_without_memory_are_not_read():
    """PyTorch's gradient of sgn is a tensor of zeros that has no memory."""
    f = lambda x: (torch.sgn(x), torch.sgn(x) * 2 + x)  # noqa: E731
    x = torch.randn(5, 7, requires_grad=True)
    expected, found = (torch.autograd.grad([r.sum() for r in g(x)], x)[0] for g in (f, vitrine.compile(f)))
    torch.testing.assert_close(found, expected)


def test_a_tangent_without_memory_is_not_read():
    x = torch.randn(5, requires_grad=True)
    for f in (lambda x: x.exp() * 2, lambda x: (x.exp() * 2, x.sin())[0], lambda x: [x.exp() * 2, x.sin()]):
        value = vitrine.compile(f)(x)
        y = value[0] if isinstance(value, list) else value
        assert torch.equal(torch.autograd.grad(torch.sgn(y).sum(), x)[0], torch.zeros(5))


def test_rotations_as_complex_numbers():
    """Their gradient conjugates: a backward pass that runs through PyTorch is recorded all the same."""
    turns = torch.polar(torch.ones(5, 3), torch.randn(5, 3))

    def rotated(x):
        pairs = torch.view_as_complex((x * 2).reshape(2, 5, 3, 2))
        return torch.view_as_real(pairs * turns).flatten(2).sin()

    said = vitrine.explain(rotated)(leaf(2, 5, 6))
    assert "PyTorch's autograd" not in str(said)
    agree(rotated, leaf(2, 5, 6))


@torch.library.custom_op("vitrine_tests::times", mutates_args=())
def times(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() * w.detach().numpy())


@times.register_fake
def _(x, w):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def times_backward(ctx, gradient):
    x, w = ctx.saved_tensors
    return times(gradient, w), times(gradient, x)


times.register_autograd(times_backward, setup_context=keep)


def test_the_registered_backward_of_a_librarys_operator():
    """It is recorded like PyTorch's own; what the operator only reads is not taken for written."""
    f = lambda x, w: times(x.exp(), w).sin() * w  # noqa: E731
    said = sentence(f, leaf(4, 3), leaf(4, 3, seed=1))
    assert said.startswith("the derivative is written by our own rules, but for vitrine_tests.times.default")
    agree(f, leaf(4, 3), leaf(4, 3, seed=1))


def test_a_librarys_operator_without_gradients():
    def f(x, w):
        with torch.no_grad():
            y = times(x.exp(), w)
        return y * x

    agree(f, leaf(4, 3), leaf(4, 3, seed=1))


def test_what_a_librarys_operator_reads_is_not_counted_as_written():
    f = vitrine.compile(lambda x: times(x, x) + 1)
    x = torch.ones(3)
    with torch.no_grad():
        for _ in range(2):
            f(x)
    assert x._version == 0


def test_a_weight_that_a_librarys_operator_reads_changes_before_backward():
    found = []
    f = lambda x, w: times(x * 2, w).sum()  # noqa: E731
    for function in (f, vitrine.compile(f)):
        x, w = leaf(4, 3), torch.ones(4, 3)
        loss = function(x, w)
        w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
            loss.backward()
        found.append(str(raised.value))
    assert found[0] == found[1]
