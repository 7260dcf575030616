"""`vitrine query`: SQL over a session, read only; and tables as CSV."""

import csv
import io
import json
import re

import pytest
from tests.python.support.command_line import recorded_tiny, said, vitrine
from tests.python.support.places import ROOT


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return recorded_tiny(tmp_path_factory.mktemp("query"))


def views():
    text = (ROOT / "core/session/query/query_views.cpp").read_text()
    return re.findall(r'^    \{"(\w+)", "', text, re.M)


@pytest.mark.parametrize("view", views())
def test_every_view_is_answered_and_documented(session, view):
    result = vitrine("query", session, f"SELECT * FROM {view}", "--json")
    assert result.returncode == 0, said(result)
    rows = json.loads(result.stdout)
    assert bool(rows) or view in ("breaks", "recompilations", "symbols", "messages", "decisions")
    (line,) = re.findall(rf"^\| `{view}` \| (.*) \|$", (ROOT / "docs/SESSION.md").read_text(), re.M)
    if rows:
        assert [name for name in rows[0]] == re.findall(r"`(\w+)`", line)


def test_kernels_have_plain_numbers_and_texts(session):
    (row,) = json.loads(vitrine("query", session, "SELECT label, launches, us, source FROM kernels WHERE kind = 'generated'", "--json").stdout)
    assert row["launches"] == 1 and row["us"] > 0 and "void" in row["source"]


def test_what_was_not_measured_has_no_time(tmp_path):
    """A script that is traced runs once: its kernels are not timed."""
    script, session = tmp_path / "script.py", tmp_path / "s.vitrine"
    script.write_text("import torch, vitrine\nvitrine.compile(lambda x: x.sin() + 1)(torch.randn(9))\n")
    assert (done := vitrine("run", script, "-o", session)).returncode == 0, said(done)
    for table, column in (("kernels", "us"), ("launches", "us"), ("runs", "eager_us")):
        rows = json.loads(vitrine("query", session, f"SELECT {column} FROM {table}", "--json").stdout)
        assert rows and all(row[column] is None or row[column] > 0 for row in rows), (table, rows)


def test_slices_are_the_timelines(session):
    rows = json.loads(vitrine("query", session, "SELECT side, count(*) AS n FROM slices GROUP BY side", "--json").stdout)
    assert {row["side"] for row in rows} == {"eager", "compiled"} and all(row["n"] > 0 for row in rows)


def test_csv_is_read_back_by_others(session):
    result = vitrine("query", session, "SELECT 'a,\"b\"' AS text, 1.5 AS number, NULL AS none", "--csv")
    assert list(csv.reader(io.StringIO(result.stdout))) == [["text", "number", "none"], ['a,"b"', "1.5", ""]]
    shown = vitrine("show", session, "kernels", "--csv")
    assert shown.returncode == 0, said(shown)
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert {row["label"] for row in rows} >= {"K0"}


def test_without_a_question_it_says_what_can_be_asked(session):
    result = vitrine("query", session)
    assert result.returncode == 0 and "kernels: " in result.stdout and "SELECT" in result.stdout


@pytest.mark.parametrize(
    "sql, says",
    [("DELETE FROM kernel", "only read"), ("SELECT 1; SELECT 2", "more than one"), ("SELECT x FROM y", "no such table"),
     ("ATTACH 'x' AS y", "only read"), ("PRAGMA journal_mode", "only read")],
)  # fmt: skip
def test_what_is_no_question_is_said(session, sql, says):
    before = session.read_bytes()
    result = vitrine("query", session, sql)
    assert result.returncode == 2 and says in result.stderr, said(result)
    assert session.read_bytes() == before


def test_a_question_without_end_ends(session):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    result = vitrine("query", session, endless, "--seconds", "0.2")
    assert result.returncode == 2 and "longer" in result.stderr
