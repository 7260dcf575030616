"""Sizes that depend on data, on a GPU: one graph whose runs ask the device how many rows there are. Results, gradients and
random numbers are eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def masked(x):
    return (x[x > 0] * 2).sin(), x[:, x[0] > 0] + 1


def places(x):
    i = (x > 0).nonzero()
    return x[i[:, 0], i[:, 1]] * 2, torch.where(x > 0)[0].float().sum()


def unique(x):
    values, inverse, counts = torch.unique((x * 2).round(), return_inverse=True, return_counts=True)
    return values * 2, inverse + 1, counts.float().mean()


def experts(x):
    out, expert = torch.zeros_like(x), x.sum(-1).abs().long() % 3
    for e in range(3):
        rows = (expert == e).nonzero().squeeze(-1)
        out = out.index_add(0, rows, (x[rows] @ x.T @ x).relu() + e)
    return out


def normed(x):
    rows = x[x[:, 0] > 0]
    return F.softmax(F.layer_norm(rows, rows.shape[-1:]), -1).sum(0)


def dropped(x):
    rows = x[x[:, 0] > 0]
    return F.dropout(rows, 0.5, training=True), F.dropout(x, 0.5, training=True)


def of_rows(x):
    n = (x > 0).sum()
    return torch.arange(n.item(), device=x.device) * 2, x.repeat_interleave((x[:, 0] > 0).long() + 1, 0)


PROGRAMS = [masked, places, unique, experts, normed, dropped, of_rows]


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


@pytest.mark.parametrize("f", [masked, places, experts, normed], ids=lambda f: f.__name__)
def test_gradients(f):
    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(6):
        found = []
        for each in (f, compiled):
            x = inputs(7, seed, grad=True)
            results = each(x)
            sum(r.sum() for r in (results if isinstance(results, tuple) else (results,)) if r.requires_grad).backward()
            found.append(x.grad)
        same(found[1], found[0])


def test_ragged_parts():
    def parts(x, n):
        return [part.softmax(0) for part in x.split(n.tolist())]

    compiled = vitrine.compile(parts, fullgraph=True)
    for n in ([1, 6], [3, 4], [0, 7], [7, 0], [5, 2]):
        same(compiled(inputs(7, 0), torch.tensor(n, device="cuda")), parts(inputs(7, 0), torch.tensor(n, device="cuda")))
