"""The recorded timelines of a run: eager operators, their modules, compiled launches, and what became of what."""

import array
import sqlite3

import pytest
from tests.python.support.places import ROOT
from tests.python.support.command_line import said, vitrine


# What needs no launch, because it is only another look at the same memory.
VIEWS = {
    "view", "permute", "transpose", "unsqueeze", "expand", "slice", "select", "t", "detach", "alias", "split", "unbind", "reshape", "squeeze",
    "chunk", "lift_fresh",
}  # fmt: skip


def unpack(db, blob, code):
    raw, encoding, data = db.execute("SELECT raw_bytes, encoding, data FROM blob WHERE id = ?", (blob,)).fetchone() or (0, "raw", b"")
    if encoding == "zstd":
        import ctypes
        import ctypes.util

        zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
        out = ctypes.create_string_buffer(raw)
        zstd.ZSTD_decompress(out, ctypes.c_size_t(raw), data, ctypes.c_size_t(len(data)))
        data = out.raw
    return array.array(code, data).tolist()


class Lane:
    def __init__(self, db, row):
        names = dict((i, (text, family)) for i, text, family in db.execute("SELECT id, text, family FROM name"))
        self.start, self.duration = unpack(db, row["start"], "q"), unpack(db, row["duration"], "q")
        self.entity, self.relation = unpack(db, row["entity"], "q"), unpack(db, row["relation"], "q")
        self.depth = unpack(db, row["depth"], "b")
        self.names = [names[i] for i in unpack(db, row["name"], "i")]
        self.count = row["count"]


@pytest.fixture(scope="module", params=["transformer_block", "models/bert", "models/resnet"])
def timelines(request, tmp_path_factory):
    session = tmp_path_factory.mktemp("timeline") / "s.vitrine"
    result = vitrine("run", ROOT / f"samples/{request.param}.py", "-o", session, "--repeats", 2)
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    return db, {row["kind"]: Lane(db, row) for row in db.execute("SELECT * FROM lane")}


def test_slices_are_whole(timelines):
    for lane in timelines[1].values():
        assert lane.count == len(lane.start) == len(lane.duration) == len(lane.entity) == len(lane.relation) == len(lane.depth) > 0
        assert min(lane.start) >= 0 and min(lane.duration) >= 0 and lane.start == sorted(lane.start) and lane.depth[0] == 0
        assert all(family for _, family in lane.names)


def test_eager_operators_know_their_launch(timelines):
    db, lanes = timelines
    lane = lanes["thread"]
    launches = {row["id"] for row in db.execute("SELECT id FROM launch")}
    assert set(lane.relation) - {0} <= launches
    nodes = {row["id"]: row["op"] for row in db.execute("SELECT node.id, op FROM node JOIN graph ON graph = graph.id WHERE stage = 'aten' AND pass = '' AND kind = 'op'")}
    found = {e for e in lane.entity if e}
    missing = {nodes[n].split('.')[1] for n in set(nodes) - found}
    assert missing <= VIEWS, missing  # eager may have made a view inside another call, under its name
    for entity, (name, _) in zip(lane.entity, lane.names):
        if entity:
            assert nodes[entity].split(".")[1] == name
    related = {e for e, r in zip(lane.entity, lane.relation) if r}
    unrelated = {nodes[n] for n in found - related}
    assert {op.split(".")[1] for op in unrelated} <= VIEWS | {"empty"}, unrelated  # batch norm's empty reserve is dead
    # One eager call may become several launches and names the one that does most of the work.
    named = {r for r in lane.relation if r}
    size = dict(tuple(row) for row in db.execute("SELECT id, bytes FROM launch WHERE kind <> 'view'"))
    assert sum(size.get(r, 0) for r in named) > 0.6 * sum(size.values()) > 0
    assert {launch for launch in size if size[launch]} - named <= descendants(db, related)


def descendants(db, entities):
    found, frontier = set(), list(entities)
    while frontier:
        for (derived,) in db.execute("SELECT derived FROM link WHERE origin = ?", (frontier.pop(),)):
            if derived not in found:
                found.add(derived)
                frontier.append(derived)
    return found


def test_launches_are_the_plan(timelines):
    db, lanes = timelines
    plan = [row["id"] for row in db.execute("SELECT id FROM launch ORDER BY compilation, ordinal")]
    assert lanes["launch"].entity == lanes["launch"].relation == plan
    assert all(ns > 0 for (ns,) in db.execute("SELECT median_ns FROM launch"))


def test_modules_nest_as_their_names_do(timelines):
    lane = timelines[1]["module"]
    ends = {}
    for start, duration, (name, _) in zip(lane.start, lane.duration, lane.names):
        parent = name.rpartition(".")[0]
        while parent and parent not in ends:
            parent = parent.rpartition(".")[0]
        if parent:
            assert start + duration <= ends[parent]
        ends[name] = start + duration


def test_the_cost_of_profiling_is_told(timelines):
    meta = dict(tuple(r) for r in timelines[0].execute("SELECT key, value FROM meta"))
    for side in ("eager", "compiled"):
        assert int(meta[f"profiled_{side}_ns"]) > 0 and meta[f"profiling_cost_{side}"].endswith("%")


SIZES = """
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        h = torch.relu(self.a(x))
        print(h.shape)
        return torch.softmax(self.b(h), -1)


model = Net().eval()
calls = [(torch.randn(n, 16),) for n in (8, 12, 20)]
inputs = calls[0]
"""


def test_eager_operators_know_the_launches_of_the_compilation_that_ran(tmp_path):
    (tmp_path / "sizes.py").write_text(SIZES)
    session = tmp_path / "s.vitrine"
    result = vitrine("run", tmp_path / "sizes.py", "-o", session, "--repeats", 2)
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    lanes = {row["kind"]: Lane(db, row) for row in db.execute("SELECT * FROM lane")}
    ran = set(lanes["launch"].entity)
    eager = list(zip(lanes["thread"].names, lanes["thread"].relation))
    for work in ("addmm", "relu", "_softmax"):
        relations = [launch for (name, _), launch in eager if name == work]
        assert relations and set(relations) <= ran, work


TRAINING_OF_SIZES = """
import torch

net = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()))
for rows in (4, 5, 6, 7):
    net(torch.ones(rows, 8)).sum().backward()
"""


def test_each_call_of_a_training_script_has_its_launches_whatever_its_size(tmp_path):
    script, session = tmp_path / "sizes.py", tmp_path / "s.vitrine"
    script.write_text(TRAINING_OF_SIZES)
    result = vitrine("run", "--take-over", script, "-o", session)
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    lanes = {row["kind"]: Lane(db, row) for row in db.execute("SELECT * FROM lane")}
    calls, launches = lanes["call"], lanes["launch"]
    assert calls.count == 8  # forward and backward, four times
    for start, duration in zip(calls.start, calls.duration):
        assert any(start <= at < start + duration for at in launches.start), (start, calls.start, launches.start)
