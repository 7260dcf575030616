"""Running sums and products in kernels that are generated for a GPU, on a machine that may have none."""

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


@pytest.mark.parametrize("size, dim", [((5, 24), 1), ((3, 2500), 1), ((2, 4201), 1), ((70, 77), 1), ((9, 33), -1), ((40, 30), 0), ((3, 20, 7), 1), ((3, 300, 40), 1), ((2, 1100, 70), 1), ((65, 33), 0)], ids=str)
def test_running_sums(size, dim, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, half = g.input(torch.randn(size)), g.input(torch.randint(-3, 4, size).bfloat16())
    flags, bytes_ = g.input(torch.rand(size) < 0.5), g.input(torch.randint(0, 99, size, dtype=torch.int8))
    turned = g.op("aten.mul.Tensor", x, 0.5)  # a part of the sums' kernel
    results = [
        g.op("aten.cumsum.default", turned, dim),
        g.op("aten.cumsum.default", half, dim),
        g.op("aten.cumsum.default", flags, dim),
        g.op("aten.cumsum.default", bytes_, dim, dtype=torch.float64),
    ]
    exact = [r.tensor for r in results]
    exact[0], exact[1] = turned.tensor.double().cumsum(dim), half.tensor.double().cumsum(dim).bfloat16()
    check(g, results, tmp_path, kernels=4, reference=exact)


def test_running_products(tmp_path):
    g = GraphWriter()
    x = g.input(torch.rand(4, 300, dtype=torch.float64) + 0.5)
    i = g.input(torch.randint(1, 3, (7, 40)))
    results = [g.op("aten.cumprod.default", x, 1), g.op("aten.cumprod.default", i, 0), g.op("aten.cumprod.default", x, 0)]
    check(g, results, tmp_path, kernels=3, tolerance=1e-12)


def test_layouts(tmp_path):
    g = GraphWriter()
    x = g.op("aten.t.default", g.input(torch.randn(50, 70)))
    spread = g.op("aten.expand.default", g.input(torch.randn(1, 40)), [6, 40])
    results = [g.op("aten.cumsum.default", x, 0), g.op("aten.cumsum.default", x, 1), g.op("aten.cumsum.default", spread, 0)]
    check(g, results, tmp_path, kernels=3)


def test_of_what_is_moved(tmp_path):
    """Joined and padded: read in parts of the rows only, which sums across rows leave to a kernel of its own."""
    g = GraphWriter()
    x = g.input(torch.randn(6, 9, 33))
    padded, joined = g.op("aten.constant_pad_nd.default", x, [0, 0, 2, 3]), g.op("aten.cat.default", [x, g.op("aten.neg.default", x)], 1)
    row = g.op("aten.constant_pad_nd.default", g.input(torch.randn(30)), [0, 3])
    results = [g.op("aten.cumsum.default", moved, dim) for moved in (padded, joined) for dim in (0, 1, 2)]
    results += [g.op("aten.sum.dim_IntList", g.op("aten.expand.default", row, [70, 33]), [0])]
    check(g, results, tmp_path)


def test_for_every_architecture():
    g = GraphWriter()
    x, h = g.input(torch.zeros(130, 4096)), g.input(torch.zeros(300, 100, dtype=torch.float16))
    results = [g.op("aten.cumsum.default", v, d) for v in (x, h) for d in (0, 1)]
    check_kernels(program_of(g.text(results))["kernels"])


def test_what_pytorch_scans():
    g = GraphWriter()
    long, x = g.input(torch.zeros(3, 70000)), g.input(torch.zeros(5, 6))
    results = [
        g.op("aten.cumsum.default", long, 1),
        g.op("aten.cumsum.default", x, 1, dtype=torch.float16),
        g.op("aten.cumsum.default", g.input(torch.zeros(())), 0),
    ]
    assert not program_of(g.text(results))["kernels"]
