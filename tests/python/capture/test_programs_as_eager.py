"""Every program below tests/python/programs gives eager's result when compiled, with and without grad mode."""

import importlib
import shutil
import warnings

import pytest
import torch

import vitrine

from tests.python.programs.language import closures
from tests.python.programs.registry import PROGRAMS, SCENARIOS
from tests.python.support.places import ROOT
from tests.python.support.same_as_eager import assert_same, check, run

for file in sorted((ROOT / "tests/python/programs").glob("*/*.py")):
    importlib.import_module(f"tests.python.programs.{file.parent.name}.{file.stem}")


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_eager(name, grad):
    function, make = PROGRAMS[name]
    if name in ("gradients", "grad_modes") and not grad:
        pytest.skip("needs grad mode")
    vitrine.reset()
    if not shutil.which("vitrine-cc"):  # a program that collects warnings is not to find ours among them
        with warnings.catch_warnings(record=True):
            vitrine.compile(lambda x: x + 1)(torch.ones(3))
    compiled = vitrine.compile(function)

    def args():
        return tuple(m() if callable(m) and not isinstance(m, type) else m for m in make)

    with torch.set_grad_enabled(grad):
        check(function, compiled, args, world=closures.world, reset_world=closures.reset_world)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_behaves_as_eager(name):
    vitrine.reset()

    def outcome(compile):
        torch.manual_seed(0)
        with torch.set_grad_enabled(True):
            return run(SCENARIOS[name], (compile,)), torch.get_rng_state()

    (expected, expected_error, expected_text), expected_rng = outcome(lambda f, **options: f)
    (got, error, text), rng = outcome(vitrine.compile)
    if (expected_error is None) != (error is None):
        raise AssertionError(f"eager raised {expected_error!r}, compiled {error!r}") from (error or expected_error)
    assert type(expected_error) is type(error) and str(expected_error) == str(error)
    assert text == expected_text
    assert_same(expected, got)
    assert torch.equal(rng, expected_rng), "the random stream differs"
