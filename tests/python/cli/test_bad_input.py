"""Bad input and broken surroundings: one clear message, the right exit status, and a session that can be read."""

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tests.python.support.places import ROOT
from tests.python.support.command_line import TINY, query, said, vitrine, write
from tests.python.support.kernel_cache import content, put

F = "import torch\ndef f(x):\n    return (x * 2).relu()\n"


def readable(session):
    """The session opens and every command that reads it works."""
    for stage in ("runs", "stages", "messages", "source"):
        result = vitrine("show", session, stage)
        assert result.returncode == 0, said(result)
    json.loads(vitrine("show", session, "messages", "--json").stdout)
    return True


FILES = [
    ("syntax", "def f(:\n", [], "is not valid Python", "m.py", "def f(:"),
    ("import", "import nothing_of_this_name\nmodel = inputs = 1\n", [], "does not import: ModuleNotFoundError", "line 1", "nothing_of_this_name"),
    ("exit", "import sys\nsys.exit(4)\nmodel = inputs = 1\n", [], "sys.exit()", "", ""),
    ("no entry", F, ["--entry", "g"], "has no g", "It defines: f", ""),
    ("raises", "def g(x):\n    raise ValueError('too cold')\ndef f(x):\n    return g(x)\n", ["--entry", "f", "--input", "f32[3]"], "raised ValueError in f: too cold", "in g", "line 2"),
    ("half an entry", "import torch\nmodel = torch.nn.Linear(4, 4)\n", [], "it defines model, but no inputs", "Define model and inputs", ""),
    ("a class to be made", "class A:\n    def __init__(self, width): pass\n", ["--entry", "A"], "cannot be made without arguments: it needs width", "get_model()", ""),
    ("shapes", "import torch\nmodel = torch.nn.Linear(4, 4)\ninputs = torch.ones(2, 3)\n", [], "raised RuntimeError in Linear: mat1 and mat2", "check the inputs", ""),
    ("script", "def g():\n    return 1 / 0\nprint('before')\ng()\n", [], "raised ZeroDivisionError", "in g", "line 4"),
    ("script exit", "import sys\nsys.exit(5)\n", [], "exit status 5", "", ""),
    ("no text", "class E(Exception):\n    def __str__(self):\n        raise TypeError('of its own')\ndef f(x):\n    raise E()\n", ["--entry", "f", "--input", "f32[1]"], "raised E in f: <exception str() failed>", "in f", "line 5"),
    ("a wrong coding", "# coding: nothing-of-this-name\ndef f(x): return x\n", ["--entry", "f"], "unknown encoding", "coding line", ""),
    ("calls exit", "import sys\ndef f(x):\n    sys.exit(2)\n", ["--entry", "f", "--input", "f32[1]"], "raised SystemExit in f", "", ""),
]  # fmt: skip


@pytest.mark.parametrize("text, words, what, where, line", [f[1:] for f in FILES], ids=[f[0] for f in FILES])
def test_files_at_fault(tmp_path, text, words, what, where, line):
    path = write(tmp_path, "m.py", text)
    result = vitrine("run", path, "-o", tmp_path / "s.vitrine", *words)
    assert result.returncode == (5 if "sys.exit(5)" in text else 1)
    assert what in result.stderr and where in result.stderr and line in result.stderr, result.stderr
    for ours in ("vitrine/_tools/run.py", "vitrine/_tools/loading.py", "vitrine/_tools/measuring.py", "<frozen", "runpy", "Traceback (most recent call last):\n\n"):
        assert ours not in result.stderr
    assert result.stderr.count("Traceback") <= 1
    assert readable(tmp_path / "s.vitrine")
    assert query(tmp_path / "s.vitrine", "SELECT value FROM meta WHERE key = 'status'") == [("failed",)]
    assert query(tmp_path / "s.vitrine", "SELECT count(*) FROM run WHERE status = 'running'") == [(0,)]
    assert what.split(":")[0] in vitrine("show", tmp_path / "s.vitrine", "messages").stdout


