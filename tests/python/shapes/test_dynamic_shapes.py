"""Sizes and ints that change from call to call: few compilations, and always what eager gives."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support import segments
from tests.python.support.recorded import recorded
from torch import nn


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def assert_same(got, expected):
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected)
        assert got.stride() == expected.stride() or got.numel() == 0
    elif isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected):
            assert_same(a, b)
    else:
        assert type(got) is type(expected) and got == expected


def compilations(function, calls, folder, **how):
    """How many graphs were compiled for these calls, each of which gives what eager does."""
    compiled = vitrine.compile(function, **how)
    with recorded(folder) as session:
        for args in calls:
            assert_same(compiled(*args), function(*args))
    return len(session.rows("compilation", status="ok"))


def attention(x, w):
    b, s, d = x.shape
    q = (x @ w).view(b, s, 4, d // 4).transpose(1, 2)
    y = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(b, s, d)
    return y + x


def pooled(x):
    return F.max_pool2d(F.relu(x), 3, 2, 1).flatten(2).mean(-1)


def sizes_returned(x):
    y = x * 2
    return y, y.shape, y.size(0), x.numel(), len(y), y.shape[0] * 2 + 1, [y.size(-1)]


def sizes_in_arithmetic(x):
    n = x.shape[0]
    half = n // 2
    return x[:half] * n, x[half:] + (n - half), x.sum(0) / n


def made_by_size(x):
    n = x.size(0)
    mask = torch.arange(n)[:, None] >= torch.arange(n)[None, :]
    return torch.where(mask, x @ x.t(), torch.zeros(n, n)), torch.full((n,), n), x.new_ones(n, 3)


def joined(x):
    y = torch.cat([x, x[1:]], 0)
    a, b = torch.chunk(y, 2)
    return a.sum(), b.amax(0), torch.stack([x, x]).flatten(0, 1), F.pad(x, (1, 2))


def computed_sizes(x):
    y = torch.cat([x, x], 0).view(-1, 2, x.shape[1])
    return y.reshape(y.shape[0] * y.shape[1], -1), y.shape


def reduced(x):
    return F.softmax(x, 0), F.layer_norm(x, x.shape[1:]), x.std(0), x.argmax(0), x.cumsum(0)


ROWS = [(5, 6), (7, 6), (8, 6), (16, 6), (33, 6), (7, 6), (64, 6)]
PROGRAMS = {
    pooled: [(2, 3, n, n + 1) for n in (8, 9, 12, 17, 31)],
    sizes_returned: ROWS,
    sizes_in_arithmetic: ROWS,
    made_by_size: ROWS,
    joined: ROWS,
    computed_sizes: ROWS,
    reduced: ROWS,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_one_dynamic_compilation_serves_all_sizes(program, dynamic, tmp_path):
    calls = [(torch.randn(shape),) for shape in PROGRAMS[program]]
    assert compilations(program, calls, tmp_path, dynamic=dynamic) == (2 if dynamic is None else 1)


def test_attention_over_batches_and_lengths(tmp_path):
    w = torch.randn(32, 32) / 6
    calls = [(torch.randn(b, s, 32), w) for b, s in [(2, 5), (2, 8), (3, 5), (3, 9), (4, 11), (2, 5), (7, 3)]]
    # fixed; the length changes; the batch changes too
    assert compilations(attention, calls, tmp_path) == 3


def sliced(x, n):
    return x[:n] + 1


def test_a_hundred_lengths_of_a_slice(tmp_path):
    x = torch.arange(100.0)
    assert compilations(sliced, [(x, n) for n in range(100)], tmp_path) <= 3


def test_ten_shapes_of_layer_norm(tmp_path):
    norm = torch.nn.LayerNorm(256).requires_grad_(False)
    calls = [(torch.randn(2**i, 256),) for i in range(4, 14)]
    assert compilations(norm, calls, tmp_path) <= 2


def test_zero_and_one_are_compiled_apart(tmp_path):
    calls = [(torch.randn(n, 3),) for n in (4, 5, 1, 0, 6, 1, 0)]
    assert compilations(lambda x: x * 2 + x.mean(1, keepdim=True), calls, tmp_path) == 4


def test_dynamic_false_compiles_each_size(tmp_path):
    calls = [(torch.randn(n, 3),) for n in (4, 5, 6, 4)]
    assert compilations(lambda x: x.exp() + 1, calls, tmp_path, dynamic=False) == 3


def branches(x):
    return x * 2 if x.shape[0] > 8 else x - 1


def test_a_branch_on_a_size_divides_the_sizes(tmp_path):
    calls = [(torch.randn(n, 3),) for n in (4, 5, 9, 10, 30, 8, 2, 11)]
    assert compilations(branches, calls, tmp_path) == 3


def loops(x):
    for _ in range(x.shape[0]):
        x = x + 1
    return x, f"{x.shape[0]} rows", x.shape[1] ** 0.5


def test_what_needs_the_number_itself_fixes_it(tmp_path):
    calls = [(torch.randn(n, 3),) for n in (4, 5, 6, 4, 5)]
    assert compilations(loops, calls, tmp_path) == 3


def breaks(x):
    y = x * 2
    n = y.shape[0]
    print("", end="")
    return y + n, n


def flags_of_the_program(x):
    running = torch.ones(x.size(0), dtype=torch.long)
    done = torch.full((x.size(0),), x.size(1) >= 9)
    if (running & ~done).max() == 0:
        return x - 1, int(done.sum())
    return x * 2, int(running.min())


def test_a_value_that_follows_from_sizes_is_asked_for_again(tmp_path):
    calls = [(torch.randn(3, n),) for n in (4, 5, 6, 8, 9, 12, 7)]
    assert compilations(flags_of_the_program, calls, tmp_path) <= 3  # static, shorter, longer


def count_of_rows(x):
    return x + torch.ones(x.size(0), dtype=torch.long).sum().item()


def test_a_value_that_is_another_for_each_size_is_eagers(tmp_path):
    calls = [(torch.randn(n, 4),) for n in (3, 5, 6, 3, 5)]
    assert compilations(count_of_rows, calls, tmp_path) <= 3


def test_a_graph_break_between(tmp_path):
    compilations(breaks, [(torch.randn(n, 3),) for n in (4, 5, 9, 10, 4)], tmp_path)


def changes_shape(x):
    y = x * 1
    y.unsqueeze_(0)
    n = y.shape[1]
    y.squeeze_(0)
    return y + n, y.shape


def test_sizes_changed_in_place(tmp_path):
    assert compilations(changes_shape, [(torch.randn(n, 3),) for n in (4, 5, 9, 10)], tmp_path) == 2


def in_place(x):
    x[: x.shape[0] // 2] += 1
    return x.t()


def test_inputs_written(tmp_path):
    compiled = vitrine.compile(in_place)
    for n in (4, 5, 9, 2, 12):
        x = torch.randn(n, 3)
        y = x.clone()
        assert_same(compiled(x), in_place(y))
        assert torch.equal(x, y)


def test_strides_are_those_of_the_call(tmp_path):
    compiled = vitrine.compile(lambda x: (x.contiguous() + 1, x.is_contiguous(), x.stride()))
    for x in [torch.randn(4, 3), torch.randn(5, 3), torch.randn(3, 7).t(), torch.randn(9, 6)[:, ::2]]:
        assert_same(compiled(x), (x.contiguous() + 1, x.is_contiguous(), x.stride()))


def parts_of_what_grows(sizes):
    return [(torch.randn(2, n)[:, -2:],) for n in sizes]


@pytest.mark.parametrize("batch", [1, 3])
def test_the_newest_column_of_what_grows(tmp_path, batch):
    calls = [(torch.arange(batch * n).reshape(batch, n)[:, -1:], torch.randn(40, 4)) for n in range(3, 12)]
    assert compilations(lambda i, w: (w[i] * 2, i.stride()), calls, tmp_path) == 2


def test_another_order_of_dimensions_is_compiled_by_itself(tmp_path):
    square = torch.randn(4, 4)
    assert compilations(lambda x: x + 1, [(square,), (square.t(),), (square,), (square.t(),)], tmp_path) == 2


def flattened(x):
    try:
        return x.view(-1)
    except RuntimeError:
        return x.reshape(-1) + 1


def test_an_error_about_strides_is_that_of_the_call(tmp_path):
    compilations(flattened, [*parts_of_what_grows((6, 7)), (torch.randn(2, 2),), *parts_of_what_grows((8,))], tmp_path)


def test_gradients_of_a_part_of_what_grows():
    vitrine.reset()
    compiled = vitrine.compile(lambda x: (x.sin() * x).sum())
    for n in (4, 5, 6, 7):
        x = torch.randn(2, n, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        with torch.enable_grad():
            compiled(x[:, -2:]).backward()
            (y[:, -2:].sin() * y[:, -2:]).sum().backward()
        assert_same(x.grad, y.grad)


def test_one_tensor_as_two_inputs(tmp_path):
    compiled = vitrine.compile(lambda a, b: a @ b.t())
    for n in (4, 5, 6, 7):
        x, y = torch.randn(n, 3), torch.randn(n, 3)
        assert_same(compiled(x, y), x @ y.t())
        assert_same(compiled(x, x), x @ x.t())


def test_eager_raises_what_it_raises():
    compiled = vitrine.compile(lambda a, b: a + b)
    for n in (4, 5, 6):
        assert compiled(torch.ones(n), torch.ones(n)).shape == (n,)
    with pytest.raises(RuntimeError, match="must match the size"):
        compiled(torch.ones(7), torch.ones(8))
    assert compiled(torch.ones(9), torch.ones(9)).shape == (9,)


@pytest.mark.parametrize("backend", ["vitrine", "eager"])
def test_training(backend):
    with torch.enable_grad():
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
        compiled = vitrine.compile(model, backend=backend)
        for n in (4, 5, 9, 2, 17, 5):
            x = torch.randn(n, 6, requires_grad=True)
            results = []
            for run in (compiled, model):
                loss = F.cross_entropy(run(x), torch.arange(n) % 2)
                results.append([loss.detach(), *torch.autograd.grad(loss, [x, *model.parameters()])])
            for got, expected in zip(*results):
                torch.testing.assert_close(got, expected)


def test_a_smaller_last_batch_leaves_the_others_their_compilation(tmp_path):
    """What was compiled for the first batches serves the next epoch: its sizes are not planned anew."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    compiled = vitrine.compile(model)
    with torch.enable_grad(), recorded(tmp_path) as session:
        for rows in (8, 8, 3, 8, 3, 8):
            x = torch.randn(rows, 6)
            grads = [torch.autograd.grad(m(x).exp().mean(), list(model.parameters())) for m in (compiled, model)]
            assert_same(*grads)
    first_of_a_size = [True, False, True, False, False, False]  # each is a forward and a backward
    kinds = ["compile" if first else "hit" for first in first_of_a_size for _ in range(2)]
    assert [row["kind"] for row in session.rows("call")] == kinds


