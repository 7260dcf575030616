"""Kernels of a program whose sizes change: one text serves them all, and none is compiled again and again."""

import glob
import os

import pytest
import torch
import torch.nn.functional as F
import vitrine

SIZES = [28, 59, 31, 33, 34, 35, 36, 47, 90, 64, 100, 17, 129, 255, 256, 257, 40, 19]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def rows(n, columns=24):
    return torch.randn(n, columns)


def softmax_and_sum(x):
    return torch.softmax(torch.relu(x * 2 + 1), -1).sum(0) * 3


def norm(x):
    return F.layer_norm(x.t(), (x.shape[0],)) * 1.5


def extremes_of_rows(x):
    return x.t().amax(1), x.t().argmin(1), (x.t() > 0).any(1), (x.t() * 1.01).prod(1)


def columns(x):
    return (x * x).sum(0), x.mean(0), x.amax(0)


def joined(x):
    return torch.cat([x, x.flip(0) * 2, torch.arange(x.shape[0]).unsqueeze(1).expand(-1, x.shape[1])])


def narrow(x):
    return (x.half() * 2).t().contiguous(), (x * 10).to(torch.uint8).t() + 1, (x.bfloat16() + 1).flatten()


def picked(x):
    order = torch.arange(x.shape[0] - 1, -1, -1)
    return x[order] * 2, x.t()[:, order] + 1


def shifted(x):
    return F.pad(x.t(), (2, 3)) * 2, x.t()[:, 1:] - x.t()[:, :-1], x.t()[:, ::2] * 3


def seen_so_far(x):
    n = x.shape[0]
    hidden = torch.ones(n, n).tril() == 0
    return torch.softmax((x @ x.t()).masked_fill(hidden, float("-inf")), -1)


def wide(x):
    return x.double().t() * 2, (x * 100).long().t().sum(1), torch.erf(x).flatten()


PROGRAMS = [softmax_and_sum, norm, extremes_of_rows, columns, joined, narrow, picked, shifted, seen_so_far, wide]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_two_texts_serve_all_sizes(program, tmp_path, monkeypatch):
    """One with the first size in it, one with sizes as arguments; few more where rows outgrow a tile or a turn."""
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    vitrine.reset()
    compiled, grown = vitrine.compile(program, dynamic=True), []
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(compiled(x), program(x))
        grown.append(len(glob.glob(os.path.join(tmp_path, "kernels", "*.so"))))
    assert grown[-1] > 0
    assert grown[-1] <= 2 * grown[0] + 1, grown


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_every_length_around_a_vector(program):
    vitrine.reset()
    compiled = vitrine.compile(program, dynamic=True)
    for n in [33, 7, *range(2, 70), 2049, 5000]:
        x = rows(n, 3 if n > 100 else 24)
        if n < 1000 or program is not seen_so_far:
            torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("program", [softmax_and_sum, norm, columns, seen_so_far], ids=lambda f: f.__name__)
def test_gradients(program):
    vitrine.reset()
    compiled = vitrine.compile(program, dynamic=True)
    for n in [20, 33, *range(8, 50, 3), 65, 300]:  # the norm of fewer is badly conditioned
        x = rows(n).requires_grad_()
        y = x.detach().clone().requires_grad_()
        first = program(x)
        sum(r.square().sum() for r in (first if isinstance(first, tuple) else (first,))).backward()
        second = compiled(y)
        sum(r.square().sum() for r in (second if isinstance(second, tuple) else (second,))).backward()
        torch.testing.assert_close(y.grad, x.grad, rtol=1e-4, atol=1e-4)
