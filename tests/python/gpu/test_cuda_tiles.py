"""Large products by tiles as generated for a Hopper GPU, on a machine that may have none."""

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


def random(g, *sizes, dtype=torch.bfloat16):
    return g.input(torch.randn(*sizes).to(dtype))


def by_tiles(g, result, tmp_path, columns=128, fused=False, tolerance=1.6e-2, kernels=1, reference=None):
    more = [f"tiles={columns}"] + ["fused"] * fused
    program = check(g, [result], tmp_path, kernels=kernels, tolerance=tolerance, arch="sm_90", more=more, passes=False, reference=reference)
    assert ["Tiles<" in k["text"] for k in program.p["kernels"]] == [True] * kernels
    return program


@pytest.mark.parametrize("turned, columns", [("neither", 256), ("left", 128), ("right", 256), ("both", 128)])
def test_matrices_of_either_direction(turned, columns, tmp_path):
    """Sizes that no tile divides: what lies behind the ends is neither read nor written."""
    torch.manual_seed(0)
    g = GraphWriter()
    m, n, k = 136, 264, 968
    x = g.op("aten.t.default", random(g, k, m)) if turned in ("left", "both") else random(g, m, k)
    w = random(g, k, n) if turned in ("right", "both") else g.op("aten.t.default", random(g, n, k))
    by_tiles(g, g.op("aten.mm.default", x, w), tmp_path, columns)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_row_is_added_before_it_is_rounded(dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, w, b = random(g, 192, 576, dtype=dtype), random(g, 1003, 576, dtype=dtype), random(g, 1003, dtype=dtype)
    exact = x.tensor.double() @ w.tensor.double().t() + b.tensor.double()
    y = g.op("aten.addmm.default", b, x, g.op("aten.t.default", w))
    by_tiles(g, y, tmp_path, tolerance=TOLERANCE[dtype] / 2, reference=[exact.to(dtype)])


def test_many_matrices(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    by_tiles(g, g.op("aten.bmm.default", random(g, 3, 136, 264), random(g, 3, 264, 336)), tmp_path)


def test_what_follows_is_computed_of_the_tiles(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, w, u, s = random(g, 256, 264), random(g, 520, 264), random(g, 256, 520), random(g, 520, dtype=torch.float32)
    y = g.op("aten.silu.default", g.op("aten.mm.default", x, g.op("aten.t.default", w)))
    y = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", y, s), u)
    by_tiles(g, y, tmp_path, fused=True)


def test_columns_that_come_in_no_runs(tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, w, u = random(g, 250, 264), random(g, 523, 264), random(g, 523)
    y = g.op("aten.relu.default", g.op("aten.mm.default", x, g.op("aten.t.default", w)))
    by_tiles(g, g.op("aten.add.Tensor", y, u), tmp_path, fused=True)


def test_matrices_that_begin_anywhere(tmp_path):
    """The copy engine reads none that does not begin at a multiple of 16 bytes."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, w = torch.randn(1 + 192 * 264).bfloat16()[1:].view(192, 264), torch.randn(712, 264).bfloat16()
    assert x.data_ptr() % 16
    by_tiles(g, g.op("aten.mm.default", g.input(x), g.op("aten.t.default", g.input(w))), tmp_path)


@pytest.mark.parametrize("m, n, k, dtype", [(512, 512, 512, torch.float32), (32, 4096, 512, torch.bfloat16), (512, 512, 508, torch.bfloat16)])
def test_what_is_the_librarys(m, n, k, dtype, tmp_path):
    g = GraphWriter()
    x, w = random(g, m, k, dtype=dtype), random(g, n, k, dtype=dtype)
    check(g, [g.op("aten.mm.default", x, g.op("aten.t.default", w))], tmp_path, kernels=0, tolerance=2e-2, arch="sm_90", more=["tiles=128"], passes=False)
