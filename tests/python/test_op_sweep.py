"""A part of PyTorch's operator list, eager against compiled (tests/fuzz/op_sweep.py runs any part of it)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweep import WHOLE

SWEEP = Path(__file__).resolve().parent.parent / "fuzz" / "op_sweep.py"
SHARDS = 12


@pytest.mark.parametrize("shard", range(SHARDS) if WHOLE else [5])
def test_operators(shard):
    """In a process of its own: a crash names its operator instead of ending the tests."""
    command = [sys.executable, "-W", "ignore", str(SWEEP), "--shard", f"{shard}/{SHARDS}", "--samples", "0" if WHOLE else "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert "0 wrong" in done.stdout
