"""Sizes that depend on data: one graph, whose runs find out what they are. Results, gradients, errors and random numbers are
eager's, for whatever sizes come."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import vitrine
from tests.python.support import segments


def nonzero(x):
    i = (x > 0).nonzero()
    return x[i[:, 0], i[:, 1]] * 2


def mask(x):
    return (x[x > 0] * 2).sin(), x[:, x[0] > 0] + 1


def masked_select(x):
    return torch.masked_select(x, x > 0).exp().sum()


def unique(x):
    values, inverse, counts = torch.unique((x * 2).round(), return_inverse=True, return_counts=True)
    return values * 2, inverse + 1, counts.float().mean()


def consecutive(x):
    return torch.unique_consecutive((x[0] * 2).round()).cumsum(0)


def where(x):
    rows, columns = torch.where(x > 0)
    return x[rows, columns].cos(), rows.float().sum()


def counted(x):
    return torch.bincount(x.flatten().abs().long()) + 1


def repeated(x):
    times = (x[:, 0] > 0).long() + 1
    return x.repeat_interleave(times, 0) * 2


def size_is_asked(x):
    rows = x[x[:, 0] > 0]
    return rows / max(rows.shape[0], 1), rows.shape, len(rows), rows.new_ones(rows.shape[0] * 2, 3)


def experts(x):
    out, expert = torch.zeros_like(x), x.sum(-1).abs().long() % 3
    for e in range(3):
        rows = (expert == e).nonzero().squeeze(-1)
        out = out.index_add(0, rows, (x[rows] @ x.T @ x).relu() + e)
    return out


def kept_boxes(x):
    """As suppression of overlapping boxes selects them."""
    scores, order = x[:, 0].sort(descending=True)
    kept = order[scores > 0]
    return x[kept][:, 1:].clamp(min=0) * 2, kept + 1


def normed(x):
    rows = x[x[:, 0] > 0]
    return F.softmax(F.layer_norm(rows, rows.shape[-1:]), -1).mean(0)


PROGRAMS = [nonzero, mask, masked_select, unique, consecutive, where, counted, repeated, size_is_asked, experts, kept_boxes, normed]


def inputs(rows, seed, *, grad=False):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 6, generator=draw).requires_grad_(grad)


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True, check_stride=True)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_graph_for_whatever_comes(f):
    assert vitrine.explain(f)(inputs(7, 0)).graph_break_count == 0
    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(12):
        x = inputs(7, seed)
        same(compiled(x), f(x))
    for x in (torch.ones(7, 6), -torch.ones(7, 6), torch.eye(7, 6) - 0.5, torch.full((7, 6), -1.0).index_fill(0, torch.tensor([2]), 1.0)):
        same(compiled(x), f(x))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_inputs_that_change_their_size(f):
    compiled = vitrine.compile(f)
    for rows in (3, 5, 6, 9, 2, 1, 7, 30):
        x = inputs(rows, rows)
        same(compiled(x), f(x))


def gradient(call, x):
    results = call(x)
    sum(r.sum() for r in (results if isinstance(results, tuple) else (results,)) if r.requires_grad).backward()
    return x.grad


@pytest.mark.parametrize("f", [nonzero, mask, masked_select, where, repeated, experts, kept_boxes, normed], ids=lambda f: f.__name__)
def test_gradients(f):
    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(6):
        same(gradient(compiled, inputs(7, seed, grad=True)), gradient(f, inputs(7, seed, grad=True)))


def test_ints_are_read():
    def up_to(x, n):
        return torch.arange(n.item()) * 2 + x.sum(), x[: int(n)], x[:n] + 1, n.item() + 1

    def parts(x, n):
        return [part.softmax(0) for part in x.split(n.tolist())]

    compiled, in_parts = vitrine.compile(up_to, fullgraph=True), vitrine.compile(parts, fullgraph=True)
    assert vitrine.explain(up_to)(inputs(7, 0), torch.tensor(3)).graph_break_count == 0
    assert vitrine.explain(parts)(inputs(7, 0), torch.tensor([3, 4])).graph_break_count == 0
    for n in (3, 5, 1, 0, 9):
        same(compiled(inputs(7, n), torch.tensor(n)), up_to(inputs(7, n), torch.tensor(n)))
    for n in ([1, 6], [3, 4], [0, 7], [7, 0], [5, 2]):
        same(in_parts(inputs(7, 0), torch.tensor(n)), parts(inputs(7, 0), torch.tensor(n)))


def test_packed_sequences_are_one_graph():
    def packed(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return packed.data * 2, packed.batch_sizes, packed.sorted_indices

    compiled = vitrine.compile(packed, fullgraph=True)
    for lengths in ([3, 1, 2], [5, 5, 1], [1, 1, 1], [2, 4, 3]):
        x = inputs(15, 0).view(3, 5, 6)
        same(compiled(x, torch.tensor(lengths)), packed(x, torch.tensor(lengths)))


def through_packed(layer, first, enforce_sorted):
    """A recurrent layer of sequences of several lengths."""

    def run(x, lengths, *state):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, first, enforce_sorted)
        out, last = layer(packed, *state)
        padded, found = nn.utils.rnn.pad_packed_sequence(out, first, -1.0)
        return padded * 2, found, last, out.data.shape

    return run


LENGTHS = [[4, 3, 1], [2, 6, 1], [5, 2, 2], [7, 1], [1, 5, 2], [11], [3, 3, 3, 3]]


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=["plain", "both ways", "no bias"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@vitrine.config.patch(recompile_limit=256)  # it counts all layers of one program, in both grad modes
def test_recurrent_layers_of_packed_sequences_are_one_graph(kind, options):
    for first in (True, False):
        layer = getattr(nn, kind)(6, 5, batch_first=first, **options)
        run = through_packed(layer, first, False)
        compiled = vitrine.compile(run, fullgraph=True)
        for lengths in LENGTHS:
            shape = (len(lengths), max(lengths), 6)
            x, lengths = torch.randn(shape if first else (shape[1], shape[0], 6)), torch.tensor(lengths)
            expected, found = run(x, lengths), compiled(x, lengths)
            same(found, expected)
            gradients = [torch.autograd.grad(out[0].square().sum() + out[2][0].sum(), list(layer.parameters())) for out in (expected, found)]
            same(gradients[1], gradients[0])
            with torch.no_grad():
                same(compiled(x, lengths), run(x, lengths))


def test_packed_sequences_are_padded_to_a_given_length():
    layer = nn.LSTM(6, 5)

    def run(x, lengths):
        out, _ = layer(nn.utils.rnn.pack_padded_sequence(x, lengths))
        return nn.utils.rnn.pad_packed_sequence(out, total_length=6)[0] * 2

    compiled = vitrine.compile(run)
    for lengths in ([4, 3, 1], [6, 2, 1], [5, 5, 5]):
        x = torch.randn(lengths[0], 3, 6)
        same(compiled(x, torch.tensor(lengths)), run(x, torch.tensor(lengths)))
    with pytest.raises(ValueError, match="total_length"):
        compiled(torch.randn(7, 3, 6), torch.tensor([7, 2, 1]))


def test_packed_layers_that_drop_out_draw_as_eager():
    layer = nn.LSTM(6, 5, num_layers=2, dropout=0.4)
    run = through_packed(layer, False, True)
    compiled, x = vitrine.compile(run), torch.randn(4, 3, 6)
    for lengths in ([4, 3, 1], [4, 2, 1], [4, 4, 2]):
        found = []
        for f in (run, compiled):
            torch.manual_seed(1)
            found.append((f(x, torch.tensor(lengths)), torch.rand(3)))
        same(found[1], found[0])


def test_errors_of_packed_layers_are_eagers():
    layer = nn.LSTM(6, 5)
    run = through_packed(layer, False, False)
    compiled = vitrine.compile(run)
    state = tuple(torch.randn(1, 3, 5) for _ in range(2))
    for x, lengths in ((torch.randn(4, 3, 6), [4, 2, 1]), (torch.randn(4, 3, 7), [4, 2, 1]), (torch.randn(4, 3, 6), [4, 0, 1]), (torch.randn(4, 2, 6), [4, 1])):
        said = []
        for f in (run, compiled):
            try:
                said.append(f(x, torch.tensor(lengths), state)[0])
            except RuntimeError as error:
                said.append(str(error).splitlines()[0])
        if torch.is_tensor(said[0]):
            same(said[1], said[0])
        else:
            assert said[0] == said[1]


def test_hooks_and_names_of_packed_layers_are_eagers():
    layer = nn.LSTM(6, 5, batch_first=True)

    def hooked(x, lengths):
        out, _ = layer(nn.utils.rnn.pack_padded_sequence(x, lengths, True))
        out.data.register_hook(lambda gradient: gradient * 2)
        return nn.utils.rnn.pad_packed_sequence(out)[0] * 2, type(out.data.grad_fn).__name__

    compiled = vitrine.compile(hooked)
    for length in (4, 5, 6):
        x, lengths = torch.randn(3, length, 6), torch.tensor([length, 2, 1])
        found = []
        for f in (hooked, compiled):
            result, name = f(x, lengths)
            found.append((name, torch.autograd.grad(result.sum(), list(layer.parameters()))))
        assert found[0][0] == found[1][0]
        same(found[1][1], found[0][1])


def test_an_element_is_read_anew_behind_a_write():
    def f(x, n):
        first, again = int(n[0]), int(n[0])
        n.add_(1)
        return torch.zeros(first) + x, torch.zeros(again) * 2, torch.zeros(int(n[0])).cos(), first + again

    compiled = vitrine.compile(f, fullgraph=True)
    for number in (3, 3, 5, 0):
        same(compiled(torch.ones(1), torch.tensor([number, 2])), f(torch.ones(1), torch.tensor([number, 2])))


def test_sizes_of_a_new_tensor_may_be_tensors():
    def new(x, n):
        return torch.zeros(2, n[0]) + x.sum(), torch.ones(3, n[0], n[1], dtype=torch.float64) * 2, x.new_zeros(2, n[1]).cos()

    assert vitrine.explain(new)(torch.ones(2), torch.tensor([4, 3])).graph_break_count == 0
    compiled = vitrine.compile(new)
    for n in ([4, 3], [7, 3], [7, 0], [5, 5]):
        same(compiled(torch.ones(2), torch.tensor(n)), new(torch.ones(2), torch.tensor(n)))
    for wrong in (torch.tensor([-1, -2]), torch.tensor([2.0, 3.0])):
        with pytest.raises((RuntimeError, TypeError)) as eager:
            new(torch.ones(2), wrong)
        with pytest.raises(eager.type):
            compiled(torch.ones(2), wrong)


def test_what_the_program_asks_of_a_size_is_asked_again():
    """The way that the program takes, and what is computed in it, follow the size of each run."""

    def f(x):
        rows = x[x[:, 0] > 0]
        if rows.shape[0] == 0:
            return torch.zeros(3)
        if rows.shape[0] < 4:
            return rows * 2
        return rows.sum(0) + (rows.squeeze().dim())

    compiled, whole = vitrine.compile(f), vitrine.compile(f, fullgraph=True)
    for count in (5, 0, 6, 2, 1, 7, 0, 3):
        x = torch.full((7, 6), -1.0)
        x[:count] = 1 + torch.arange(6.0)
        same(compiled(x), f(x))
        same(whole(x), f(x))


def test_an_error_is_eagers():
    def f(x, y):
        return x[x > 0] + y

    compiled = vitrine.compile(f)
    x = torch.tensor([1.0, -1.0, 2.0])
    same(compiled(x, torch.ones(2)), f(x, torch.ones(2)))
    for y in (torch.ones(3), torch.ones(5)):
        with pytest.raises(RuntimeError) as expected:
            f(x, y)
        with pytest.raises(RuntimeError) as found:
            compiled(x, y)
        assert str(found.value) == str(expected.value)


def test_random_numbers_are_eagers():
    def f(x):
        rows = x[x[:, 0] > 0]
        noisy = rows + torch.rand_like(rows)
        return noisy * 2 if rows.shape[0] < 4 else noisy - torch.rand(3)[0]

    compiled = vitrine.compile(f)
    for seed in range(8):
        drawn = []
        for each in (f, compiled):
            torch.manual_seed(seed)
            drawn.append((each(inputs(7, seed)), torch.rand(2)))
        same(drawn[1], drawn[0])


def test_what_it_writes_to_is_written_once():
    def f(x, seen):
        rows = x[x[:, 0] > 0]
        seen.append(rows.shape[0])
        x.add_(1)
        return rows.sum() if rows.shape[0] else rows

    for compiled in (f, vitrine.compile(f)):
        seen, x = [], torch.full((3, 2), -1.5)
        results = [compiled(x, seen) for _ in range(4)]
        assert seen == [0, 0, 3, 3] and torch.equal(x, torch.full((3, 2), 2.5))
        assert [r.numel() for r in results] == [0, 0, 1, 1]


def test_a_number_that_is_only_returned_breaks():
    """A loss that is printed costs no more than a break behind the graph, unless there are to be none."""

    def f(x):
        return (x * 2).sum(), x.long().sum().item()

    def whole(x):
        return (x * 2).sum(), x.long().sum().item()

    assert vitrine.explain(f)(torch.ones(3)).graph_break_count == 1
    assert vitrine.compile(f)(torch.ones(3))[1] == 3
    compiled = vitrine.compile(whole, fullgraph=True)
    assert compiled(torch.ones(3))[1] == 3 and compiled(torch.ones(3) * 5)[1] == 15


def test_sizes_that_depend_on_data_are_symbols_from_the_first():
    def f(x):
        rows = x[x[:, 0] > 0]
        return rows.exp().sum(0)

    vitrine.reset()
    compiled = vitrine.compile(f)
    for count in (5, 3, 2, 6):
        x = torch.full((7, 6), -1.0).index_fill(0, torch.arange(count), 1.0)
        same(compiled(x), f(x))
    compiled_pieces = [c for c in segments.compiled() if "pieces" in c.name]
    assert len(compiled_pieces) == 2  # in front of what reads the mask, and behind it


@pytest.mark.parametrize("n", [0, 1, 2, 5, 3, 1, 4])
def test_what_is_known_by_such_a_size_is_asked_again(n):
    """A tensor that is made of numbers of the program alone is known at capture, unless a run decides these numbers."""

    def branch(b, x):
        t = torch.arange(int(b.sum()), dtype=torch.float32)
        return (x + 1, t) if t.sum() > 3 else (x - 1, t * 2)

    def bound(b, x):
        t = torch.ones(int(b.sum()))
        return x[: int(t.sum())], t

    def part(b, x):
        t = torch.arange(int(b.sum()), dtype=torch.float32)
        return x * t.sum().item(), t.narrow(0, 0, (t > 0).any().long().item())

    for f in (branch, bound, part):
        compiled = vitrine.compile(f)
        for each in (n, 4, n):
            b, x = torch.tensor([each]), torch.arange(6.0)
            same(compiled(b, x), f(b, x))


def test_a_mask_of_rounding_noise_is_one_mask():
    """Rows of a layer norm have sums that are rounding alone. The program computes the mask twice; both are eager's one."""

    def f(x):
        t = F.layer_norm(x, x.shape[-1:], x.new_ones(x.shape[-1:]) * 2)
        rows = (t.reshape(t.shape[0], -1).sum(1) > 0).nonzero()[:, 0]
        return torch.zeros_like(t).index_add(0, rows, t[t.reshape(t.shape[0], -1).sum(1) > 0] * 2)

    compiled = vitrine.compile(f)
    for seed in range(12):
        x = inputs(9, seed).double()
        assert compiled(x).shape == f(x).shape  # eager's mask may be another one


