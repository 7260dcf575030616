"""What is written and added at indexed places by kernels that are generated for a GPU, on a machine that may have none."""

import platform
import shutil

import pytest
import torch
from codegen_harness import CLANG, TOOL, GraphWriter
from cuda_on_cpu import check
from test_cuda_kernels import check_kernels, program_of

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
    check(g, results, tmp_path, kernels=10)


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
        g.op("aten.scatter_add.default", x, 0, where, source),
    ]
    check(g, results, tmp_path, kernels=6)


@pytest.mark.parametrize("dtype, run", [(F32, "v4.f32"), (F16, "v4.f16x2"), (BF16, "v4.bf16x2")], ids=str)
def test_sums_move_whole_runs(dtype, run):
    g = GraphWriter()
    x, source, which = g.input(torch.zeros(8, 64, dtype=dtype)), g.input(torch.zeros(5, 64, dtype=dtype)), g.input(torch.zeros(5, dtype=I64))
    kernels = program_of(g.text([g.op("aten.index_add.default", x, 0, which, source)]))["kernels"]
    assert run in kernels[1]["text"] and "add_pack_" in kernels[1]["text"]
    check_kernels(kernels)


def test_what_pytorch_adds_in_its_order_stays_there():
    g = GraphWriter()
    x, source, which = g.input(torch.zeros(8, 64)), g.input(torch.zeros(5, 64)), g.input(torch.zeros(5, dtype=I64))
    assert not program_of(g.text([g.op("aten.index_put.default", x, [which], source, True)]))["kernels"]
