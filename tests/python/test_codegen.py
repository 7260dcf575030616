"""Generated kernels against eager: values, layouts, edge shapes, element types, special numbers."""

import pytest
import torch

from codegen_harness import GraphWriter, TOOL, check, tool

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def softmax(g, x, dim=-1):
    m = g.op("aten.amax.default", x, [dim], True)
    e = g.op("aten.exp.default", g.op("aten.sub.Tensor", x, m))
    return g.op("aten.div.Tensor", e, g.op("aten.sum.dim_IntList", e, [dim], True))


def layer_norm(g, x, n, weight, bias, eps=1e-5):
    s = g.op("aten.sum.dim_IntList", x, [-1], True)
    mean = g.op("aten.div.Tensor", s, n)
    d = g.op("aten.sub.Tensor", x, mean)
    var = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", g.op("aten.mul.Tensor", d, d), [-1], True), n)
    r = g.op("aten.rsqrt.default", g.op("aten.add.Tensor", var, eps))
    y = g.op("aten.mul.Tensor", g.op("aten.mul.Tensor", d, r), weight)
    return g.op("aten.add.Tensor", y, bias)


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (17,), (1023,), (4096,), (5, 33), (3, 1, 7), (100003,)])
def test_chain(folder, shape, lanes):
    g = GraphWriter()
    x, b = g.input(torch.randn(shape)), g.input(torch.randn(shape))
    y = g.op("aten.mul.Tensor", x, 2)
    y = g.op("aten.relu.default", g.op("aten.add.Tensor", y, b))
    y = g.op("aten.mul.Tensor", y, 0.5)
    p = check(g, [y], folder, lanes)
    assert len(p.p["kernels"]) == 1 and len(p.p["steps"]) == 1


@pytest.mark.parametrize("columns", [2, 7, 16, 17, 64, 100, 768, 1023, 1024, 20000])
def test_softmax(folder, columns):
    g = GraphWriter()
    x = torch.randn(5, columns)
    x[1, 0] = -torch.inf
    x[2] = -torch.inf
    x[3, columns // 2] = torch.nan
    x[4, 1] = torch.inf
    y = softmax(g, g.op("aten.mul.Tensor", g.input(x), 0.125))
    p = check(g, [y], folder)
    assert len(p.p["steps"]) == 1


@pytest.mark.parametrize("columns", [3, 16, 100, 768, 1000])
def test_layer_norm_with_epilogue(folder, columns):
    g = GraphWriter()
    x, r = g.input(torch.randn(4, 6, columns)), g.input(torch.randn(4, 6, columns))
    w, b = g.input(torch.randn(columns)), g.input(torch.randn(columns))
    h = g.op("aten.add.Tensor", x, r)
    y = layer_norm(g, h, columns, w, b)
    z = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", y, 1.5), x)
    p = check(g, [z, h], folder, rtol=1e-4, atol=1e-4)
    assert len(p.p["steps"]) == 1


UNARY = ["abs", "neg", "sign", "reciprocal", "square", "sqrt", "rsqrt", "exp", "expm1", "log", "log2", "log10",
         "log1p", "tanh", "erf", "sigmoid", "floor", "ceil", "trunc", "round", "relu", "relu6", "leaky_relu", "elu",
         "silu", "softplus", "hardtanh", "hardsigmoid", "hardswish", "mish", "isnan", "isinf", "logical_not",
         "hardshrink", "softshrink", "frac"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("op", UNARY)
def test_unary(folder, op, dtype):
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-8, -1e-8, 88.0, 89.0, -87.0, -88.0, -104.0, 1e30,
                            torch.inf, -torch.inf, torch.nan, 3.5, 2.5, -2.5, 1e-30])
    x = torch.cat([special, torch.randn(500) * 4, torch.linspace(-100, 100, 401)]).to(dtype)
    g = GraphWriter()
    y = g.op(f"aten.{op}.default", g.input(x))
    check(g, [y], folder)


BINARY = ["add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum.default", "minimum.default", "eq.Tensor",
          "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "logical_and.default",
          "logical_or.default", "logical_xor.default"]


def random(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(-5 if dtype != torch.uint8 else 0, 6, shape).to(dtype)
    return torch.randn(shape).to(dtype)


@pytest.mark.parametrize("types", [(torch.float32, torch.float32), (torch.int64, torch.int64),
                                   (torch.int32, torch.float32), (torch.uint8, torch.int8),
                                   (torch.bool, torch.float32), (torch.bfloat16, torch.float32),
                                   (torch.float16, torch.float16), (torch.float64, torch.int64),
                                   (torch.bool, torch.bool), (torch.uint8, torch.uint8), (torch.int16, torch.int16)])
@pytest.mark.parametrize("op", BINARY)
def test_binary(folder, op, types):
    if op == "sub.Tensor" and torch.bool in types:
        pytest.skip("not defined")
    g = GraphWriter()
    a, b = g.input(random((13, 37), types[0])), g.input(random((13, 37), types[1]))
    y = g.op("aten." + op, a, b)
    check(g, [y, g.op("aten.where.self", g.op("aten.gt.Tensor", a, b), a, y)], folder)


def layouts():
    x = torch.randn(6, 8, 10)
    return {"plain": x, "transposed": torch.randn(10, 8, 6).permute(2, 1, 0), "sliced": torch.randn(6, 16, 20)[:, ::2, 3:13],
            "expanded": torch.randn(6, 1, 10).expand(6, 8, 10), "row": torch.randn(10), "column": torch.randn(8, 1),
            "scalar": torch.tensor(1.5), "first": torch.randn(6, 1, 1)}


@pytest.mark.parametrize("first", layouts())
@pytest.mark.parametrize("second", layouts())
def test_layouts(folder, first, second):
    g = GraphWriter()
    a, b = g.input(layouts()[first]), g.input(layouts()[second])
    y = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", a, b), a)
    check(g, [y, g.op("aten.exp.default", y)], folder)
