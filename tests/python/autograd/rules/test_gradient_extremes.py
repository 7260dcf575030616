"""Gradient rules at the ends of their types, operator by operator: where eager's gradient is NaN, infinite or a zero, so is
that of the rule, with the same sign; else they are close."""

import pytest
import torch
from tests.python.support.gradient_cases import cases
from tests.python.support.op_gradients import Derivatives
from tests.python.support.op_values import VALUES, differences
from tests.python.autograd.rules.test_gradient_rules import NEVER_DIFFERENTIATED, ROWS, call
from torch.utils._pytree import tree_flatten, tree_map

LEFT_OUT = {
    "aten.native_dropout.default",  # drawn anew
    "aten.smooth_l1_loss.default", "aten.huber_loss.default",  # the target's slope is minus the other's: of 0 as well
    # They sum in another order than eager, which numbers that cancel each other show.
    *(f"aten.{kind}_pad{dims}d.default" for kind in ("reflection", "replication") for dims in (1, 2, 3)),
}  # fmt: skip


def at_values(args, kwargs, inputs, kind, generator):
    """The call's arguments with other numbers, and the derivative's inputs, which are among them."""
    fresh = {}
    for t in tree_flatten((args, kwargs))[0]:
        if isinstance(t, torch.Tensor):
            other = VALUES[kind](t, generator) if t.is_floating_point() else t
            fresh[id(t)] = torch.empty_like(t, requires_grad=False).copy_(other).requires_grad_(t.requires_grad)
    args, kwargs = tree_map(lambda t: fresh[id(t)] if isinstance(t, torch.Tensor) else t, (args, kwargs))
    return args, kwargs, [fresh[id(t)] for t in inputs]


def wrong_gradients(name, derived, args, kwargs, kind, seed):
    generator = torch.Generator().manual_seed(seed)
    args, kwargs, inputs = at_values(args, kwargs, derived.inputs, kind, generator)
    tangents = [torch.empty_like(t).copy_(VALUES["few"](t, generator)) for t in derived.tangents(seed)]
    try:
        results = call(name)(*args, **kwargs)
        results = [r for r in tree_flatten(results)[0] if isinstance(r, torch.Tensor) and r.requires_grad]
        expected = torch.autograd.grad(results, [t for t in inputs if t.requires_grad], tangents, allow_unused=True)
    except RuntimeError:
        return  # eager refuses these values
    found = [g for g, t in zip(derived.run("own", inputs, tangents)[1], inputs) if t.requires_grad]
    for i, (e, f) in enumerate(zip(expected, found, strict=True)):
        assert (e is None) == (f is None)
        if e is not None and (bad := differences(e, f)).any():
            at = tuple(bad.nonzero()[0].tolist())
            given = [t[at].item() for t in (*inputs, *tangents) if t.shape == e.shape]
            yield f"{kind}, gradient {i} at {at} of {given}: {f[at].item()}, in eager {e[at].item()}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [r for r in ROWS if r["name"] not in NEVER_DIFFERENTIATED | LEFT_OUT], ids=lambda row: row["name"])
def test_a_rule_at_the_ends(row):
    wrong = []
    for args, kwargs in cases(row, torch.float32):
        derived = Derivatives(call(row["name"]), args, kwargs)
        if derived.refused or not derived.differentiates(row["name"]):
            continue
        for seed, kind in enumerate(("ends", "few", "large", "small", "ends")):
            wrong += wrong_gradients(row["name"], derived, args, kwargs, kind, seed)
    assert not wrong, "\n".join(wrong)
