"""What the reductions that are generated for a GPU compute, on a machine that may have none."""

import platform
import shutil

import pytest
import torch
from tests.python.support.codegen_harness import CLANG, KERNEL, TOOL, VIEW, GraphWriter, Program
from tests.python.support.cuda_on_cpu import GpuProgram, check

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(not shutil.which(CLANG), reason="clang++ is not here"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the GPU's threads are played on x86-64 only"),
]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-12}


# Rows, columns, type: warps that keep a row each, blocks, rows that fill neither, accesses of one element.
@pytest.mark.parametrize("rows, columns, dtype", [((523,), 128, torch.float32), ((7, 75), 1030, torch.float32), ((512,), 1153, torch.bfloat16), ((1024,), 512, torch.float16)])
def test_gradients_of_a_layer_norm_are_one_pass(rows, columns, dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    shapes = ((*rows, columns), (*rows, columns), (columns,), (columns,))
    x, grad, weight, bias = (g.input(torch.randn(s).to(dtype)) for s in shapes)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x.tensor, [columns], weight.tensor, bias.tensor, 1e-5)
    mean, rstd = g.input(mean), g.input(rstd)
    operator, wanted = "aten.native_layer_norm_backward.default", [True, True, True]
    out = g.op(operator, grad, x, [columns], mean, rstd, weight, bias, wanted)
    exact = [v.tensor.double() for v in (grad, x, mean, rstd, weight, bias)]
    reference = torch.ops.aten.native_layer_norm_backward(exact[0], exact[1], [columns], *exact[2:], wanted)
    check(g, out, tmp_path, kernels=2, tolerance=TOLERANCE[dtype], reference=reference)


def test_sums_of_columns_beside_reduced_rows(tmp_path):
    """What follows a sum of columns is computed once a column; what reads neither is apart; a row's value is stored too."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, old = g.input(torch.randn(600, 12, 20)), g.input(torch.randn(12, 20))
    top = g.op("aten.amax.default", x, [1, 2], True)
    shifted = g.op("aten.sub.Tensor", x, top)
    power = g.op("aten.exp.default", shifted)
    total = g.op("aten.sum.dim_IntList", power, [1, 2], True)
    soft = g.op("aten.div.Tensor", power, total)
    columns = g.op("aten.sum.dim_IntList", soft, [0])
    largest = g.op("aten.amax.default", shifted, [0])
    new = g.op("aten.add.Tensor", old, g.op("aten.mul.Tensor", columns, 0.5))
    check(g, [top, soft, largest, new], tmp_path, kernels=2)


# Whole rows that are walked by a block, rows in parts, rows side by side in parts, with accesses of one and of several.
LONG_ROWS, ODD_LONG_ROWS, LONG_PARTS, ODD_PARTS = ((140, 20001), 1), ((133, 60003), 1), ((3, 70000), 1), ((2, 65537), 1)
COLUMNS, ODD_COLUMNS, MIDDLE = ((40000, 24), 0), ((9000, 33), 0), ((3, 7001, 16), 1)
CHANNELS = (2, 24, 40, 210), (0, 2, 3)


@pytest.mark.parametrize("shape, dims", [LONG_ROWS, ODD_LONG_ROWS, LONG_PARTS, COLUMNS, ODD_COLUMNS, CHANNELS])
def test_variances_are_one_pass(shape, dims, tmp_path):
    """Squares about a mean that moves: far from zero, where the difference of two sums would have no digit left."""
    torch.manual_seed(0)
    g = GraphWriter()
    x = g.input((torch.randn(shape) + 1000).half() if shape[0] == 3 else torch.randn(shape) + 1000)
    wide = g.op("aten._to_copy.default", x, dtype=torch.float32)
    dims = [dims] if isinstance(dims, int) else dims
    var, mean = g.op("aten.var_mean.correction", wide, dims, correction=1, keepdim=True)
    exact = torch.var_mean(x.tensor.double(), dims, keepdim=True)
    program = check(g, [var, mean], tmp_path, tolerance=2e-5, reference=exact)
    assert len(program.p["kernels"]) <= 2


@pytest.mark.parametrize("shape, dim", [LONG_ROWS, ODD_PARTS, ODD_COLUMNS, MIDDLE])
def test_softmax_reads_long_rows_twice(shape, dim, tmp_path):
    torch.manual_seed(0)
    moved = [*shape[:dim], *shape[dim + 1 :], shape[dim]]
    rows = torch.randn(moved).flatten(0, -2) * 3
    rows[0, ::7], rows[0, :1000] = -torch.inf, -torch.inf
    if len(rows) > 3:
        rows[1], rows[2, 5], rows[3, 6] = -torch.inf, torch.inf, torch.nan
    g = GraphWriter()
    x = g.input(rows.view(moved).movedim(-1, dim).contiguous())
    out = g.op("aten._softmax.default", x, dim, False)
    program = check(g, [out], tmp_path, tolerance=2e-5, reference=[torch.softmax(x.tensor.double(), dim)])
    assert len(program.p["kernels"]) <= 2


@pytest.mark.parametrize("shape, dims", [LONG_PARTS, ODD_COLUMNS, MIDDLE])
def test_sums_and_extrema(shape, dims, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x = g.input(torch.randn(shape).to(torch.bfloat16))
    wide = g.op("aten._to_copy.default", x, dtype=torch.float32)
    total = g.op("aten.sum.dim_IntList", g.op("aten.tanh.default", wide), [dims])
    largest, least = g.op("aten.amax.default", x, [dims]), g.op("aten.amin.default", wide, [dims])
    check(g, [total, largest, least], tmp_path, tolerance=2e-5)


def test_elements_that_lie_alone_are_read_some_at_a_time(tmp_path):
    """Rows of an odd number of elements; what is written lies where something was read."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, row = g.input(torch.randn(2100, 2001)), g.input(torch.randn(2100, 1))
    power = g.op("aten.exp.default", g.op("aten.sub.Tensor", x, row))
    program = check(g, [g.op("aten.mul.Tensor", power, row)], tmp_path, kernels=1)
    assert "p_x0[8]" in program.p["kernels"][0]["text"]