def test_what_is_written_between_is_read_twice():
    def f(x):
        a = x * 2
        first = a[a.sum(1) > 0]
        a.add_(1)
        b = x + 1
        second = a[a.sum(1) > 0] + b.sum()
        b.mul_(2)
        return first, second, x + 1, x + 1, b

    compiled = vitrine.compile(f)
    for seed in range(4):
        x = inputs(7, seed)
        found = compiled(x)
        same(found, f(x))
        found[2].add_(1)
        assert not torch.equal(found[2], found[3])


@pytest.mark.parametrize("width", [1009, 1013, 2048])
def test_what_one_mask_selects_is_as_long_however_wide_it_is(width):
    """A width beside the length that stands for one of data is not taken for that."""

    def f(x, w):
        keep = w > 0
        out = torch.zeros_like(x)
        out[keep] = x[keep] * w[keep][:, None]
        return out, w[keep].sum()

    compiled = vitrine.compile(f, fullgraph=True)
    for seed in range(4):
        x = torch.cat([inputs(9, seed), torch.ones(9, width - 6)], 1)
        same(compiled(x, x[:, 0]), f(x, x[:, 0]))


def mean_of_neighbours(x, edges):
    degree = torch.bincount(edges[1], minlength=x.shape[0]).clamp(min=1)
    return torch.zeros_like(x).index_add(0, edges[1], x[edges[0]]) / degree[:, None]


