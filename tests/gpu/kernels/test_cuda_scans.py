"""Running sums and products in generated kernels: near to what float64 gives, of whole numbers exactly eager's."""

import pytest
import torch
import vitrine
from tests.gpu.kernels.test_cuda_kernels import compiled
from vitrine import _engine

pytestmark = pytest.mark.gpu

SIZES = [((64, 96), 1), ((7, 33), 1), ((300, 5000), 1), ((300, 4999), 1), ((2000, 130), 0), ((5, 300, 17), 1), ((129, 70000), 1)]


def run(program, x):
    plan, constants = compiled(program, x)
    facts = _engine.plan_facts(plan)
    assert not facts["problems"] and facts["python_calls"] == 0 and facts["kernels"] == 1, facts
    return _engine.plan_run(plan, [x, *constants])[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("size, dim", SIZES, ids=str)
def test_running_sums(size, dim, dtype):
    torch.manual_seed(0)
    x = torch.randn(size, device="cuda").to(dtype)
    got = run(lambda x: (x * 2).cumsum(dim), x)
    exact = (x * 2).double().cumsum(dim)
    rounded = torch.finfo(dtype).eps * exact.abs()
    bound = rounded + 64 * torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps * (x * 2).double().abs().cumsum(dim)
    assert got.dtype == dtype and got.stride() == x.stride() and ((got.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("size, dim", SIZES, ids=str)
def test_of_whole_numbers(size, dim, dtype):
    x = torch.randint(0, 2, size, device="cuda").to(dtype)
    for program in (lambda x: x.cumsum(dim), lambda x: (x + 1).cumprod(dim), lambda x: x.cumsum(dim, dtype=torch.float32)):
        assert torch.equal(run(program, x), program(x))


def test_layouts_and_what_is_not_finite():
    x = torch.randn(300, 200, device="cuda")
    x[3, 5], x[7, 9], x[8, 9] = float("nan"), float("inf"), -float("inf")
    for program in (lambda x: x.t().cumsum(0), lambda x: x.t().cumsum(1), lambda x: x[:, 1:].cumprod(1), lambda x: x[:1].expand(200, 200).cumsum(0)):
        torch.testing.assert_close(run(program, x), program(x), equal_nan=True, rtol=1e-4, atol=1e-3)


def test_changing_sizes():
    vitrine.reset()
    program = vitrine.compile(lambda x, dim: x.cumsum(dim) * 2, dynamic=True)
    for dim in (0, 1):
        for size in ((200, 33), (201, 40), (256, 700), (130, 2049)):
            x = torch.randint(-3, 4, size, device="cuda").float()
            assert torch.equal(program(x, dim), x.cumsum(dim) * 2), (size, dim)


def test_of_what_is_moved():
    """Read in parts of the rows only."""
    x = torch.randint(-3, 4, (6, 9, 33), device="cuda").float()
    for program in (
        lambda x: torch.nn.functional.pad(x, (0, 0, 2, 3)).cumsum(1),
        lambda x: torch.cat([x, -x], 1).cumsum(0),
        lambda x: torch.cat([x, x], 2).cumsum(2),
        lambda x: torch.nn.functional.pad(x[0, 0], (0, 3)).expand(70, 36).sum(0),
    ):
        plan, constants = compiled(program, x)
        facts = _engine.plan_facts(plan)
        assert not facts["problems"] and facts["python_calls"] == 0, facts
        assert torch.equal(_engine.plan_run(plan, [x, *constants])[0], program(x))
