"""`vitrine show SESSION` alone says what ran, what is wrong and where the time went; one kernel; what was meant."""

import fcntl
import json
import os
import pty
import sqlite3
import struct
import subprocess
import termios
from types import SimpleNamespace

import pytest
import torch
from tests.python.support.command_line import said, vitrine, write
from vitrine._tools.recording import Recording

BROKEN = """
import torch, vitrine

@vitrine.compile
def step(x):
    y = torch.relu(x) + 1
    print("half way")
    return torch.softmax(y, -1)

for n in (4, 6, 8):
    step(torch.ones(n, 16))
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("summary")
    path = folder / "broken.vitrine"
    result = vitrine("run", write(folder, "broken.py", BROKEN), "-o", path)
    assert result.returncode == 0, said(result)
    return path


def on_terminal(columns, *words):
    """What the program writes to a terminal of so many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(["vitrine", *map(str, words)], stdout=its, stdin=subprocess.DEVNULL) as process:
        os.close(its)
        out = b""
        try:
            while piece := os.read(ours, 65536):
                out += piece
        except OSError:
            pass  # the other end is closed
        process.wait()
    os.close(ours)
    return out.decode().replace("\r\n", "\n")


def test_the_summary_says_what_ran_and_where_to_read_on(session):
    text = vitrine("show", session).stdout
    assert text.startswith("broken.py, script") and ": finished" in text
    assert "command   vitrine run " in text and "versions  vitrine " in text and "machine   " in text
    assert "compilations" in text and "[calls, runs]" in text and "[stages]" in text and "[kernels, launch]" in text


def test_problems_stand_before_totals_with_line_count_and_guard(session):
    text = vitrine("show", session).stdout
    (stop,) = [line for line in text.splitlines() if line.startswith("  graph break")]
    assert "broken.py:7:4" in stop and 'print("half way")' in stop and "3 ×" in stop and stop.endswith("[breaks]")
    again = [line for line in text.splitlines() if line.startswith("  recompilation")]
    assert any("L['x'].size(0): 4 → 6" in line and line.endswith("[recompilations]") for line in again)
    assert text.index("graph break") < text.index("recompilation") < text.index("Compiled in")


def test_the_summary_as_json(session):
    told = json.loads(vitrine("show", session, "--json").stdout)
    assert told["session"]["status"] == "finished" and told["runs"][0]["label"] == "broken.py"
    assert {"graph break", "recompilation"} <= {problem["kind"] for problem in told["problems"]}
    assert told["totals"]["calls"] == 6 and told["totals"]["generated"] >= 2
    assert [k["ns"] for k in told["kernels"]] == sorted((k["ns"] for k in told["kernels"]), reverse=True)


@pytest.mark.parametrize("of_window, stage", [("launches", "launch"), ("missed", "why"), ("log", "messages")])
def test_the_names_of_the_window_are_known(session, of_window, stage):
    told, same = (vitrine("show", session, name) for name in (of_window, stage))
    assert told.returncode == same.returncode == 0, said(told)
    assert told.stdout == same.stdout


def test_one_kernel_with_its_prelude_folded(session):
    text = vitrine("show", session, "kernels", "--kernel", "K0", "--compilation", "0/0").stdout
    assert text.startswith("// K0 ") and "// prelude, " in text and "typedef" not in text and "vitrine_kernel" in text
    assert "typedef" in vitrine("show", session, "kernels", "--kernel", "K0", "--compilation", "0/0", "--wide").stdout
    assert "define " in vitrine("show", session, "kernels", "--kernel", "K0", "--ir").stdout
    assert vitrine("show", session, "--kernel", "K0", "--assembly").stdout.startswith("# K0 ")
    rows = json.loads(vitrine("show", session, "kernels", "--kernel", "K0", "--json").stdout)
    assert rows and {row["label"] for row in rows} == {"K0"}


@pytest.mark.parametrize(
    "words, meant",
    [(["kernals"], "kernels"), (["recompilatoins"], "recompilations"), (["break"], "breaks"), (["aten", "--compilation", "0/9"], "0/"), (["kernels", "--kernel", "k0"], "K0")],
)  # fmt: skip
def test_what_is_not_there_is_named_with_what_was_meant(session, words, meant):
    result = vitrine("show", session, *words)
    assert result.returncode == 2 and f'Did you mean "{meant}' in result.stderr


@pytest.mark.parametrize("words, meant", [(["shwo"], "show"), (["improt"], "import"), (["show", "s.vitrine", "--jsn"], "--json"), (["diff", "a", "b", "--fail-if-slow=5%"], "--fail-if-slower")])
def test_a_mistyped_command_or_option_is_named_with_what_was_meant(words, meant):
    result = vitrine(*words)
    assert result.returncode == 2 and f'Did you mean "{meant}"?' in result.stderr, result.stderr


