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
    ("all_of_it", ["there is no 'all_of_it'; VITRINE_LOGS=help names all."], []),
]


@pytest.mark.parametrize("names, there, absent", CASES, ids=[case[0] or "nothing" for case in CASES])
def test_the_names_asked_for_are_told(tmp_path, names, there, absent):
    said = logs(tmp_path, names)
    assert all(text in said for text in there), said
    assert not any(text in said for text in absent), said


SESSION_SCRIPT = """
import torch, vitrine
@vitrine.compile
def f(x, w):
    return ((x @ w).sin() * 2 + x).sum(0)
for rows in (4, 5):
    f(torch.randn(rows, 4, requires_grad=True), torch.randn(4, 4)).sum().backward()
vitrine.compile(lambda x: x + 1, mode="reduce-overhead")(torch.ones(2))
print("done")
"""
OF_SESSIONS = [
    ("fusion", [" pairs joined", "+ sin with ", "s.py:3 f"]),
    ("output_code", ["vitrine_kernel", "s.py:3 f"]),
    ("aot_graphs", ["forward graph", "backward graph", "aten.mm.default"]),
    ("dynamic", ["s0 = L['x'].size(0): changed: it was 4"]),
    ("perf_hints", ["compiled again: L['x'].size(0) == 4", "vitrine.mark_dynamic"]),
]


@pytest.mark.parametrize("names, there", OF_SESSIONS, ids=[case[0] for case in OF_SESSIONS])
def test_what_is_recorded_is_told(tmp_path, names, there):
    script = write(tmp_path, "s.py", SESSION_SCRIPT)
    before = sorted(tmp_path.iterdir())
    result = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_LOGS": names, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0 and result.stdout == "done\n", result.stderr
    assert all(text in result.stderr for text in there), result.stderr
    assert {line.split(":")[0] for line in result.stderr.splitlines() if line.startswith("vitrine ")} == {f"vitrine {names}"}
    assert sorted(tmp_path.iterdir()) == before


def test_logs_and_a_session_of_ones_own(tmp_path):
    script, session = write(tmp_path, "s.py", SESSION_SCRIPT), tmp_path / "s.vitrine"
    result = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_LOGS": "fusion", "VITRINE_TRACE": str(session)}, capture_output=True, text=True, timeout=240)
    assert " pairs joined" in result.stderr and session.exists()


def test_a_file_takes_the_logs(tmp_path):
    script, out = write(tmp_path, "s.py", SCRIPT), tmp_path / "logs.txt"
    result = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_LOGS": "guards", "VITRINE_LOGS_OUT": str(out)}, capture_output=True, text=True, timeout=240)
    assert not result.stderr and "vitrine guards: " in out.read_text()


def test_a_file_that_cannot_be_written_leaves_the_logs_to_stderr(tmp_path):
    script, out = write(tmp_path, "s.py", SCRIPT), tmp_path / "nowhere" / "logs.txt"
    result = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_LOGS": "guards", "VITRINE_LOGS_OUT": str(out)}, capture_output=True, text=True, timeout=240)
    assert result.stderr.count(f"{out} cannot be written (No such file or directory); logs go to stderr instead.") == 1
    assert "vitrine guards: " in result.stderr and result.returncode == 0


TAKEN_OVER = """
import torch
from vitrine.take_over import torch_compile_taken_over
with torch_compile_taken_over():
    @torch.compile(dynamic=False)
    def f(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y.relu()
    f(torch.ones(3))
    f(torch.ones(4))
"""
SET_LOGS = TAKEN_OVER.replace("with torch", "torch._logging.set_logs(recompiles=True)\nwith torch")


@pytest.mark.parametrize("script, names, there", [(TAKEN_OVER, "graph_breaks", "graph_breaks"), (TAKEN_OVER, "+recompiles", "recompiles"), (SET_LOGS, "", "recompiles")], ids=["TORCH_LOGS", "plus", "set_logs"])
def test_torchs_names_are_followed_where_compile_is_taken_over(tmp_path, script, names, there):
    script = write(tmp_path, "s.py", script)
    environment = {**os.environ, **({"TORCH_LOGS": names} if names else {})}
    result = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0 and f"vitrine {there}: " in result.stderr, result.stderr
    assert "does not follow" not in result.stderr
