"""Sizes that depend on data in programs that write to what they are given, and in whole training steps: one graph, and what is
written is written once, also where a run finds that the graph was captured for something else."""

import copy

import pytest
import torch
from torch import nn

import vitrine


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True, check_stride=True)


def versions(tensors):
    """Apart from the tests: a function that names this attribute, or runs below one that does, is compiled with breaks."""
    return [t._version for t in tensors]


def counts_rows(x, total):
    rows = x[x[:, 0] > 0]
    total.add_(rows.sum(0))
    x.mul_(0.5)
    return rows * 2, rows.shape[0]


def writes_first(x, total):
    x.add_(0.25)
    i = (x > 0).nonzero()
    total.add_(x[i[:, 0], i[:, 1]].sum())
    return i


def between(x, total):
    a = torch.masked_select(x, x > 0)
    total.add_(a.sum())
    b = x[total > 0.5] if total.shape[0] == x.shape[0] else x[:, total > 0]
    total.sub_(b.mean().nan_to_num())
    return a, b.exp()


def fills(x, total):
    x[x < 0] = 0
    values, counts = torch.unique((x * 2).round(), return_counts=True)
    total.copy_(counts.max().expand(total.shape))
    return values


def by_int(x, total):
    n = (x[:, 0] > 0).sum().item()
    total[:n].add_(x.sum())
    return x[:n] * n


def of_a_view(x, total):
    half = x[: x.shape[0] // 2]
    half.neg_()
    rows = half[half[:, 0] > 0]
    total.add_(rows.sum(0))
    return rows


def of_all_rows_but_one(x, total):
    rest = x[1:]
    doubled = rest * 2
    x.mul_(0.5)
    zeros = torch.zeros(rest.shape)
    values = torch.unique_consecutive(rest.reshape(-1))
    total.add_(zeros.sum() + 1)
    return doubled + 1, values


WRITING = [counts_rows, writes_first, between, fills, by_int, of_a_view, of_all_rows_but_one]


def inputs(rows, seed):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 6, generator=draw), torch.randn(6, generator=draw)


