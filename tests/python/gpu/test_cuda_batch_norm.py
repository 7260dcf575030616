"""Batch norm of training and its gradients in kernels that are generated for a GPU, whose threads are played here."""

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
FORMATS = {"channels outside": torch.contiguous_format, "channels innermost": torch.channels_last}
# images, channels, height, width; the last two are walked in parts
SIZES = [(2, 3, 5, 7), (4, 24, 9, 9), (8, 64, 24, 24), (5, 72, 31, 33)]


def images(g, sizes, dtype, layout, mean=0.0):
    return g.input((torch.randn(sizes) * 2 + mean).to(dtype).contiguous(memory_format=FORMATS[layout]))


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_training(sizes, dtype, layout, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x = images(g, sizes, dtype, layout, mean=30.0)
    w, b, m, v = (g.input(torch.rand(sizes[1]) + 0.5) for _ in range(4))
    exact = torch.native_batch_norm(x.tensor.double(), *(t.tensor.double() for t in (w, b, m, v)), True, 0.1, 1e-5)
    y, mean, inverse = g.op("aten.native_batch_norm.default", x, w, b, m, v, True, 0.1, 1e-5)
    r = g.op("aten.relu.default", y)
    check(g, [r, mean, inverse], tmp_path, tolerance=2e-2 if dtype != torch.float32 else 1e-5,
          reference=[exact[0].relu(), exact[1], exact[2]])


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_gradients(sizes, dtype, layout, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, d = images(g, sizes, dtype, layout), images(g, sizes, dtype, layout)
    w = g.input(torch.rand(sizes[1]) + 0.5)
    wide = x.tensor.float()
    mean, inverse = g.input(wide.mean((0, 2, 3))), g.input((wide.var((0, 2, 3), correction=0) + 1e-5).rsqrt())
    args = [t.tensor.double() for t in (d, x, w)]
    exact = torch.ops.aten.native_batch_norm_backward(*args, None, None, mean.tensor.double(), inverse.tensor.double(), True, 1e-5, [True] * 3)
    found = g.op("aten.native_batch_norm_backward.default", d, x, w, None, None, mean, inverse, True, 1e-5, [True, True, True])
    check(g, list(found), tmp_path, tolerance=1e-2 if dtype != torch.float32 else 1e-5, reference=list(exact))


def test_nothing_is_left_of_a_channel_of_one_number(tmp_path):
    g = GraphWriter()
    x = g.input(torch.full((8, 4, 12, 12), 1000.3))
    w, b, m, v = g.input(torch.rand(4) + 0.5), g.input(torch.zeros(4)), g.input(torch.zeros(4)), g.input(torch.ones(4))
    y, _, _ = g.op("aten.native_batch_norm.default", x, w, b, m, v, True, 0.1, 1e-5)
    check(g, [y], tmp_path, reference=[torch.zeros(8, 4, 12, 12)])