def test_random_numbers_are_eagers():
    compiled = vitrine.compile(lambda x: F.dropout(x, 0.5) + torch.rand(x.shape[0], 1))
    for n in (4, 5, 9, 12):
        x = torch.ones(n, 3)
        torch.manual_seed(n)
        got = compiled(x)
        torch.manual_seed(n)
        assert torch.equal(got, F.dropout(x, 0.5) + torch.rand(n, 1))


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls % 10 == 0:
            return x - 1, self.calls
        return x + 1, self.calls * 2


def test_a_counter_that_the_graph_does_not_use(tmp_path):
    counts, expected = Counts(), Counts()
    compiled = vitrine.compile(counts)
    x = torch.randn(4, 3)
    with recorded(tmp_path) as session:
        for _ in range(50):
            assert_same(compiled(x), expected(x))
    assert counts.calls == expected.calls == 50
    # the first value, the others, every tenth
    assert len(session.rows("compilation", status="ok")) == 3


def test_an_int_that_the_graph_uses_and_one_that_it_does_not(tmp_path):
    def f(x, n, m):
        return x[:n] * 2, m + 1, n + m

    x = torch.arange(50.0)
    calls = [(x, n, m) for n, m in [(4, 5), (5, 6), (6, 6), (6, 7), (4, 9), (-3, -2), (0, 0), (60, 1)]]
    assert compilations(f, calls, tmp_path) == 2


