"""Generated CUDA reductions over any dimensions against float64: sizes that fill no block, layouts, element types, what is
fused before and behind; the same sums twice are the same bits."""

import pytest
import torch
import vitrine
from tests.gpu.kernels.test_cuda_kernels import TOLERANCE, check, compiled
from vitrine import _engine

pytestmark = pytest.mark.gpu

# shape, reduced dims
PLACES = [
    ((5, 3), (0,)),
    ((17, 33), (0,)),
    ((1000, 1030), (0,)),
    ((70001, 37), (0,)),
    ((3, 400000), (0,)),
    ((65536, 64), (0,)),
    ((8192, 1536), (0,)),
    ((7, 19, 4500), (1,)),
    ((2, 7000, 64), (1,)),
    ((32, 24, 28, 28), (0, 2, 3)),
    ((6, 5, 9, 11), (0, 2)),
    ((1 << 22,), (0,)),
    ((3, 1000003), (1,)),
    ((2, 3, 400000), (0, 2)),
]
PROGRAMS = {
    "sums": lambda dims: lambda x: (x.sum(dims), x.sum(dims, keepdim=True) * 0.5),
    "extrema": lambda dims: lambda x: (x.amax(dims), x.amin(dims, keepdim=True)),
    "mean": lambda dims: lambda x: x - x.mean(dims, keepdim=True),
    "variance": lambda dims: lambda x: x.var(dims, correction=1),
    "producer": lambda dims: lambda x: (x * torch.tanh(x), (x * torch.tanh(x)).sum(dims)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_floats(name, dtype):
    for shape, dims in PLACES:
        x = (torch.randn(shape, device="cuda") + 0.25).to(dtype)
        facts = check(PROGRAMS[name](dims), x, TOLERANCE.get(dtype, 1e-13))
        assert facts["kernels"] >= 1, (shape, facts)
        assert facts["python_calls"] == 0 or (name == "producer" and dtype == torch.float64), (shape, facts)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_integers(dtype):
    for shape, dims in PLACES:
        x = torch.randint(0, 2 if dtype == torch.bool else 100, shape, device="cuda").to(dtype)
        check(lambda x: x.sum(dims), x, None)
        if dtype != torch.bool:
            check(lambda x: x.amax(dims), x, None)
        if len(dims) == 1:
            check(lambda x: (x.any(dims[0]), (x > 0).all(dims[0])), x, None)


def test_layouts():
    base = torch.randn(12, 40, 28, 28, device="cuda")
    late = torch.randn(base.numel() + 3, device="cuda")[3:].view(base.shape)
    for x in (base.to(memory_format=torch.channels_last), base.transpose(0, 3), base[:, ::2, :, 3:25], late):
        for dims in ((0,), (1,), (0, 2, 3), (3,), (0, 1, 2, 3)):
            check(lambda x: (x.sum(dims), (x * x).amax(dims)), x, 1e-5)


def test_softmax_over_any_dim():
    for shape, dim in (((8, 19, 5000), 1), ((16, 1 << 18), 1), ((70000, 10), 0), ((64, 3000, 33), 1)):
        check(lambda x: torch.softmax(x * 3, dim), torch.randn(shape, device="cuda"), 1e-5)


def test_what_is_no_number():
    x = torch.randn(3000, 70, device="cuda")
    x[7, 0], x[8, 1], x[9, 2], x[10, 3], x[11, 3] = torch.nan, torch.inf, -torch.inf, torch.inf, -torch.inf
    for given, dim in ((x, 0), (x.t().contiguous(), 1)):
        program = lambda x: (x.sum(dim), x.amax(dim), x.amin(dim), (x > 0).any(dim))  # noqa: E731
        plan, constants = compiled(program, given)
        for g, e in zip(_engine.plan_run(plan, [given, *constants]), program(given)):
            torch.testing.assert_close(g, e, equal_nan=True, rtol=1e-4, atol=1e-4)


def test_sums_are_added_in_one_order():
    for shape, dim in (((100000, 100), 0), ((2, 3000000), 1)):
        x = torch.randn(shape, device="cuda")
        plan, constants = compiled(lambda x: x.sum(dim), x)
        first = _engine.plan_run(plan, [x, *constants])[0]
        for _ in range(5):
            assert torch.equal(_engine.plan_run(plan, [x, *constants])[0], first)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_norms_in_one_pass(dtype):
    """Sums of rows and of columns from the same reads, against float64."""
    for rows, columns in (((16384,), 768), ((520,), 4096), ((7, 75), 1030), ((5000,), 128), ((1000,), 1153), ((700,), 8192)):
        x, grad = (torch.randn(*rows, columns, device="cuda").to(dtype) for _ in range(2))
        weight, bias = (torch.randn(columns, device="cuda").to(dtype) for _ in range(2))
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, [columns], weight, bias, 1e-5)

        def program(grad, x, mean, rstd, weight, bias):
            wanted = [True, True, True]
            return torch.ops.aten.native_layer_norm_backward(grad, x, [columns], mean, rstd, weight, bias, wanted)

        inputs = (grad, x, mean, rstd, weight, bias)
        plan, constants = compiled(program, *inputs)
        facts = _engine.plan_facts(plan)
        assert facts["kernels"] == 2 and facts["python_calls"] == 0, (rows, columns, facts)
        got = _engine.plan_run(plan, [*inputs, *constants])
        again = _engine.plan_run(plan, [*inputs, *constants])
        for g, a, e in zip(got, again, program(*(t.double() for t in inputs))):
            assert g.dtype == dtype and g.shape == e.shape and torch.equal(g, a)
            assert (g.double() - e).abs().amax() <= TOLERANCE[dtype] * e.abs().amax(), (rows, columns)


@pytest.mark.parametrize("causal", [False, True])
def test_rows_that_share_a_bias(causal):
    """Large enough that the rows of all batches which read one row of the bias are taken together."""
    scores = torch.randn(6, 8, 512, 1536, device="cuda").half()
    bias, hidden = torch.randn(8, 512, 1536, device="cuda").half(), torch.rand(512, 1536, device="cuda") > 0.7

    def attention(s, b, h):
        s = s * 0.5 + b
        return torch.softmax((s.masked_fill(h, float("-inf")) if causal else s).float(), -1).half(), s.amax(-1)

    with torch.no_grad():
        got, right = vitrine.compile(attention)(scores, bias, hidden), attention(scores.double(), bias.double(), hidden)
    for a, b in zip(got, right):
        torch.testing.assert_close(a.double(), b.double(), rtol=2e-3, atol=2e-3)
