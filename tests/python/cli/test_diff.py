"""`vitrine diff A B` of real runs: verdict, what differs, exit status."""

import json
import shutil
import sqlite3

import pytest
from tests.python.support.command_line import said, vitrine, write

MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(32, 64)
        self.out = torch.nn.Linear(64, 32)

    def forward(self, x):
        h = torch.relu(self.fc(x)) * 2
        {extra}
        return self.out(h) + x

model = Block().eval()
inputs = (torch.randn({rows}, 32),)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")

    def record(name, rows=8, extra="pass"):
        path = folder / f"{name}.vitrine"
        script = write(folder / name, "block.py", MODEL.format(rows=rows, extra=extra))
        result = vitrine("run", script, "-o", path, "--repeats", 8)
        assert result.returncode == 0, said(result)
        with sqlite3.connect(path) as db:  # times that are alike, however busy the machine: the verdict is about the rest
            db.execute("UPDATE timing SET ns = 1000000 + rowid % 7 * 1000")
            db.execute("UPDATE call SET duration_ns = 1000000 + rowid % 7 * 1000")
        db.close()
        return path

    return {
        "first": record("first"),
        "broken": record("broken", extra='print("half way")'),
        "larger": record("larger", rows=16),
    }


def changes(before, after, *words):
    told = json.loads(vitrine("diff", before, after, "--json", *words).stdout)
    return told, {(c["what"], c["sign"]) for c in told["changes"]}


def test_a_session_against_itself_is_the_same(recorded):
    result = vitrine("diff", recorded["first"], recorded["first"], "--fail-if-slower", "0%")
    assert result.returncode == 0 and "What was compiled is the same." in result.stdout, said(result)
    told, found = changes(recorded["first"], recorded["first"])
    assert told["same"] and not found and told["call"]["ratio"] == 1


def test_a_break_that_was_added_is_named_with_the_users_line(recorded):
    text = vitrine("diff", recorded["first"], recorded["broken"]).stdout
    assert "block.py:12:8" in text and "break" in text
    told, found = changes(recorded["first"], recorded["broken"])
    assert ("graph break", "added") in found and ("graph", "added") in found
    assert ("graph break", "removed") in changes(recorded["broken"], recorded["first"])[1]


def test_two_sizes_differ_in_types_guards_and_settings(recorded):
    told, found = changes(recorded["first"], recorded["larger"])
    assert {("graph", "changed"), ("guard", "added"), ("guard", "removed"), ("setting", "changed")} <= found
    assert any(c["before"] == "f32[8,32]" and c["after"] == "f32[16,32]" for c in told["changes"])
    assert not any(c["sign"] == "added" and c["what"] == "graph" for c in told["changes"])


def test_two_compilations_of_one_session(recorded):
    result = vitrine("diff", recorded["broken"], "--compilation", "0/0", "1/0")
    assert result.returncode == 0 and "graph" in result.stdout, said(result)


def test_slower_than_the_limit_is_status_one(recorded, tmp_path):
    quick, slow = tmp_path / "quick.vitrine", tmp_path / "slow.vitrine"
    for path, ns in ((quick, 1_000_000), (slow, 9_000_000)):  # times that no busy machine spreads
        shutil.copy(recorded["first"], path)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE timing SET ns = ? + rowid % 7 * 1000 WHERE side = 'compiled'", (ns,))
        db.close()
    assert vitrine("diff", quick, slow).returncode == 0
    result = vitrine("diff", quick, slow, "--fail-if-slower", "5%")
    assert result.returncode == 1 and "slower: a compiled call took" in result.stdout
    assert vitrine("diff", slow, quick, "--fail-if-slower", "5%").returncode == 0


@pytest.mark.parametrize(
    "words, status",
    [([], 2), (["--fail-if-slower", "much"], 2), (["--compilation", "0/0"], 2), (["nowhere.vitrine"], 1)],
)  # fmt: skip
def test_wrong_arguments_and_missing_sessions(recorded, words, status):
    assert vitrine("diff", recorded["first"], *words).returncode == status


def test_times_that_are_not_there_cannot_pass_a_limit(recorded, tmp_path):
    bare = tmp_path / "bare.vitrine"
    shutil.copy(recorded["first"], bare)
    with sqlite3.connect(bare) as db:
        db.execute("DELETE FROM timing")
        db.execute("DELETE FROM call")
    db.close()
    result = vitrine("diff", bare, bare, "--fail-if-slower", "5%")
    assert result.returncode == 1 and "cannot be told" in result.stderr
