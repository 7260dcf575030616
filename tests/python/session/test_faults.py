"""Each call of the system that the recorder and the kernel cache make fails once, or kills the process: the earlier session
stays whole, results are right, and there is one message. A few of them here, all of them under VITRINE_TESTS=all."""

import errno
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.support.places import ROOT
from tests.python.support.command_line import vitrine, write

ALL = os.environ.get("VITRINE_TESTS") == "all"
EARLIER = "import torch\ndef model(x):\n    return (x * 2).relu()\ninputs = (torch.ones(8),)\n"
PROGRAM = """
import torch, vitrine, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = torch.linspace(-1, 1, 64)
    for f in (lambda x: (x * 3 + 1).relu(), lambda x: (x - 2).exp() * x):
        with torch.no_grad():
            assert torch.allclose(vitrine.compile(f)(x), f(x), atol=1e-6), "a wrong result"
for warning in caught:
    print("warning:", warning.message)
print("right")
"""

# Forks a child for each line of stdin: a folder, a fault, and the arguments of a run, or none for the program by itself.
SERVER = """
import ctypes, json, os, runpy, sys, traceback
import torch, vitrine
import vitrine._tools.run, vitrine._tools.recording, vitrine._tools.measuring, vitrine._tools.timeline, vitrine._tools.loading
torch.set_num_threads(1)
faults = ctypes.CDLL(None)

def act(case):
    os.chdir(case["folder"])
    for name, flags in (("out", 1), ("errors", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), flags)
    vitrine.config.cache_dir = case["cache"]
    os.environ["XDG_STATE_HOME"] = case["state"]
    faults.fault_arm(case["kind"].encode(), case["word"].encode(), case["nth"], case["error"])
    try:
        code = vitrine._tools.run.main(case["words"]) if case["words"] else runpy.run_path("program.py") and 0
    except BaseException:
        traceback.print_exc()
        code = 99
    fired, counted = faults.fault_fired(), faults.fault_counted()
    faults.fault_arm(b"", b"", -1, 0)
    sys.stdout.flush(), sys.stderr.flush()
    with open("facts", "w") as file:
        json.dump({"code": code, "fired": fired, "counted": counted}, file)
    os._exit(0)

for line in sys.stdin:
    case = json.loads(line)
    pid = os.fork()
    if pid == 0:
        act(case)
    _, status = os.waitpid(pid, 0)
    settled = ""
    if case["words"]:
        try:
            settled = vitrine._tools.recording.settle(os.path.join(case["folder"], "m.vitrine"))[0]
        except OSError as error:
            settled = str(error)
    print(json.dumps({"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "settled": settled}), flush=True)
"""


class Server:
    def __init__(self, folder):
        self.folder, self.count, self.shim = folder, 0, folder / "faults.so"
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        assert compiler, "a C compiler is needed"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.shim, ROOT / "tests/fuzz/faults.c", "-ldl"], check=True)
        env = {**os.environ, "LD_PRELOAD": str(self.shim), "XDG_STATE_HOME": str(folder / "state"), "VITRINE_CACHE_DIR": str(folder / "warm")}
        words = [sys.executable, "-u", write(folder, "server.py", SERVER)]
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def act(self, kind="", word="", nth=-1, error=0, words=(), folder=None, cache=None, state=None):
        """What became of it, in a folder of its own with an earlier session."""
        self.count += 1
        if folder is None:
            folder = self.folder / f"case{self.count}"
            folder.mkdir()
            write(folder, "program.py", PROGRAM)
            if (self.folder / "m.vitrine").exists():
                shutil.copy(self.folder / "m.vitrine", folder / "m.vitrine")
        for name in ("out", "errors", "facts"):
            (folder / name).unlink(missing_ok=True)
        case = {"folder": str(folder), "kind": kind, "word": word, "nth": nth, "error": error, "words": list(words), "cache": str(cache or self.folder / "warm"), "state": str(state or self.folder / "state")}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        end = json.loads(self.process.stdout.readline())
        facts = json.loads((folder / "facts").read_text()) if (folder / "facts").exists() else {"code": None, "fired": 1, "counted": 0}
        return {**end, **facts, "out": (folder / "out").read_text(), "errors": (folder / "errors").read_text(), "folder": folder}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("faults"))
    folder = server.folder
    write(folder, "earlier.py", EARLIER)
    end = server.act(words=["earlier.py", "-o", "m.vitrine", "--repeats", "0"], folder=folder)
    assert end["code"] == 0 and whole(folder / "m.vitrine") == "finished", end
    yield server
    server.process.stdin.close()
    assert server.process.wait(timeout=60) == 0


