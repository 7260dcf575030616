"""Attention that a program writes out, trained on a GPU: values, gradients and memory."""

import pytest
import torch
import vitrine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0), reason="PyTorch has another attention for this GPU"),
]
INFINITY = float("inf")
LENGTH = 512


def places(q):
    return torch.arange(q.shape[-2], device=q.device)


def scores(q, k):
    return q @ k.transpose(-1, -2) * 0.125


def plain(q, k, v, _):
    return scores(q, k).softmax(-1) @ v


def causal(q, k, v, _):
    return scores(q, k).masked_fill(places(q)[:, None] < places(q), -INFINITY).softmax(-1) @ v


def window(q, k, v, _):
    return scores(q, k).masked_fill((places(q)[:, None] - places(q)).abs() > 64, -INFINITY).softmax(-1) @ v


def distance(q, k, v, slopes):
    s = scores(q, k) - slopes * (places(q)[:, None] - places(q)).abs()
    return torch.softmax(s.masked_fill(places(q)[:, None] < places(q), -INFINITY).float(), -1).to(q.dtype) @ v


def padded(q, k, v, lengths):
    """Each example has places of its own that are not seen."""
    return scores(q, k).masked_fill(places(q) >= lengths[:, None, None, None], -INFINITY).softmax(-1) @ v


def padded_by_a_finite_number(q, k, v, lengths):
    s = scores(q, k)
    return s.masked_fill(places(q) >= lengths[:, None, None, None], torch.finfo(s.dtype).min).softmax(-1) @ v


def of_numbers(q, k, v, bias):
    return (scores(q, k) + bias).softmax(-1) @ v


def of_matrices(q, k, v, _):
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.125, -1), v)


def logarithm(q, k, v, _):
    """A bias that means nothing where the mask hides it."""
    apart = places(q)[:, None] - places(q)
    return (scores(q, k) - torch.log(apart + 1.0).to(q.dtype)).masked_fill(apart < 0, -INFINITY).softmax(-1) @ v


def slopes(dtype):
    return torch.rand(16, 1, 1, device="cuda").to(dtype)


def lengths(dtype):
    return torch.tensor([LENGTH, 40], device="cuda")


def sees_nothing(dtype):
    return torch.tensor([LENGTH, 0], device="cuda")


def numbers(dtype):
    return torch.randn(16, LENGTH, LENGTH, device="cuda").to(dtype)


def numbers_that_hide_rows(dtype):
    hidden = torch.zeros(16, LENGTH, 1, device="cuda")
    hidden[3, 5] = hidden[7] = -INFINITY
    return numbers(dtype) + hidden.to(dtype)


CASES = [
    (plain, slopes), (causal, slopes), (window, slopes), (distance, slopes), (logarithm, slopes), (padded, lengths), (padded, sees_nothing),
    (padded_by_a_finite_number, lengths), (of_numbers, numbers), (of_numbers, numbers_that_hide_rows), (of_matrices, slopes),
]  # fmt: skip


def factors(dtype, lay=lambda t: t):
    torch.manual_seed(0)
    return [lay(torch.randn(2, 16, LENGTH, 64, device="cuda").to(dtype)).requires_grad_() for _ in range(3)]


def results(function, factors, extra):
    torch.manual_seed(1)
    out = function(*factors, extra)
    tangent = torch.randn(out.shape, device="cuda").to(out.dtype)
    return [out.detach(), *torch.autograd.grad(out, factors, tangent)]


def check(function, args, extra):
    ours, eager = (results(f, args, extra) for f in (vitrine.compile(function), function))
    exact = results(function, [t.detach().double().requires_grad_() for t in args], extra.double() if extra.is_floating_point() else extra)
    assert ours[0].stride() == eager[0].stride()
    for a, b, true in zip(ours, eager, exact, strict=True):
        assert torch.equal(a.isnan(), b.isnan())
        (error, eagers), most = ((x.double() - true).nan_to_num().abs().max().item() for x in (a, b)), true.nan_to_num().abs().max().item()
        assert error <= 2 * eagers + 1e-6 * most, f"{error}, eager {eagers}"


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("function, extra", CASES, ids=[f"{f.__name__}-{e.__name__}" for f, e in CASES])
def test_values_and_gradients_are_eager_s(function, extra, dtype):
    check(function, factors(dtype), extra(dtype))


def test_factors_whose_heads_lie_beside_each_other():
    check(causal, factors(torch.float16, lambda t: t.transpose(1, 2).contiguous().transpose(1, 2).detach()), slopes(torch.float16))


def test_a_step_holds_no_matrix_of_scores():
    args, extra = factors(torch.float16), slopes(torch.float16)
    compiled = vitrine.compile(distance)
    for _ in range(2):
        results(compiled, args, extra)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    results(compiled, args, extra)
    matrix = 2 * 16 * LENGTH * LENGTH * 2
    assert torch.cuda.max_memory_allocated() - before < 2 * matrix
