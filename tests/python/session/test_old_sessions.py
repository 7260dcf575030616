"""A session of every released schema stays readable: each stage prints, in text and as JSON."""

import json
import subprocess

import pytest

from tests.python.support.places import ROOT

SESSIONS = sorted((ROOT / "tests/sessions").glob("v*/*.vitrine"))
STAGES = ["source", "bytecode", "captured", "aten", "optimised", "loops", "fused", "memory", "kernels", "launch", "timeline",
          "breaks", "guards", "recompilations", "runs", "stages", "accuracy"]  # fmt: skip


@pytest.mark.parametrize("session", SESSIONS, ids=lambda p: f"{p.parent.name}-{p.stem}")
@pytest.mark.parametrize("stage", STAGES)
def test_stage_of_old_session(session, stage):
    text = subprocess.run(["vitrine", "show", session, stage], capture_output=True, text=True)
    assert text.returncode == 0 and text.stdout.strip(), text.stderr
    rows = subprocess.run(["vitrine", "show", session, stage, "--json"], capture_output=True, text=True)
    assert isinstance(json.loads(rows.stdout), list)


def test_there_is_a_session_of_the_first_schema():
    assert any(s.parent.name == "v1" for s in SESSIONS)
