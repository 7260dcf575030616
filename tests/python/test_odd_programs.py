"""Every odd program gives eager's result when compiled, with and without grad mode."""

import sys
from pathlib import Path

import pytest
import torch

import vitrine

sys.path.insert(0, str(Path(__file__).parent))
from odd_programs import PROGRAMS, reset_world, world  # noqa: E402
from same_as_eager import check  # noqa: E402


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_eager(name, grad):
    function, make = PROGRAMS[name]
    if name in ("gradients", "grad_modes") and not grad:
        pytest.skip("needs grad mode")
    vitrine.reset()
    compiled = vitrine.compile(function)

    def args():
        return tuple(m() if callable(m) and not isinstance(m, type) else m for m in make)

    with torch.set_grad_enabled(grad):
        check(function, compiled, args, world=world, reset_world=reset_world)
