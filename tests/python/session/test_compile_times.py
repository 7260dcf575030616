"""When each stage of a compilation began and how long it took: nothing is told twice, and what is measured has a name."""

import sqlite3

from tests.python.support.command_line import said, vitrine, write

MODEL = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(*[layer for _ in range(3) for layer in (torch.nn.Linear(96, 96), torch.nn.GELU(), torch.nn.LayerNorm(96))])
inputs = (torch.randn(64, 96),)
"""


def recorded(tmp_path):
    session = tmp_path / "s.vitrine"
    result = vitrine("run", write(tmp_path, "model.py", MODEL), "-o", session, "--repeats", 0)
    assert result.returncode == 0, said(result)
    return sqlite3.connect(session)


def test_each_moment_of_a_compilation_is_of_one_stage(tmp_path):
    db = recorded(tmp_path)
    stages = db.execute("SELECT name, start_ns, start_ns + duration_ns FROM stage WHERE duration_ns > 0 ORDER BY start_ns").fetchall()
    names = [name for name, _, _ in stages]
    assert names.index("fused") < names.index("kernels") < names.index("assembly") < names.index("recording"), names
    for (name, _, end), (following, start, _) in zip(stages, stages[1:]):
        assert end <= start, f"{following} begins before the end of {name}"
    begun, took = db.execute("SELECT start_ns, duration_ns FROM compilation").fetchone()
    assert begun <= stages[0][1] and stages[-1][2] <= begun + took


def test_measuring_candidates_is_a_time_of_its_own(tmp_path):
    db = recorded(tmp_path)
    choices = db.execute("SELECT count, note FROM stage WHERE name = 'choices'").fetchall()
    asked = db.execute("SELECT count(DISTINCT kernel) FROM choice").fetchone()[0]
    assert len(choices) == (1 if asked else 0)
    assert not asked or "measured" in choices[0][1]


def test_kernels_of_equal_layers_are_compiled_once_and_told_once(tmp_path):
    db = recorded(tmp_path)
    texts, timed = db.execute("SELECT count(DISTINCT source), sum(compile_ns > 0) FROM kernel WHERE kind = 'generated' AND NOT cached").fetchone()
    work, workers = db.execute("SELECT sum(work_ns), max(workers) FROM stage WHERE name IN ('ir', 'assembly')").fetchone()
    kernels = db.execute("SELECT sum(compile_ns) FROM kernel").fetchone()[0]
    if texts:
        assert timed <= texts and workers >= 1
        assert kernels <= work
    else:
        assert not timed and not work
