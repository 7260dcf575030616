"""What `vitrine run` and `vitrine show` say of a run follows from what was recorded of it."""

import pytest
from tests.python.support.command_line import TINY, said, vitrine, write
from vitrine import _engine, config

SCRIPT = """
import torch, vitrine

@vitrine.compile
def f(x):
    y = x + 1
    BREAK
    return y * 2

for _ in range(3):
    f(torch.ones(4))
"""


def last_words(tmp_path, text, *options):
    """What a run says at its end, and its session."""
    session = tmp_path / "s.vitrine"
    result = vitrine("run", write(tmp_path, "m.py", text), "-o", session, *options)
    assert result.returncode == 0, said(result)
    return result.stdout, session


def test_an_entry_says_how_many_calls_were_compared(tmp_path):
    text, session = last_words(tmp_path, TINY, "--repeats", 0)
    assert "1 frame is one graph. Outputs of 1 call " in text
    assert "Times were not measured: the run was recorded without a measurement." in text
    assert "No graph breaks: 1 frame is one graph" in vitrine("show", session, "breaks").stdout
    assert "No recompilations: nothing was compiled a second time" in vitrine("show", session, "recompilations").stdout


def test_a_script_whose_outputs_nothing_compared_claims_nothing(tmp_path):
    text, session = last_words(tmp_path, SCRIPT.replace("BREAK", ""))
    assert "Outputs were not compared: a script runs once" in text and "equal eager" not in text and "close to" not in text
    assert "not compared" in vitrine("show", session, "runs").stdout
    shown = vitrine("show", session, "accuracy").stdout
    assert shown.startswith("No differences: outputs were not compared")


def test_a_checked_script_says_which_graphs_were_compared(tmp_path):
    text, session = last_words(tmp_path, SCRIPT.replace("BREAK", "print(end='')"), "--check")
    assert "1 frame is in parts, with 1 graph break." in text
    assert "Results of 2 graphs, compared in 6 calls, close to eager." in text, text
    assert "median of 2 steady calls" in vitrine("show", session, "breaks").stdout


@pytest.mark.skipif(bool(_engine.cuda_target_problem("sm_90", config.nvrtc)), reason="NVRTC is not here")
def test_what_is_only_compiled_is_compared_with_nothing(tmp_path):
    text, _ = last_words(tmp_path, TINY, "--target", "sm_90")
    assert "Outputs were not compared: it was compiled for a GPU that is not here" in text
    assert "Times were not measured" in text and "eager." not in text.split("Outputs were")[1].split("Times")[0].replace("ran eagerly", "")


def test_a_session_in_which_nothing_was_compiled_denies_nothing(tmp_path):
    session = tmp_path / "s.vitrine"
    vitrine("run", write(tmp_path, "m.py", "print('no')\n"), "-o", session)
    for stage in ("breaks", "guards", "symbols", "recompilations", "kernels", "memory", "launch", "calls", "choices"):
        shown = vitrine("show", session, stage).stdout
        assert "nothing was compiled" in shown or "no frame was captured" in shown, (stage, shown)