def test_symbols_are_recorded(tmp_path):
    compiled = vitrine.compile(branches)
    with recorded(tmp_path) as session:
        for n in (4, 5, 9):
            x = torch.randn(n, 3)
            assert torch.equal(compiled(x), branches(x))
    second, third = session.rows("symbol")
    assert (second["name"], second["source"], second["hint"]) == ("s0", "L['x'].size(0)", 5)
    assert second["origin"] == "changed: it was 4" and (second["lo"], second["hi"]) == (2, 8)
    assert (third["lo"], third["hint"], third["fixed_by"]) == (9, 9, "")
    line = branches.__code__.co_firstlineno + 1
    assert [(g["text"], g["place"]) for g in session.rows("symbol_guard")] == [
        ("s0 <= 8", f"{__file__}:{line}"),
        ("s0 >= 9", f"{__file__}:{line}"),
    ]
    last = session.rows("recompilation")[-1]
    assert "s0 <= 8" in last["failed"] and "L['x'].size(0)" in last["failed"] and f":{line}" in last["new_value"]


def test_who_fixed_a_symbol_is_recorded(tmp_path):
    compiled = vitrine.compile(loops)
    with recorded(tmp_path) as session:
        for n in (4, 5):
            compiled(torch.randn(n, 3))
    assert session.rows("symbol")[0]["fixed_by"] == f"{__file__}:{loops.__code__.co_firstlineno + 1}"


def files(folder):
    return len([f for f in folder.rglob("*") if f.is_file()])


