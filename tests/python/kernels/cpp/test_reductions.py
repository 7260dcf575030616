"""Generated reductions over any dimensions against float64: sizes that do not fill vectors or parts, layouts, element types,
numbers that are none, what is fused before and behind."""

import pytest
import torch

from tests.python.support.codegen_harness import GraphWriter, Program, TOOL

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built")
KERNEL = 0


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


class Wide(GraphWriter):
    """Beside what eager computes, the same operators in float64."""

    def op(self, name, *args, **kwargs):
        def wide(a):
            if hasattr(a, "wide"):
                return a.wide
            if a in (torch.float16, torch.bfloat16, torch.float32):
                return torch.float64
            return [wide(x) for x in a] if isinstance(a, (list, tuple)) else a

        values = super().op(name, *args, **kwargs)
        packet, overload = name.split(".")[1:]
        out = getattr(getattr(torch.ops.aten, packet), overload)(*map(wide, args), **{k: wide(v) for k, v in kwargs.items()})
        for v, w in zip(values if isinstance(values, list) else [values], out if isinstance(out, tuple) else [out]):
            v.wide = w
        return values

    def input(self, tensor, kind="placeholder"):
        value = super().input(tensor, kind)
        value.wide = tensor.double() if tensor.is_floating_point() else tensor
        return value


def check(g, results, folder, lanes=16, steps=None, text=None, passes=False):
    """As exact as eager, or exact; no step runs through PyTorch. Returns the program."""
    program = Program(text or g.text(results), folder, lanes, passes)
    assert all(s["kind"] == KERNEL for s in program.p["steps"]), [s["op"] for s in program.p["steps"]]
    for value, got in zip(results, program.run(g.inputs, chunks=5)):
        eager, wide = value.tensor, value.wide
        assert got.dtype == eager.dtype and got.shape == eager.shape and got.stride() == eager.stride()
        if not eager.is_floating_point():
            assert torch.equal(got, eager)
            continue
        finite = torch.isfinite(wide) & torch.isfinite(eager)
        assert torch.equal(got[~finite].isnan(), eager[~finite].isnan())
        assert torch.equal(got[~finite].nan_to_num(), eager[~finite].nan_to_num())
        if not finite.any():
            continue
        wide = wide[finite]
        scale = wide.abs().amax().clamp(min=1e-30)
        ours, eagers = (((t[finite].double() - wide).abs().amax() / scale).item() for t in (got, eager))
        assert ours <= 2 * eagers + 4 * torch.finfo(eager.dtype).eps, f"error {ours:.3g}, eager's {eagers:.3g}"
    if steps is not None:
        assert len(program.p["steps"]) == steps, [k["name"] for k in program.p["kernels"]]
    return program


def data(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.3
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -5, 6, shape).to(dtype)
    return torch.randn(shape).to(dtype) + 0.25


# shape, reduced dims: columns, middles, ends with a beginning, everything, few and long rows
PLACES = [
    ((5, 3), [0]),
    ((17, 33), [0]),
    ((300, 16), [0]),
    ((1000, 1030), [0]),
    ((4099, 37), [0]),
    ((3, 40000), [0]),
    ((7, 19, 45), [1]),
    ((2, 700, 64), [1]),
    ((6, 5, 9, 11), [0, 2, 3]),
    ((6, 5, 9, 11), [0, 2]),
    ((4, 3, 5, 7), [1, 3]),
    ((13, 1, 21), [0, 1]),
    ((70001,), [0]),
    ((2, 70001), [1]),
    ((2, 3, 40000), [0, 2]),
    ((1, 9, 1), [1]),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool],
                         ids=str)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_reductions_over_any_dimensions(folder, place, dtype):
    shape, dims = place
    if dtype in (torch.float16, torch.int64, torch.uint8) and shape[0] in (17, 7, 13, 300):
        pytest.skip("other types have been there")
    g = Wide()
    x = g.input(data(shape, dtype))
    results = [g.op("aten.sum.dim_IntList", x, dims), g.op("aten.sum.dim_IntList", x, dims, True)]
    if dtype != torch.bool:
        results += [g.op("aten.amax.default", x, dims), g.op("aten.amin.default", x, dims, True)]
    if len(dims) == 1:
        results += [g.op("aten.any.dim", x, dims[0]), g.op("aten.all.dim", x, dims[0], True)]
    check(g, results, folder)


