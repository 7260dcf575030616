"""Inputs that are parts of larger tensors, whose strides change with the sizes and follow from none that the program has: one
program for all, and eager's results, views, writes and errors."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine
from tests.python.support.segments import compiled, made_anew

SIZES = (9, 5, 12, 7, 31, 6, 18, 8, 40, 11)


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


def rows(n):
    return torch.randn(4, n + 3)


PARTS = {
    "without the last": lambda n: rows(n)[:, :-1],
    "without the first": lambda n: rows(n)[:, 1:],
    "the middle": lambda n: rows(n)[1:3, 1:-1],
    "the end": lambda n: rows(n)[:, -n:],
    "columns": lambda n: torch.randn(n + 2, 5).t()[:, 1:],
    "every second": lambda n: rows(2 * n)[:, ::2],
    "every second row": lambda n: rows(n)[::2],
    "heads": lambda n: torch.randn(2, n, 3, 6)[:, :, 1],
    "channels last": lambda n: torch.randn(2, 3, n, n + 1).to(memory_format=torch.channels_last)[:, :, 1:],
}
PROGRAMS = {
    "sums": lambda x: (x.sin() * 2).sum(-1),
    "as it lies": lambda x: x * 2 + 1,
    "softmax": lambda x: x.softmax(-1) + x.flip(0),
    "product": lambda x: x.flatten(1) @ x.flatten(1).mT,
    "rows joined": lambda x: torch.cat([x, x[:1] * 2]).reshape(-1) + 1,
    "part of the part": lambda x: x[:, 1:] - x[:, :-1],
    "running sums": lambda x: x.cumsum(-1) - x.mean(0),
}


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, check_stride=True)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("program", PROGRAMS)
@torch.no_grad()
def test_one_program_for_parts_of_all_sizes(program, part):
    f, make = PROGRAMS[program], PARTS[part]
    ours = vitrine.compile(f, fullgraph=True)
    for n in SIZES:
        x = make(n)
        same(ours(x), f(x))
    assert not made_anew() and len(compiled()) <= 3


@pytest.mark.parametrize("part", PARTS)
def test_gradients_reach_the_whole(part):
    def f(x, w):
        return (x * w.sum() + x.cumsum(-1)).square().mean()

    ours = vitrine.compile(f, fullgraph=True)
    for n in SIZES:
        w = torch.randn(3, requires_grad=True)
        x = PARTS[part](n).requires_grad_()
        same(torch.autograd.grad(ours(x, w), [x, w]), torch.autograd.grad(f(x, w), [x, w]))


@pytest.mark.parametrize("whole", [False, True], ids=["model", "step"])
def test_tokens_and_the_tokens_behind_them(whole):
    """Both are parts of one tensor."""
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 20))

    def loss(tokens, wanted):
        return F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())

    def step(tokens, wanted):
        model.zero_grad()
        loss(tokens, wanted).backward()
        return [p.grad.clone() for p in model.parameters()]

    ours = vitrine.compile(step if whole else loss, fullgraph=not whole)
    for n in SIZES:
        t = torch.randint(20, (3, n))
        expected = step(t[:, :-1], t[:, 1:])
        if not whole:
            model.zero_grad()
            ours(t[:, :-1], t[:, 1:]).backward()
        same(ours(t[:, :-1], t[:, 1:]) if whole else [p.grad for p in model.parameters()], expected)
    assert not made_anew()


@torch.no_grad()
def test_what_is_written_to_a_part_is_written_once():
    def f(x, y):
        x.mul_(2).add_(y.sum())
        y[1] = x[0, : y.shape[1]]
        return x.sum(), y + x[: y.shape[0], : y.shape[1]]

    ours = vitrine.compile(f)
    for n in SIZES:
        whole = [torch.randn(4, 2 * n + 3)] * 2
        whole[1] = whole[0].clone()
        for apart in (True, False):
            parts = [(t[:, :n], t[:, n + 2 : -1] if apart else t[:, 2 : n + 1]) for t in whole]
            same(ours(*parts[0]), f(*parts[1]))
            same(*whole)


@torch.no_grad()
def test_views_of_parts_are_parts_of_the_whole():
    def f(x):
        return x[:, 1:], (x * 2).sum(), x.t(), x.unsqueeze(0)

    ours = vitrine.compile(f)
    for n in SIZES:
        for begin in (0, 1, 2):
            whole = torch.randn(3, n + 3)
            found, expected = ours(whole[:, begin:-1]), f(whole[:, begin:-1])
            same(found, expected)
            for a, b in zip(found, expected, strict=True):
                assert a.storage_offset() == b.storage_offset()
                assert a.numel() == 1 or a.data_ptr() == b.data_ptr()


@torch.no_grad()
def test_strides_that_the_program_asks_for_are_those_of_the_call():
    def f(x):
        return x * x.stride(0), x.stride(), x.is_contiguous(), (x + 1).stride()

    ours = vitrine.compile(f)
    for n in SIZES:
        for begin in (0, 1):
            x = torch.randn(3, n + 3)[:, begin:-1]
            found, expected = ours(x), f(x)
            same(found[0], expected[0])
            assert found[1:] == expected[1:]


@torch.no_grad()
def test_where_a_part_begins_is_asked_of_each_call():
    def f(x):
        return x + x.storage_offset(), x.storage_offset()

    ours = vitrine.compile(f)
    for n in (5, 5, 5, 7, 7, 9):
        for begin in (0, 2, 1):
            x = torch.randn(3, n + 3)[:, begin : begin + n]
            assert ours(x)[1] == f(x)[1] == begin
            same(ours(x), f(x))


@torch.no_grad()
def test_places_of_the_whole_memory_are_those_of_each_call():
    """Where an input begins is asked by no guard."""
    reads = lambda x: x.as_strided((1, 2), (2, 1), 0) * 2  # noqa: E731
    writes = lambda x: (x.as_strided((2,), (1,), 1).mul_(2), x + 1)  # noqa: E731
    for f in (reads, writes, lambda x: reads(x[1:])):
        ours = vitrine.compile(f)
        for begin in (0, 3, 1):
            memory = torch.arange(12.0)
            copy = memory.clone()
            same(ours(memory[begin : begin + 6]), f(copy[begin : begin + 6]))
            same(memory, copy)


@torch.no_grad()
def test_windows_that_overlap_are_no_parts():
    def f(x):
        return x * 2, x.sum(-1)

    ours = vitrine.compile(f)
    for n in SIZES:
        memory = torch.randn(8 * n)
        for stride in (n + 2, n, 2, n // 2, n + 5):
            x = memory.as_strided((4, n), (stride, 1))
            same(ours(x), f(x))


@torch.no_grad()
def test_errors_of_parts_are_eagers():
    def f(x, y):
        return x + y

    ours = vitrine.compile(f)
    for n in SIZES:
        x, y = torch.randn(4, n + 1)[:, 1:], torch.randn(4, n + n % 2)
        if n % 2 == 0:
            same(ours(x, y), f(x, y))
            continue
        with pytest.raises(RuntimeError, match="must match the size"):
            ours(x, y)
