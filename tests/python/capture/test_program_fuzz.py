"""Random programs give eager's result: a bounded run of fixed seeds, and every failure that was kept."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

import vitrine

from tests.fuzz import tensor_fuzz, two_worlds
from tests.python.support.places import ROOT
from tests.python.support.same_as_eager import check

FUZZ = ROOT / "tests/fuzz"

RUNS = {
    "": ["program_fuzz", "--count", "150"],
    "sizes": ["program_fuzz", "--sizes", "--first", "5022", "--count", "30"],
    "python": ["python_fuzz", "--count", "60"],
    "tensors": ["tensor_fuzz", "--count", "12"],
    "aliases": ["alias_fuzz", "--count", "10"],
    "training": ["training_fuzz", "--first", "6", "--count", "15"],
    "steps": ["step_fuzz", "--first", "7100000", "--count", "8"],
}


@pytest.mark.parametrize("how", RUNS.values(), ids=RUNS)
def test_random_programs(how):
    """In a process of its own: a crash names its seed instead of ending the tests."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.fuzz.{how[0]}", *how[1:], "--seconds", "30"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert "0 failed" in done.stdout


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("path", sorted((FUZZ / "kept").glob("*.py")), ids=lambda p: p.stem)
def test_kept_failure_gives_eagers_result(path, grad):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vitrine.reset()
    calls = iter(range(100))
    with torch.set_grad_enabled(grad):
        check(module.f, vitrine.compile(module.f), lambda: module.make_args(next(calls)), calls=5)


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("path", sorted((FUZZ / "kept" / "python").glob("*.py")), ids=lambda p: p.stem)
def test_kept_failure_of_python_gives_eagers_result(path, grad):
    assert two_worlds.compare(path.read_text(), grad=grad) == ""


@pytest.mark.parametrize("path", sorted((FUZZ / "kept" / "tensors").glob("*.py")), ids=lambda p: p.stem)
def test_kept_failure_of_tensors_gives_eagers_result(path):
    assert tensor_fuzz.difference(path.read_text()) == ""
