"""A value that is converted to a type of as many bytes does not become the tensor that it was before."""

import pytest
import torch

import vitrine

PAIRS = [(torch.bfloat16, torch.float16), (torch.float16, torch.bfloat16), (torch.float32, torch.int32), (torch.float64, torch.int64)]


def product_converted(a, to):
    return (a @ a).to(to)


def converted_there_and_back(a, to):
    once = ((a @ a).to(to) + 1) @ torch.ones(a.shape, dtype=to)
    return once.to(a.dtype), (once * 2).to(a.dtype) @ a


def several(a, to):
    product = a @ a
    return (product + 1).to(to).view(-1), product.to(to).sum(0), (a @ product).to(to).t()


@pytest.mark.parametrize("size", [8, 300])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("function", [product_converted, converted_there_and_back, several])
def test_results_are_of_their_own_type(function, pair, size):
    vitrine.reset()
    torch.manual_seed(0)
    dtype, to = pair
    a = torch.randint(-2, 3, (size, size)).to(dtype)
    expected, found = function(a, to), vitrine.compile(function)(a, to)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("size", [8, 300])
def test_gradients_of_what_autocast_converts(size):
    """Half precision of another kind, as cuDNN's recurrent layers give it: the product's gradient is converted back."""
    vitrine.reset()
    torch.manual_seed(0)
    x, w = torch.randn(size, 24, dtype=torch.float16), torch.randn(size, 24)

    def gradients(function):
        leaves = [t.clone().requires_grad_() for t in (x, w)]
        with torch.autocast("cpu", torch.bfloat16):
            out = function(*leaves)
        out.float().square().mean().backward()
        return [t.grad for t in leaves]

    linear = torch.nn.functional.linear
    torch.testing.assert_close(gradients(vitrine.compile(lambda a, b: linear(a, b))), gradients(linear), rtol=2e-2, atol=1e-3)