# A row's or a column's element is written where it was read: a bias and its momentum beside the gradient's sum.
@pytest.mark.parametrize("compiled", [GpuProgram, Program])
@pytest.mark.parametrize("rows, columns, dim", [(700, 48, 0), (48, 700, 1), (20_000, 96, 0)])
def test_an_update_stands_where_what_it_updates_stood(rows, columns, dim, compiled, tmp_path):
    torch.manual_seed(0)
    size, kind = (columns if dim == 0 else rows), f"f32[{columns if dim == 0 else rows}]"
    text = f"""graph optimised {{
  %g = placeholder() : f32[{rows},{columns}]
  %b = placeholder() : {kind}
  %m = placeholder() : {kind}
  %sum = aten.sum.dim_IntList(%g, [{dim}]) : {kind}
  %new = aten.lerp.Scalar(%m, %sum, 0.25) : {kind}
  %step = aten.mul.Tensor(%new, 0.01) : {kind}
  %less = aten.sub.Tensor(%b, %step) : {kind}
  %set_b = aten.copy_.default(%b, %less) : {kind}
  %set_m = aten.copy_.default(%m, %new) : {kind}
  return %sum
}}
"""
    g, b, m = torch.randn(rows, columns), torch.randn(size), torch.randn(size)
    expected = torch.lerp(m, g.sum(dim), 0.25)
    program = compiled(text, tmp_path, passes=False)
    assert all(s["kind"] in (KERNEL, VIEW) for s in program.p["steps"]), program.p["steps"]
    updated = b - expected * 0.01
    program.run([g, b, m])
    torch.testing.assert_close(m, expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(b, updated, rtol=1e-5, atol=1e-4)


# ---- where the extremum is -------------------------------------------------------------------------------
# Rows that registers hold, that are walked, in parts; columns, in parts; of all elements; strided ones.
F32, F16, I32, I64 = torch.float32, torch.float16, torch.int32, torch.int64
PLACES = [((37, 50), 1, F32), ((5, 33000), 1, F16), ((2, 70000), -1, F32), ((700, 33), 0, I64), ((9000, 24), 0, F32), ((3, 70, 16), 1, I32), ((300, 400), None, F16)]


def with_ties(shape, dtype):
    """Few values, so that many are equal; zeros of both signs, a NaN and infinities in some rows."""
    torch.manual_seed(0)
    x = torch.randint(-6, 6, shape).to(dtype)
    if dtype.is_floating_point:
        x[x == 0] = -0.0
        flat = x.view(-1)
        flat[:: 7][flat[:: 7] == 0] = 0.0
        flat[flat > 0] *= -1  # the largest is a zero, nearly everywhere
        flat[:3] = torch.tensor([float("inf"), float("nan"), float("-inf")])
    return x


@pytest.mark.parametrize("dtype", [F32, F16])
def test_rms_norm_without_an_eps(dtype, tmp_path):
    """So small numbers that it counts: that of the type in which the mean is computed."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, weight = g.input((torch.randn(9, 96) * 1e-3).to(dtype)), g.input(torch.randn(96).to(dtype))
    out = g.op("aten._fused_rms_norm.default", x, [96], weight, None)[0]
    wide = x.tensor.double()
    exact = wide * (wide.square().mean(-1, keepdim=True) + torch.finfo(F32).eps).rsqrt() * weight.tensor
    check(g, [out], tmp_path, kernels=1, tolerance=TOLERANCE[dtype], reference=[exact])


@pytest.mark.parametrize("shape, dim, dtype", PLACES)
def test_the_first_place_of_the_largest_and_smallest(shape, dim, dtype, tmp_path):
    g = GraphWriter()
    x = g.input(with_ties(shape, dtype))
    if dim is None:
        check(g, [g.op("aten.argmax.default", x), g.op("aten.argmin.default", g.op("aten.t.default", x))], tmp_path)
        return
    largest, where = g.op("aten.max.dim", x, dim)
    smallest = g.op("aten.min.dim", x, dim, True)
    program = check(g, [largest, where, *smallest, g.op("aten.argmax.default", x, dim)], tmp_path)
    got, expected = program.run(g.inputs)[0], largest.tensor
    if dtype.is_floating_point:
        assert torch.equal(got.signbit()[expected == 0], expected.signbit()[expected == 0])


# Rows that begin between accesses: the first and the last run of each lies partly in its neighbours. Kept in registers, walked.
@pytest.mark.parametrize("rows, columns, dtype", [(9, 1031, F32), (5, 259, F32), (133, 33003, F32), (133, 33003, F16)])
def test_odd_rows_are_read_in_whole_runs(rows, columns, dtype, tmp_path):
    torch.manual_seed(0)
    g = GraphWriter()
    x = g.input(torch.randn(rows, columns).to(dtype))
    soft = g.op("aten._softmax.default", x, -1, False)
    log = g.op("aten._log_softmax.default", g.op("aten.mul.Tensor", x, 2), -1, False)
    reference = [torch.softmax(x.tensor.double(), -1), torch.log_softmax(x.tensor.double() * 2, -1)]
    program = check(g, [soft, log], tmp_path, tolerance=TOLERANCE[dtype], reference=reference)
    assert all("load_part" in k["text"] and "store_part" in k["text"] for k in program.p["kernels"])


@pytest.mark.parametrize("columns", [33003, 40000])
def test_rows_that_no_registers_hold_are_read_once(columns, tmp_path):
    """What a gradient's first pass reads waits in shared memory; elements at the ends of odd rows are read anew."""
    torch.manual_seed(0)
    g = GraphWriter()
    grad, out = g.input(torch.randn(133, columns).half()), g.input(torch.randn(133, columns).log_softmax(-1).half())
    result = g.op("aten._log_softmax_backward_data.default", grad, out, -1, F16)
    reference = grad.tensor.double() - out.tensor.double().exp() * grad.tensor.double().sum(-1, keepdim=True)
    program = check(g, [result], tmp_path, kernels=1, tolerance=TOLERANCE[F16], reference=[reference])
    (kernel,) = program.p["kernels"]
    assert 2 * columns - 32 < kernel["shared"] <= 2 * columns + 32 and "= kept_x0[" in kernel["text"]


@pytest.mark.parametrize("dtype, columns", [(torch.float32, 50257), (F16, 128256), (torch.float64, 30001)])
def test_long_rows_stay_in_the_memory_of_a_cluster(dtype, columns, tmp_path):
    """Softmax, its gradient and a variance: each reads a row once, blocks beside each other send their sums."""
    torch.manual_seed(0)
    for op in ("softmax", "variance") if dtype == F16 else ("softmax", "gradient", "variance"):
        g = GraphWriter()
        spread = 2 if dtype == F16 else 0.1  # of halves no softmax that is denormal
        x = g.input((torch.randn(133, columns) * spread + 0.25).to(dtype))
        wide = x.tensor.double()
        if op == "softmax":
            out, exact = g.op("aten._softmax.default", x, -1, False), wide.softmax(-1)
        elif op == "gradient":
            out, exact = g.op("aten._softmax_backward_data.default", x, x, -1, dtype), wide * (wide - wide.square().sum(-1, keepdim=True))
        else:
            out, exact = g.op("aten.var.correction", x, [1], correction=0), wide.var(-1, correction=0)
        program = check(g, [out], tmp_path, tolerance=TOLERANCE.get(dtype, 1e-6), reference=[exact], arch="sm_90")
        assert op == "variance" or all("fold_cluster" in k["text"] for k in program.p["kernels"])


@pytest.mark.parametrize("batch, rows, columns", [(3, 500, 256), (1, 1500, 200), (2, 684, 200)])
def test_rows_side_by_side_need_not_fill_the_last_block(batch, rows, columns, tmp_path):
    """What is read along the rows is turned in shared memory, also where a block's rows go past the last one or a batch."""
    torch.manual_seed(0)
    g = GraphWriter()
    x, beside = g.input(torch.randn(batch, columns, rows).to(F16)), g.input(torch.randn(rows, columns).to(F16))
    turned = g.op("aten.clone.default", g.op("aten.permute.default", x, [0, 2, 1]), memory_format=torch.contiguous_format)
    both = g.op("aten.add.Tensor", turned, beside)
    top = g.op("aten.amax.default", both, [2], True)
    check(g, [both, g.op("aten.sub.Tensor", both, top)], tmp_path, kernels=1, tolerance=TOLERANCE[F16])
