"""The verdict on what eager and compiled return."""

import pytest
import torch
from tests.python.support.command_line import said, vitrine, write

from vitrine._tools.accuracy import compare, nudge, widened


def off_by(error, size=256):
    """A float64 result, and it in float32 with an error of that size."""
    exact = torch.linspace(-1, 1, size, dtype=torch.float64)
    noise = torch.tensor([1.0, -1.0]).repeat(size // 2) * error
    return exact, (exact + noise).float()


@pytest.mark.parametrize("error, verdict", [(1e-4, "close"), (9e-4, "close"), (3e-3, "differs")])
def test_beyond_the_tolerance_float64_decides(error, verdict):
    """Eager is off by 5e-4 itself: what is no further off is not wrong, what is much further off is."""
    exact, eager = off_by(5e-4)
    compiled = off_by(-error)[1]
    (row,) = compare(eager, compiled, lambda: exact)
    assert row["verdict"] == verdict and row["mismatched"] > 0
    assert "eager is off by 0.0005, compiled by" in row["message"]
    assert compare(eager, compiled)[0]["verdict"] == "differs"  # nothing to measure against


@pytest.mark.parametrize("error, verdict", [(1e-3, "close"), (4e-3, "differs")])
def test_where_tf32_is_allowed_its_rounding_is_no_error(error, verdict):
    exact, eager = off_by(0)
    compiled = off_by(error)[1]
    (row,) = compare(eager, compiled, lambda: exact, lambda: True)
    assert row["verdict"] == verdict and ("TF32" in row["message"]) == (verdict == "close")
    assert compare(eager, compiled, lambda: exact)[0]["verdict"] == "differs"


def test_float64_does_not_decide():
    """Values within the tolerance never ask for it; one that is far from eager's own result cannot judge."""
    exact, eager = off_by(0)
    assert compare(eager, eager + 1e-6, lambda: pytest.fail("asked"))[0]["verdict"] == "close"
    assert compare(eager, eager + 1e-3, lambda: exact + 1)[0]["verdict"] == "differs"
    assert compare(eager, eager + 1e-3, lambda: None)[0]["verdict"] == "differs"
    wrong = eager.clone()
    wrong[0] = float("nan")
    assert compare(eager, wrong, lambda: exact)[0]["verdict"] == "differs"
    assert compare(torch.arange(4), torch.arange(4) + 1, lambda: exact)[0]["verdict"] == "differs"


@pytest.mark.parametrize("moved, verdict", [(4e-4, "differs"), (1.6e-3, "close")])
def test_further_draws_of_eager_decide_after_float64(moved, verdict):
    """3e-3 is too far from a result that one unit in the last place moves by 4e-4, and not from one it moves by 1.6e-3."""
    exact, eager = off_by(5e-4)
    compiled = off_by(-3e-3)[1]
    draws = [off_by(moved / 2)[1], off_by(moved)[1], None]
    (row,) = compare(eager, compiled, lambda: exact, nudged=lambda draw: draws[draw % 3])
    assert row["verdict"] == verdict and ("eager by 0.0016" in row["message"]) == (verdict == "close"), row
    assert compare(eager, compiled, nudged=lambda draw: draws[1])[0]["verdict"] == "differs"  # nothing to measure against


def test_a_nudge_moves_values_by_a_few_units():
    a, counts, wide = torch.linspace(1, 1.9, 64), torch.arange(3), torch.ones(2, dtype=torch.float64)
    layer = torch.nn.Linear(4, 4)
    before, state = (a.clone(), layer.weight.detach().clone()), torch.get_rng_state()
    nudge((layer, {"a": [a, counts, wide]}, torch.ones(1).expand(3)), 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert set(((a - before[0]) / torch.finfo(torch.float32).eps).tolist()) <= {1.0, 2.0, -1.0, -2.0}
    assert not torch.equal(layer.weight, before[1]) and torch.allclose(layer.weight, before[1], rtol=3e-7, atol=0)
    assert counts.tolist() == [0, 1, 2] and wide.tolist() == [1, 1]


def test_widened():
    model, (a, b) = widened((torch.nn.Linear(2, 2), [torch.ones(2), torch.ones(2, dtype=torch.int64)]))
    assert model.weight.dtype == a.dtype == torch.float64 and b.dtype == torch.int64


@pytest.mark.parametrize("more, seed", [([], 0), (["--check"], 0), ([], 9), ([], 4)])
def test_a_deep_program_is_as_exact_as_eager(tmp_path, more, seed):
    """Each layer norm of the chain multiplies the roundings before it: either side is off by three times the other's error
    for one seed or another."""
    text = f"""
import torch
from torch import nn
torch.manual_seed({seed})
model = nn.Sequential(*[m for _ in range(40) for m in (nn.Linear(32, 32), nn.GELU(), nn.LayerNorm(32))]).eval()
inputs = torch.randn(16, 32)
"""
    write(tmp_path, "deep.py", text)
    result = vitrine("run", "deep.py", "--repeats", 0, *more, cwd=tmp_path)
    assert result.returncode == 0 and "as exact as eager" in result.stdout, said(result)
    assert "from float64 eager is off by" in vitrine("show", tmp_path / "deep.vitrine", "accuracy").stdout
