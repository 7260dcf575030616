"""A run never costs an earlier session: it is recorded beside it, and takes its place when it is worth as much."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from tests.python.support.command_line import said, vitrine, write

GOOD = "import torch\ndef model(x):\n    return (x * 2).relu()\ninputs = (torch.ones(8),)\n"
HALF_WAY = "import torch, vitrine\nf = vitrine.compile(lambda x: x + 1)\nf(torch.ones(2))\n"


def status(session):
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    try:
        return db.execute("SELECT value FROM meta WHERE key = 'status'").fetchone()[0], db.execute("SELECT count(*) FROM compilation").fetchone()[0]
    finally:
        db.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    write(folder, "good.py", GOOD)
    result = vitrine("run", "good.py", "-o", "m.vitrine", "--repeats", 0, cwd=folder)
    assert result.returncode == 0 and sorted(os.listdir(folder)) == ["good.py", "m.vitrine"], said(result)
    return (folder / "m.vitrine").read_bytes()


@pytest.fixture
def folder(tmp_path, recorded):
    (tmp_path / "m.vitrine").write_bytes(recorded)
    return tmp_path


def as_it_was(folder, recorded):
    return (folder / "m.vitrine").read_bytes() == recorded


EARLY = [
    ("a typo", "import torch\ndef model(x):\n    return (x * 2).rellu()\ninputs = (torch.ones(8),)\n", [], 1, "rellu"),
    ("no Python", "def f(:\n", [], 1, "is not valid Python"),
    ("an import", "import nothing_of_this_name\nmodel = inputs = 1\n", [], 1, "nothing_of_this_name"),
    ("no entry", GOOD, ["--entry", "nothing"], 1, "has no nothing"),
    ("a script that ends early", "import sys\nsys.exit(4)\n", [], 4, "exit status 4"),
    ("nothing to compile", "print('hello')\n", ["--take-over"], 0, "Nothing was compiled"),
]  # fmt: skip


@pytest.mark.parametrize("text, words, code, what", [e[1:] for e in EARLY], ids=[e[0] for e in EARLY])
def test_a_run_that_compiles_nothing_leaves_the_earlier_session(folder, recorded, text, words, code, what):
    write(folder, "m.py", text)
    result = vitrine("run", "m.py", *words, cwd=folder)
    assert result.returncode == code and (what in result.stderr or code == 0), said(result)
    assert "m.vitrine is as it was: nothing was compiled" in result.stderr and "recorded m.vitrine" not in result.stdout
    assert as_it_was(folder, recorded) and sorted(os.listdir(folder)) == ["m.py", "m.vitrine"]


def test_a_run_that_fails_half_way_is_kept_beside_a_finished_session(folder, recorded):
    write(folder, "m.py", HALF_WAY + "raise SystemExit(5)\n")
    result = vitrine("run", "m.py", cwd=folder)
    assert result.returncode == 5 and as_it_was(folder, recorded), said(result)
    assert "m.failed.vitrine; m.vitrine is as it was" in result.stderr and status(folder / "m.failed.vitrine") == ("failed", 1)
    assert "add" in vitrine("show", folder / "m.failed.vitrine", "aten").stdout


def test_a_run_that_finishes_takes_the_place_of_any(folder, recorded):
    write(folder, "m.py", HALF_WAY)
    result = vitrine("run", "m.py", cwd=folder)
    assert result.returncode == 0 and status(folder / "m.vitrine") == ("finished", 1), said(result)
    assert not as_it_was(folder, recorded) and sorted(os.listdir(folder)) == ["m.py", "m.vitrine"]


def test_a_failed_session_is_no_obstacle(tmp_path):
    write(tmp_path, "m.py", "import sys\nsys.exit(4)\n")
    assert vitrine("run", "m.py", cwd=tmp_path).returncode == 4 and status(tmp_path / "m.vitrine") == ("failed", 0)
    write(tmp_path, "m.py", HALF_WAY + "raise SystemExit(6)\n")
    assert vitrine("run", "m.py", cwd=tmp_path).returncode == 6 and status(tmp_path / "m.vitrine") == ("failed", 1)
    assert sorted(os.listdir(tmp_path)) == ["m.py", "m.vitrine"]


INPUTS = [
    ("the session as the file", ["run", "m.vitrine"], "is a recorded session, not a Python file"),
    ("a folder as the file", ["run", "."], "is a folder"),
    ("a file that is not there", ["run", "m.py"], "does not exist"),
    ("the file itself", ["run", "good.py", "-o", "good.py"], "is read by this run"),
    ("the file by another name", ["run", "good.py", "-o", "link.py"], "is read by this run"),
    ("an edited text", ["run", "good.py", "-o", "a.cpp", "--edited", "a.cpp=b.cpp"], "is read by this run"),
    ("a folder", ["run", "good.py", "-o", "folder"], "is a folder"),
    ("a pipe", ["run", "good.py", "-o", "pipe"], "is no file"),
    ("another file", ["run", "good.py", "-o", "b.cpp"], "is not a Vitrine session"),
]  # fmt: skip


@pytest.mark.parametrize("words, what", [i[1:] for i in INPUTS], ids=[i[0] for i in INPUTS])
def test_what_is_read_or_is_no_session_is_not_written(folder, recorded, words, what):
    write(folder, "good.py", GOOD)
    write(folder, "a.cpp", "// generated\n")
    write(folder, "b.cpp", "// edited\n")
    (folder / "folder").mkdir()
    os.link(folder / "good.py", folder / "link.py")
    os.mkfifo(folder / "pipe")
    before = sorted(os.listdir(folder))
    result = vitrine("run", *words[1:], cwd=folder)
    assert result.returncode in (1, 2) and what in result.stderr and "Traceback" not in result.stderr, said(result)
    assert result.stderr.count("vitrine: ") == 1, result.stderr
    assert as_it_was(folder, recorded) and sorted(os.listdir(folder)) == before
    assert (folder / "good.py").read_text() == GOOD and (folder / "a.cpp").read_text() == "// generated\n"


def started(folder, text, *words):
    """A run that has said that it is ready."""
    write(folder, "m.py", text)
    process = subprocess.Popen(words or ["vitrine", "run", "m.py"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 60
    while not (folder / "ready").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert (folder / "ready").exists(), process.communicate()
    return process


READY = "open('ready', 'w').close()\nimport time\n"


def test_a_second_recorder_is_refused_and_the_first_goes_on(folder, recorded):
    first = started(folder, HALF_WAY + READY + "while not __import__('os').path.exists('go on'):\n    time.sleep(0.05)\n")
    write(folder, "n.py", HALF_WAY)
    for _ in range(2):
        result = vitrine("run", "n.py", "-o", "m.vitrine", cwd=folder)
        assert result.returncode == 1 and result.stderr.count("vitrine: ") == 1, said(result)
        assert "Another run is being recorded into m.vitrine" in result.stderr and as_it_was(folder, recorded)
    write(folder, "go on", "")
    out, errors = first.communicate(timeout=60)
    assert first.returncode == 0 and "recorded m.vitrine" in out, errors
    assert status(folder / "m.vitrine") == ("finished", 1)


def test_a_second_recorder_is_refused_where_nothing_stood_before(tmp_path):
    first = started(tmp_path, HALF_WAY + READY + "while not __import__('os').path.exists('go on'):\n    time.sleep(0.05)\n")
    write(tmp_path, "n.py", HALF_WAY)
    result = vitrine("run", "n.py", "-o", "m.vitrine", cwd=tmp_path)
    assert result.returncode == 1 and "Another run is being recorded" in result.stderr, said(result)
    write(tmp_path, "go on", "")
    assert first.communicate(timeout=60) and first.returncode == 0 and status(tmp_path / "m.vitrine") == ("finished", 1)


def test_many_recorders_at_once_leave_one_whole_session(tmp_path):
    write(tmp_path, "m.py", HALF_WAY)
    running = [subprocess.Popen(["vitrine", "run", "m.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in running]
    assert any(code == 0 for _, code in ends), ends
    assert all(code == 0 or (code == 1 and "Another run is being recorded" in errors and errors.count("vitrine: ") == 1) for errors, code in ends), ends
    assert status(tmp_path / "m.vitrine") == ("finished", 1) and sorted(os.listdir(tmp_path)) == ["m.py", "m.vitrine"]


def test_what_a_killed_run_had_recorded_is_kept_beside(folder, recorded):
    process = started(folder, HALF_WAY + READY + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 137 and "m.died.vitrine" in errors and '"m.vitrine" is as it was' in errors.replace("m.vitrine is", '"m.vitrine" is'), errors
    assert as_it_was(folder, recorded) and status(folder / "m.died.vitrine") == ("died", 1)


def test_a_recording_whose_engine_and_command_were_killed_is_found_by_the_next_run(folder, recorded):
    process = started(folder, HALF_WAY + READY + "time.sleep(60)\n", sys.executable, "-m", "vitrine._tools.run", "m.py", "-o", "m.vitrine")
    process.kill()
    process.communicate()
    assert as_it_was(folder, recorded)
    write(folder, "n.py", "import sys\nsys.exit(1)\n")
    result = vitrine("run", "n.py", "-o", "m.vitrine", cwd=folder)
    assert "An earlier run was killed" in result.stderr and "m.died.vitrine" in result.stderr, said(result)
    assert as_it_was(folder, recorded) and status(folder / "m.died.vitrine") == ("died", 1)


def test_showing_a_session_tells_of_a_recording_that_was_cut_short(folder, recorded):
    process = started(folder, HALF_WAY + READY + "time.sleep(60)\n", sys.executable, "-m", "vitrine._tools.run", "m.py", "-o", "m.vitrine")
    process.kill()
    process.communicate()
    result = vitrine("show", "m.vitrine", "runs", cwd=folder)
    assert result.returncode == 0 and ".m.vitrine-recording" in result.stderr, said(result)
    result = vitrine("show", ".m.vitrine-recording", "runs", cwd=folder)
    assert result.returncode == 0 and "died" in result.stdout and not result.stderr, said(result)
    assert as_it_was(folder, recorded)


def heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.5, 1.0, 2.0])
def test_an_interrupt_in_the_first_seconds_is_one_sentence(folder, recorded, after):
    write(folder, "m.py", HALF_WAY + "import time\ntime.sleep(60)\n")
    process = subprocess.Popen(["vitrine", "run", "m.py"], cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heed_interrupts)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors and "KeyboardInterrupt" not in errors, errors
    # Before the program has begun at all there is nobody yet to say anything.
    assert process.returncode == 130 and errors.count("Cancelled.") == 1 or (process.returncode == -signal.SIGINT and not errors), (process.returncode, errors)
    assert as_it_was(folder, recorded)


@pytest.mark.parametrize("kilobytes", [100, 1000])
def test_a_disk_that_fills_up_leaves_the_earlier_session(folder, recorded, kilobytes):
    write(folder, "m.py", HALF_WAY + "for n in range(60):\n    vitrine.compile(eval(f'lambda x: x + {n} * x.sin()'))(torch.ones(2))\n")
    result = subprocess.run(["bash", "-c", f"ulimit -f {kilobytes}; exec vitrine run m.py"], cwd=folder, capture_output=True, text=True)
    told = [line for line in result.stderr.splitlines() if line.startswith("vitrine: ") and line != "vitrine: run m.py"]
    assert result.returncode == 1 and "Traceback" not in result.stderr and len(told) == 1, said(result)
    assert as_it_was(folder, recorded)


STATUSES = [("sys.exit(3)", 3), ("sys.exit('bye')", 1), ("sys.exit(0)", 0), ("os._exit(7)", 7), ("os.kill(os.getpid(), 15)", 130), ("os.abort()", 134), ("1 / 0", 1), ("sys.exit(255)", 255)]


@pytest.mark.parametrize("act, code", STATUSES)
def test_a_script_s_exit_status_is_passed_on(tmp_path, act, code):
    write(tmp_path, "m.py", f"import os, sys\n{HALF_WAY}{act}\n")
    result = vitrine("run", "m.py", cwd=tmp_path)
    assert result.returncode == code and status(tmp_path / "m.vitrine")[1] == 1, said(result)


def test_sessions_are_for_their_owner_alone(tmp_path):
    write(tmp_path, "m.py", HALF_WAY)
    subprocess.run(["bash", "-c", "umask 000; exec vitrine run m.py"], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "m.vitrine").stat().st_mode & 0o777 == 0o600
