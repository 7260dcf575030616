"""Kernels that move elements: joined, padded, shifted, cut, picked by an index. No arithmetic is involved, so
that results equal eager's to the bit."""

import pytest
import torch
from tests.python.support.codegen_harness import TOOL, GraphWriter, check

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built")

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def some(shape, dtype=torch.float32):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    return torch.randn(shape).to(dtype) if dtype.is_floating_point else torch.randint(0, 100, shape).to(dtype)


def exactly(g, results, folder, kernels=None, **how):
    """One kernel for all of it, unless said otherwise; every bit as in eager."""
    p = check(g, results, folder, rtol=0, atol=0, **how)
    assert not [s for s in p.p["steps"] if s["kind"] in (1, 2)], p.text
    if kernels is not None:
        assert len(p.p["kernels"]) == kernels, p.text
    return p


# name: operators over one tensor of sizes [a, b, c]
MOVES = {
    "cat": lambda g, x: g.op("aten.cat.default", [x, x], 1),
    "cat of three": lambda g, x: g.op("aten.cat.default", [x, g.op("aten.slice.Tensor", x, 2, 0, 1), x], -1),
    "cat of rows": lambda g, x: g.op("aten.cat.default", [x, g.op("aten.slice.Tensor", x, 0, 0, 1)], 0),
    "cat of one": lambda g, x: g.op("aten.cat.default", [x], 1),
    "stack": lambda g, x: g.op("aten.stack.default", [x, x, x], 0),
    "stack inside": lambda g, x: g.op("aten.stack.default", [x, x], 2),
    "stack at the end": lambda g, x: g.op("aten.stack.default", [x, x], -1),
    "pad": lambda g, x: g.op("aten.constant_pad_nd.default", x, [1, 2, 3, 0], 1),
    "pad that cuts": lambda g, x: g.op("aten.constant_pad_nd.default", x, [2, -1], 0),
    "pad of all": lambda g, x: g.op("aten.constant_pad_nd.default", x, [0, 1, 1, 1, 2, 2]),
    "slice_scatter": lambda g, x: g.op("aten.slice_scatter.default", x, g.op("aten.slice.Tensor", x, 1, 0, 2), 1, 1, 3),
    "slice_scatter at the end": lambda g, x: g.op("aten.slice_scatter.default", x, g.op("aten.slice.Tensor", x, 2, 0, 2), 2, -2),
    "select_scatter": lambda g, x: g.op("aten.select_scatter.default", x, g.op("aten.select.int", x, 1, 0), 1, -1),
    "slice_backward": lambda g, x: g.op("aten.slice_backward.default", x, [*x.tensor.shape[:2], x.tensor.shape[2] + 9], 2, 5, x.tensor.shape[2] + 5, 1),
    "select_backward": lambda g, x: g.op("aten.select_backward.default", x, [x.tensor.shape[0], 4, *x.tensor.shape[1:]], 1, 2),
    "flip": lambda g, x: g.op("aten.flip.default", x, [2]),
    "flip of rows": lambda g, x: g.op("aten.flip.default", x, [0, 1]),
    "roll": lambda g, x: g.op("aten.roll.default", x, [3], [2]),
    "roll of two": lambda g, x: g.op("aten.roll.default", x, [-1, 5], [0, 2]),
    "roll of all": lambda g, x: g.op("aten.roll.default", x, [7]),
    "tril": lambda g, x: g.op("aten.tril.default", x, 1),
    "triu": lambda g, x: g.op("aten.triu.default", x, -2),
    "repeat": lambda g, x: g.op("aten.repeat.default", x, [2, 1, 1, 3]),
}  # fmt: skip

# As MOVES; eager has none of bools.
BORDERS = {
    "mirrored": lambda g, x: g.op("aten.reflection_pad1d.default", x, [2, 3]),
    "mirrored twice": lambda g, x: g.op("aten.reflection_pad2d.default", x, [1, 0, 2, 3]),
    "outermost repeated": lambda g, x: g.op("aten.replication_pad1d.default", x, [0, 20]),
    "outermost repeated twice": lambda g, x: g.op("aten.replication_pad2d.default", x, [3, 1, 5, 2]),
}  # fmt: skip


@pytest.mark.parametrize("shape, lanes", [((3, 4, 37), 16), ((2, 5, 32), 8), ((1, 4, 6), 16)])
@pytest.mark.parametrize("name", [*MOVES, *BORDERS])
def test_moves_are_exact(folder, name, shape, lanes):
    g = GraphWriter()
    exactly(g, [(MOVES | BORDERS)[name](g, g.input(some(shape)))], folder, 1, lanes=lanes)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_moves_of_every_type_are_exact(folder, dtype):
    g = GraphWriter()
    x = g.input(some((3, 4, 21), dtype))
    moves = MOVES if dtype is torch.bool else MOVES | BORDERS
    exactly(g, [make(g, x) for make in moves.values()], folder)


