"""Results of a compiled graph that are views of inputs or of each other: as eager's, for autograd and for writes."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine


def leaf(*sizes):
    return torch.linspace(-1, 2, torch.Size(sizes).numel()).reshape(sizes).requires_grad_()


def of_an_input(x):
    return x.view(-1), x[0], x * 2


def of_a_result(x):
    y = x * 2
    return y, y[0], y.t(), y.detach()


def of_no_result(x):
    y = (x * 2).t()
    return y[0], y[1:].unsqueeze(0)


def parts(x):
    return (x @ x).chunk(3, -1)


def in_another_order(x):
    y = x.sin()
    return y[1], y.exp(), y


def of_a_list_of_views(x):
    return (x * 3).unbind(0)


VIEWS = [of_an_input, of_a_result, of_no_result, parts, in_another_order, of_a_list_of_views]


def seen(results, x):
    """What a program can see of results without their values."""
    together = [x, *results]
    return [(t.requires_grad, t.is_leaf, [t._base is u for u in together],
             [t.untyped_storage().data_ptr() == u.untyped_storage().data_ptr() for u in together]) for t in results]


@pytest.mark.parametrize("program", VIEWS)
def test_views_are_views_of_the_same_tensors(program):
    compiled = vitrine.compile(program)
    explained = str(vitrine.explain(program)(leaf(3, 3)))
    assert "PyTorch's autograd" not in explained
    for _ in range(2):
        a, b = leaf(3, 3), leaf(3, 3)
        expected, found = program(a), compiled(b)
        torch.testing.assert_close(found, expected)
        assert seen(found, b) == seen(expected, a)
        for x, results in ((a, expected), (b, found)):
            loss = sum(r.flatten().dot(torch.arange(1.0, r.numel() + 1)) for r in results if r.requires_grad)
            loss.backward()
        torch.testing.assert_close(b.grad, a.grad)


@pytest.mark.parametrize("program", VIEWS)
@pytest.mark.parametrize("used", [0, 1])
def test_the_gradient_of_one_view_alone(program, used):
    a, b = leaf(3, 3), leaf(3, 3)
    program(a)[used].sum().backward()
    vitrine.compile(program)(b)[used].sum().backward()
    torch.testing.assert_close(b.grad, a.grad)


@pytest.mark.parametrize("program", [of_a_result, of_no_result, parts, in_another_order])
@pytest.mark.parametrize("written", [0, 1])
def test_a_write_to_one_shows_in_the_others(program, written):
    outcomes = []
    for f in (program, vitrine.compile(program)):
        x = leaf(3, 3)
        results = f(x)
        try:
            results[written].mul_(3)
            error = None
            torch.autograd.backward([r.sum() for r in results if r.requires_grad])
        except RuntimeError as e:
            error = str(e)[:60]
        outcomes.append((results, x.grad, error))
    torch.testing.assert_close(outcomes[1][0], outcomes[0][0])
    assert outcomes[1][2] == outcomes[0][2]
    torch.testing.assert_close(outcomes[1][1], outcomes[0][1])


def test_views_that_autograd_does_not_follow_are_pytorchs():
    def written_behind(x):
        y = x * 2
        v = y[0]
        y.add_(1)
        return y, v

    def without_gradients(x):
        with torch.no_grad():
            v = x.view(-1)
        return x * 2, v

    for program in (written_behind, without_gradients):
        a, b = leaf(3, 3), leaf(3, 3)
        expected, found = program(a), vitrine.compile(program)(b)
        torch.testing.assert_close(found, expected)
        assert [t.requires_grad for t in found] == [t.requires_grad for t in expected]
        assert [t.is_leaf for t in found] == [t.is_leaf for t in expected]


class Attention(nn.Module):
    """Hands out its keys and values, as a decoder's cache wants them."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.cache = nn.Linear(8, 24), nn.Linear(8, 8), None

    def forward(self, x):
        q, k, v = (t.view(*x.shape[:-1], 2, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        self.cache = (k, v)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)), k, v


def test_a_model_that_hands_out_views_trains_compiled():
    torch.manual_seed(0)
    eager, mine = Attention(), Attention()
    mine.load_state_dict(eager.state_dict())
    compiled = vitrine.compile(mine)
    for length in (5, 6, 7):
        x = torch.randn(2, length, 8)
        y, k, v = eager(x)
        (y.sum() + k.pow(2).mean()).backward()
        y2, k2, v2 = compiled(x)
        (y2.sum() + k2.pow(2).mean()).backward()
        torch.testing.assert_close((y2, k2, v2), (y, k, v))
        assert mine.cache[0] is k2 and mine.cache[1] is v2
    for p, q in zip(eager.parameters(), mine.parameters()):
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-4, atol=1e-5)
    assert "PyTorch's autograd" not in str(vitrine.explain(mine)(torch.randn(2, 5, 8)))


@pytest.mark.parametrize("shape", [(1, 3, 3), (2, 3, 3), (2, 2, 3, 3)], ids=str)
def test_a_write_to_a_view_of_a_product_is_differentiated(shape):
    """The product of stacked matrices is a view of which autograd is not told: what is written goes to it alone."""

    def f(x, y):
        t = x @ x
        v = t.unsqueeze(2)
        v.sub_(y.sum(), alpha=2)
        t[..., 0].mul_(y[0])
        return v, t, t.reshape(-1, 3)

    compiled, found = vitrine.compile(f), []
    for run in (f, compiled):
        x, y = leaf(*shape), leaf(4)
        results = run(x, y)
        found.append((results, torch.autograd.grad([r.sin().sum() for r in results], [x, y])))
    torch.testing.assert_close(found[1], found[0])


def test_parts_that_autograd_does_not_connect_are_written():
    def f(x, y):
        a, b = torch.unsafe_chunk(x * 2, 2)
        a.add_(y)
        return a, b, a[0]

    found = []
    for run in (f, vitrine.compile(f)):
        x, y = leaf(4, 3), leaf(3)
        results = run(x, y)
        found.append((results, torch.autograd.grad([r.sin().sum() for r in results], [x, y])))
    torch.testing.assert_close(found[1], found[0])