def test_counts_of_as_many_as_are_asked_for_go_with_the_rest():
    compiled = vitrine.compile(mean_of_neighbours, fullgraph=True)
    for rows in (7, 9, 4, 12):
        for seed in range(3):
            x, edges = inputs(rows, seed), torch.randint(rows, (2, 3 * rows))
            same(compiled(x, edges), mean_of_neighbours(x, edges))


def test_more_counts_than_are_asked_for_are_eagers():
    def f(x, of):
        counts = torch.bincount(of, minlength=x.shape[0])
        return (x + 1, counts) if counts.shape[0] == x.shape[0] else (x - 1, counts * 2)

    for g in (f, lambda x, of: (x[:, 0] * torch.bincount(of, minlength=x.shape[0]),)):
        compiled = vitrine.compile(g)
        for most in (6, 9, 6, 12, 3):
            x, of = inputs(7, most), torch.arange(most + 1)
            try:
                expected = g(x, of)
            except RuntimeError as error:
                with pytest.raises(RuntimeError, match=str(error)[:40].replace("(", r"\(").replace(")", r"\)")):
                    compiled(x, of)
                continue
            same(compiled(x, of), expected)


def test_repeated_to_a_length_that_the_program_knows():
    def f(x, times, length):
        return x.repeat_interleave(times, 0, output_size=length) * torch.ones(length)[:, None]

    compiled = vitrine.compile(f)
    for seed in range(6):
        x = inputs(7, seed)
        times = (x[:, 0] > 0).long() + 1
        same(compiled(x, times, int(times.sum())), f(x, times, int(times.sum())))


def test_the_last_of_as_many_parts_as_there_are():
    """How many parts there are follows from a size that changes, and not from data."""

    def f(x, b):
        return x[:, 0].split(1, 0)[-1] * 2, torch.arange(int(b.sum())) * 2

    compiled = vitrine.compile(f)
    for rows in (4, 6, 9, 7, 4, 12):
        x = inputs(rows, rows)
        same(compiled(x, x[:, 0] > 0), f(x, x[:, 0] > 0))
