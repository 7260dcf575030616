"""Tensors that are read along another dimension than they are written: a tile at a time, through shared memory; every bit as eager has it."""

import pytest
import torch
from tests.gpu.kernels.test_cuda_kernels import compiled
from vitrine import _engine

pytestmark = pytest.mark.gpu

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool]

TRANSPOSES = {
    "matrix": lambda x: x.t().contiguous(),
    "with what stands around it": lambda x: (x.t().float() * 2 + 1).relu(),
    "and itself": lambda x: (x.t() == x.reshape(x.shape[1], -1)),
    "two of them": lambda x: torch.where(x.t() > 0, x.t(), x.reshape(x.shape[1], -1)),
    "to another type": lambda x: x.t().contiguous().double(),
    "a part": lambda x: x[:, 1:].t().contiguous(),
    "heads": lambda x: x.view(x.shape[0], -1, 3).permute(1, 2, 0).contiguous(),
    "halves turned": lambda x: x.view(2, -1, x.shape[1]).transpose(1, 2).contiguous(),
    "outer dims turned": lambda x: x.view(x.shape[0], -1, 3).transpose(0, 1).contiguous(),
}
SIZES = [(64, 96), (1024, 2049), (130, 4098), (34, 33), (16, 18), (100, 147), (2048, 768), (6, 3000)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TRANSPOSES)
def test_values(name, dtype):
    program = TRANSPOSES[name]
    for rows, columns in SIZES:
        if "view" in str(program.__code__.co_names) and columns % 3:
            continue
        whole = torch.randint(0, 100, (rows * columns + 3,), device="cuda")
        whole = whole > 50 if dtype == torch.bool else whole.to(dtype)
        aligned = whole[: rows * columns].view(rows, columns)
        plan, constants = compiled(program, aligned)
        facts = _engine.plan_facts(plan)
        assert facts["kernels"] >= 1 and facts["python_calls"] == 0 and not facts["problems"], facts
        for x in (aligned, whole[1 : 1 + rows * columns].view(rows, columns), whole[2 : 2 + rows * columns].view(rows, columns)):
            if x is not aligned and name in ("a part",):
                continue
            expected = program(x)
            (got,) = _engine.plan_run(plan, [x, *constants])
            assert got.stride() == expected.stride() and got.dtype == expected.dtype
            assert torch.equal(got, expected), (rows, columns, x.data_ptr() % 16)


@pytest.mark.parametrize("size", [(8, 64, 56, 56), (2, 17, 20, 19), (3, 256, 7, 7), (2, 3, 224, 224)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_images(size, dtype):
    x = torch.randn(size, device="cuda").to(dtype)
    for program, given in (
        (lambda x: x.relu().contiguous(memory_format=torch.channels_last) * 2, x),
        (lambda x: (x * 2).contiguous(), x.contiguous(memory_format=torch.channels_last)),
        (lambda x: x.flatten(2).transpose(1, 2) + 1, x),
    ):
        plan, constants = compiled(program, given)
        (got,) = _engine.plan_run(plan, [given, *constants])
        expected = program(given)
        assert got.stride() == expected.stride() and torch.equal(got, expected)


def test_a_gradient_of_a_weight_is_turned_where_it_is_added():
    a, b = torch.randn(512, 768, device="cuda"), torch.randn(768, 512, device="cuda")
    program = lambda a, b: (a * 2 + b.t(), (b.t() - a).exp())  # noqa: E731
    plan, constants = compiled(program, a, b)
    assert _engine.plan_facts(plan)["kernels"] == 1
    for got, expected in zip(_engine.plan_run(plan, [a, b, *constants]), program(a, b)):
        torch.testing.assert_close(got, expected)


TURNED_ROWS = {
    "softmax": lambda x: torch.softmax(x.transpose(-1, -2) * 2, -1).contiguous(),
    "log softmax": lambda x: torch.log_softmax(x.transpose(-1, -2).contiguous(), -1),
    "norm": lambda x: torch.nn.functional.layer_norm(x.transpose(-1, -2), x.shape[-2:-1]).contiguous(),
    "norm of two": lambda x: torch.nn.functional.layer_norm(x.transpose(-1, -2) + x.view(*x.shape[:-2], x.shape[-1], -1), x.shape[-2:-1]),
    "sums": lambda x: (x.transpose(-1, -2).contiguous(), (x * x).transpose(-1, -2).sum(-1)),
}
# Several rows a block, few that fill it, columns for which it has no room, rows and columns of no whole runs.
TURNED_SIZES = [(96, 4096), (4096, 128), (8, 256, 784), (3, 768, 400), (20000, 64), (1000, 1003), (1022, 512), (2, 260, 1040), (4, 512, 1500), (1024, 1500)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", TURNED_ROWS)
def test_rows_that_lie_beside_each_other(name, dtype):
    program = TURNED_ROWS[name]
    for size in TURNED_SIZES:
        n = torch.Size(size).numel()
        whole = torch.randn(n + 3, device="cuda").to(dtype)
        plan, constants = compiled(program, whole[:n].view(size))
        assert not _engine.plan_facts(plan)["problems"]
        for x in (whole[:n].view(size), whole[1 : 1 + n].view(size)):
            expected, got = program(x), _engine.plan_run(plan, [x, *constants])
            for g, e in zip(got, expected if isinstance(expected, tuple) else (expected,), strict=True):
                assert g.stride() == e.stride() and g.dtype == e.dtype
                right = {torch.float32: 1e-5, torch.float64: 1e-12}.get(dtype, 2e-2)
                torch.testing.assert_close(g, e, rtol=right, atol=right)
