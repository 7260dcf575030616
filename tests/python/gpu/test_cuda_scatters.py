"""What is written and added at indexed places by kernels that are generated for a GPU, on a machine that may have none."""

import platform
import shutil

import pytest
import torch
from tests.python.support.codegen_harness import CLANG, TOOL, GraphWriter
from tests.python.support.cuda_on_cpu import check
from tests.python.gpu.test_cuda_kernels import check_kernels, program_of

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(not shutil.which(CLANG), reason="clang++ is not here"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the GPU's threads are played on x86-64 only"),
]
F32, F16, BF16, I64, I32, BOOL = torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool


def some(shape, dtype):
    return torch.randint(-4, 5, shape).to(dtype)  # sums of so small numbers are exact in any order


@pytest.mark.parametrize("dtype", [F32, BF16, I64, BOOL], ids=str)
def test_written_at_indexed_places(dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, source = g.input(some((33, 40), dtype)), g.input(some((33, 24), dtype))
    along = g.input(torch.stack([torch.randperm(40)[:24] for _ in range(33)]))
    rows, columns = g.input(torch.tensor([[3], [-2]])), g.input(torch.tensor([0, 7, -1]))
    values = g.input(some((2, 3), dtype))
    results = [
        g.op("aten.scatter.src", x, 1, along, source),
        g.op("aten.scatter.value", x, 1, along, 1),
        g.op("aten.index_put.default", x, [rows, columns], values),
        g.op("aten.index_put.default", x, [None, columns], g.input(some((33, 3), dtype))),
        g.op("aten.index_put.default", g.op("aten.t.default", x), [columns], g.input(some((3, 33), dtype))),
    ]
    results.append(g.op("aten.index_copy.default", x, 1, g.input(torch.tensor([39, 0, 5])), g.input(some((33, 3), dtype))))
    check(g, results, tmp_path, kernels=12)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32, I64], ids=str)