ASKS_FOR_A_GPU = [
    "import torch\nmodel = torch.nn.Linear(4, 4).cuda()\ninputs = (torch.ones(2, 4).cuda(),)\n",
    "import torch\ndef get_model():\n    return torch.nn.Linear(4, 4).to('cuda')\ndef get_inputs():\n    return torch.ones(2, 4)\n",
    "import torch\ntorch.ones(2, device='cuda')\n",
]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("text", ASKS_FOR_A_GPU)
def test_a_gpu_that_is_not_here(tmp_path, text):
    write(tmp_path, "m.py", text)
    result = vitrine("run", "m.py", cwd=tmp_path)
    assert result.returncode == 1 and "There is no GPU here" in result.stderr and "--target sm_90" in result.stderr, said(result)


@pytest.mark.parametrize("how", [(), ("--take-over",)])
def test_a_missing_file(how, tmp_path):
    result = vitrine("run", *how, "none.py", cwd=tmp_path)
    assert result.returncode == 1 and "none.py does not exist" in result.stderr


def test_files_beside_one_are_not_taken_for_python_s_own(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("random", "cuda", "sympy", "numpy"):
        write(here, f"{name}.py", "raise SystemExit('imported by mistake')\n")
    path = write(tmp_path, "m.py", "import torch\nmodel = torch.nn.ReLU()\ninputs = torch.ones(3)\n")
    result = vitrine("run", path, "-o", tmp_path / "s.vitrine", "--repeats", "0", cwd=here)
    assert result.returncode == 0, said(result)


def test_files_in_another_encoding(tmp_path):
    text = "# -*- coding: latin-1 -*-\nimport torch\nmodel = torch.nn.ReLU()\ninputs = torch.ones(len('\u00e9'))\n"
    (tmp_path / "m.py").write_bytes(text.encode("latin-1"))
    result = vitrine("run", "m.py", "--repeats", "0", cwd=tmp_path)
    assert result.returncode == 0 and "f32[1]" in result.stdout, said(result)


@pytest.mark.parametrize("how", [(), ("--events",)])
def test_a_closed_stdout(how, tmp_path):
    text = "import sys, torch\nsys.stdout.close()\nmodel = torch.nn.ReLU()\ninputs = torch.ones(3)\n"
    result = vitrine("run", write(tmp_path, "m.py", text), *how, "--repeats", "1", cwd=tmp_path)
    assert result.returncode == 0 and "Traceback" not in said(result), said(result)
    assert '"event": "finished"' in result.stdout or not how


@pytest.mark.parametrize("kilobytes", [100, 400])
def test_a_session_that_cannot_be_begun_for_want_of_space(kilobytes, tmp_path):
    write(tmp_path, "m.py", F)
    words = f"ulimit -f {kilobytes}; exec vitrine run m.py --entry f --input 'f32[3]'"
    result = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "Traceback" not in result.stderr, said(result)
    assert "The session file cannot be written" in result.stderr and "-o" in result.stderr


def test_a_disk_that_fills_up_during_a_run(tmp_path):
    write(tmp_path, "m.py", F)
    words = "ulimit -f 600; exec vitrine run m.py --entry f --input 'f32[3]'"
    result = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "Traceback" not in result.stderr, said(result)
    assert result.stderr.count("could not be written to its end") == 1 and "ended without" not in result.stderr
    assert vitrine("show", tmp_path / "m.vitrine", "runs").returncode == 0


def test_a_user_without_a_home_folder():
    words = "import pathlib, os\nos.path.expanduser = lambda path: path\nimport vitrine\nprint(repr(vitrine.config.cache_dir))"
    unset = {name: value for name, value in os.environ.items() if name not in ("VITRINE_CACHE_DIR", "XDG_CACHE_HOME")}
    result = subprocess.run([sys.executable, "-c", words], env=unset, capture_output=True, text=True)
    assert result.stdout == "''\n", said(result)


def test_wrong_input_words_are_a_usage_error(tmp_path):
    write(tmp_path, "m.py", F)
    result = vitrine("run", "m.py", "--entry", "f", "--input", "q3[2]", cwd=tmp_path)
    assert result.returncode == 2 and "no dtype q3" in result.stderr and "f32" in result.stderr


def test_an_older_pytorch(tmp_path):
    write(tmp_path, "stub/torch/__init__.py", "__version__ = '1.8.0'\n")
    write(tmp_path, "m.py", TINY)
    result = vitrine("run", "m.py", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "stub")})
    # The build's package comes first on the path, PyTorch from the stub.
    assert result.returncode == 1 and "PyTorch" in result.stderr and "1.8.0" in result.stderr and "doctor" in result.stderr
    assert "Traceback" not in result.stderr


