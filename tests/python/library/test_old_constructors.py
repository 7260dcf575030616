"""torch.Tensor(...), torch.LongTensor(...) and the others of one dtype: of sizes and of lists, without a break."""
import pytest
import torch

import vitrine

CASES = {
    "list": lambda x: x + torch.LongTensor([1, 2]),
    "tuple": lambda x: x + torch.DoubleTensor((1.5, 2.5)),
    "nested": lambda x: x + torch.Tensor([[1, 2], [3, 4]]),
    "cut off": lambda x: x + torch.IntTensor([1.7, -1.7]),
    "truth": lambda x: torch.where(torch.BoolTensor([True, False]), x, -x),
    "sizes": lambda x: x + torch.FloatTensor(3, 2).fill_(2.0),
    "a shape": lambda x: torch.HalfTensor(x.shape).zero_() + x,
    "nothing": lambda x: torch.cat([torch.Tensor(), x]),
    "a bound": lambda x: x[: torch.IntTensor([1])[0]],
    "of a size": lambda x: x * torch.FloatTensor([x.shape[0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_eager(name):
    compiled = vitrine.compile(CASES[name])
    x = torch.arange(2.0)
    for _ in range(2):
        expected, got = CASES[name](x), compiled(x)
        torch.testing.assert_close(got, expected, rtol=0, atol=0)
        assert got.stride() == expected.stride()
    assert [str(b) for b in vitrine.explain(CASES[name])(x).graph_break_reasons] == []


def test_each_call_has_a_tensor_of_its_own():
    compiled = vitrine.compile(lambda: torch.Tensor([1, 2]))
    compiled().add_(5)
    assert compiled().tolist() == [1.0, 2.0]


def test_the_default_dtype_of_the_call():
    compiled = vitrine.compile(lambda x: torch.Tensor([1]).dtype)
    assert compiled(torch.ones(1)) == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(torch.ones(1)) == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("arguments", [(2.5,), (True,), (-1,), ([1, None],), ("a",), ([[1, 2], [3]],)])
def test_errors(arguments):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as expected:
        torch.FloatTensor(*arguments)
    with pytest.raises(expected.type) as got:
        vitrine.compile(lambda x: x + torch.FloatTensor(*arguments))(torch.ones(2))
    assert str(got.value) == str(expected.value)


def test_another_tensor_is_shared():
    x = torch.ones(3)
    assert vitrine.compile(lambda t: torch.Tensor(t))(x).data_ptr() == x.data_ptr()
