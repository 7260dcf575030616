"""compute-sanitizer finds nothing in any family of generated kernels: no access out of bounds, no race in shared memory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[3]
TOOL = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def watched(tool):
    """Its report. Each tensor has memory of its own, so that what lies behind it belongs to nobody."""
    environment = dict(os.environ, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    words = [TOOL, "--tool", tool, "--kernel-name", "kernel_substring=vitrine_", "--error-exitcode", "9", "--print-limit", "3"]
    done = subprocess.run([*words, sys.executable, "-m", "tests.gpu.kernels.every_family"], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(TOOL is None, reason="no compute-sanitizer")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_nothing_is_found(tool):
    status, said = watched(tool)
    if "not supported" in said:
        pytest.skip("compute-sanitizer cannot watch this GPU: " + said.strip().splitlines()[-1][:200])
    assert status == 0 and ", 0 failed" in said, said[-4000:]