def layouts():
    return {"transposed": some((21, 4, 3)).permute(2, 1, 0), "sliced": some((3, 8, 40))[:, 1::2, 3:24], "expanded": some((3, 1, 21)).expand(3, 4, 21),
            "turned": some((4, 21, 3)).permute(2, 0, 1)}  # fmt: skip


@pytest.mark.parametrize("layout", layouts())
def test_layouts(folder, layout):
    g = GraphWriter()
    x = g.input(layouts()[layout])
    named = {n: m for n, m in MOVES.items() if n != "roll of all"}
    exactly(g, [make(g, x) for make in named.values()], folder)


def test_channels_last(folder):
    g = GraphWriter()
    x, y = (g.input(some((2, c, 5, 7)).to(memory_format=torch.channels_last)) for c in (3, 16))
    exactly(g, [g.op("aten.cat.default", [x, y], 1), g.op("aten.constant_pad_nd.default", y, [1, 1, 1, 1])], folder)


@pytest.mark.parametrize("dtype, lanes", [*((d, 16) for d in DTYPES), (torch.float32, 8), (torch.float64, 8)], ids=str)
def test_rows_that_lie_along_columns(folder, dtype, lanes):
    """Tiles are turned over: whole ones, and those at either end."""
    g, results = GraphWriter(), []
    for rows, columns in ((8, 8), (32, 16), (33, 17), (9, 300), (300, 9)):
        x, y = g.input(some((columns, rows), dtype)), g.input(some((rows, columns), dtype))
        results.append(g.op("aten.where.self", g.op("aten.ne.Tensor", g.op("aten.t.default", x), y), g.op("aten.t.default", x), y))
    image = g.op("aten.permute.default", g.input(some((2, 11, 5, 19), dtype)), [0, 3, 2, 1])
    results.append(g.op("aten.where.self", g.op("aten.ne.Scalar", image, 0), image, g.input(some((2, 19, 5, 11), dtype))))
    exactly(g, results, folder, lanes=lanes)


@pytest.mark.parametrize("ends", [(16, 32, 48), (5, 40, 41), (1, 2, 60)])
def test_parts_of_a_row_are_computed_apart(folder, ends):
    """Whole vectors and rests of each part, in rows and in one flat range."""
    g = GraphWriter()
    x = g.input(some((6, 64)))
    pieces = [g.op("aten.slice.Tensor", x, 1, a, b) for a, b in zip((0, *ends), (*ends, 64))]
    rows = [g.op("aten.slice.Tensor", x, 0, a, a + 2) for a in (4, 0, 2)]
    results = [g.op("aten.cat.default", [g.op("aten.neg.default", p) for p in reversed(pieces)], 1), g.op("aten.cat.default", rows, 0),
               g.op("aten.constant_pad_nd.default", x, [3, 2], 7.0)]
    exactly(g, results, folder)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_squares_of_pixels_as_channels(folder, dtype):
    g = GraphWriter()
    results = [g.op("aten.pixel_unshuffle.default", g.input(some(sizes, dtype)), by)
               for sizes, by in (((2, 3, 8, 70), 2), ((3, 9, 12), 3), ((2, 1, 2, 4, 68), 4), ((1, 1, 6, 6), 1))]  # fmt: skip
    exactly(g, results, folder)


def test_cat_of_types_promotes(folder):
    g = GraphWriter()
    x, i, b = g.input(some((3, 20))), g.input(some((3, 9), torch.int64)), g.input(some((3, 5), torch.bool))
    h, e = g.input(some((3, 4), torch.float16)), g.input(torch.empty(0))
    exactly(g, [g.op("aten.cat.default", [x, i, b, h], 1), g.op("aten.cat.default", [i, b], 1), g.op("aten.cat.default", [e, h], 1)], folder)


def test_many_parts_are_left_to_pytorch(folder):
    g = GraphWriter()
    x = g.input(some((3, 20)))
    p = check(g, [g.op("aten.cat.default", [x] * 12, 1)], folder)
    assert not p.p["kernels"]


def test_nothing_to_move(folder):
    g = GraphWriter()
    x, none = g.input(some((3, 20))), g.input(some((0, 20)))
    exactly(g, [g.op("aten.cat.default", [x, none], 0), g.op("aten.cat.default", [none, x], 0)], folder)
    g = GraphWriter()
    none = g.input(some((0, 20)))
    check(g, [g.op("aten.cat.default", [none, none], 0), g.op("aten.flip.default", none, [1])], folder)