def test_a_table_fits_the_terminal_and_numbers_stay_whole(session):
    full, whole = (vitrine("show", session, "guards", *more).stdout for more in ((), ("--wide",)))
    narrow = on_terminal(90, "show", session, "guards")
    assert max(map(len, full.splitlines())) > 90
    table = narrow.split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 90 and "…" in narrow
    assert on_terminal(90, "show", session, "guards", "--wide").strip() == whole.strip()
    assert [line.split()[-1] for line in table[1:]] == [line.split()[-1] for line in full.split("\n\n")[0].splitlines()[1:]]


LAYERS = """
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8 + i % 2) if i % 2 == 0 else torch.nn.ReLU() for i in range(6)]).eval()
inputs = (torch.randn(2, 8),)
"""


def test_like_guards_are_one_row(tmp_path):
    path = tmp_path / "layers.vitrine"
    assert vitrine("run", write(tmp_path, "layers.py", LAYERS), "-o", path, "--repeats", 0).returncode == 0
    grouped, whole = (vitrine("show", path, "guards", *more).stdout.splitlines() for more in ((), ("--wide",)))
    assert any("and others: 6 parameters" in line for line in grouped)
    assert len(grouped) < 0.7 * len(whole) and len([line for line in whole if ".weight" in line and " tensor " in line]) == 3
    assert len(json.loads(vitrine("show", path, "guards", "--json").stdout)) > len(grouped)


@pytest.fixture
def of_gpu(session, tmp_path):
    """The session as if a GPU had run it, whose temporaries PyTorch places."""
    path = tmp_path / "gpu.vitrine"
    path.write_bytes(session.read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO gpu_kernel (kernel, arch) SELECT id, 'sm_90' FROM kernel WHERE kind = 'generated'")
        db.execute("UPDATE buffer SET type = type || 'cuda:0', offset = -1, reuses = 0")
        db.execute("UPDATE stage SET duration_ns = 1000000000 WHERE name = 'ir'")
    return path


def test_the_stages_of_a_gpu_have_their_names(of_gpu):
    text = vitrine("show", of_gpu).stdout
    assert "PTX " in text and "LLVM IR" not in text


def test_memory_tells_a_device_and_a_place_where_there_is_another(of_gpu):
    gpu = vitrine("show", of_gpu, "memory", "--wide").stdout
    assert "cuda" not in gpu and "f32[" in gpu
    assert "launches  offset, B" not in gpu
    with sqlite3.connect(of_gpu) as db:
        db.execute("UPDATE buffer SET type = 'f32[2]', offset = 64, first = 0, last = 0 WHERE id = (SELECT MIN(id) FROM buffer)")
    told = vitrine("show", of_gpu, "memory", "--wide").stdout.splitlines()
    assert "launches  offset, B" in told[0] and "f32[2] cpu" in told[1] and "64" in told[1] and " 1 " in told[1]


def test_a_kernel_that_is_twenty_leaves_room_for_the_others(session, tmp_path):
    path = tmp_path / "joint.vitrine"
    path.write_bytes(session.read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE kernel SET space = ? WHERE id = (SELECT MIN(id) FROM kernel)", ("442368; " * 20,))
    table = on_terminal(80, "show", path, "kernels").split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80 and "442368; 442368; " in table[1] and "…" in table[1]
    assert "442368; " * 19 in vitrine("show", path, "kernels").stdout


def test_kernels_of_one_text_are_compiled_once(session, tmp_path):
    path = tmp_path / "layers.vitrine"
    path.write_bytes(session.read_bytes())
    count = "SELECT COUNT(DISTINCT compilation || ' ' || source) FROM kernel WHERE kind = 'generated' AND "
    with sqlite3.connect(path) as db:
        fresh, cached = (db.execute(count + which).fetchone()[0] for which in ("NOT cached AND compile_ns > 0", "cached"))
        columns = [row[1] for row in db.execute("PRAGMA table_info(kernel)")]
        others = ", ".join({"id": "id + 100000", "compile_ns": "0"}.get(name, name) for name in columns)
        db.execute(f"INSERT INTO kernel SELECT {others} FROM kernel WHERE kind = 'generated'")
    assert fresh + cached > 1
    for each in (session, path):
        assert f"{fresh} kernel{'s' * (fresh != 1)} cold, {cached} from the cache" in vitrine("show", each).stdout


def test_a_script_on_a_gpu_says_on_which(of_gpu, session, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    for path, run, device in ((of_gpu, "cpu", "GPU 0"), (session, "cpu", "cpu"), (of_gpu, "cuda (sm_90, compiled only)", "cuda (sm_90, compiled only)")):
        recording = SimpleNamespace(path=str(path), commit=lambda: None)
        assert Recording.device(recording, {"device": run}) == device


def test_equal_kernels_that_spill_are_one_problem(session, tmp_path):
    path = tmp_path / "spills.vitrine"
    path.write_bytes(session.read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE kernel SET name = 'row', spills = 7, compilation = (SELECT MIN(compilation) FROM kernel)")
        kernels = db.execute("SELECT COUNT(*) FROM kernel").fetchone()[0]
    assert kernels > 1
    text = vitrine("show", path, "--wide").stdout
    (row,) = [line for line in text.splitlines() if "does not fit into registers" in line]
    assert f"row does not fit into registers  {kernels} ×   [kernels]" in row and "      7 spills" in text