def test_another_python(tmp_path):
    write(tmp_path, "stub/sitecustomize.py", "import sys\nsys.version_info = (3, 9, 1, 'final', 0)\n")
    write(tmp_path, "m.py", TINY)
    env = {"PYTHONPATH": str(tmp_path / "stub")}
    result = vitrine("run", "m.py", cwd=tmp_path, env=env)
    assert result.returncode == 1 and "this is 3.9" in result.stderr and "CPython 3.11" in result.stderr
    assert "Traceback" not in result.stderr
    result = vitrine("bench", env=env)
    assert result.returncode == 1 and "this is 3.9" in result.stderr and "Traceback" not in result.stderr


def test_doctor_without_pytorch(tmp_path):
    write(tmp_path, "stub/torch/__init__.py", "raise ImportError('libtorch is broken')\n")
    result = vitrine("doctor", env={"PYTHONPATH": str(tmp_path / "stub")})
    assert result.returncode == 1 and "libtorch is broken" in result.stdout and "nothing can be compiled" in result.stdout
    assert "Traceback" not in said(result) and "Graphviz" in result.stdout


def test_no_python_at_all(tmp_path):
    write(tmp_path, "m.py", TINY)
    result = vitrine("run", "m.py", cwd=tmp_path, env={"VITRINE_PYTHON": "/no/such/python"})
    assert result.returncode == 1 and "/no/such/python cannot be started" in result.stderr and "VITRINE_PYTHON" in result.stderr


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    path = write(folder, "m.py", F)
    result = vitrine("run", path, "--entry", "f", "--input", "f32[64]", "-o", folder / "s.vitrine", "--repeats", 0)
    assert result.returncode == 0, said(result)
    return folder / "s.vitrine"


def database(path, *statements):
    db = sqlite3.connect(path)
    for text in statements:
        db.execute(text)
    db.commit()
    db.close()


