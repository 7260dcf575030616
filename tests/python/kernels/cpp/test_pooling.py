"""Pooling of windows by kernels of our own: to the bit as eager's, where nobody asks for the places."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded

# sizes, window, stride, padding, dilation
WINDOWS = [
    ((1, 3, 12, 12), 3, 2, 1, 1),
    ((2, 3, 17, 30), (2, 5), (3, 1), (1, 2), 1),
    ((1, 1, 9, 9), 2, None, 0, 1),
    ((2, 2, 20, 15), 3, (2, 1), 1, (2, 3)),
    ((1, 2, 7, 40), (1, 13), 1, (0, 6), 1),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_the_largest_of_each_window(case, dtype):
    sizes, *how = case
    vitrine.reset()
    pool = vitrine.compile(lambda x: F.max_pool2d(x, *how).relu_())
    x = torch.randn(sizes, dtype=dtype)
    x[0, 0, 3, 4], x[0, 0, 0] = float("nan"), float("-inf")
    for given in (x, -x, x.to(memory_format=torch.channels_last)):
        y, eager = pool(given), F.max_pool2d(given, *how).relu_()
        assert torch.equal(y.isnan(), eager.isnan()) and torch.equal(y.nan_to_num(), eager.nan_to_num())
        assert y.stride() == eager.stride()


def test_it_runs_as_a_kernel_with_what_stands_around_it(tmp_path):
    with recorded(tmp_path) as session:
        x = torch.randn(1, 4, 20, 20)
        y = vitrine.compile(lambda x: F.max_pool2d(x * 2, 3, 2, 1) + 1)(x)
    assert torch.equal(y, F.max_pool2d(x * 2, 3, 2, 1) + 1)
    assert {row["kind"] for row in session.rows("kernel")} == {"generated"}


def test_rows_pool_as_pictures_of_one_row(tmp_path):
    x = torch.randn(2, 3, 40)
    with recorded(tmp_path) as session, torch.no_grad():
        y = vitrine.compile(lambda x: F.max_pool1d(x, 3, 2, 1))(x)
    assert torch.equal(y, F.max_pool1d(x, 3, 2, 1))
    assert {row["kind"] for row in session.rows("kernel")} == {"generated"}


@pytest.mark.parametrize("ceil", [False, True])
def test_places_that_are_asked_for_are_pytorchs(ceil):
    x = torch.randn(2, 3, 11, 11)
    both = vitrine.compile(lambda x: F.max_pool2d(x, 2, 2, 0, 1, ceil, return_indices=True))(x)
    for mine, eager in zip(both, F.max_pool2d(x, 2, 2, 0, 1, ceil, return_indices=True)):
        assert torch.equal(mine, eager)
    leaf, other = (x.clone().requires_grad_() for _ in range(2))
    vitrine.compile(lambda x: F.max_pool2d(x, 3, 2, 1, 1, ceil).sum())(leaf).backward()
    F.max_pool2d(other, 3, 2, 1, 1, ceil).sum().backward()
    assert torch.equal(leaf.grad, other.grad)


SHRINKING = {
    "mean": lambda x: F.avg_pool2d(x, 2),
    "mean of other steps": lambda x: F.avg_pool2d(x, (3, 2), (1, 3)),
    "mean with a border": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "mean of what is inside": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "mean to the end": lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
    "mean by another number": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "mean of rows": lambda x: F.avg_pool1d(x[0], 3, 1, 1),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (6, 9)),
    "adaptive with unlike windows": lambda x: F.adaptive_avg_pool2d(x, (5, 9)),
    "area": lambda x: F.interpolate(x, scale_factor=0.5, mode="area"),
    "nearest": lambda x: F.interpolate(x, scale_factor=0.5),
    "nearest to a size": lambda x: F.interpolate(x, size=(4, 18)),
    "nearest by a third": lambda x: F.interpolate(x, scale_factor=1 / 3),
    "nearest in between": lambda x: F.interpolate(x, size=(5, 7)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", SHRINKING)
def test_pictures_shrink_as_eagers(name, dtype):
    vitrine.reset()
    shrunk = vitrine.compile(lambda x: SHRINKING[name](x * 1))
    x = torch.randn(2, 3, 12, 18).to(dtype)
    x[0, 0, 3, 4], x[0, 1, 0] = float("nan"), float("-inf")
    for given in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().transpose(2, 3)):
        y, eager = shrunk(given), SHRINKING[name](given * 1)
        assert torch.equal(y.isnan(), eager.isnan()) and torch.equal(y.nan_to_num(), eager.nan_to_num())
        assert y.stride() == eager.stride()


@pytest.mark.parametrize("name", ["mean", "mean with a border", "adaptive", "nearest"])
def test_pictures_that_shrink_are_kernels(name, tmp_path):
    x = torch.randn(2, 3, 12, 18)
    with recorded(tmp_path) as session:
        vitrine.compile(SHRINKING[name])(x)
    assert {row["kind"] for row in session.rows("kernel")} == {"generated"}
    leaf, other = (x.clone().requires_grad_() for _ in range(2))
    vitrine.compile(lambda x: SHRINKING[name](x).square().sum())(leaf).backward()
    SHRINKING[name](other).square().sum().backward()
    torch.testing.assert_close(leaf.grad, other.grad)
