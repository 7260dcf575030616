"""Each call of the system that the recorder and the kernel cache make fails once, or kills the process: the earlier session
stays whole, results are right, and there is one message. A few of them here, all of them under VITRINE_TESTS=all."""

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import write

ROOT = Path(__file__).resolve().parents[2]
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
        self.folder, self.count = folder, 0
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        assert compiler, "a C compiler is needed"
        shim = folder / "faults.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, ROOT / "tests/fuzz/faults.c", "-ldl"], check=True)
        env = {**os.environ, "LD_PRELOAD": str(shim), "XDG_STATE_HOME": str(folder / "state"), "VITRINE_CACHE_DIR": str(folder / "warm")}
        words = [sys.executable, "-u", write(folder, "server.py", SERVER)]
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def act(self, kind="", word="", nth=-1, error=0, words=(), folder=None, cache=None):
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
        case = {"folder": str(folder), "kind": kind, "word": word, "nth": nth, "error": error, "words": list(words), "cache": str(cache or self.folder / "warm")}
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


RUN = ["program.py", "-o", "m.vitrine"]
# kind of call, word in the path, error, whether a run that meets it may all the same end well
RECORDER = [
    ("open", "m.vitrine", errno.EACCES),
    ("write", "m.vitrine", errno.ENOSPC),
    ("sync", "", errno.EIO),
    ("truncate", "m.vitrine", errno.EIO),
    ("rename", "m.vitrine", errno.EACCES),
    ("chmod", "m.vitrine", errno.EPERM),
    ("kill-open", "m.vitrine", 0),
    ("kill-write", "m.vitrine", 0),
    ("kill-sync", "", 0),
    ("kill-truncate", "m.vitrine", 0),
    ("kill-rename", "m.vitrine", 0),
]  # fmt: skip


@pytest.mark.parametrize("kind, word, error", RECORDER, ids=[r[0] for r in RECORDER])
def test_the_earlier_session_is_whole_whatever_fails_while_one_is_recorded(server, kind, word, error):
    earlier = (server.folder / "m.vitrine").read_bytes()
    count = server.act(kind, word, 10**9, error, RUN)["counted"]
    for nth in chosen(count):
        end = server.act(kind, word, nth, error, RUN)
        about = f"{kind} {nth} of {count}: {end}"
        session = end["folder"] / "m.vitrine"
        if session.read_bytes() != earlier:
            assert whole(session) == "finished", about  # the new one, as it should be
        assert "Traceback" not in end["errors"] and "a wrong result" not in end["errors"] + end["out"], about
        if end["signal"]:
            assert end["signal"] == 9 and kind.startswith("kill"), about
        else:
            assert end["code"] in (0, 1), about
            lines = [line for line in end["errors"].splitlines() if line.startswith("vitrine: ") and line != "vitrine: run program.py"]
            told = [line for line in lines if not line.startswith("vitrine: What was recorded is in")]  # where it is stands beside why
            assert len(told) == (0 if end["code"] == 0 else 1), about
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