@pytest.mark.parametrize("columns", [128, 6, 34])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotate_half_is_one_kernel(folder, columns, dtype):
    """x * cos + cat(-x2, x1) * sin, as Llama has it, on heads that are a transposed view."""
    g = GraphWriter()
    x = g.input(some((2, 7, 3, columns), dtype).transpose(1, 2))
    cos, sin = g.input(some((7, columns), dtype)), g.input(some((7, columns), dtype))
    first, second = g.op("aten.slice.Tensor", x, 3, 0, columns // 2), g.op("aten.slice.Tensor", x, 3, columns // 2)
    turned = g.op("aten.cat.default", [g.op("aten.neg.default", second), first], -1)
    y = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", x, cos), g.op("aten.mul.Tensor", turned, sin))
    p = check(g, [y], folder)  # a product and a sum may be one operation
    assert len(p.p["kernels"]) == len(p.p["steps"]) == 1


def test_counted_numbers(folder):
    g = GraphWriter()
    a, b = g.op("aten.arange.default", 37), g.op("aten.arange.start_step", 5, 100, 3)
    x = g.input(some((37,)))
    exactly(g, [a, b, g.op("aten.add.Tensor", x, a), g.op("aten.arange.start_step", 10, -9, -4, dtype=torch.int32),
                g.op("aten.arange.default", 50, dtype=torch.float32), g.op("aten.eye.m", 5, 7)], folder)  # fmt: skip
    g = GraphWriter()
    p = check(g, [g.op("aten.arange.start_step", 0.0, 1.0, 0.1)], folder)
    assert not p.p["kernels"]  # eager's own rounding


def test_causal_mask_from_numbers(folder):
    """col <= row, made from two ranges of numbers, and its use: one kernel, and no memory for the numbers."""
    g = GraphWriter()
    x = g.input(some((2, 33, 33)))
    n = g.op("aten.arange.default", 33)
    row = g.op("aten.unsqueeze.default", n, 1)
    y = g.op("aten.where.self", g.op("aten.le.Tensor", n, row), x, g.op("aten.full.default", [], -5.0))
    p = exactly(g, [y], folder, 1)
    assert len(p.p["steps"][0]["buffers"]) == 2


@pytest.mark.parametrize("columns", [1, 33, 64])
@pytest.mark.parametrize("index", [torch.int64, torch.int32])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_embedding(folder, columns, index, dtype):
    g = GraphWriter()
    table, i = g.input(some((50, columns), dtype)), g.input(torch.randint(0, 50, (3, 7)).to(index))
    exactly(g, [g.op("aten.embedding.default", table, i)], folder, 1)


def layer_norm(g, x, n, weight, bias):
    mean = g.op("aten.mean.dim", x, [-1], True)
    d = g.op("aten.sub.Tensor", x, mean)
    var = g.op("aten.mean.dim", g.op("aten.mul.Tensor", d, d), [-1], True)
    r = g.op("aten.rsqrt.default", g.op("aten.add.Tensor", var, 1e-5))
    return g.op("aten.add.Tensor", g.op("aten.mul.Tensor", g.op("aten.mul.Tensor", d, r), weight), bias)


def test_embeddings_and_norm_are_one_kernel(folder):
    g = GraphWriter()
    words, places = g.input(some((50, 96))), g.input(some((16, 96)))
    i = g.input(torch.randint(0, 50, (3, 9)))
    w, b = g.input(some((96,))), g.input(some((96,)))
    at = g.op("aten.unsqueeze.default", g.op("aten.arange.default", 9), 0)
    x = g.op("aten.add.Tensor", g.op("aten.embedding.default", words, i), g.op("aten.embedding.default", places, at))
    p = check(g, [layer_norm(g, x, 96, w, b)], folder, rtol=1e-5, atol=1e-5)
    assert len(p.p["kernels"]) == 1 and len(p.p["steps"]) == 1


PICKS = {
    "gather": lambda g, x, i: g.op("aten.gather.default", x, 1, g.op("aten.view.default", i, [1, 8, 1])),
    "gather of all": lambda g, x, i: g.op("aten.gather.default", x, 0, g.op("aten.expand.default", g.op("aten.view.default", i, [8, 1, 1]), [8, 4, 21])),
    "gather of columns": lambda g, x, i: g.op("aten.gather.default", x, 2, g.op("aten.view.default", i, [1, 1, 8])),
    "rows": lambda g, x, i: g.op("aten.index_select.default", x, 0, i),
    "columns": lambda g, x, i: g.op("aten.index_select.default", x, 2, i),
    "index": lambda g, x, i: g.op("aten.index.Tensor", x, [i]),
    "index of columns": lambda g, x, i: g.op("aten.index.Tensor", x, [None, None, i]),
    "two indices": lambda g, x, i: g.op("aten.index.Tensor", x, [i, g.op("aten.view.default", i, [8, 1])]),
    "two indices apart": lambda g, x, i: g.op("aten.index.Tensor", x, [i, None, i]),
    "three indices": lambda g, x, i: g.op("aten.index.Tensor", x, [i, i, i]),
    "inner indices": lambda g, x, i: g.op("aten.index.Tensor", x, [None, i, i]),
    "computed index": lambda g, x, i: g.op("aten.index.Tensor", x, [g.op("aten.sub.Tensor", i, 2)]),
    "computed index of columns": lambda g, x, i: g.op("aten.index.Tensor", x, [None, None, g.op("aten.mul.Tensor", i, -1)]),
}  # fmt: skip


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("name", PICKS)
def test_gathers_are_exact(folder, name, lanes):
    g = GraphWriter()
    x, i = g.input(some((3, 4, 21))), g.input(torch.randint(0, 3, (8,)))
    y = PICKS[name](g, x, i)
    p = exactly(g, [g.op("aten.mul.Tensor", y, 2)], folder, 1, lanes=lanes)
    assert "bad" in p.p["kernels"][0]["text"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool], ids=str)
