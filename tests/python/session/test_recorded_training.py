"""What a session holds of a training step: the division, and the backward graphs' kernels and launches."""

import json
import sqlite3
import subprocess

import pytest

PROGRAM = """
import torch, vitrine
from torch.nn import functional as F
torch.manual_seed(0)
x, w = torch.randn(2048, 8, requires_grad=True), torch.randn(8, 16, requires_grad=True)

@vitrine.compile
def chain(x, w):
    y = x @ w
    return (y * 2).sin().exp().sum(), y.mean()

for used in (0, 0, 1):
    chain(x, w)[used].backward()
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    (folder / "program.py").write_text(PROGRAM)
    path = folder / "run.vitrine"
    done = subprocess.run(["vitrine", "run", folder / "program.py", "-o", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def database(session):
    connection = sqlite3.connect(session)
    yield connection
    connection.close()


def test_each_backward_graph_is_a_compilation_beside_its_forward(database):
    rows = database.execute(
        "SELECT f.label, b.label, b.status, backward.tangents, b.segment = f.segment FROM backward "
        "JOIN compilation f ON f.id = backward.compilation JOIN compilation b ON b.id = backward.backward ORDER BY b.id"
    ).fetchall()
    assert rows == [("0/0", "0/0 backward", "ok", "0", 1), ("0/0", "0/0 backward 2", "ok", "1", 1)]


def test_the_kernels_and_launches_of_backward_are_shown(session, database):
    of_backward = "compilation IN (SELECT backward FROM backward)"
    assert database.execute(f"SELECT count(*) FROM kernel WHERE {of_backward} AND name LIKE 'mm%'").fetchone()[0] >= 2
    assert database.execute(f"SELECT count(*) FROM launch WHERE {of_backward}").fetchone()[0] >= 2
    shown = subprocess.run(["vitrine", "show", session, "launch", "--compilation", "0/0 backward"], capture_output=True, text=True)
    assert "mm" in shown.stdout and "chain 0/0 backward" in shown.stdout


def test_temporaries_count_whether_they_lie_in_an_arena_or_not(database):
    rows = database.execute(
        "SELECT stage.count, max(buffer.bytes) FROM stage JOIN buffer ON buffer.compilation = stage.compilation "
        "WHERE stage.name = 'memory' AND buffer.kind = 'temporary' GROUP BY stage.compilation"
    ).fetchall()
    assert rows and all(count >= largest for count, largest in rows)
    assert max(largest for _, largest in rows) >= 1 << 16


def test_the_calls_of_backward_are_counted(database):
    calls = database.execute(
        "SELECT label, kind FROM call JOIN compilation ON compilation.id = call.compilation WHERE label LIKE '%backward%' ORDER BY call.id"
    ).fetchall()
    assert calls == [("0/0 backward", "compile"), ("0/0 backward", "hit"), ("0/0 backward 2", "compile")]
    assert dict(database.execute("SELECT label, calls FROM compilation")) == {"0/0": 3, "0/0 backward": 2, "0/0 backward 2": 1}


def test_the_script_has_a_timeline_of_its_calls_and_their_launches(session, database):
    shown = json.loads(subprocess.run(["vitrine", "show", session, "timeline", "--json"], capture_output=True, text=True).stdout)
    lanes = {row["lane"]: [r for r in shown if r["lane"] == row["lane"]] for row in shown}
    names = [r["name"] for r in lanes["calls"]]
    assert names == ["compile 0/0", "compile 0/0 backward", "0/0", "0/0 backward", "0/0", "compile 0/0 backward 2"]
    launched = database.execute("SELECT count(*) FROM launch").fetchone()[0]
    assert {r["entity"] for r in lanes["launches"]} == {row[0] for row in database.execute("SELECT id FROM launch")}
    assert database.execute("SELECT count(*) FROM launch WHERE median_ns > 0").fetchone()[0] == launched


def test_what_crosses_from_forward_to_backward(session, database):
    crossings = database.execute("SELECT kind, name, bytes, node > 0, backward_node > 0 FROM crossing ORDER BY ordinal").fetchall()
    assert ("saved", "mm", 2048 * 16 * 4, 1, 1) in crossings
    kinds = {kind for kind, *_ in crossings}
    assert kinds == {"input", "saved", "recomputed"}  # x and w; the product; the chain behind it
    assert [b for kind, _, b, *_ in crossings if kind == "saved"] == [2048 * 16 * 4]
    (saved, saved_bytes, eager_bytes, recomputed), = database.execute("SELECT saved, saved_bytes, eager_bytes, recomputed FROM partition")
    assert saved == 1 and saved_bytes < eager_bytes and recomputed > 0
    shown = subprocess.run(["vitrine", "show", session, "partition"], capture_output=True, text=True).stdout
    assert "# chain 0/0: 1 saved, 131 kB instead of" in shown and "mm is a library call" in shown


def test_a_backward_node_is_linked_to_the_joint_graph(database):
    unlinked = database.execute(
        "SELECT count(*) FROM node JOIN graph ON graph.id = node.graph WHERE graph.compilation IN (SELECT backward FROM backward) "
        "AND graph.stage = 'backward' AND node.kind = 'op' AND node.id NOT IN (SELECT derived FROM link)"
    ).fetchone()
    assert unlinked == (0,)


def test_ids_of_nodes_are_those_of_one_node(database):
    """A node id means the same operator through all stages of a compilation."""
    rows = database.execute(
        "SELECT graph.compilation, node.stable, count(DISTINCT node.name) FROM node JOIN graph ON graph.id = node.graph "
        "WHERE node.stable >= 0 AND graph.stage IN ('forward', 'joint', 'backward', 'decomposed', 'optimised') GROUP BY 1, 2 HAVING count(DISTINCT node.name) > 1"
    ).fetchall()
    assert not rows
