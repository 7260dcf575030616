"""A small program at one size after another: eager's results each time, few compilations, none for a size alone."""

import copy

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import vitrine
from tests.python.support.segments import compiled, made_anew
from tests.python.support.sweep import WHOLE

SIZES = range(2, 34) if WHOLE else (2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 33)
MOST = 3  # compilations


def run(fn, inputs, wanted):
    """Results, and the gradients of inputs and weights; `wanted`: which inputs have one."""
    inputs = [x.clone().requires_grad_(i in wanted) for i, x in enumerate(inputs)]
    torch.manual_seed(2)
    results = [r for r in tree_leaves(fn(*inputs)) if isinstance(r, torch.Tensor)]
    seen = [r for r in results if r.requires_grad]
    leaves = [x for x in inputs if x.requires_grad] + (list(fn.parameters()) if seen and isinstance(fn, nn.Module) else [])
    torch.manual_seed(1)
    gradients = torch.autograd.grad(seen, leaves, [torch.randn_like(r) for r in seen], allow_unused=True) if seen else ()
    return results, gradients


def same_at_any_size(fn, make, grad, without=()):
    """make(n): its inputs for a size; `without`: which of these have no gradient."""
    ours = vitrine.compile(copy.deepcopy(fn) if isinstance(fn, nn.Module) else fn, fullgraph=True, recompile_limit=MOST)
    for n in SIZES:
        torch.manual_seed(n)
        inputs = make(n)
        wanted = {i for i, x in enumerate(inputs) if grad and x.is_floating_point() and i not in without}
        if grad and not wanted:
            pytest.skip("it has no gradient")
        with torch.set_grad_enabled(grad):
            (results, gradients), (expected, others) = run(ours, inputs, wanted), run(fn, inputs, wanted)
        torch.testing.assert_close(results, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
        assert [r.stride() for r in results] == [r.stride() for r in expected], n
        assert [g is None for g in gradients] == [g is None for g in others], n
        torch.testing.assert_close([g for g in gradients if g is not None], [g for g in others if g is not None], rtol=1e-3, atol=1e-3, equal_nan=True)
    assert not made_anew(), made_anew()
    assert len(compiled()) <= MOST
