"""What PyTorch's composite operators do otherwise, or not at all, while a dispatch mode watches them: compiled as in eager."""

import pytest
import torch
import vitrine


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("x", [torch.tensor(0.3), torch.arange(5.0), torch.arange(6.0).view(6, 1)], ids=["0-d", "1-d", "one to pick"])
@pytest.mark.parametrize("q", [[0.5, 0.25], [0.5, -1.0], [2.0, 0.5], [0.5, float("nan")]], ids=str)
def test_quantiles_out_of_range_are_an_error(x, q):
    for quantile in (torch.quantile, torch.nanquantile):
        f = lambda x, q: quantile(x, q, dim=-1) * 2  # noqa: E731, B023
        expected, found = outcome(f, x, torch.tensor(q)), outcome(vitrine.compile(f), x, torch.tensor(q))
        assert isinstance(found, torch.Tensor) and torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found == expected


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_a_result_to_write_into_is_written(dtype):
    f = lambda x, out: torch.linalg.matrix_rank(x * 1, out=out) + 1  # noqa: E731
    outs = [torch.full((), 3, dtype=dtype) for _ in range(2)]
    expected, found = f(torch.eye(4), outs[0]), vitrine.compile(f)(torch.eye(4), outs[1])
    assert torch.equal(found, expected)
    assert torch.equal(*outs)