def test_added_at_indexed_places(dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, source = g.input(some((33, 48), dtype)), g.input(some((70, 48), dtype))
    which, where = g.input(torch.randint(0, 33, (70,))), g.input(torch.randint(0, 33, (70, 48)))
    columns = g.input(torch.randint(0, 48, (9,)))
    doubled = g.op("aten.mul.Tensor", source, 2)  # a part of the sums' kernel
    zeros = g.op("aten.zeros_like.default", x)  # no kernel
    results = [
        g.op("aten.index_add.default", zeros, 0, which, doubled),
        g.op("aten.index_add.default", x, 1, columns, g.input(some((33, 9), dtype))),
        g.op("aten.index_add.default", x, 0, which, doubled, alpha=3),
        g.op("aten.scatter_add.default", x, 0, where, source),
    ]
    check(g, results, tmp_path, kernels=8)


def test_messages_of_edges_are_picked_where_they_are_added(tmp_path):
    """What is picked is computed by a kernel of its own before; no tensor holds it once an edge."""
    g = GraphWriter()
    x, edges = g.input(some((33, 48), F32)), [g.input(torch.randint(0, 33, (70,))) for _ in range(2)]
    nodes = g.op("aten.exp.default", g.op("aten.mul.Tensor", x, 0.0))
    messages = g.op("aten.mul.Tensor", g.op("aten.index.Tensor", nodes, [edges[0]]), 2)
    check(g, [g.op("aten.index_add.default", x, 0, edges[1], messages), g.op("aten.neg.default", nodes)], tmp_path, kernels=3)


@pytest.mark.parametrize("dtype, run", [(F32, "v4.f32"), (F16, "v4.f16x2"), (BF16, "v4.bf16x2")], ids=str)
def test_sums_move_whole_runs(dtype, run):
    g = GraphWriter()
    x, source, which = g.input(torch.zeros(8, 64, dtype=dtype)), g.input(torch.zeros(5, 64, dtype=dtype)), g.input(torch.zeros(5, dtype=I64))
    kernels = program_of(g.text([g.op("aten.index_add.default", x, 0, which, source)]))["kernels"]
    assert run in kernels[1]["text"] and "add_pack_" in kernels[1]["text"]
    check_kernels(kernels)


# Rows of the result, how often which index comes: all different, some often, some so often that many runs have
# them, one alone; and so few rows that a block has a sum of each.
INDICES = {
    "different": (1000, lambda: torch.randperm(1000)[:700]),
    "often": (100, lambda: torch.randint(0, 100, (700,))),
    "mostly one": (60, lambda: torch.where(torch.rand(900) < 0.7, 7, torch.randint(0, 60, (900,)))),
    "one": (60, lambda: torch.full((601,), 59)),
    "one tile": (60, lambda: torch.randint(0, 60, (83,))),
    "few": (3, lambda: torch.randint(0, 3, (5000,))),
    "tables": (40, lambda: torch.randint(0, 40, (300,))),
    "merged": (300, lambda: torch.randint(0, 300, (5000,))),
    "merged twice": (900, lambda: torch.randint(0, 900, (17000,))),
}


@pytest.mark.parametrize("case", INDICES)
def test_gradient_of_an_embedding(case, tmp_path):
    torch.manual_seed(0)
    rows, indices = INDICES[case]
    which = indices()
    for dtype, columns, padding in ((F32, 300, -1), (BF16, 24, -1), (torch.float64, 33, int(which[0]))):
        g = GraphWriter()
        columns = columns if len(which) < 2000 else 4
        gradient = some((len(which), columns), dtype)
        i, x = g.input(which), g.input(gradient)
        doubled = g.op("aten.mul.Tensor", x, 2)  # a part of the sums' kernel
        few = rows * 256 * (8 if dtype == torch.float64 else 4) <= 48 << 10
        keep = which != padding
        exact = torch.zeros(rows, columns, dtype=torch.float64).index_add(0, which[keep], 2 * gradient[keep].double())
        check(g, [g.op("aten.embedding_dense_backward.default", doubled, i, rows, padding, False)], tmp_path,
              kernels=2 if few else 4 + (len(which) > 2048) + (len(which) > 2048 * 8), reference=[exact.to(dtype)])


def test_gradient_of_an_embedding_in_any_layout(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    i, x = g.input(torch.randint(0, 90, (20, 30), dtype=I32).t()), g.input(some((40, 20, 30), F32))
    moved = g.op("aten.permute.default", x, [2, 1, 0])
    spread = g.op("aten.expand.default", g.input(some((20, 40), F32)), [30, 20, 40])
    results = [g.op("aten.embedding_dense_backward.default", value, i, 90, -1, False) for value in (moved, spread)]
    check(g, results, tmp_path, kernels=8)


@pytest.mark.parametrize("dtype", [F32, BF16, I64], ids=str)
def test_added_in_order(dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, values = g.input(some((90, 4, 12), dtype)), g.input(some((300, 4, 12), dtype))
    which = g.input(torch.randint(-90, 90, (300,)))
    results = [
        g.op("aten.index_put.default", x, [which], values, True),
        g.op("aten.index_put.default", g.op("aten.zeros_like.default", x), [which], values, True),
        g.op("aten.index_put.default", x, [which], g.input(some((4, 12), dtype)), True),
    ]
    check(g, results, tmp_path, kernels=12)


def test_where_to_add_is_computed_and_counted(tmp_path):
    """h[i + 3, length - 1]: indices that no tensor holds, and two that say together which row it is."""
    torch.manual_seed(0)
    g = GraphWriter()
    lengths = g.input(torch.randint(1, 50, (300,)))
    at = g.op("aten.add.Tensor", g.input(torch.randint(0, 4, (300,))), 3)
    last = g.op("aten.sub.Tensor", lengths, 1)
    zeros = g.op("aten.zeros_like.default", g.input(some((9, 50, 12), F32)))
    results = [
        g.op("aten.index_put.default", zeros, [at, last], g.input(some((300, 12), F32)), True),
        g.op("aten.embedding_dense_backward.default", g.input(some((300, 20), F32)), at, 100, 3, False),
        g.op("aten.embedding_dense_backward.default", g.input(some((300, 20), F32)), at, 8, -1, False),
    ]
    check(g, results, tmp_path)


@pytest.mark.parametrize("rows", [3, 90])
def test_added_to_another_gradient_in_its_memory(rows, tmp_path):
    """The table of a model's words, which is its last layer too."""
    torch.manual_seed(0)
    g = GraphWriter()
    i = g.input(torch.randint(0, rows, (400,)))
    product = g.op("aten.mm.default", g.input(some((rows, 16), F32)), g.input(some((16, 24), F32)))
    kept = g.op("aten.mm.default", g.input(some((rows, 16), F32)), g.input(some((16, 24), F32)))
    sums = [g.op("aten.embedding_dense_backward.default", g.input(some((400, 24), F32)), i, rows, -1, False) for _ in "abc"]
    results = [
        g.op("aten.mul.Tensor", g.op("aten.add.Tensor", product, sums[0]), 3),
        g.op("aten.add.Tensor", sums[1], kept),
        g.op("aten.add.Tensor", kept, sums[2], alpha=2),  # what is added is scaled
        kept,
    ]
    program = check(g, results, tmp_path, kernels=9 if rows == 3 else 13)
    names = [k["name"] for k in program.p["kernels"]]
    assert sum("add" in name for name in names) >= 2, names


def test_the_same_sums_each_time():
    """Nothing is left to the order in which threads run."""
    for rows in (3, 1000):
        g = GraphWriter()
        i, x = g.input(torch.zeros(512, dtype=I64)), g.input(torch.zeros(512, 64))
        kernels = program_of(g.text([g.op("aten.embedding_dense_backward.default", x, i, rows, -1, False)]))["kernels"]
        assert not any("atomic" in k["text"] or "red.global" in k["text"] for k in kernels)
        check_kernels(kernels)


def test_what_pytorch_adds_in_its_order_stays_there():
    g = GraphWriter()
    x, source, which = g.input(torch.zeros(8, 64)), g.input(torch.zeros(5)), g.input(torch.zeros(5, dtype=I64))
    many = g.input(torch.zeros(70000, dtype=I64))
    results = [
        g.op("aten.index_put.default", x, [which, which], source, True),  # no whole rows
        g.op("aten.embedding_dense_backward.default", g.input(torch.zeros(70000, 4)), many, 5000, -1, False),
        g.op("aten.embedding_dense_backward.default", g.input(torch.zeros(5, 4)), which, 5000, -1, True),
    ]
    assert not program_of(g.text(results))["kernels"]
