"""A part of PyTorch's lists of operators, modules and optimizers, eager against compiled (tests/fuzz/op_sweep.py and
module_sweep.py run any part of them)."""

import os
import subprocess
import sys

import pytest

from tests.python.support.places import ROOT
from tests.python.support.sweep import WHOLE

SHARDS = 24


def nothing_differs(sweep, *options):
    """In a process of its own: a crash names its operator instead of ending the tests."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.fuzz.{sweep}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert " 0 wrong" in done.stdout


@pytest.mark.parametrize("shard", range(SHARDS) if WHOLE else [5])
def test_operators(shard):
    nothing_differs("op_sweep", "--shard", f"{shard}/{SHARDS}", "--samples", "0" if WHOLE else "1")


@pytest.mark.parametrize("shard", range(SHARDS) if WHOLE else [7])
def test_operators_of_any_size(shard):
    nothing_differs("op_sweep", "--shard", f"{shard}/{SHARDS}", "--dynamic", "--dtypes", "float32,int64", "--samples", "2" if WHOLE else "1")


@pytest.mark.parametrize("shard", range(SHARDS) if WHOLE else [5])
def test_modules_and_optimizers(shard):
    nothing_differs("module_sweep", "--shard", f"{shard}/{SHARDS}", "--samples", "0" if WHOLE else "1")
