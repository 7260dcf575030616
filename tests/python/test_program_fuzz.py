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
from same_as_eager import check  # noqa: E402


@pytest.mark.parametrize("how", [["--count", "150"], ["--sizes", "--first", "5022", "--count", "30"]], ids=["", "sizes"])
def test_random_programs(how):
    """In a process of its own: a crash names its seed instead of ending the tests."""
    command = [sys.executable, "-W", "ignore", str(FUZZ / "program_fuzz.py"), *how, "--seconds", "30"]
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