def test_kernels_take_sizes_as_arguments(tmp_path, monkeypatch):
    """After the second set of sizes nothing goes to the kernel compiler: the cache on disk stays as it is."""
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    compiled = vitrine.compile(lambda x: F.layer_norm(x.exp() + 1, [64]) * x.sum(1, keepdim=True))
    kept = []
    for n in (4, 5, 6, 7, 12, 33, 100):
        x = torch.randn(n, 64)
        torch.testing.assert_close(compiled(x), F.layer_norm(x.exp() + 1, [64]) * x.sum(1, keepdim=True))
        kept.append(files(tmp_path))
    assert kept[0] < kept[2] and len(set(kept[2:])) == 1


def centred(x):
    return (x - x.mean(0)) / x.var(0).sqrt(), x.softmax(0).mean(), x * x.shape[0] + 0.5


def test_what_a_mean_divides_by_is_an_argument(tmp_path, monkeypatch):
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    compiled = vitrine.compile(centred, dynamic=True)
    kept = []
    for n in (80, 96, 112, 128, 176, 192, 240):
        x = torch.randn(n, 48, dtype=torch.float64)
        assert_same(compiled(x), centred(x))
        kept.append(files(tmp_path))
    assert kept[0] < kept[1] and len(set(kept[1:])) == 1, kept


@pytest.mark.filterwarnings("error")
def test_statistics_of_long_columns(tmp_path):
    """Two passes of one kernel add in steps."""
    compiled = vitrine.compile(centred, dynamic=False)
    for n in (500, 1001):
        x = torch.randn(n, 48)
        assert_same(compiled(x), centred(x))


def changing_on_gpu(x, w):
    h = F.layer_norm(x @ w, (64,))
    return torch.cat([h, h * 2], 1).transpose(0, 1).contiguous(), F.pad(h, (1, 1)).sum(0), (h - h.mean(0)).var(0), F.dropout(h, 0.1)


@pytest.mark.skipif(bool(vitrine._engine.cuda_target_problem("sm_90", vitrine.config.nvrtc)), reason="no NVRTC")
def test_kernels_of_a_gpu_take_sizes_as_arguments(tmp_path, monkeypatch):
    """Sizes that are laid out alike over threads need no compilation of their own."""
    monkeypatch.setattr(vitrine.config, "cache_dir", str(tmp_path))
    compiled = vitrine.compile(changing_on_gpu, dynamic=True, options={"target": "sm_90"})
    kept = []
    for n in (36, 52, 60, 44, 68, 76, 84, 92):
        compiled(torch.randn(n, 128), torch.randn(128, 64))
        kept.append(files(tmp_path))
    assert kept[0] < kept[1] and len(set(kept[4:])) == 1, kept


def test_two_hints_give_one_captured_graph(tmp_path):
    """What is captured at two sizes differs in nothing but these."""
    texts = []
    for n in (1013, 2017):  # numbers that stand in no file's path
        vitrine.reset()
        explanation = vitrine.explain(vitrine.compile(attention, dynamic=True))(torch.randn(2, n, 8), torch.randn(8, 8))
        texts.append((explanation.ops, [g.replace(str(n), "n") for g in explanation.guards]))
    assert texts[0] == texts[1]


def test_the_first_size_goes_on_with_what_was_compiled_for_it(tmp_path):
    """What was compiled for numbers alone is kept beside what serves any size, in whatever order they come."""
    compiled = vitrine.compile(attention)
    calls = [(torch.randn(2, n, 8), torch.randn(8, 8)) for n in (16, 12, 16, 20, 16, 16, 12, 20, 16)]
    with recorded(tmp_path) as session:
        for args in calls:
            assert_same(compiled(*args), attention(*args))
    first, any_size = (c["id"] for c in session.rows("compilation", status="ok"))
    expected = [first if x.shape[1] == 16 else any_size for x, _ in calls]
    assert [call["compilation"] for call in session.rows("call")] == expected


def test_numbers_of_a_module_are_fixed_until_they_change():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, self.factors = 4, (2, 3)

        def forward(self, x):
            return x.view(len(x), self.heads, -1).softmax(-1) * self.heads + self.factors[0]

    module = Heads()
    compiled = vitrine.compile(module, dynamic=True)
    for n in (3, 7, 9):
        x = torch.randn(n, 48)
        torch.testing.assert_close(compiled(x), module(x))
    (first,) = segments.compiled()
    assert sorted(first.instances[0].values) == [9, 48]
    for module.heads in (6, 8, 12):
        torch.testing.assert_close(compiled(x), module(x))
    assert len(segments.compiled()) == 2  # the number of heads is a size now
