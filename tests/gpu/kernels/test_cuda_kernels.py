"""Generated CUDA kernels against float64: every family over dtypes, odd sizes, layouts and unaligned slices."""


import pytest
import torch
import torch.nn.functional as F
import vitrine
from vitrine import _engine

from tests.python.support.recorded_program import Program

pytestmark = pytest.mark.gpu

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
SIZES = [(64, 96), (2048, 2048), (7, 33), (3, 1000), (2, 5000), (130, 4096), (1, 70000), (5, 1), (1, 1)]


def weights(x):
    return torch.linspace(0.5, 1.5, x.shape[-1], device=x.device).to(x.dtype)


# name: a program over one float tensor; its operators end in generated kernels, but for those of THROUGH_PYTORCH
FLOAT_PROGRAMS = {
    "pointwise": lambda x: torch.relu(x * 2 + 1) * 0.5 - x,
    "functions": lambda x: torch.tanh(x) + torch.exp(-x.abs()) * torch.sin(x) + torch.sigmoid(x) / (1 + x * x),
    "roots": lambda x: torch.rsqrt(x * x + 1) + torch.sqrt(x.abs()) + torch.log1p(x.abs()),
    "gelu": lambda x: F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x),
    "erf and power": lambda x: torch.erf(x) + x.abs().pow(1.5) + x**3,
    "where": lambda x: torch.where(x > 0, x, x.neg() * 0.1).clamp(-1, 2),
    "rounding": lambda x: torch.floor(x) + torch.ceil(x) + torch.round(x * 3) + torch.trunc(x),
    "softmax": lambda x: torch.softmax(x * 0.125, dim=-1),
    "log softmax": lambda x: torch.log_softmax(x, dim=-1),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:], weights(x), weights(x)) * 1.5 + x,
    "rms norm": lambda x: (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weights(x),
    "residual norm": lambda x: (x + x.abs(), F.rms_norm((x + x.abs()).float(), x.shape[-1:]).to(x.dtype)),
    "several sums": lambda x: (x.float().sum(-1), x.float().pow(2).mean(-1), x.amax(-1), x.amin(-1)),
    "transposed": lambda x: (x.t() + 1) * 2,
    "broadcast": lambda x: x[:, :1] * x + x[:1],
    "strided": lambda x: x[:, ::2] * 2 + 1,
    "columns": lambda x: x.float().sum(0),
    "everything": lambda x: x.float().pow(2).sum(),
    "cast": lambda x: x.to(torch.float16).float() + x.to(torch.bfloat16).float(),
    "masked rows": lambda x: torch.softmax(x.masked_fill(x > 1, float("-inf")), -1).nan_to_num(0.0),
}
THROUGH_PYTORCH = {"erf and power", "columns", "everything", "layer norm", "rms norm", "residual norm", "masked rows"}
INT_PROGRAMS = {
    "arithmetic": lambda x: (x * 3 - 7) // 2 + x % 5,
    "bits": lambda x: (x & 7) | (x ^ 3),
    "comparison": lambda x: (x > 3) & (x != 5) | ~(x < 0),
    "sum": lambda x: x.sum(-1),
    "to float": lambda x: x.float() * 0.5,
}


def compiled(program, *inputs):
    """The plan of a program recorded over its inputs, and the constants that follow them."""
    recorded = Program(program, inputs).recorded
    constants = list(recorded.constants())
    return _engine.plan_compile(recorded.aten()["text"]), constants


def check(program, x, tolerance):
    plan, constants = compiled(program, x)
    facts = _engine.plan_facts(plan)
    assert not facts["problems"], facts["problems"]
    got = _engine.plan_run(plan, [x, *constants])
    expected = program(x)
    reference = program(x.double()) if x.is_floating_point() else expected
    many = isinstance(expected, tuple)
    for g, e, r in zip(got, expected if many else [expected], reference if many else [reference]):
        assert g.dtype == e.dtype and g.stride() == e.stride() and g.shape == e.shape
        if tolerance is None:
            assert torch.equal(g, e)
            continue
        scale = r.double().abs().amax().clamp(min=1e-6) if r.numel() else 1
        ours, eagers = ((t.double() - r.double()).abs().amax() / scale for t in (g, e))
        assert ours <= 2 * eagers + tolerance, f"error {ours:.3g}, eager's {eagers:.3g}"
    return facts


TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", list(FLOAT_PROGRAMS))
def test_floats(name, dtype):
    for size in SIZES:
        x = torch.randn(size, device="cuda").to(dtype)
        facts = check(FLOAT_PROGRAMS[name], x, TOLERANCE[dtype])
        if size == SIZES[0] and name not in THROUGH_PYTORCH:
            assert facts["kernels"] >= 1 and facts["python_calls"] == 0, facts


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.int16], ids=str)
@pytest.mark.parametrize("name", list(INT_PROGRAMS))
def test_integers(name, dtype):
    for size in SIZES:
        x = torch.randint(0, 100, size, device="cuda").to(dtype)
        check(INT_PROGRAMS[name], x, None)


@pytest.mark.parametrize("name", ["pointwise", "softmax", "layer norm", "strided"])
def test_a_slice_that_starts_between_accesses(name):
    whole = torch.randn(64 * 96 + 3, device="cuda")
    for offset in (1, 2, 3):
        x = whole[offset : offset + 64 * 96].view(64, 96)
        plan, constants = compiled(FLOAT_PROGRAMS[name], torch.randn(64, 96, device="cuda"))
        (got,) = _engine.plan_run(plan, [x, *constants])
        torch.testing.assert_close(got, FLOAT_PROGRAMS[name](x))


def test_infinities_and_nans():
    x = torch.tensor([[float("inf"), 1, -2, 0], [float("nan"), 1, 2, 3], [float("-inf"), 0, 5, -0.0]], device="cuda")
    for name in ("pointwise", "where", "softmax", "layer norm", "several sums", "gelu"):
        plan, constants = compiled(FLOAT_PROGRAMS[name], x)
        expected = FLOAT_PROGRAMS[name](x)
        for g, e in zip(_engine.plan_run(plan, [x, *constants]), expected if isinstance(expected, tuple) else [expected]):
            torch.testing.assert_close(g, e, equal_nan=True)


def test_another_stream():
    x = torch.randn(1 << 22, device="cuda")
    plan, constants = compiled(FLOAT_PROGRAMS["pointwise"], x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            y = x * 3
            (got,) = _engine.plan_run(plan, [y, *constants])
            assert torch.equal(got, FLOAT_PROGRAMS["pointwise"](y))


@pytest.mark.parametrize("columns", [40000, 50257, 65536])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_softmax_of_rows_that_registers_do_not_hold(columns, dtype):
    """Maximum and sum come of one pass; infinities and NaNs, wherever they stand, are eager's."""
    x = 10 * torch.randn(24, columns, device="cuda").to(dtype)
    x[1], x[2, 7], x[3, columns - 1] = -torch.inf, torch.inf, torch.nan
    x[4, : columns - 1], x[5, 1:], x[6, ::3] = -torch.inf, -torch.inf, -torch.inf
    x[7, 0], x[7, 9], x[8] = torch.nan, torch.inf, torch.inf
    x[9, 3], x[10], x[11] = 3e4, 0.0, -6e4
    program = lambda x: (torch.softmax(x, -1), torch.log_softmax(x, -1))  # noqa: E731
    for got, expected in zip(vitrine.compile(program)(x), program(x), strict=True):
        torch.testing.assert_close(got, expected, equal_nan=True, atol=1e-5 if dtype == torch.float32 else 2e-3, rtol=1e-4 if dtype == torch.float32 else 1e-2)
