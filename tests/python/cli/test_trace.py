"""VITRINE_TRACE: a plain script is recorded, and is as it is without."""

import os
import subprocess
import sys

import pytest
from tests.python.support.command_line import said, vitrine, write

SCRIPT = """
import sys, torch, vitrine
@vitrine.compile
def f(x): return (x * 2).relu() + 1
print(f(torch.ones(3)).tolist())
"""
FORKS = """
import os
child = os.fork()
if child == 0:
    f(torch.ones(2, 3, 4))
    sys.exit(0)  # runs what the parent registered with atexit
os.waitpid(child, 0)
"""
SPAWNS = """
import subprocess
if len(sys.argv) == 1:
    sys.exit(subprocess.run([sys.executable, __file__, "child"]).returncode)
"""
ENDS = [("", 0, "finished"), ("sys.exit(5)\n", 5, "failed"), ("raise ValueError('too cold')\n", 1, "failed"), (FORKS, 0, "finished"), (SPAWNS, 0, "finished")]


def python(script, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VITRINE_TRACE")}
    return subprocess.run([sys.executable, script], env={**inherited, **environment}, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("end, code, status", ENDS, ids=["ends", "exits", "raises", "forks", "spawns"])
def test_a_traced_script_is_recorded_and_is_as_without(tmp_path, end, code, status):
    script, session = write(tmp_path, "s.py", SCRIPT + end), tmp_path / "s.vitrine"
    plain, traced = python(script), python(script, VITRINE_TRACE=str(session))
    assert (traced.returncode, traced.stdout, traced.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert traced.returncode == code
    shown = vitrine("show", session)
    assert shown.returncode == 0, said(shown)
    assert status in vitrine("show", session, "runs").stdout
    assert [path.name for path in tmp_path.glob("*.vitrine*")] == ["s.vitrine"]


def test_how_a_script_ended_stands_in_its_session(tmp_path):
    script, session = write(tmp_path, "s.py", SCRIPT + "sys.exit(5)\n"), tmp_path / "s.vitrine"
    for _ in range(2):  # the second beside the first
        assert python(script, VITRINE_TRACE=str(session)).returncode == 5
        assert "Your script ended with exit status 5." in vitrine("show", session, "messages").stdout
    assert [path.name for path in tmp_path.glob("*.vitrine*")] == ["s.vitrine"]


def test_each_process_has_a_file_where_the_name_says_so(tmp_path):
    script = write(tmp_path, "s.py", SCRIPT + SPAWNS)
    assert python(script, VITRINE_TRACE=str(tmp_path / "s-%p.vitrine")).returncode == 0
    found = list(tmp_path.glob("s-*.vitrine"))
    assert len(found) == 2 and all(vitrine("show", path).returncode == 0 for path in found)


def test_each_rank_has_a_file_where_the_name_says_so(tmp_path):
    script = write(tmp_path, "s.py", SCRIPT + SPAWNS)  # the child is no rank of its own
    for rank in ("0", "1"):
        assert python(script, VITRINE_TRACE=str(tmp_path / "s-%r.vitrine"), RANK=rank).returncode == 0
    found = sorted(path.name for path in tmp_path.glob("s-*.vitrine"))
    assert found == ["s-0.vitrine", "s-1.vitrine"] and vitrine("show", tmp_path / "s-1.vitrine").returncode == 0


def test_a_killed_script_leaves_a_session_that_can_be_read(tmp_path):
    script, session = write(tmp_path, "s.py", SCRIPT + "import os\nos.kill(os.getpid(), 9)\n"), tmp_path / "s.vitrine"
    assert python(script, VITRINE_TRACE=str(session)).returncode == -9
    shown = vitrine("show", session)
    assert shown.returncode == 0 and "died" in shown.stdout and "1 compilation" in shown.stdout, said(shown)


def test_a_file_that_cannot_be_written_is_one_warning(tmp_path):
    script = write(tmp_path, "s.py", SCRIPT)
    traced = python(script, VITRINE_TRACE=str(tmp_path / "none" / "s.vitrine"))
    assert traced.returncode == 0 and traced.stdout == "[3.0, 3.0, 3.0]\n"
    assert traced.stderr.count("VITRINE_TRACE") == 1 and "VitrineWarning" in traced.stderr


def test_a_run_has_a_session_of_its_own(tmp_path, monkeypatch):
    script = write(tmp_path, "s.py", SCRIPT)
    monkeypatch.setenv("VITRINE_TRACE", str(tmp_path / "traced.vitrine"))
    result = vitrine("run", script, "-o", tmp_path / "run.vitrine")
    assert result.returncode == 0, said(result)
    assert [path.name for path in tmp_path.glob("*.vitrine*")] == ["run.vitrine"]
