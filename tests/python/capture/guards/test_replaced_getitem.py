"""torch.Tensor.__getitem__ with something else in its place. In a process of its own: once it has been assigned, PyTorch's
torch.tensor([x.sum(), 1.0]) fails for the rest of the process."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import torch, vitrine

    f = vitrine.compile(lambda x: x[0])
    x = torch.arange(6.0).reshape(2, 3) - 2
    assert torch.equal(f(x), x[0])
    old = torch.Tensor.__getitem__
    for _ in range(2):
        torch.Tensor.__getitem__ = lambda self, i: (print("in its place"), old(self, i) + 1)[1]
        assert torch.equal(f(x), old(x, 0) + 1) and torch.equal(f(x), old(x, 0) + 1)
        del torch.Tensor.__getitem__
        assert torch.equal(f(x), old(x, 0))
"""


def test_a_subscript_is_what_stands_there():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("in its place") == 4
