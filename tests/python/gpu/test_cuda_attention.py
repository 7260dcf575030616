"""Attention of one query a head as generated for a GPU, on a machine that may have none."""

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
ATTENTION = "aten.scaled_dot_product_attention.default"
MASKS = {
    "none": lambda b, h, t: None,
    "places": lambda b, h, t: torch.arange(t)[None, None, None, :] <= t // 2,
    "heads": lambda b, h, t: torch.rand(b, h, 1, t) < 0.5,
    "numbers": lambda b, h, t: torch.randn(1, 1, 1, t),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("batch, heads, places, width", [(1, 4, 70, 64), (2, 1, 33, 24), (3, 2, 1, 128)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_one_query_a_head(dtype, mask, batch, heads, places, width, tmp_path):
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, heads, n, width).to(dtype) for n in (1, places, places))
    m = MASKS[mask](batch, heads, places)
    m = m.to(dtype) if m is not None and m.is_floating_point() else m
    exact = torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), attn_mask=m if m is None or m.dtype == torch.bool else m.double())
    g = GraphWriter()
    args = [g.input(x) for x in (q, k, v)] + ([] if m is None else [g.input(m)])
    check(g, [g.op(ATTENTION, *args)], tmp_path, kernels=2, tolerance=1e-3 if dtype == torch.float16 else 1e-5, reference=[exact.to(dtype)])


def test_its_text_is_linked_to_the_operator():
    g = GraphWriter()
    q, k, v = (g.input(torch.zeros(1, 4, n, 64, dtype=torch.bfloat16)) for n in (1, 40, 40))
    kernels = program_of(g.text([g.op(ATTENTION, q, k, v)]))["kernels"]
    assert [x["name"] for x in kernels] == ["scaled_dot_product_attention", "scaled_dot_product_attention_parts"]
    assert all("follow();" in x["text"] for x in kernels)
    check_kernels(kernels)
