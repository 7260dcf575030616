"""`vitrine show SESSION roofline`: each kernel under the ceiling of the type that it multiplies."""

import json
import sqlite3

from tests.python.support.command_line import recorded_tiny, said, vitrine, write


def test_a_library_call_is_held_against_the_ceiling_of_its_type(tmp_path):
    session = recorded_tiny(tmp_path)
    with sqlite3.connect(session) as db:
        (kernel, flops, ns), *_ = db.execute(
            "SELECT k.id, k.flops, l.median_ns FROM kernel k JOIN launch l ON l.kernel = k.id WHERE k.kind = 'library'"
        ).fetchall()
        nodes = "SELECT origin FROM link WHERE derived = ?"
        db.execute(f"UPDATE node SET type = replace(type, 'f32[', 'f16[') WHERE id IN ({nodes})", (kernel,))
        ceiling = dict(zip(*columns(db, "SELECT * FROM ceiling WHERE kind = 'product'"), strict=True))
        db.execute("UPDATE ceiling SET rate = ? WHERE kind = 'product'", (flops / ns * 1e9 / 8,))
        fast = {**ceiling, "type": "f16", "rate": flops / ns * 1e9 * 2}
        db.execute(f"INSERT INTO ceiling VALUES ({', '.join('?' * len(fast))})", tuple(fast.values()))
    result = vitrine("show", session, "roofline", "--json")
    assert result.returncode == 0, said(result)
    (of_product,) = [row["of_product"] for row in json.loads(result.stdout) if row.get("name") == "mm"]
    assert abs(of_product - 0.5) < 0.01
    assert "L0 reaches" not in vitrine("show", session, "roofline").stdout


def columns(db, sql):
    found = db.execute(sql)
    return [name for name, *_ in found.description], found.fetchone()


SCRIPT = """
import torch, vitrine
double = vitrine.compile(lambda x: x * 2)
for _ in range(7):
    double(torch.ones(1000))
"""


def test_a_script_that_makes_kernels_has_roofs(tmp_path):
    made = vitrine("run", write(tmp_path, "s.py", SCRIPT), "-o", tmp_path / "s.vitrine")
    assert made.returncode == 0, said(made)
    with sqlite3.connect(tmp_path / "s.vitrine") as db:
        assert {kind for (kind,) in db.execute("SELECT kind FROM ceiling")} == {"copy", "product"}
