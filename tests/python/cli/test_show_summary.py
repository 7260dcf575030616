"""`vitrine show SESSION` alone says what ran, what is wrong and where the time went; one kernel; what was meant."""

import fcntl
import json
import os
import pty
import sqlite3
import struct
import subprocess
import termios

import pytest
from tests.python.support.command_line import said, vitrine, write

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