def layouts(x):
    """The same elements, laid out in other ways."""
    wide = torch.zeros([*x.shape[:-1], 2 * x.shape[-1] + 3], dtype=x.dtype)
    wide[..., 3::2] = x
    late = torch.zeros(x.numel() + 5, dtype=x.dtype)[5:].view(x.shape)
    late.copy_(x)
    out = {"transposed": x.mT.contiguous().mT, "strided": wide[..., 3::2], "late": late, "broadcast": x[..., :1].expand(x.shape)}
    if x.dim() == 4:
        out["channels last"] = x.to(memory_format=torch.channels_last)
    return out


@pytest.mark.parametrize("name", ["transposed", "strided", "late", "broadcast", "channels last"])
@pytest.mark.parametrize("dims", [[0], [1], [0, 2, 3], [3]], ids=str)
def test_layouts(folder, name, dims):
    x = layouts(data((6, 10, 7, 35), torch.float32))[name]
    g = Wide()
    given = g.input(x)
    y = g.op("aten.mul.Tensor", given, given)
    check(g, [g.op("aten.sum.dim_IntList", given, dims), g.op("aten.amax.default", y, dims)], folder, lanes=8)


@pytest.mark.parametrize("shape", [(64, 96), (2049, 100), (50, 3000), (9, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_bias_gradient_with_what_makes_it(folder, shape, dtype):
    g = Wide()
    grad, x = g.input(data(shape, dtype)), g.input(data(shape, dtype))
    dx = g.op("aten.mul.Tensor", grad, g.op("aten.tanh.default", x))
    db = g.op("aten.sum.dim_IntList", dx, [0])
    p = check(g, [dx, db], folder)
    assert len({k["name"] for k in p.p["kernels"]}) == 1


@pytest.mark.parametrize("shape", [(128, 40), (3000, 24), (4, 19, 210), (40, 5000)])
def test_consumers_of_rows_and_of_elements(folder, shape):
    g = Wide()
    x = g.input(data(shape, torch.float32))
    dim = len(shape) - 2
    n = shape[dim]
    mean = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", x, [dim], True), n)
    d = g.op("aten.sub.Tensor", x, mean)
    var = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", g.op("aten.mul.Tensor", d, d), [dim], True), n)
    r = g.op("aten.rsqrt.default", g.op("aten.add.Tensor", var, 1e-5))
    p = check(g, [g.op("aten.mul.Tensor", d, r), mean, r], folder)
    assert len({k["name"] for k in p.p["kernels"]}) == 1


@pytest.mark.parametrize("shape,dim", [((6, 19, 300), 1), ((2, 100000), 1), ((5000, 7), 0)])
def test_softmax_anywhere(folder, shape, dim):
    g = Wide()
    x = g.input(data(shape, torch.float32) * 5)
    e = g.op("aten.exp.default", g.op("aten.sub.Tensor", x, g.op("aten.amax.default", x, [dim], True)))
    y = g.op("aten.div.Tensor", e, g.op("aten.sum.dim_IntList", e, [dim], True))
    p = check(g, [y], folder)
    assert len({k["name"] for k in p.p["kernels"]}) == 1


@pytest.mark.parametrize("shape,dims", [((40, 50), [0]), ((3, 70000), [1])])
def test_nothing_is_lost_of_what_is_no_number(folder, shape, dims):
    x = data(shape, torch.float32)
    x[0, 0], x[1, 1], x[2, 2], x[0, 3], x[1, 3] = torch.nan, torch.inf, -torch.inf, torch.inf, -torch.inf
    g = Wide()
    given = g.input(x)
    check(g, [g.op(f"aten.{op}", given, dims) for op in ("sum.dim_IntList", "amax.default", "amin.default")], folder)


def test_products(folder):
    g = Wide()
    x, k = g.input(torch.rand(37, 50) + 0.5), g.input(torch.randint(-2, 3, (9, 70)))
    check(g, [g.op("aten.prod.dim_int", x, 0), g.op("aten.prod.dim_int", x, 1), g.op("aten.prod.dim_int", k, 0),
              g.op("aten.prod.default", k)], folder)


@pytest.mark.parametrize("shape,dims", [((100000, 20), [0]), ((2, 300000), [1])])
def test_long_sums_stay_exact(folder, shape, dims):
    """As a sum in one go they would be a hundred times worse, with parts in one go four times."""
    g = Wide()
    x = g.input(torch.rand(shape, generator=torch.Generator().manual_seed(33)) + 1000)
    s = g.op("aten.sum.dim_IntList", x, dims)
    got = check(g, [s], folder).run(g.inputs)[0].double()
    assert ((got - s.wide).abs() / s.wide).amax() < 2.5e-7


def test_nothing_at_all(folder):
    g = Wide()
    x = g.input(torch.empty(0, 5))
    p = Program(g.text([g.op("aten.sum.dim_IntList", x, [0])]), folder)
    assert torch.equal(p.run(g.inputs)[0], torch.zeros(5))
