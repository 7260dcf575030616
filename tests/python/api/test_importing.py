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
    done = subprocess.run(
        [sys.executable, "-c", FORKED.format(before=before)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_importing_starts_no_thread():
    status, more = forked("")
    assert (status, more) == (0, 0)


def test_importing_runs_no_operator():
    code = """
import torch
from torch.profiler import ProfilerActivity, profile
operators = lambda seen: [e.name for e in seen.events() if e.name.startswith("aten::")]
with profile(activities=[ProfilerActivity.CPU]) as seen:
    import vitrine
assert not operators(seen), operators(seen)
with profile(activities=[ProfilerActivity.CPU]) as seen:
    torch.ones(1)
assert operators(seen)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Layouts are found at the first use, whatever the user has switched on by then.
AROUND = {
    "a dispatch mode": "from torch.utils._python_dispatch import TorchDispatchMode as M\nclass Refuse(M):\n    def __torch_dispatch__(self, *a, **k): raise AssertionError\nwith Refuse(): {}",
    "fake tensors": "from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): {}",
    "inference mode": "with torch.inference_mode(): {}",
    "no grad": "with torch.no_grad(): {}",
    "a default device": "torch.set_default_device('meta'); {}; torch.set_default_device(None)",
    "a default dtype": "torch.set_default_dtype(torch.float16); {}; torch.set_default_dtype(torch.float32)",
    "functorch": "def make(x):\n    global f\n    {}\n    return x\ntorch.func.vmap(make)(torch.ones(2))",
    "deterministic": "torch.use_deterministic_algorithms(True); {}; torch.use_deterministic_algorithms(False)",
    "a thread": "import threading; t = threading.Thread(target=lambda: exec('global f; {}')); t.start(); t.join()",
    "autocast": "with torch.autocast('cpu'): {}",
}  # fmt: skip


@pytest.mark.parametrize("name", AROUND)
def test_the_first_use_is_right_under(name):
    code = f"""
import torch, vitrine
def g(x): return (x[1:] * 2).sin()
{AROUND[name].format("f = vitrine.compile(g, fullgraph=True)")}
x = torch.randn(6, requires_grad=True)
y = f(x)
y.sum().backward()
want = x.detach().clone().requires_grad_(True)
g(want).sum().backward()
torch.testing.assert_close((y, x.grad), (g(want), want.grad))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMPILED)
def test_a_child_that_is_forked_after_a_compilation_computes_in_parallel(name):
    assert forked(COMPILED[name])[0] == 0
