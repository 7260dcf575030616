"""Attention that a program writes out: the operator that it becomes, its values and gradients, and what stays as it is."""

import math

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded

INFINITY = float("inf")
LENGTH, WIDTH = 72, 40
HIDDEN = torch.arange(LENGTH)[None, :] > torch.tensor([LENGTH, 50, 8])[:, None]  # per example
HIDDEN_ALL = HIDDEN | torch.tensor([[False], [True], [False]])  # an example whose rows see nothing


def scores(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))


def plain(q, k, v):
    return scores(q, k).softmax(-1) @ v


def scaled_query(q, k, v):
    return torch.softmax(torch.matmul(q * 0.3, k.transpose(2, 3)), dim=-1).matmul(v)


def by_einsum(q, k, v):
    weights = torch.einsum("bhqd,bhkd->bhqk", q, k).mul(0.2).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def many_matrices(q, k, v):
    q, k, v = (x.flatten(0, 1) for x in (q, k, v))
    return torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.1, dim=2), v)


def one_head(q, k, v):
    return (q[0, 0] @ k[0, 0].t() * 0.1).softmax(-1) @ v[0, 0]


def triangle(q, k, v):
    future = torch.ones(q.size(2), k.size(2), dtype=torch.bool).triu(1)
    return scores(q, k).masked_fill(future, -INFINITY).softmax(-1) @ v


def added_triangle(q, k, v):
    return (scores(q, k) + torch.full((q.size(2), k.size(2)), -INFINITY, dtype=q.dtype).triu(1)).softmax(-1) @ v


def filled_in_place(q, k, v):
    s = q @ k.transpose(-1, -2)
    s *= 0.25
    s.masked_fill_(HIDDEN[:, None, None], -1e9 if s.dtype != torch.float16 else -65504)
    return s.softmax(-1) @ v


def least_number(q, k, v):
    s = scores(q, k)
    return s.masked_fill(HIDDEN_ALL[:, None, None], torch.finfo(s.dtype).min).softmax(-1) @ v


def infinite(q, k, v):
    return scores(q, k).masked_fill(HIDDEN[:, None, None], -INFINITY).softmax(-1) @ v


def sees_nothing(q, k, v):
    return scores(q, k).masked_fill(HIDDEN_ALL[:, None, None], -INFINITY).softmax(-1) @ v


def by_where(q, k, v):
    return torch.where(HIDDEN[:, None, None], -INFINITY, scores(q, k)).softmax(-1) @ v


def added_numbers(q, k, v):
    return (scores(q, k) + (HIDDEN_ALL[:, None, None] * -3.0).to(q.dtype)).softmax(-1) @ v


def two_masks(q, k, v):
    bias = -(torch.arange(q.size(2))[:, None] - torch.arange(k.size(2))).abs().to(q.dtype) * 0.5
    return (scores(q, k) + bias + torch.zeros(LENGTH, dtype=q.dtype).masked_fill(HIDDEN, -INFINITY)[:, None, None]).softmax(-1) @ v


def subtracted_numbers(q, k, v):
    distance = (torch.arange(q.size(2))[:, None] - torch.arange(k.size(2))).abs()
    return (scores(q, k) - distance.to(q.dtype) * 0.5).masked_fill(HIDDEN_ALL[:, None, None], -INFINITY).softmax(-1) @ v


def bias_without_a_meaning_where_it_is_hidden(q, k, v):
    """The logarithm of a distance, which what is to come has none of."""
    distance = torch.arange(q.size(2))[:, None] - torch.arange(k.size(2))
    bias = torch.log(distance + 1.0).to(q.dtype)
    return (scores(q, k) + bias).masked_fill(distance < 0, -INFINITY).softmax(-1) @ v


def subtracted_infinity(q, k, v):
    return (scores(q, k) - torch.zeros(LENGTH, dtype=q.dtype).masked_fill(HIDDEN_ALL, INFINITY)[:, None, None]).softmax(-1) @ v


