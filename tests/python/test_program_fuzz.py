"""Random programs give eager's result: a bounded run of fixed seeds, and every failure that was kept."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import vitrine

HERE = Path(__file__).parent
FUZZ = HERE.parent / "fuzz"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent.parent))
from same_as_eager import check  # noqa: E402
from tests.fuzz import tensor_fuzz, two_worlds  # noqa: E402


RUNS = {
    "": ["program_fuzz.py", "--count", "150"],
    "sizes": ["program_fuzz.py", "--sizes", "--first", "5022", "--count", "30"],
    "python": ["python_fuzz.py", "--count", "60"],
    "tensors": ["tensor_fuzz.py", "--count", "12"],
    "training": ["training_fuzz.py", "--first", "6", "--count", "15"],
}


@pytest.mark.parametrize("how", RUNS.values(), ids=RUNS)
def test_random_programs(how):
    """In a process of its own: a crash names its seed instead of ending the tests."""
    command = [sys.executable, "-W", "ignore", str(FUZZ / how[0]), *how[1:], "--seconds", "30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert "0 failed" in done.stdout


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("path", sorted((FUZZ / "kept").glob("*.py")), ids=lambda p: p.stem)
def test_kept(path, grad):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vitrine.reset()
    calls = iter(range(100))
    with torch.set_grad_enabled(grad):
        check(module.f, vitrine.compile(module.f), lambda: module.make_args(next(calls)), calls=5)


@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("path", sorted((FUZZ / "kept" / "python").glob("*.py")), ids=lambda p: p.stem)
def test_kept_of_python(path, grad):
    assert two_worlds.compare(path.read_text(), grad=grad) == ""


@pytest.mark.parametrize("path", sorted((FUZZ / "kept" / "tensors").glob("*.py")), ids=lambda p: p.stem)
def test_kept_of_tensors(path):
    assert tensor_fuzz.difference(path.read_text()) == ""
