"""What the recorded plan says of itself: how many launches a graph becomes, and what each buffer is for."""

import re
import sqlite3

import pytest
from tests.python.support.command_line import said, vitrine, write

# Two buffers that take part in in-place updates, and an attention that may keep what it reads.
MODEL = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.o = nn.Linear(64, 192), nn.Linear(64, 64)
        self.register_buffer("seen", torch.zeros(64))

    def forward(self, x):
        q, k, v = self.a(x).view(2, 128, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(2, 128, 64)
        self.seen.mul_(0.9).add_(y.mean((0, 1)), alpha=0.1)
        return x + self.o(torch.cumsum(y, -1).sort(-1).values)


model = Attention().eval().half()
inputs = (torch.randn(2, 128, 64).half(),)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    path = folder / "plan.vitrine"
    result = vitrine("run", write(folder, "model.py", MODEL), "-o", path, "--target", "sm_90")
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    return db


def test_the_graph_says_as_many_launches_as_the_plan_has(recorded):
    (said_of_fused,) = recorded.execute("SELECT sentence FROM graph WHERE stage = 'fused'").fetchone()
    launches = recorded.execute("SELECT count(*) FROM launch WHERE kind != 'view'").fetchone()[0]
    assert re.search(r"become (\d+) launches", said_of_fused)[1] == str(launches)


def test_loop_nests_are_those_of_loops(recorded):
    graph = "(SELECT max(id) FROM graph WHERE stage = 'loops')"
    details = [row[0] for row in recorded.execute(f"SELECT detail FROM node WHERE kind = 'op' AND graph = {graph}")]
    nests = sum(": pointwise for " in each or ": reduction for " in each for each in details)
    others = sum(": library" in each or ": opaque" in each for each in details)
    assert nests and others
    assert recorded.execute("SELECT count FROM stage WHERE name = 'loops'").fetchone()[0] == nests
    (sentence,) = recorded.execute("SELECT sentence FROM graph WHERE stage = 'fused'").fetchone()
    assert sentence.startswith(f"{nests} loop nests and {others} other operators become ")


def test_only_what_lives_until_the_end_of_a_call_is_its_output(recorded):
    steps = recorded.execute("SELECT count(*) FROM launch").fetchone()[0]
    rows = recorded.execute("SELECT * FROM buffer WHERE kind IN ('output', 'temporary')").fetchall()
    assert {row["kind"] for row in rows} == {"output", "temporary"}
    assert all((row["kind"] == "output") == (row["last"] == steps) for row in rows)