def wide_softmax(q, k, v):
    return torch.softmax(scores(q, k), dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).to(q.dtype) @ v


def from_a_layer(q, k, v):
    """Heads beside each other, as a linear layer leaves them."""
    b, h, t, d = q.shape
    q, k, v = (x.transpose(1, 2).reshape(b, t, h * d).view(b, t, h, d).transpose(1, 2) for x in (q, k, v))
    return plain(q, k, v).transpose(1, 2).reshape(b, t, h * d)


FUSED = [plain, scaled_query, by_einsum, many_matrices, one_head, triangle, added_triangle, filled_in_place, least_number]
FUSED += [infinite, sees_nothing, by_where, added_numbers, two_masks, subtracted_numbers, bias_without_a_meaning_where_it_is_hidden, subtracted_infinity, wide_softmax, from_a_layer]


def keeps_weights(q, k, v):
    weights = scores(q, k).softmax(-1)
    return weights @ v, weights


def looks_at_scores(q, k, v):
    s = scores(q, k)
    return s.softmax(-1) @ v, s.amax(-1)


def other_dimension(q, k, v):
    return scores(q, k).softmax(-2) @ v


def scaled_mask(q, k, v):
    return ((q @ k.transpose(-1, -2) + HIDDEN[:, None, None] * -3.0) * 0.2).softmax(-1) @ v


def small_fill(q, k, v):
    return scores(q, k).masked_fill(HIDDEN[:, None, None], -2.0).softmax(-1) @ v


def drops_out(q, k, v):
    return F.dropout(scores(q, k).softmax(-1), 0.3) @ v


def rounded(q, k, v):
    return scores(q, k).half().softmax(-1).to(v.dtype) @ v


WHOLE = [keeps_weights, looks_at_scores, other_dimension, scaled_mask, small_fill, drops_out, rounded]
# Without a mask that hides whole rows there is no NaN, which in eager's backward reaches everything.
DERIVED = [plain, scaled_query, by_einsum, many_matrices, one_head, triangle, added_triangle, filled_in_place, least_number, from_a_layer]


def inputs(dtype=torch.float32, length=LENGTH, **more):
    torch.manual_seed(0)
    return [torch.randn(3, 4, length, WIDTH).to(dtype).requires_grad_(**more) if more else torch.randn(3, 4, length, WIDTH).to(dtype) for _ in range(3)]

CLOSE = {torch.float64: {"atol": 1e-12, "rtol": 1e-9}, torch.float32: {"atol": 1e-5, "rtol": 1e-4}}
# Eager rounds scores and weights to half precision, PyTorch's attention does not.
NEAR = CLOSE | {torch.bfloat16: {"atol": 3e-2, "rtol": 3e-2}}


@pytest.fixture(autouse=True)
def anew():
    vitrine.reset()


def run(function, args, folder):
    """What the compiled function gives, and how many of PyTorch's attentions stand in its graphs, in whatever type they are
    computed in the end."""
    with recorded(folder) as session:
        result = vitrine.compile(function)(*args)
    early = {g["id"] for g in session.rows("graph") if g["stage"] in ("aten", "decomposed")}
    names = {n["name"] for n in session.rows("node", kind="op") if n["graph"] in early and "scaled_dot_product" in n["op"]}
    return result, len(names)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("function", FUSED, ids=lambda f: f.__name__)
def test_values(function, dtype, tmp_path):
    args = inputs(dtype)
    eager, (compiled, attentions) = function(*args), run(function, args, tmp_path)
    assert attentions == 1
    exact = function(*(a.double() for a in args))
    assert compiled.stride() == eager.stride() and compiled.dtype == eager.dtype
    assert torch.equal(compiled.isnan(), eager.isnan())
    if dtype in CLOSE:
        torch.testing.assert_close(compiled, eager, equal_nan=True, **CLOSE[dtype])
    error, eagers = ((x.double() - exact).nan_to_num().abs().max() for x in (compiled, eager))
    assert error <= 2 * eagers + 1e-7


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_what_is_something_else_stays(function, tmp_path):
    args = inputs()
    torch.manual_seed(1)
    eager = function(*args)
    torch.manual_seed(1)
    compiled, attentions = run(function, args, tmp_path)
    assert attentions == 0
    torch.testing.assert_close(compiled, eager, atol=1e-3 if function is rounded else 1e-5, rtol=1e-4)


