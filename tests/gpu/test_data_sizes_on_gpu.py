"""Sizes that depend on data, on a GPU: one graph whose runs ask the device how many rows there are. Results, gradients and
random numbers are eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.shapes.test_data_sizes import experts, gradient, mask, nonzero, normed, unique, where

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def dropped(x):
    rows = x[x[:, 0] > 0]
    return F.dropout(rows, 0.5, training=True), F.dropout(x, 0.5, training=True)


def of_rows(x):
    n = (x > 0).sum()
    return torch.arange(n.item(), device=x.device) * 2, x.repeat_interleave((x[:, 0] > 0).long() + 1, 0)


PROGRAMS = [mask, nonzero, where, unique, experts, normed, dropped, of_rows]


def inputs(rows, seed, grad=False):
    draw = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(rows, 6, generator=draw, device="cuda").requires_grad_(grad)


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True, check_stride=True)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_graph_for_whatever_comes(f, mode):
    compiled = vitrine.compile(f, fullgraph=True, mode=mode)
    for rows in (7, 7, 7, 9, 300):
        for x in (inputs(rows, 1), inputs(rows, 2), torch.ones(rows, 6, device="cuda"), -torch.ones(rows, 6, device="cuda")):
            results = []
            for call in (f, compiled):
                torch.manual_seed(3)
                results.append((call(x), torch.rand(2, device="cuda")))
            same(results[1], results[0])


@pytest.mark.parametrize("f", [mask, nonzero, where, experts, normed], ids=lambda f: f.__name__)
def test_gradients(f):
    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(6):
        same(gradient(compiled, inputs(7, seed, grad=True)), gradient(f, inputs(7, seed, grad=True)))


def test_ragged_parts():
    def parts(x, n):
        return [part.softmax(0) for part in x.split(n.tolist())]

    compiled = vitrine.compile(parts, fullgraph=True)
    for n in ([1, 6], [3, 4], [0, 7], [7, 0], [5, 2]):
        same(compiled(inputs(7, 0), torch.tensor(n, device="cuda")), parts(inputs(7, 0), torch.tensor(n, device="cuda")))