def test_picked_types(folder, dtype):
    g = GraphWriter()
    x, i = g.input(some((3, 4, 21), dtype)), g.input(torch.randint(0, 3, (8,)))
    exactly(g, [make(g, x, i) for make in PICKS.values()], folder)


@pytest.mark.parametrize("layout", layouts())
def test_picked_layouts(folder, layout):
    g = GraphWriter()
    x, i = g.input(layouts()[layout]), g.input(torch.randint(0, 3, (16,))[::2])
    exactly(g, [make(g, x, i) for make in PICKS.values()], folder)


def test_negative_indices_count_from_the_end(folder):
    g = GraphWriter()
    x, i = g.input(some((5, 21))), g.input(torch.tensor([-1, 0, 4, -5]))
    exactly(g, [g.op("aten.index.Tensor", x, [i]), g.op("aten.index.Tensor", x, [None, i])], folder)


BAD = {
    "embedding": (lambda g, x, i: g.op("aten.embedding.default", x, i), [5, -1]),
    "gather": (lambda g, x, i: g.op("aten.gather.default", x, 1, g.op("aten.view.default", i, [1, 3])), [21, -1]),
    "rows": (lambda g, x, i: g.op("aten.index_select.default", x, 0, i), [5, -1]),
    "index": (lambda g, x, i: g.op("aten.index.Tensor", x, [i]), [5, -6]),
    "index of columns": (lambda g, x, i: g.op("aten.index.Tensor", x, [None, i]), [21, -22]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_an_index_out_of_range_is_told(folder, name):
    make, wrong = BAD[name]
    g = GraphWriter()
    x, i = g.input(some((5, 21))), g.input(torch.tensor([1, 2, 3]))
    p = exactly(g, [make(g, x, i)], folder, 1)
    for bad in wrong:
        with pytest.raises(IndexError):
            p.run([x.tensor, torch.tensor([1, bad, 3])])


def test_loss_of_picked_scores(folder):
    """A row's maximum, and its score at the target: picked within the reduction's kernel or beside it."""
    g = GraphWriter()
    x, t = g.input(some((6, 33))), g.input(torch.randint(0, 33, (6, 1)))
    top = g.op("aten.amax.default", x, [1], True)
    exactly(g, [g.op("aten.sub.Tensor", g.op("aten.gather.default", x, 1, t), top)], folder)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(folder, seed):
    """Moves, picks, arithmetic and reductions, mixed."""
    import random

    r = random.Random(seed)
    torch.manual_seed(seed)
    g = GraphWriter()
    shape = (r.choice([1, 3]), r.choice([2, 4, 5]), r.choice([4, 16, 33]))
    values = [g.input(some(shape)) for _ in range(2)] + [g.input(some(shape[::-1]).permute(2, 1, 0))]
    i = g.input(torch.randint(0, shape[0], (8,)))
    moves, picks = list(MOVES.values()), list(PICKS.values())
    for _ in range(7):
        x = r.choice([v for v in values if v.tensor.dim() == 3 and v.tensor.shape[2] <= 33])
        kind = r.choice(["move", "move", "pick", "unary", "binary", "sum"])
        try:
            if kind == "move":
                y = r.choice(moves)(g, x)
            elif kind == "pick":
                y = r.choice(picks)(g, x, i)
            elif kind == "unary":
                y = g.op("aten.neg.default", x)
            elif kind == "sum":
                y = g.op("aten.amax.default", x, [-1], True)
            else:
                same = [v for v in values if v.tensor.shape == x.tensor.shape]
                y = g.op("aten.mul.Tensor", x, r.choice(same))
        except (RuntimeError, IndexError):
            continue  # sizes that do not fit it
        if y.tensor.numel() < 50000:
            values.append(y)
    check(g, list(dict.fromkeys([*r.sample(values, 2), values[-1]])), folder, rtol=1e-5, atol=1e-5)