FOREIGN = [
    ("missing", lambda p, good: None, "does not exist"),
    ("folder", lambda p, good: p.mkdir(), "folder"),
    ("empty", lambda p, good: p.write_bytes(b""), "the file is empty"),
    ("a short text", lambda p, good: p.write_text("hello"), "another format"),
    ("random", lambda p, good: p.write_bytes(os.urandom(5000)), "another format"),
    ("text", lambda p, good: p.write_text("hello " * 100), "another format"),
    ("other database", lambda p, good: database(p, "CREATE TABLE t (a)"), "not a Vitrine session"),
    ("truncated", lambda p, good: p.write_bytes(good.read_bytes()[: good.stat().st_size // 2]), "damaged or truncated"),
    ("cut in the header", lambda p, good: p.write_bytes(good.read_bytes()[:60]), "truncated"),
    ("newer", lambda p, good: (shutil.copy(good, p), database(p, "PRAGMA user_version = 99")), "newer Vitrine"),
    ("header only", lambda p, good: p.write_bytes(good.read_bytes()[:100] + bytes(8092)), ""),
]


@pytest.mark.parametrize("make, why", [f[1:] for f in FOREIGN], ids=[f[0] for f in FOREIGN])
def test_foreign_and_broken_sessions_are_refused(tmp_path, good, make, why):
    path = tmp_path / "x.vitrine"
    make(path, good)
    for words in (["show", path, "aten"], ["explain", path]):
        result = vitrine(*words)
        assert result.returncode == 1 and why in result.stderr and str(path) in result.stderr, said(result)
        assert len(result.stderr.splitlines()) <= 2 and not result.stdout


def test_overwritten_bytes_never_crash_the_reader(tmp_path, good):
    import random

    data, rng = good.read_bytes(), random.Random(0)
    for _ in range(12):
        broken = bytearray(data)
        for _ in range(40):
            broken[rng.randrange(100, len(broken))] = rng.randrange(256)
        (tmp_path / "x.vitrine").write_bytes(broken)
        for stage in ("kernels", "aten", "stages"):
            assert vitrine("show", tmp_path / "x.vitrine", stage, "--json").returncode in (0, 1)


DEATHS = [
    ("exit", "import os\n    os._exit(7)", 7, "exit status 7"),
    ("killed", "import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9"),
    ("crash", "import ctypes\n    ctypes.string_at(0)", 139, "signal 11"),
    ("aborted", "import os\n    os.abort()", 134, "signal 6"),
]


@pytest.mark.parametrize("act, status, what", [d[1:] for d in DEATHS], ids=[d[0] for d in DEATHS])
def test_code_that_ends_the_process(tmp_path, act, status, what):
    text = f"import sys, torch, vitrine\n@vitrine.compile\ndef f(x):\n    return x * 2 + 1\ndef end():\n    {act}\nf(torch.ones(4))\nprint('last on its output', flush=True)\nprint('last on its errors', file=sys.stderr)\nend()\n"
    write(tmp_path, "m.py", text)
    result = vitrine("run", "m.py", cwd=tmp_path)
    assert result.returncode == status and what in result.stderr and "m.vitrine" in result.stderr, said(result)
    assert readable(tmp_path / "m.vitrine") and os.listdir(tmp_path).count("m.vitrine-wal") == 0
    assert query(tmp_path / "m.vitrine", "SELECT value FROM meta WHERE key = 'status'") == [("died",)]
    assert query(tmp_path / "m.vitrine", "SELECT status FROM run") == [("died",)]
    assert "last on its output" in result.stdout and "last on its errors" in result.stderr
    shown = vitrine("show", tmp_path / "m.vitrine").stdout
    assert what in shown and "last on its output" in shown and "last on its errors" in shown
    ((detail,),) = query(tmp_path / "m.vitrine", "SELECT detail FROM message WHERE severity = 'error'")
    assert "last on its output" in detail and "last on its errors" in detail
    assert "mul" in vitrine("show", tmp_path / "m.vitrine", "aten").stdout  # what was recorded before is there


def test_a_killed_writers_log_is_read(tmp_path):
    """A session whose engine was killed beside a live reader keeps its write-ahead log; it opens all the same."""
    text = "import os, signal, torch, vitrine\nf = vitrine.compile(lambda x: x + 1)\nf(torch.ones(2))\nos.kill(os.getpid(), signal.SIGKILL)\n"
    write(tmp_path, "m.py", text)
    end = subprocess.run([sys.executable, "-m", "vitrine._tools.run", "m.py", "-o", "m.vitrine"], cwd=tmp_path)
    assert end.returncode == -signal.SIGKILL and (tmp_path / "m.vitrine-wal").stat().st_size > 0
    assert readable(tmp_path / "m.vitrine") and "add" in vitrine("show", tmp_path / "m.vitrine", "aten").stdout
    write(tmp_path, "n.py", TINY)  # and it may be replaced
    assert vitrine("run", "n.py", "-o", "m.vitrine", "--repeats", 0, cwd=tmp_path).returncode == 0


def heed_interrupts():
    """A shell's background jobs ignore them, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_cancelling(tmp_path, number):
    text = "import time, torch, vitrine\nf = vitrine.compile(lambda x: x + 1)\nf(torch.ones(2))\nopen('ready', 'w').close()\ntime.sleep(60)\n"
    write(tmp_path, "m.py", text)
    process = subprocess.Popen(["vitrine", "run", "m.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heed_interrupts)
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < end:
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Cancelled" in errors and "Traceback" not in errors, errors
    assert query(tmp_path / "m.vitrine", "SELECT value FROM meta WHERE key = 'status'") == [("cancelled",)]
    assert query(tmp_path / "m.vitrine", "SELECT status FROM run") == [("cancelled",)]


def test_cancelling_from_the_application(tmp_path):
    """A line on stdin ends the run where a stage, or a round of the measurement, ends; the user's code sees an empty stdin."""
    text = "import sys, torch\nprint('stdin:', repr(sys.stdin.read()))\n" + TINY
    write(tmp_path, "m.py", text)
    command = [sys.executable, "-m", "vitrine._tools.run", "m.py", "-o", "m.vitrine", "--events", "--repeats", "100000000"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = []
    for line in process.stdout:
        seen.append(line)
        if line.startswith("\x1e") and json.loads(line[1:]).get("stage") == "timeline":
            process.stdin.write('no command\n{"command": "cancel"}\n')
            process.stdin.flush()
            break
    seen += process.communicate(timeout=60)[0].split("\n")  # \x1e, too, ends a line for splitlines
    events = [json.loads(line[1:]) for line in seen if line.startswith("\x1e")]
    assert "stdin: ''\n" in seen and process.returncode == 130
    assert [e["stage"] for e in events if e["event"] == "progress"] == ["", "captured", "timeline"]  # the timelines come no more
    assert events[-1] == {"event": "finished", "status": "cancelled", "session": "m.vitrine"}
    assert query(tmp_path / "m.vitrine", "SELECT status FROM run") == [("cancelled",)]


# Broken kernel compilers, as a program in the place of vitrine-cc.
COMPILERS = {
    "missing": None,
    "dies at once": "#!/bin/sh\nexit 1\n",
    "killed": "#!/bin/sh\nkill -9 $$\n",
}


def copy_of_the_build(folder: Path, compiler: str | None) -> Path:
    """The build's programs and package, with another kernel compiler."""
    build = Path(shutil.which("vitrine")).resolve().parent.parent
    (folder / "bin").mkdir()
    shutil.copytree(build / "python", folder / "python", symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(build / "bin/vitrine", folder / "bin/vitrine")
    if compiler:
        write(folder, "bin/vitrine-cc", compiler).chmod(0o755)
    return folder / "bin/vitrine"


@pytest.mark.parametrize("which", COMPILERS)
def test_a_kernel_compiler_that_does_not_work(tmp_path, which):
    program = copy_of_the_build(tmp_path, COMPILERS[which])
    write(tmp_path, "m.py", F)
    env = {**os.environ, "PYTHONPATH": "", "VITRINE_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        [program, "run", "m.py", "--entry", "f", "--input", "f32[64]", "--repeats", "0"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0 and re.search("(equal|close to) eager", result.stdout), said(result)
    assert "warning: " in result.stdout and "PyTorch instead" in result.stdout, result.stdout
    assert "vitrine-cc" in result.stdout or "could not be compiled" in result.stdout
    if COMPILERS[which]:
        (reproducer,) = (tmp_path / "cache/reproducers").glob("*.cpp")
        assert str(reproducer) in result.stdout
        # Replayed with the compiler that works, it compiles.
        again = subprocess.run(["vitrine-cc", reproducer, "-o", tmp_path / "k.so", "--texts"], capture_output=True, text=True)
        assert again.returncode == 0, again.stderr


def test_views_move_nothing_where_there_is_no_kernel_compiler(tmp_path):
    """Each operator is a launch there."""
    program = copy_of_the_build(tmp_path, None)
    write(tmp_path, "m.py", "def f(x):\n    return x.t() + 1\n")
    env = {**os.environ, "PYTHONPATH": "", "VITRINE_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    words = [program, "run", "m.py", "--entry", "f", "--input", "f32[64,64]", "--repeats", "0"]
    result = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, said(result)
    with contextlib.closing(sqlite3.connect(tmp_path / "m.vitrine")) as db:
        assert db.execute("SELECT name, bytes FROM kernel ORDER BY id").fetchall() == [("t", 0), ("add", 32768)]


def test_results_where_there_is_no_kernel_compiler(tmp_path):
    """They are what they are with one: no views of memory that nobody else has, counted as eager counts, and of a backward pass
    piece by piece nothing is read that an earlier piece has let go."""
    copy_of_the_build(tmp_path, None)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "python"), str(ROOT)]), "VITRINE_CACHE_DIR": str(tmp_path / "cache")}
    wanted = "in_place or max_pool1d or globals_of_differentiated or both_sides_of_pairs"
    files = [f"tests/python/{name}.py" for name in ("capture/test_results_as_eager", "capture/breaks/test_needless_breaks", "autograd/engine/test_intermediate_gradients")]
    words = ["-q", "-p", "no:cacheprovider", "-k", wanted, *files]
    result = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and "the kernel compiler, is missing" in result.stdout, said(result)


def record_kernel(folder, body, cache):
    """Records f with that body; the cached object of its kernel."""
    write(folder, "m.py", f"import torch\ndef f(x):\n    return {body}\n")
    env = {"VITRINE_CACHE_DIR": str(cache)}
    result = vitrine("run", "m.py", "--entry", "f", "--input", "f32[64]", "--repeats", 0, cwd=folder, env=env)
    assert result.returncode == 0, said(result)
    (shared,) = cache.rglob("*.so")
    return shared


@pytest.mark.parametrize("more", [[], ["--check"]])
def test_a_result_that_differs_from_eager(tmp_path, more):
    """The object of one kernel is put in the place of another's: a compiler that generates wrong code."""
    right = record_kernel(tmp_path, "x * 2 + 1", tmp_path / "right")
    wrong = record_kernel(tmp_path, "x * 2 + 3", tmp_path / "wrong")
    put(right, content(wrong))
    write(tmp_path, "m.py", "import torch\ndef f(x):\n    return x * 2 + 1\n")
    env = {"VITRINE_CACHE_DIR": str(tmp_path / "right")}
    result = vitrine("run", "m.py", "--entry", "f", "--input", "f32[64]", "--repeats", 1, *more, cwd=tmp_path, env=env)
    assert result.returncode == 3, said(result)
    assert "differs from eager" in result.stderr and "eager's result is used" in result.stderr
    assert "differ" in result.stdout and "64 of 64 outside" in result.stdout
    (script,) = (tmp_path / "right/reproducers").glob("differs-*.py")
    assert str(script) in vitrine("show", tmp_path / "m.vitrine", "messages").stdout
    rows = dict(query(tmp_path / "m.vitrine", "SELECT output, verdict FROM accuracy"))
    assert rows["output"] == ("close" if more else "differs") or more and rows["output"] == "equal"  # eager's was used
    assert any("graph" in output and verdict == "differs" for output, verdict in rows.items())
    assert readable(tmp_path / "m.vitrine")
    # The reproducer shows it with the broken object, and not with a sound one.
    for cache, status in (("right", 1), ("sound", 0)):
        end = subprocess.run([sys.executable, script], env={**os.environ, "VITRINE_CACHE_DIR": str(tmp_path / cache)}, capture_output=True, text=True)
        assert end.returncode == status and (("64 of 64" in end.stdout) == bool(status)), end.stdout + end.stderr


def test_a_checked_call_inside_a_program(tmp_path):
    """vitrine.config.check in the user's own program: the caller gets eager's numbers and a warning."""
    right = record_kernel(tmp_path, "x * 2 + 1", tmp_path / "right")
    put(right, content(record_kernel(tmp_path, "x * 2 + 3", tmp_path / "wrong")))
    text = """
import warnings, torch, vitrine
from m import f
vitrine.config.check = True
g = vitrine.compile(f)
x = torch.randn(64)
with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert torch.equal(g(x), f(x)) and torch.equal(g(x), f(x))
assert len(caught) == 1 and "differs from eager" in str(caught[0].message), caught
"""
    write(tmp_path, "m.py", "import torch\ndef f(x):\n    return x * 2 + 1\n")
    end = subprocess.run([sys.executable, write(tmp_path, "p.py", text)], cwd=tmp_path, env={**os.environ, "VITRINE_CACHE_DIR": str(tmp_path / "right")}, capture_output=True, text=True)
    assert end.returncode == 0, end.stderr


FAILS_IN_EAGER = """import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Linear(16, 8)

    def forward(self, x):
        return self.b(torch.relu(x))


model, inputs = Block().eval(), (torch.ones(4, 32),)
"""


@pytest.mark.parametrize(
    "text, line, expression",
    [(FAILS_IN_EAGER, 11, "self.b(torch.relu(x))"), ("import torch\nmodel, inputs = torch.relu, (torch.ones(missing),)\n", 2, "missing")],
)
def test_what_raised_is_a_place_in_the_recorded_source(tmp_path, text, line, expression):
    write(tmp_path, "m.py", text)
    result = vitrine("run", tmp_path / "m.py", "-o", tmp_path / "m.vitrine", "--repeats", "1")
    assert result.returncode == 1, said(result)
    rows = "SELECT span.line, span.col, span.end_col, file.path FROM message JOIN span ON message.entity = span.id JOIN file ON span.file = file.id"
    [(found, begin, end, path)] = query(tmp_path / "m.vitrine", rows)
    assert (found, path) == (line, str(tmp_path / "m.py"))
    assert text.splitlines()[line - 1][begin:end] == expression
    assert text.splitlines()[line - 1] in vitrine("show", tmp_path / "m.vitrine", "source").stdout
    assert query(tmp_path / "m.vitrine", "SELECT label, status FROM run") == [("m.py", "failed")]
