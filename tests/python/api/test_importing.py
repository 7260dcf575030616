"""Importing Vitrine starts no threads: a process that is forked afterwards has none of its parent's, and would wait for them."""

import os
import subprocess
import sys

import pytest

# More threads than one on every machine, and none but PyTorch's.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
FORKED = """
import os, signal, torch
threads = lambda: len(os.listdir("/proc/self/task"))
alone = threads()
import vitrine
{before}
child = os.fork()
if not child:
    signal.alarm(100)  # ends a child that waits for ever
    y = torch.nn.functional.gelu(torch.randn(1 << 20)).abs().sum() + torch.randn(1 << 20).exp().sum()
    os._exit(0 if y > 0 else 1)
print(os.waitpid(child, 0)[1], threads() - alone)
"""
COMPILED = {
    "imported": "",
    "sum": "assert vitrine.compile(lambda x: x + 1)(torch.ones(8)).sum() == 16",
    "gelu": "vitrine.compile(lambda x: [torch.nn.functional.gelu(x.to(d)) for d in (torch.float32, torch.bfloat16, torch.float16)])(torch.ones(8))",
    "norm": "vitrine.compile(lambda x: x.norm(dim=0))(torch.ones(8, requires_grad=True)).backward()",
    "take over": "import vitrine.take_over",
}  # fmt: skip


def forked(before):
    done = subprocess.run([sys.executable, "-c", FORKED.format(before=before)], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_importing_starts_no_thread():
    status, more = forked("")
    assert (status, more) == (0, 0)


@pytest.mark.parametrize("name", COMPILED)
def test_a_child_that_is_forked_after_a_compilation_computes_in_parallel(name):
    assert forked(COMPILED[name])[0] == 0