def test_short_rows_stay(tmp_path):
    args = inputs(length=24)
    compiled, attentions = run(plain, args, tmp_path)
    assert attentions == 0
    torch.testing.assert_close(compiled, plain(*args))


def gradients(function, args):
    torch.manual_seed(2)
    result = function(*args)
    return [result, *torch.autograd.grad(result, args, torch.randn(result.shape).to(result.dtype))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("function", DERIVED, ids=lambda f: f.__name__)
def test_gradients(function, dtype, tmp_path):
    args = inputs(dtype, requires_grad=True)
    with recorded(tmp_path) as session:
        compiled = gradients(vitrine.compile(function), args)
    operators = {n["op"] for n in session.rows("node")}
    assert "aten._scaled_dot_product_flash_attention_for_cpu_backward.default" in operators
    eager = gradients(function, args)
    exact = gradients(function, [a.detach().double().requires_grad_() for a in args])
    for one, other, true in zip(compiled, eager, exact):
        torch.testing.assert_close(one, other, **NEAR[dtype])
        error, eagers = ((x.double() - true).abs().max() for x in (one, other))
        assert error <= 2 * eagers + 1e-6


@pytest.mark.parametrize("follows", ["q", "k", "v", "qk", "kv"])
def test_gradients_of_some(follows):
    args = [t.requires_grad_(name in follows) for name, t in zip("qkv", inputs())]
    compiled = [t.detach().clone().requires_grad_(t.requires_grad) for t in args]
    plain(*args).square().sum().backward()
    vitrine.compile(plain)(*compiled).square().sum().backward()
    for mine, eager in zip(compiled, args):
        assert (mine.grad is None) == (eager.grad is None)
        if eager.grad is not None:
            torch.testing.assert_close(mine.grad, eager.grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("function", [infinite, sees_nothing, two_masks, subtracted_infinity])
def test_rows_that_may_see_nothing_stay_where_gradients_are_asked_for(function, tmp_path):
    args = inputs(requires_grad=True)
    with recorded(tmp_path) as session:
        compiled = gradients(vitrine.compile(function), args)
    assert not any("scaled_dot_product" in (n["op"] or "") for n in session.rows("node"))
    for one, other in zip(compiled, gradients(function, args)):
        torch.testing.assert_close(one, other, equal_nan=True, **CLOSE[torch.float32])


def test_a_mask_that_has_a_gradient_stays(tmp_path):
    bias = torch.randn(4, LENGTH, LENGTH, requires_grad=True)

    def biased(q, k, v, bias):
        return (scores(q, k) + bias).softmax(-1) @ v

    args = [*inputs(requires_grad=True), bias]
    for one, other in zip(gradients(vitrine.compile(biased), args), gradients(biased, args)):
        torch.testing.assert_close(one, other, **CLOSE[torch.float32])


def test_any_length():
    compiled = vitrine.compile(triangle, dynamic=True)
    for length in (64, 65, 100, 130, 257, 300):
        args = inputs(length=length)
        torch.testing.assert_close(compiled(*args), triangle(*args))


@pytest.mark.parametrize("gradients_asked_for", [False, True])
def test_it_can_be_switched_off(gradients_asked_for, tmp_path):
    args = inputs(requires_grad=True) if gradients_asked_for else inputs()
    with recorded(tmp_path) as session:
        vitrine.compile(plain, options={"disabled_passes": ["fuse_attention"]})(*args)
    assert not any("scaled_dot_product" in (n["op"] or "") for n in session.rows("node"))
