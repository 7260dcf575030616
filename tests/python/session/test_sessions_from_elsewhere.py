"""Sessions that somebody sent: opening one runs, writes and deletes nothing, and prints nothing that steers the terminal."""

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.python.support.places import ROOT
from tests.python.support.command_line import TINY, said, vitrine, write

SESSION = ROOT / "tests/sessions/v1/tiny_model.vitrine"
STAGES = ["source", "bytecode", "steps", "aten", "guards", "kernels", "launch", "timeline", "messages", "calls", "runs", "stages"]
ESCAPE = "\x1b]0;owned\x07\u202e"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of one's own, in which nothing is known."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def stranger(path: Path, *sql: str) -> Path:
    shutil.copy(SESSION, path)
    db = sqlite3.connect(path, isolation_level=None)
    for text in sql:
        db.execute(text)
    db.close()
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def plant_journal(session: Path, victim: Path) -> None:
    """A journal that names another file, which SQLite deletes when it plays the journal back."""
    page = int.from_bytes(session.read_bytes()[16:18], "big")
    name = str(victim).encode()
    numbers = [0, 0, session.stat().st_size // page, 512, page]
    magic = bytes.fromhex("d9d505f920a163d7")
    head = magic + b"".join(n.to_bytes(4, "big") for n in numbers)
    end = (0x40000000 // page + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    Path(f"{session}-journal").write_bytes(head + bytes(512 - len(head)) + end)


def test_a_journal_beside_a_session_deletes_nothing(tmp_path):
    session, victim = stranger(tmp_path / "x.vitrine"), tmp_path / "precious"
    victim.write_text("mine")
    plant_journal(session, victim)
    result = vitrine("show", session, "runs")
    assert result.returncode == 1 and "x.vitrine-journal is not read" in result.stderr
    assert victim.read_text() == "mine" and Path(f"{session}-journal").exists()


def test_a_trigger_does_not_run(tmp_path):
    session = stranger(
        tmp_path / "x.vitrine",
        "UPDATE meta SET value = 'running' WHERE key = 'status'",
        "INSERT OR REPLACE INTO meta VALUES ('writer', 'x y 1 1')",
        "CREATE TRIGGER grow AFTER UPDATE ON meta BEGIN INSERT INTO meta SELECT 'fill', hex(zeroblob(1000000)); END",
    )
    before = digest(session)
    result = vitrine("show", session, "runs")
    assert result.returncode == 1 and 'the trigger "grow" does not belong to a session' in result.stderr
    assert digest(session) == before and sorted(tmp_path.iterdir()) == [session]


def test_one_that_says_it_is_running_is_shown_as_died_and_stays(tmp_path):
    session = stranger(
        tmp_path / "x.vitrine",
        "UPDATE meta SET value = 'running' WHERE key = 'status'",
        "INSERT OR REPLACE INTO meta VALUES ('writer', 'x y 1 1')",
        "UPDATE run SET status = 'running'",
    )
    before = digest(session)
    result = vitrine("show", session, "runs")
    assert result.returncode == 0 and " died " in result.stdout
    assert digest(session) == before and sorted(tmp_path.iterdir()) == [session]


def test_pipes_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.vitrine")
    for path, what in [(tmp_path / "pipe.vitrine", "a pipe"), ("/dev/zero", "a device"), (tmp_path, "a folder")]:
        result = vitrine("show", path, "runs")
        assert result.returncode == 1 and f"it is {what}" in result.stderr


def test_nothing_of_a_session_steers_the_terminal(tmp_path):
    session = stranger(tmp_path / "x.vitrine")
    db = sqlite3.connect(session, isolation_level=None)
    for table in [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]:
        for _, column, kind, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall():
            if kind == "TEXT" and column not in ("key", "encoding", "stage", "name", "effect", "status"):
                db.execute(f'UPDATE "{table}" SET "{column}" = "{column}" || ?', (ESCAPE + "\n",))
    db.execute("UPDATE blob SET encoding = 'raw', data = CAST(? AS BLOB), raw_bytes = ? WHERE id IN (SELECT text FROM file)", (ESCAPE, len(ESCAPE.encode())))
    db.close()
    shown = "".join(vitrine("show", session, stage).stdout for stage in STAGES) + vitrine("explain", session).stdout
    assert "\\x1b]0;owned\\x07\\u202e" in shown
    assert not set(shown) & set("\x1b\x07\u202e\r")
    assert ESCAPE in json.loads(vitrine("show", session, "runs", "--json").stdout)[0]["label"]


def test_a_session_is_trusted_once_somebody_says_so(tmp_path):
    session = stranger(tmp_path / "x.vitrine")
    result = vitrine("trust", session)
    assert result.returncode == 0, said(result)
    folder = tmp_path / "state" / "vitrine" / "recorded"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any(name.name.startswith("content-") for name in folder.iterdir())
    assert vitrine("trust", tmp_path / "nowhere.vitrine").returncode == 1


def test_a_run_can_leave_out_what_is_not_to_be_shared(tmp_path):
    script = write(tmp_path, "secret.py", TINY + "\nimport sys\nTOKEN = sys.argv[2]\n")
    session = tmp_path / "s.vitrine"
    result = vitrine("run", script, "-o", session, "--repeats", 0, "--redact", "--", "--token", "hunter2")
    assert result.returncode == 0, said(result)
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    all_text = "".join(vitrine("show", session, stage, "--json").stdout for stage in STAGES)
    all_text += str(sqlite3.connect(session).execute("SELECT * FROM meta").fetchall())
    assert "hunter2" not in all_text and str(tmp_path) not in all_text
    assert "secret.py" in all_text
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["s.vitrine", "secret.py"]


def test_a_copy_to_share_stands_beside_the_session(tmp_path):
    session = stranger(tmp_path / "x.vitrine")
    result = vitrine("share", session)
    assert result.returncode == 0, said(result)
    assert vitrine("show", tmp_path / "x.shared.vitrine", "aten").stdout == vitrine("show", session, "aten").stdout
    assert vitrine("share", session, "-o", session).returncode == 1
