"""Pooling of windows by kernels of our own: to the bit as eager's, where nobody asks for the places."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from recorded import recorded

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
