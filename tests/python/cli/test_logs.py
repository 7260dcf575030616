"""VITRINE_LOGS: what a plain script is told on stderr."""

import os
import subprocess
import sys

import pytest
from tests.python.support.command_line import write

SCRIPT = """
import torch, vitrine
@vitrine.compile(dynamic=False)
def f(x, n):
    y = x * n
    torch._dynamo.graph_break()
    return y.relu()
f(torch.ones(3), 2)
f(torch.ones(3), 5)
print("done")
"""


def logs(folder, names):
    script = write(folder, "s.py", SCRIPT)
    result = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_LOGS": names}, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0 and result.stdout == "done\n", result.stderr
    assert "\x1b" not in result.stderr
    return result.stderr


CASES = [
    ("", [], ["vitrine"]),
    ("graph_breaks", ["vitrine graph_breaks: ", "s.py:6"], ["vitrine guards", "vitrine recompiles"]),
    ("recompiles", ["vitrine recompiles: ", "s.py:3 f", "was 2, is 5"], ["vitrine guards", "vitrine graph_breaks"]),
    ("guards,graph_code", ["vitrine guards: ", "vitrine graph_code: ", "relu"], ["vitrine graph_breaks"]),
    ("help", ["graph_breaks: ", "recompiles: "], []),
    ("graph_braeks", ["there is no 'graph_braeks'; did you mean graph_breaks?"], []),
    ("fusion", ["fusion is not supported yet."], []),
]


@pytest.mark.parametrize("names, there, absent", CASES, ids=[case[0] or "nothing" for case in CASES])
def test_the_names_asked_for_are_told(tmp_path, names, there, absent):
    said = logs(tmp_path, names)
    assert all(text in said for text in there), said
    assert not any(text in said for text in absent), said
