"""Large products for a GPU whose rows begin anywhere are padded: the graph that would run there, run here operator by
operator, gives what eager gives."""

import pytest
import torch
from tests.python.gpu.test_channels_last import check

ORDERS = {"rows": lambda m, n: torch.randn(m, n), "columns": lambda m, n: torch.randn(n, m).t()}


@pytest.mark.parametrize("sizes", [(1024, 61, 1024), (1023, 1024, 1024), (1024, 1024, 1023), (1535, 2046, 1533)], ids=str)
@pytest.mark.parametrize("left", ORDERS)
@pytest.mark.parametrize("right", ORDERS)
def test_a_product_of_odd_sizes(sizes, left, right):
    m, k, n = sizes
    torch.manual_seed(0)
    a, b = ORDERS[left](m, k), ORDERS[right](k, n)
    after, _ = check(lambda a, b: (a @ b).relu() + 1, a, b)
    needed = n % 4 or (m % 4 and left == "columns") or (k % 4 and (left == "rows" or right == "columns"))
    assert ("aten.cat" in after) == bool(needed)


def test_a_result_owns_what_it_shows():
    after, _ = check(lambda a, b: a.t() @ b, torch.randn(1024, 1021), torch.randn(1024, 1024))
    assert "aten.slice" in after and "aten.clone" in after


def test_a_linear_layer_with_a_bias_and_its_gradients():
    layer = torch.nn.Linear(1024, 1021)

    def step(x, g):
        return layer(x), g @ layer.weight, g.t() @ x

    after, _ = check(step, torch.randn(1024, 1024), torch.randn(1024, 1021))
    # The weight serves twice, and so does the gradient.
    assert after.count("aten.cat") == 2 or after.count("aten.cat") == 3
