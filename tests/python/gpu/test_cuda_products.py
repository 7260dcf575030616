"""Products of few rows as generated for a GPU, on a machine that may have none."""

import platform
import shutil

import pytest
import torch
from tests.python.support.codegen_harness import CLANG, TOOL, GraphWriter
from tests.python.support.cuda_on_cpu import check

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(not shutil.which(CLANG), reason="clang++ is not here"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the GPU's threads are played on x86-64 only"),
]
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def linear(g, x, w, b=None):
    turned = g.op("aten.t.default", w)
    return g.op("aten.mm.default", x, turned) if b is None else g.op("aten.addmm.default", b, x, turned)


def is_by_matrices(program):
    return ["multiply_tile(acc" in k["text"] for k in program.p["kernels"]]


SIZES = [(2, 17, 32, torch.float16), (3, 40, 264, torch.bfloat16), (8, 48, 8, torch.bfloat16), (9, 33, 520, torch.float16), (16, 64, 256, torch.bfloat16)]


@pytest.mark.parametrize("rows, columns, inner, dtype, arch", [*((*size, "sm_90") for size in SIZES), (*SIZES[1], "sm_80"), (*SIZES[3], "sm_75")])
def test_few_rows(rows, columns, inner, dtype, arch, tmp_path):
    torch.manual_seed(0)
    x, w, b, r = (torch.randn(*s).to(dtype) for s in ((rows, inner), (columns, inner), (columns,), (rows, columns)))
    g = GraphWriter()
    x, w, b, r = (g.input(t) for t in (x, w, b, r))
    y = g.op("aten.add.Tensor", linear(g, x, w, b), r)
    exact = x.tensor.double() @ w.tensor.double().t() + b.tensor.double() + r.tensor.double()
    program = check(g, [y], tmp_path, kernels=1, tolerance=TOLERANCE[dtype], reference=[exact.to(dtype)], arch=arch)
    assert is_by_matrices(program) == [arch != "sm_75"]


def test_two_products_and_what_follows_are_one_kernel(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, w, v = (g.input(torch.randn(*s).bfloat16()) for s in ((4, 128), (56, 128), (56, 128)))
    y = g.op("aten.mul.Tensor", g.op("aten.silu.default", linear(g, x, w)), linear(g, x, v))
    program = check(g, [y], tmp_path, kernels=1, tolerance=2e-2, arch="sm_90")
    assert is_by_matrices(program) == [True]
    assert program.p["kernels"][0]["text"].count("copy_ahead<aligned>(to + (4 + e)") == 1


def test_rows_that_are_a_part_of_others(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, w = g.input(torch.randn(5, 128).half()), g.input(torch.randn(24, 96).half())
    part = g.op("aten.slice.Tensor", x, 1, 32, 96 + 32)
    assert is_by_matrices(check(g, [linear(g, part, w)], tmp_path, kernels=1, tolerance=2e-3, arch="sm_90")) == [True]


@pytest.mark.parametrize("rows, inner, dtype", [(17, 64, torch.float16), (4, 60, torch.float16), (4, 64, torch.float32)])
def test_what_is_the_librarys(rows, inner, dtype, tmp_path):
    g = GraphWriter()
    x, w = g.input(torch.randn(rows, inner).to(dtype)), g.input(torch.randn(40, inner).to(dtype))
    check(g, [linear(g, x, w)], tmp_path, kernels=0, tolerance=2e-3, arch="sm_90")


@pytest.mark.parametrize("arch, most", [("sm_80", 163), ("sm_86", 99), ("sm_90", 227)])
def test_the_copies_under_way_fit_a_block(arch, most, tmp_path):
    """Two products of 16 rows each: as much as a lane can have of a step."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, y, w, v = (g.input(torch.randn(*s).half()) for s in ((16, 1024), (16, 1024), (40, 1024), (40, 1024)))
    program = check(g, [g.op("aten.add.Tensor", linear(g, x, w), linear(g, y, v))], tmp_path, kernels=1, tolerance=3e-3, arch=arch)
    assert is_by_matrices(program) == [True]
    assert 0 < program.p["kernels"][0]["shared"] <= most << 10
