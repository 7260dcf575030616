"""What a call of either side holds of memory, what pins of the partition change of it, and the single rewrites of passes."""

import sqlite3

import pytest
import torch
from tests.python.support.command_line import said, vitrine, write

import vitrine as vt

MODEL = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 16), nn.Sigmoid())
inputs = (torch.randn(64, 32),)
"""


def record(folder, name, *options):
    path = folder / f"{name}.vitrine"
    result = vitrine("run", write(folder, "model.py", MODEL), "-o", path, "--train", "--repeats", 3, *options)
    assert result.returncode == 0, said(result)
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    return db


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("memory")


@pytest.fixture(scope="module")
def recorded(folder):
    return record(folder, "plain")


def held(rows):
    """The most that is held at once."""
    events = [(row["start_ns"], row["bytes"]) for row in rows] + [(row["freed_ns"], -row["bytes"]) for row in rows if row["freed_ns"] >= 0]
    most = now = 0
    for _, by in sorted(events):
        now += by
        most = max(most, now)
    return most


@pytest.mark.parametrize("side", ["eager", "compiled"])
def test_a_call_of_either_side_is_recorded_with_what_it_holds(recorded, side):
    rows = recorded.execute("SELECT * FROM allocation WHERE side = ? ORDER BY ordinal", (side,)).fetchall()
    (call,) = recorded.execute("SELECT value FROM meta WHERE key = ?", (f"memory_{side}_ns",)).fetchone()
    assert rows and all(0 <= row["start_ns"] <= int(call) and row["bytes"] > 0 for row in rows)
    assert all(row["freed_ns"] == -1 or row["freed_ns"] >= row["start_ns"] for row in rows)
    assert [row["start_ns"] for row in rows] == sorted(row["start_ns"] for row in rows)
    # The first linear layer's result is 32 KiB, and every gradient outlives the call.
    assert held(rows) >= 64 * 128 * 4
    parameters = 128 * 32 + 128 + 128 + 128 + 16 * 128 + 16
    assert sum(row["bytes"] for row in rows if row["freed_ns"] < 0) >= parameters * 4


def test_eager_allocations_are_of_operators_and_most_of_nodes(recorded):
    rows = recorded.execute("SELECT * FROM allocation WHERE side = 'eager'").fetchall()
    assert all(row["op"] for row in rows)
    known = sum(row["bytes"] for row in rows if row["entity"])
    assert known > 0.6 * sum(row["bytes"] for row in rows)
    assert {row["op"] for row in rows if row["entity"]} >= {"addmm", "gelu"}


def test_temporaries_of_the_plan_are_of_buffers(recorded):
    query = "SELECT buffer.bytes FROM allocation JOIN buffer ON buffer.id = allocation.entity WHERE side = 'compiled'"
    assert recorded.execute(query).fetchall()


def test_eagers_backward_is_of_the_backward_graph(recorded):
    # Nothing of what a training step runs eagerly stands apart from what replaced it.
    names = {row["op"] for row in recorded.execute("SELECT node.op FROM allocation JOIN node ON node.id = entity WHERE side = 'eager'")}
    assert {name for name in names if "backward" in name}, names


def crossings(db):
    return {(row["name"], row["kind"]): row["reason"] for row in db.execute("SELECT * FROM crossing WHERE bytes > 0")}


def test_a_pin_is_obeyed_and_what_it_saves_is_recorded(folder, recorded):
    assert ("addmm", "saved") in crossings(recorded) and ("gelu", "recomputed") in crossings(recorded)
    pinned = record(folder, "pinned", "--pin", "addmm=recomputed")
    found = crossings(pinned)
    assert ("addmm", "saved") not in found and "pinned" in found["addmm", "recomputed"]
    saved = [db.execute("SELECT saved_bytes FROM partition").fetchone()[0] for db in (recorded, pinned)]
    assert saved[0] - saved[1] == 64 * 128 * 4
    assert pinned.execute("SELECT verdict FROM accuracy").fetchone()[0] != "differs"
    (arguments,) = pinned.execute("SELECT value FROM meta WHERE key = 'arguments'").fetchone()
    assert "--pin=addmm=recomputed" in arguments


def test_a_pin_that_cannot_be_obeyed_is_told(folder):
    db = record(folder, "refused", "--pin", "sigmoid=recomputed", "--pin", "nothing=saved")
    texts = [row["text"] for row in db.execute("SELECT text FROM message")]
    assert any("sigmoid as recomputed: it is a result, which is kept anyway" in text for text in texts), texts
    assert any("nothing as saved: there is no such value" in text for text in texts), texts


@pytest.mark.parametrize("pins", [{"addmm": "recomputed"}, {"gelu": "saved"}, {"addmm": "recomputed", "layer_norm": "recomputed"}])
def test_gradients_with_pins_are_eagers(pins):
    space = {}
    exec(MODEL, space)
    model, (x,) = space["model"], space["inputs"]
    model(x).sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    vt.compile(model, options={"partition": pins})(x).sum().backward()
    for grad, p in zip(wanted, model.parameters()):
        torch.testing.assert_close(p.grad, grad, rtol=1e-4, atol=1e-5)


def test_an_input_that_is_written_in_between_is_an_error():
    # What is computed again reads its operands in backward: never other values than forward had.
    w = torch.randn(8, 8, requires_grad=True)
    x = torch.randn(8, 8)

    def f(x, w):
        return torch.nn.functional.gelu(x @ w).sin().sum()

    loss = vt.compile(f, options={"partition": {"mm": "recomputed"}})(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_wrong_pins_are_refused():
    with pytest.raises(ValueError, match="partition"):
        vt.compile(lambda x: x, options={"partition": {"gelu": "kept"}})


def test_each_application_of_a_rule_is_recorded(recorded):
    rows = recorded.execute("SELECT rewrite.*, graph.pass, graph.changed FROM rewrite JOIN graph ON graph.id = rewrite.graph").fetchall()
    assert all(row["changed"] for row in rows)
    texts = {row["text"].split(" → ")[0]: row for row in rows if row["pass"] == "decompose"}
    assert {"layer_norm", "layer_norm_backward", "gelu_backward"} <= set(texts), texts
    for row in texts.values():
        assert row["rule"] and row["time_ns"] > 0 and row["duration_ns"] >= 0
    # A rewrite is told once a pass, in order.
    assert len({(row["graph"], row["node"]) for row in rows}) == len(rows)
    # By node in the snapshot before.
    for row in rows:
        (graph,) = recorded.execute("SELECT graph FROM node WHERE id = ?", (row["node"],)).fetchone()
        assert graph != row["graph"]
