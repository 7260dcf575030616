"""docs/SESSION.md names every table and column of a session, and none that is not there."""

import re
import sqlite3

import torch
from tests.python.support.places import ROOT
from tests.python.support.recorded import recorded

import vitrine

PAGE = (ROOT / "docs/SESSION.md").read_text()


def names(text):
    return set(re.findall(r"`(\w+)`", text))


def test_every_column_is_told(tmp_path):
    with recorded(tmp_path) as session:
        vitrine.compile(lambda x: x + 1)(torch.ones(2))
    section = PAGE.split("## Columns")[1].split("\n## ")[0]
    everywhere = names(section.split("| table |")[0])
    told = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    db = sqlite3.connect(session.path)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")}
    assert set(told) == tables
    for table in tables:
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        assert columns <= names(told[table]) | everywhere, table
        assert names(re.sub(r"\([^)]*\)", "", told[table])) <= columns, table  # in brackets stand values
