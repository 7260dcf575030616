"""Sizes for which nothing but a recording of their own will do: of ragged data each comes once, and most run eagerly."""

import pytest
import torch

import vitrine
from tests.python.support.segments import compiled

AT_ONCE = 8  # kRecordedAtOnce of core/capture/segment/segment.cpp


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


def sums(x, offsets):
    """No rule says what segment_reduce gives by offsets at other sizes."""
    return torch.segment_reduce(x * 2, "sum", offsets=offsets, axis=0) + 1


def given(n):
    return torch.randn(2 * n, 3), torch.arange(0, 2 * n + 1, 2)


def recorded():
    return [i for c in compiled() for i in c.instances if i.how == "recorded"]


def test_sizes_that_come_once_are_not_all_recorded():
    ours = vitrine.compile(sums)
    for n in range(3, 60):
        x, offsets = given(n)
        torch.testing.assert_close(ours(x, offsets), sums(x, offsets))
    assert 0 < len(recorded()) <= AT_ONCE


def test_sizes_that_come_again_are_recorded():
    ours = vitrine.compile(sums)
    for n in [*range(3, 40), 30, 30, 31, 31]:
        x, offsets = given(n)
        torch.testing.assert_close(ours(x, offsets), sums(x, offsets))
    assert [60, 31] in [i.values for i in recorded()] and [62, 32] in [i.values for i in recorded()]


def test_training_goes_on_where_sizes_run_eagerly():
    layer = torch.nn.Linear(3, 3)

    def step(x, offsets):
        layer.zero_grad()
        sums(layer(x), offsets).square().mean().backward()
        return layer.weight.grad.clone()

    ours = vitrine.compile(step)
    for n in range(3, 40):
        x, offsets = given(n)
        torch.testing.assert_close(ours(x, offsets), step(x, offsets))
