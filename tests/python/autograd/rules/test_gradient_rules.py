"""Every gradient rule against PyTorch's own backward (values, types, strides, what has no gradient) and against
differences (gradcheck). A row with a rule and without a case fails."""

import pytest
import torch
from tests.python.support.gradient_cases import cases
from tests.python.support.op_gradients import Derivatives, check_by_differences, difference

from vitrine import _engine

ROWS = [row for row in _engine.op_table()
        if not row["gradient"].startswith(("nondifferentiable", "borrowed", "functional"))]
TOLERANCE = {torch.float64: {"rtol": 1e-12, "atol": 1e-12}, torch.float32: {"rtol": 1e-6, "atol": 1e-6}}
# No call makes one: PyTorch has them written out, or makes them where no gradients are.
NEVER_DIFFERENTIATED = {
    "aten.square.default", "aten.alias.default", "aten.lift_fresh.default", "aten._reshape_alias.default", "aten.relu6.default",
}
# PyTorch's own backward reads data at capture; only differences judge these.
BORROWED_CANNOT = {"aten.max.default", "aten.min.default", "aten.median.default", "aten.nanmedian.default", "aten.prod.default", "aten.prod.dim_int"}
# Computed in float32 alone, or no derivative at random: not for gradcheck.
NOT_BY_DIFFERENCES = {"aten._to_copy.default", "aten.native_dropout.default"}


def overload(name):
    out = torch.ops
    for part in name.split("."):
        out = getattr(out, part)
    return out


PIECES = {"aten.unbind.int", "aten.split.Tensor", "aten.split_with_sizes.default"}
# Its statistics have a derivative, too, which the rule leaves to PyTorch.
FIRST_ALONE = {"aten.native_group_norm.default"}


def call(name):
    """The operator, its result's storage its own: a view of an input would leave as a view. Gradients of pieces meet in a
    join, so these leave as one result."""
    op = overload(name)

    def function(*args, **kwargs):
        out = op(*args, **kwargs)
        if name in PIECES:
            return sum((t * (i + 1)).sum() for i, t in enumerate(out[1:])) * 1
        out = out[0] if name in FIRST_ALONE else out
        own = lambda t: t * 1 if isinstance(t, torch.Tensor) and t.is_floating_point() else t  # noqa: E731
        return tuple(own(t) for t in out) if isinstance(out, (tuple, list)) else own(out)

    return function


def proofs(row, dtype):
    found = []
    for args, kwargs in cases(row, dtype):
        derived = Derivatives(call(row["name"]), args, kwargs)
        if not derived.refused and derived.differentiates(row["name"]):
            found.append(derived)
    return found


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_rule_gives_what_pytorchs_backward_gives(row, dtype):
    if row["name"] in NEVER_DIFFERENTIATED:
        pytest.skip("PyTorch never differentiates it")
    found = proofs(row, dtype)
    if not found and dtype is torch.float64:
        found = proofs(row, torch.float32)  # the table's own rule is for float32
    assert found, "no case in gradient_cases.py exercises the rule"
    for derived in found:
        if derived.none and row["name"] in BORROWED_CANNOT:
            continue
        assert not derived.none, derived.none
        ours, theirs = derived.run("own")[1], derived.run("borrowed")[1]
        assert not difference(ours, theirs, TOLERANCE[dtype])


@pytest.mark.parametrize("row", [r for r in ROWS if r["name"] not in NOT_BY_DIFFERENCES | NEVER_DIFFERENTIATED], ids=lambda row: row["name"])
def test_a_rule_gives_the_slope(row):
    for derived in proofs(row, torch.float64)[:3]:
        assert check_by_differences(derived)