@pytest.mark.parametrize("f", WRITING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sizes", [(7,) * 8, (7, 9, 4, 7, 2, 12)], ids=["one size", "sizes"])
def test_what_is_written_is_eagers(f, sizes):
    assert vitrine.explain(f)(*inputs(7, 0)).graph_break_count == 0
    compiled = vitrine.compile(f, fullgraph=True)
    for seed, rows in enumerate(sizes):
        ours, eagers = inputs(rows, seed), inputs(rows, seed)
        same(compiled(*ours), f(*eagers))
        same(ours, eagers)
        assert versions(ours) == versions(eagers)


@pytest.mark.parametrize("late", [False, True])
def test_a_run_that_takes_another_way_writes_once(late):
    def f(x, seen, held):
        x.add_(1)
        rows = x[x[:, 0] > 0]
        if rows.shape[0] == 0:
            seen.append("none")
            return x.sum()
        if rows.shape[0] > 3:
            rows = rows[:3]
        if late:
            held.mul_(rows.shape[0])
        seen.append(rows.shape[0])
        return rows.squeeze() * 2

    compiled = vitrine.compile(f)
    seen, held = ([], []), (torch.ones(3), torch.ones(3))
    for count in (5, 2, 0, 7, 1, 0, 3, 6):
        xs = [torch.full((7, 6), -2.0).index_fill(0, torch.arange(count), 0.5) for _ in range(2)]
        found, expected = (each(x, s, h) for each, x, s, h in zip((compiled, f), xs, seen, held))
        same(found, expected)
        same(xs[0], xs[1])
        same(held[0], held[1])
        assert versions(xs) == [1, 1]
        assert versions(held[:1]) == versions(held[1:])
    assert seen[0] == seen[1]


def test_an_error_behind_a_write_is_eagers():
    def f(x, y, total):
        x.add_(1)
        rows = x[x[:, 0] > 0]
        total.add_(rows.sum())
        return rows + y

    compiled = vitrine.compile(f)
    for y in (torch.ones(3, 6), torch.ones(5, 6), torch.ones(3, 6)):
        ours, eagers = (((torch.arange(5.0) - 2)[:, None].repeat(1, 6) - 1, torch.zeros(1)) for _ in range(2))
        outcomes = []
        for call, (x, total) in ((compiled, ours), (f, eagers)):
            try:
                outcomes.append(call(x, y, total).sum().item())
            except RuntimeError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        same(ours, eagers)


class Experts(nn.Module):
    """Each row goes to one of three."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)) for _ in range(3))

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        weight, chosen = scores.max(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows = (chosen == e).nonzero().squeeze(-1)
            out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return out.sum(-1)


class Masked(nn.Module):
    """The loss is of the rows that count."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)[x[:, 0] > -0.5].squeeze(-1)


class Selected(nn.Module):
    """What is made and what is wanted are selected by one mask."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 5)

    def forward(self, x):
        keep = x[:, 0] > -0.5
        wanted = x[:, 1:].argmax(-1)
        return nn.functional.cross_entropy(self.layer(x)[keep], wanted[keep], reduction="none")


class Ragged(nn.Module):
    """Two parts, of as many rows as the data say."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 8)

    def forward(self, x):
        n = (x[:, 1] > 0).sum()
        parts = self.embed(x).split([int(n), x.shape[0] - int(n)])
        return torch.stack([part.sum(0) for part in parts])


OPTIMIZERS = {
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
}


def step_of(model, optimizer, clip=False):
    optimizer = OPTIMIZERS[optimizer](model.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step, optimizer


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("make", [Experts, Ragged, Masked, Selected])
def test_a_whole_step_is_one_graph(make, optimizer):
    torch.manual_seed(0)
    model = make()
    twin = copy.deepcopy(model)
    step, state = step_of(model, optimizer)
    eager, eagers = step_of(twin, optimizer)
    compiled = vitrine.compile(step, fullgraph=True)
    ahead = [a - b for a, b in zip(versions(model.parameters()), versions(twin.parameters()))]
    for seed in range(8):
        x = torch.randn(9 if seed < 5 else 12, 6, generator=torch.Generator().manual_seed(seed))
        same(compiled(x), eager(x))
        for (name, p), q in zip(model.state_dict().items(), twin.state_dict().values(), strict=True):
            same(p, q), name
        for p, q in zip(model.parameters(), twin.parameters(), strict=True):
            assert (p.grad is None) == (q.grad is None)
            same(p.grad, q.grad)
        assert [a - b for a, b in zip(versions(model.parameters()), versions(twin.parameters()))] == ahead
    for mine, its in zip(state.state_dict()["state"].values(), eagers.state_dict()["state"].values(), strict=True):
        same(list(mine.values()), list(its.values()))


def test_a_mask_that_was_written_to_selects_anew():
    def f(x):
        keep = x[:, 0] > 0
        first = x[keep] * 2
        keep.logical_not_()
        return first, x[keep] * 3

    compiled = vitrine.compile(f)
    for seed in range(6):
        x, _ = inputs(7, seed)
        same(compiled(x), f(x))


def test_a_whole_step_has_no_breaks():
    torch.manual_seed(0)
    step, _ = step_of(Experts(), "AdamW", clip=True)
    assert vitrine.explain(step)(torch.randn(9, 6)).graph_break_count == 0


def test_a_step_that_takes_another_way_updates_once():
    """Rows that nobody sends to an expert: the step asks, and its other way is eager's."""

    def make():
        torch.manual_seed(0)
        model = nn.Linear(6, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            rows = x[x[:, 0] > 0]
            loss = model(rows).square().mean() if rows.shape[0] > 2 else model(x).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return model, step

    (model, step), (twin, eager) = make(), make()
    compiled = vitrine.compile(step)
    for count in (5, 4, 1, 6, 0, 3, 2, 7):
        x = torch.randn(7, 6).abs().neg()
        x[:count] *= -1
        same(compiled(x), eager(x))
        same(list(model.parameters()), list(twin.parameters()))
        assert versions(model.parameters()) == versions(twin.parameters())