def whole(session):
    """How the session ended; raises where it is damaged."""
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return db.execute("SELECT value FROM meta WHERE key = 'status'").fetchone()[0]
    finally:
        db.close()


def chosen(count):
    """Which of so many calls fail."""
    return range(count) if ALL else sorted({0, 1, count // 2, count - 2, count - 1} & set(range(count)))


def messages(errors):
    """What is told of a failure; where the recording is stands beside why."""
    lines = [line for line in errors.splitlines() if line.startswith("vitrine: ") and line != "vitrine: run program.py"]
    return [line for line in lines if not line.startswith("vitrine: What was recorded is in")]


RUN = ["program.py", "-o", "m.vitrine"]
# kind of call, word in the path, error, whether a run that meets it may all the same end well
RECORDER = [
    ("open", "m.vitrine", errno.EACCES),
    ("write", "m.vitrine", errno.ENOSPC),
    ("sync", "", errno.EIO),
    ("truncate", "m.vitrine", errno.EIO),
    ("rename", "m.vitrine", errno.EACCES),
    ("mkdir", "state", errno.ENOSPC),
    ("kill-mkdir", "state", 0),
    ("kill-open", "m.vitrine", 0),
    ("kill-write", "m.vitrine", 0),
    ("kill-sync", "", 0),
    ("kill-truncate", "m.vitrine", 0),
    ("kill-rename", "m.vitrine", 0),
]  # fmt: skip


@pytest.mark.parametrize("kind, word, error", RECORDER, ids=[r[0] for r in RECORDER])
def test_the_earlier_session_is_whole_whatever_fails_while_one_is_recorded(server, kind, word, error):
    earlier = (server.folder / "m.vitrine").read_bytes()
    states = (server.folder / f"states-{kind}/state{n}" for n in range(10**9)) if word == "state" else iter(lambda: None, 0)  # a fresh one each time
    count = server.act(kind, word, 10**9, error, RUN, state=next(states))["counted"]
    assert count > 0
    for nth in chosen(count):
        end = server.act(kind, word, nth, error, RUN, state=next(states))
        about = f"{kind} {nth} of {count}: {end}"
        session = end["folder"] / "m.vitrine"
        if session.read_bytes() != earlier:
            assert whole(session) == "finished", about  # the new one, as it should be
        assert "Traceback" not in end["errors"] and "a wrong result" not in end["errors"] + end["out"], about
        if end["signal"]:
            assert end["signal"] == 9 and kind.startswith("kill"), about
        else:
            assert end["code"] in (0, 1), about
            assert len(messages(end["errors"])) == (0 if end["code"] == 0 else 1), about
            assert end["code"] != 0 or end["out"] == "right\n", about
        # What is left is another session, named in words, or nothing.
        for path in end["folder"].iterdir():
            if path.name.startswith("m.") and path.suffix == ".vitrine":
                assert whole(path) in ("finished", "died", "failed"), about
        again = server.act(words=RUN, folder=end["folder"])  # and nothing stands in the way of the next run
        assert again["code"] == 0 and whole(session) == "finished" and session.read_bytes() != earlier, f"{about}: then {again}"
        assert not (end["folder"] / ".m.vitrine-recording").exists(), about


CACHE = [
    ("open", "/kernels", errno.EACCES),
    ("open", "cache.key", errno.EACCES),
    ("write", "/kernels", errno.ENOSPC),
    ("write", "cache.key", errno.ENOSPC),
    ("rename", "/kernels", errno.EACCES),
    ("mkdir", "cold", errno.ENOSPC),
    ("chmod", "/kernels", errno.EPERM),
    ("spawn", "vitrine-cc", errno.EAGAIN),
    ("kill-open", "/kernels", 0),
    ("kill-write", "/kernels", 0),
    ("kill-rename", "/kernels", 0),
]  # fmt: skip


@pytest.mark.parametrize("kind, word, error", CACHE, ids=[f"{c[0]} {c[1]}" for c in CACHE])
def test_results_are_right_whatever_fails_in_the_cache(server, kind, word, error):
    def cold():
        shutil.rmtree(server.folder / "cold", ignore_errors=True)
        return server.folder / "cold/cache"

    if word == "cache.key":
        shutil.rmtree(server.folder / "state", ignore_errors=True)
    count = server.act(kind, word, 10**9, error, cache=cold())["counted"]
    assert count > 0
    for nth in chosen(count):
        if word == "cache.key":
            shutil.rmtree(server.folder / "state", ignore_errors=True)
        end = server.act(kind, word, nth, error, cache=cold())
        about = f"{kind} {nth} of {count}: {end}"
        assert (end["signal"] == 9) == kind.startswith("kill"), about
        if not end["signal"]:
            assert end["code"] == 0 and end["out"].endswith("right\n") and not end["errors"], about
            assert end["out"].count("warning:") <= 1, about
        again = server.act(folder=end["folder"], cache=server.folder / "cold/cache")
        assert again["code"] == 0 and again["out"] == "right\n", f"{about}: then {again}"


# Of the forks the first is of what passes the run's outputs on, without which it runs as well.
@pytest.mark.parametrize("kind, which, error", [("fork", 1, errno.EAGAIN), ("pipe", 0, errno.EMFILE), ("kill-fork", 0, 0)])
def test_the_earlier_session_is_whole_where_no_process_can_be_started(server, kind, which, error):
    folder = server.folder / f"command-{kind}"
    folder.mkdir()
    write(folder, "program.py", PROGRAM)
    shutil.copy(server.folder / "m.vitrine", folder)
    earlier = (folder / "m.vitrine").read_bytes()
    end = vitrine("run", *RUN, cwd=folder, env={"LD_PRELOAD": str(server.shim), "FAULT": f"{kind}:process:{which}:{error}"})
    assert (folder / "m.vitrine").read_bytes() == earlier and sorted(os.listdir(folder)) == ["m.vitrine", "program.py"]
    if error:
        assert end.returncode == 1 and end.stdout == "" and end.stderr.count("vitrine: ") == 1, end
        assert f"No process could be started: {os.strerror(error)}" in end.stderr, end
    else:
        assert end.returncode == -9, end


def test_a_run_goes_on_without_the_process_that_passes_its_outputs_on(server):
    folder = server.folder / "alone"
    folder.mkdir()
    write(folder, "program.py", PROGRAM)
    end = vitrine("run", *RUN, cwd=folder, env={"LD_PRELOAD": str(server.shim), "FAULT": f"fork:process:0:{errno.EAGAIN}"})
    assert end.returncode == 0 and (folder / "m.vitrine").exists(), end


def limited(*words, cwd, most, cache):
    """With files of at most so many bytes, as under `ulimit -f`."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as a shell leaves it

    env = {**os.environ, "VITRINE_CACHE_DIR": str(cache), "XDG_STATE_HOME": str(cache.parent / "state")}
    return subprocess.run([*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, preexec_fn=limit)


MANY = """
import torch, vitrine
x, w = torch.linspace(-1, 1, 64), torch.randn(64, 64)
loss = vitrine.compile(lambda p: ((p * x).exp().tanh() @ w).softmax(0).sum())
p = torch.zeros(64, requires_grad=True)
loss(p).backward()
for f in (lambda x: (x * 3 + 1).relu(), lambda x: (x - 2).exp() * x, lambda x: x.softmax(0) @ w + x.sin()):
    assert torch.allclose(vitrine.compile(f)(x), f(x), atol=1e-6), "a wrong result"
g = vitrine.compile(lambda x: (x * 3 - 1).softmax(-1) @ x.t())
for n in range(3, 12):
    y = torch.randn(n, 6, requires_grad=n % 2 == 0)
    assert torch.allclose(g(y), (y * 3 - 1).softmax(-1) @ y.t(), atol=1e-6), "a wrong result at another size"
print("right")
"""


@pytest.mark.parametrize("most", [0, 2000, 100_000])
def test_files_that_may_not_grow_are_told_of_once(tmp_path, most):
    end = limited(sys.executable, write(tmp_path, "many.py", MANY), cwd=tmp_path, most=most, cache=tmp_path / "cache")
    assert end.returncode == 0 and end.stdout == "right\n", end
    assert end.stderr.count("VitrineWarning") == (most < 100_000), end
    assert most == 100_000 or ("PyTorch instead" in end.stderr and "please report" not in end.stderr), end


@pytest.mark.parametrize("most", [100_000, 350_000])  # not begun, not written to its end
def test_a_recording_that_may_not_grow_is_one_message(server, tmp_path, most):
    write(tmp_path, "program.py", PROGRAM)
    shutil.copy(server.folder / "m.vitrine", tmp_path)
    earlier = (tmp_path / "m.vitrine").read_bytes()
    end = limited("vitrine", "run", *RUN, cwd=tmp_path, most=most, cache=tmp_path / "cache")
    assert end.returncode == 1 and (tmp_path / "m.vitrine").read_bytes() == earlier, end
    (told,) = messages(end.stderr)
    assert "written" in told and "Traceback" not in end.stderr, end


def test_the_kernel_compiler_says_in_a_sentence_what_it_cannot_write(tmp_path):
    source = write(tmp_path, "k.cpp", 'extern "C" void vitrine_kernel(void* const* args, long, long) { *(float*)args[0] = 1; }\n')
    compiler = Path(shutil.which("vitrine")).parent / "vitrine-cc"

    def sentence(words, most=1 << 30, **more):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # noqa: E731
        end = subprocess.run([compiler, source, *words], stderr=subprocess.PIPE, text=True, preexec_fn=limit, timeout=120, **more)
        assert end.returncode == 1 and end.stderr.count("\n") == 1 and end.stderr.startswith("vitrine-cc: "), end
        return end.stderr

    assert "/dev/full could not be written: No space left on device" in sentence(["-o", "/dev/full"])
    assert "File too large" in sentence(["-o", tmp_path / "k.so"], most=500)
    assert not (tmp_path / "k.so").exists()  # half a library is none
    with open("/dev/full", "w") as full:
        assert "standard output" in sentence(["-o", tmp_path / "k.so", "--texts"], stdout=full)


def test_what_a_command_cannot_print_is_an_error(server):
    with open("/dev/full", "w") as full:
        end = subprocess.run(["vitrine", "show", server.folder / "m.vitrine", "runs"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert end.returncode == 1 and "The output could not be written: No space left on device" in end.stderr, end


def test_a_copy_to_share_that_may_not_grow_leaves_nothing(server, tmp_path):
    end = limited("vitrine", "share", server.folder / "m.vitrine", "-o", tmp_path / "copy.vitrine", cwd=tmp_path, most=20_000, cache=tmp_path / "cache")
    assert end.returncode == 1 and end.stderr.count("\n") == 2 and "copy.vitrine: The session file cannot be written" in end.stderr, end  # and a hint
    assert not list(tmp_path.glob("*copy*")) and not list(tmp_path.glob(".*copy*")), end
