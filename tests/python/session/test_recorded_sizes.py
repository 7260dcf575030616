"""A session tells how the calls of each size got their plan, and what its memory is."""

import json

import pytest
from tests.python.support.command_line import said, vitrine, write

LOOP = """
import torch, vitrine
torch.manual_seed(0)
lin = torch.nn.Linear(32, 32)

@vitrine.compile
def step(x):
    h = torch.relu(lin(x)) * 2
    if x.shape[0] > 100:
        h = h + 1
    return torch.softmax(h, -1){tail}

with torch.no_grad():
    for n in (4, 5, 6, 7, 8, 6, 200):
        step(torch.randn(n, 32))
"""


def record(tmp_path, tail=""):
    path = tmp_path / "loop.vitrine"
    result = vitrine("run", write(tmp_path, "loop.py", LOOP.format(tail=tail)), "-o", path)
    assert result.returncode == 0, said(result)
    return path


def test_new_sizes_are_instantiated_from_one_program(tmp_path):
    path = record(tmp_path)
    symbols = json.loads(vitrine("show", path, "symbols", "--json").stdout)
    made = next(s["instances"] for s in symbols if len(s.get("instances", ())) > 1)
    assert [i["sizes"] for i in made] == ["s0 = 5", "s0 = 6", "s0 = 7", "s0 = 8"]
    assert [i["how"] for i in made] == ["compiled"] + ["instantiated"] * 3
    assert all(i["buffer_bytes"].startswith(str(n * 128)) for n, i in zip((6, 7, 8), made[1:]))
    assert [i["ordinal"] for i in made] == [1, 2, 3, 4]
    calls = [c for c in json.loads(vitrine("show", path, "calls", "--json").stdout) if c["compilation"] == made[0]["compilation"]]
    assert [c["instance"] for c in calls] == [1, 2, 3, 4, 2]
    listed = vitrine("show", path, "calls").stdout
    assert any("s0 = 6" in line and "numbers put into the program of expressions" in line for line in listed.splitlines())
    text = vitrine("show", path, "symbols").stdout
    assert "numbers put into the program of expressions" in text and "s0 <= 100" in text and "loop.py:9" in text


def test_memory_has_expressions_beside_the_last_sizes(tmp_path):
    text = vitrine("show", record(tmp_path), "memory").stdout
    assert "for any size; s0 = 8 takes" in text
    assert any(line.split()[:5] == ["x", "input", "f32[s0,32]", "128*s0", "1.02"] for line in text.splitlines()), text
    any_size = text[text.index("for any size") :].splitlines()
    assert any(line.split()[1:3] == ["parameter", "f32[32,32]"] for line in any_size), text


@pytest.mark.parametrize("tail", [".unsqueeze(0).expand(x.shape[0], -1, -1).reshape(-1).unique()"])
def test_a_program_that_breaks_still_tells_its_sizes(tmp_path, tail):
    symbols = json.loads(vitrine("show", record(tmp_path, tail), "symbols", "--json").stdout)
    rows = [i for s in symbols for i in s.get("instances", ())]
    assert rows and all(i["reason"] for i in rows if i["how"] in ("recorded", "evaluated"))


def test_sizes_stay_in_a_shared_copy(tmp_path):
    path = record(tmp_path)
    assert vitrine("share", path, "-o", tmp_path / "copy.vitrine").returncode == 0
    assert vitrine("show", tmp_path / "copy.vitrine", "memory").stdout == vitrine("show", path, "memory").stdout
