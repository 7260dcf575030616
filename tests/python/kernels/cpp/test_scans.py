"""Running sums and products in kernels for a CPU: along rows, across them, and how PyTorch adds them up."""

import pytest
import torch
import vitrine
from tests.python.support.codegen_harness import TOOL, GraphWriter, check

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built")
SIZES = [((5, 1024), 1), ((3, 2501), 1), ((70, 77), 0), ((9, 33, 40), 1), ((1, 9000), 1), ((3, 300, 41), -1), ((4099,), 0)]


@needs_tool
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("size, dim", SIZES, ids=str)
def test_running_sums(size, dim, lanes, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, wide = g.input(torch.randn(size)), g.input(torch.randn(size, dtype=torch.float64))
    half, flags, bytes_ = g.input(torch.randn(size).half()), g.input(torch.rand(size) < 0.5), g.input(torch.randint(-99, 99, size, dtype=torch.int8))
    results = [
        g.op("aten.cumsum.default", g.op("aten.mul.Tensor", x, 0.5), dim),
        g.op("aten.cumsum.default", half, dim),
        g.op("aten.cumsum.default", flags, dim),
        g.op("aten.cumsum.default", bytes_, dim),
        g.op("aten.cumsum.default", wide, dim),
    ]
    program = check(g, results, tmp_path, lanes, rtol=1e-6, atol=1e-6)
    assert len(program.p["kernels"]) == len(results)


@needs_tool
@pytest.mark.parametrize("size, dim", SIZES, ids=str)
def test_running_products(size, dim, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x, signs = g.input(torch.rand(size) + 0.5), g.input(torch.randint(0, 2, size, dtype=torch.int32) * 2 - 1)
    check(g, [g.op("aten.cumprod.default", x, dim), g.op("aten.cumprod.default", signs, dim)], tmp_path, rtol=0, atol=0)


@needs_tool
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_of_what_is_moved(dim, tmp_path):
    g = GraphWriter()
    x = g.input(torch.randn(6, 40, 33))
    moved = [
        g.op("aten.constant_pad_nd.default", x, [0, 0, 2, 3]),
        g.op("aten.cat.default", [x, g.op("aten.neg.default", x)], 1),
        g.op("aten.flip.default", x, [1, 2]),
        g.op("aten.transpose.int", x, 0, 2),
        g.op("aten.expand.default", g.input(torch.randn(6, 1, 33)), [6, 40, 33]),
        g.op("aten.index_select.default", x, 1, g.input(torch.randint(0, 40, (50,)))),
    ]
    check(g, [g.op("aten.cumsum.default", m, dim) for m in moved], tmp_path, rtol=1e-6, atol=1e-6)


EXTREMES = {
    "infinities": [float("inf"), 1.0, -float("inf"), 2.0],
    "a NaN": [1.0, float("nan"), 2.0],
    "zero before large": [0.0] + [3e38] * 15,
    "up to the largest": [-3e38, -3e38, 3e38, 3e38, 3e38],
    "negative zeros": [-0.0, -0.0, -0.0],
}


@needs_tool
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("dim", [0, 1])
def test_extremes(name, dim, dtype, tmp_path):
    values = torch.tensor(EXTREMES[name], dtype=torch.float64) * (1e270 if dtype == torch.float64 else 1)
    g, given = GraphWriter(), []
    for fill in (0, 1):
        x = torch.full((80, 80), fill, dtype=dtype)
        x.view(-1)[: len(values)] = values.to(dtype)
        x[:, 3] = x[3, :].clone()
        given.append(g.input(x if dim else x.t().contiguous()))
    results = [g.op("aten.cumsum.default", given[0], dim), g.op("aten.cumprod.default", given[1], dim)]
    check(g, results, tmp_path, rtol=1e-2 if dtype == torch.bfloat16 else 1e-6, atol=1e-6)


def gated(x, gate, skip, dim):
    return torch.cumsum(x * torch.sigmoid(gate), dim) * torch.nn.functional.silu(gate) + skip


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_any_size_and_gradients(dim):
    compiled = vitrine.compile(gated, dynamic=True)
    for n in (40, 41, 64, 129):
        args = [torch.randn(4, n, 35, requires_grad=True) for _ in range(3)]
        mine = [a.detach().clone().requires_grad_() for a in args]
        expected, found = gated(*args, dim), compiled(*mine, dim)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        expected.square().sum().backward()
        found.square().sum().backward()
        for a, b in zip(args, mine):
            torch.testing.assert_close(b.grad, a.grad, rtol=1e-4, atol=1e-4)


def test_few_elements_stay_pytorchs(tmp_path):
    g = GraphWriter()
    program = check(g, [g.op("aten.cumsum.default", g.input(torch.randn(8, 8)), 1)], tmp_path)
    assert not program.p["kernels"]
