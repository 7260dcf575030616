"""What is reduced over one element: eager's bits, a negative zero among them, and no call of PyTorch for it."""

import pytest
import torch
import vitrine

from tests.python.support.recorded import recorded

CASES = {
    "a dim": (lambda x: (x * 1).sum(0), (1, 5)),
    "kept": (lambda x: (x * 1).sum(1, keepdim=True), (3, 1, 2)),
    "all": (lambda x: (x * 1).sum(), (1, 1)),
    "a scalar": (lambda x: (x * 1).sum(), ()),
    "two dims": (lambda x: (x * 1).sum((0, 2)), (1, 3, 1)),
    "product": (lambda x: (x * 1).prod(0), (1, 4)),
    "mean": (lambda x: (x * 1).mean(), (1, 1)),
    "softmax": (lambda x: (x * 1).softmax(0), (1, 4)),
    "largest": (lambda x: (x * 1).amax(0), (1, 4)),
}
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool)


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape or a.stride() != b.stride():
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    nan = a.isnan()
    return torch.equal(nan, b.isnan()) and torch.equal(a[~nan], b[~nan]) and torch.equal(a[~nan].signbit(), b[~nan].signbit())


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_reductions_of_one_element(name, dtype):
    function, shape = CASES[name]
    values = [torch.zeros(shape).to(dtype), torch.ones(shape).to(dtype)]
    if dtype.is_floating_point:
        values += [-torch.zeros(shape, dtype=dtype), torch.full(shape, float("nan"), dtype=dtype)]
    elif name in ("mean", "softmax"):
        pytest.skip("PyTorch has it for floating point only")
    vitrine.reset()
    compiled = vitrine.compile(function, fullgraph=True)
    for x in values:
        assert same_bits(compiled(x), function(x)), x


@pytest.mark.parametrize("name", ["a dim", "all", "mean", "softmax"])
def test_they_are_kernels(name, tmp_path):
    function, shape = CASES[name]
    vitrine.reset()
    with recorded(tmp_path) as session:
        vitrine.compile(function, fullgraph=True)(torch.randn(shape))
    assert {step["kind"] for step in session.rows("launch")} <= {"kernel", "view"}
