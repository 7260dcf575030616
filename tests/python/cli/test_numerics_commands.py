"""`vitrine check`, `bisect` and `reduce`: what they find of a fault that was put there, and their exit status."""

import json
import sqlite3
import subprocess
import sys

import pytest
from tests.python.support.command_line import TINY, said, vitrine, write

FAULT = """
from vitrine import _engine
_engine.inject_fault("mul sum", "* 0.707106769f", "* 0.7f")
"""
MODEL = """
import torch


def model(x, y):
    a = torch.relu(x @ y)
    b = x * a + 1
    c = torch.nn.functional.gelu(b * x).sum(1, keepdim=True)
    return (c + a) * 0.5, (a * 2).cos()


torch.manual_seed(1)
inputs = (torch.randn(96, 96), torch.randn(96, 96))
"""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return write(tmp_path_factory.mktemp("wrong"), "model.py", MODEL + FAULT)


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    return write(tmp_path_factory.mktemp("right"), "model.py", MODEL)


def test_check_names_the_first_divergence_and_its_line(wrong):
    result = vitrine("check", wrong)
    assert result.returncode == 1, said(result)
    assert "First divergence: gelu at model.py:8: " in result.stdout and "compiled again as further results" in result.stdout


def test_check_of_what_is_right_ends_well(right, tmp_path):
    session = tmp_path / "s.vitrine"
    result = vitrine("check", right, "-o", session)
    assert result.returncode == 0 and "No value diverges" in result.stdout, said(result)
    shown = vitrine("show", session, "numerics")
    assert "gelu" in shown.stdout and "model.py:8:8" in shown.stdout and "output" in shown.stdout, said(shown)


def test_check_as_json(wrong):
    result = vitrine("check", wrong, "--json")
    (graph,) = json.loads(result.stdout)
    assert [row["name"] for row in graph["values"] if row.get("first")] == ["gelu"]
    assert {row["source"] for row in graph["values"]} == {"buffer", "output", "alone"}


@pytest.mark.parametrize(("text", "why"), [("raise ValueError('no')", "no"), ("x = 1", "Nothing was compiled"), ("model = abs", "it defines model, but no inputs"), (None, "does not exist")])
def test_check_of_what_cannot_run(tmp_path, text, why):
    file = write(tmp_path, "bad.py", text) if text else tmp_path / "none.py"
    result = vitrine("check", file)
    assert result.returncode == 2 and why in result.stderr, said(result)


def test_run_with_numerics_records_a_row_a_value(tmp_path):
    file, session = write(tmp_path, "tiny.py", TINY), tmp_path / "tiny.vitrine"
    result = vitrine("run", file, "-o", session, "--numerics", "--repeats", 0)
    assert result.returncode == 0, said(result)
    rows = sqlite3.connect(session).execute("SELECT numerics.name, node.op, source FROM numerics JOIN node ON node.id = numerics.node ORDER BY numerics.ordinal").fetchall()
    assert [name for name, _, _ in rows] == ["addmm", "gelu"] and rows[1][1] == "aten.gelu.default"
    assert vitrine("show", session, "numerics", "--json").stdout.count('"histogram"') == 2


def test_show_says_how_numerics_are_recorded(tmp_path):
    file, session = write(tmp_path, "tiny.py", TINY), tmp_path / "tiny.vitrine"
    vitrine("run", file, "-o", session, "--repeats", 0)
    assert "vitrine run --numerics" in vitrine("show", session, "numerics").stdout


def test_bisect_names_kernel_fusion_and_rewrite(wrong):
    result = vitrine("bisect", wrong)
    assert result.returncode == 0, said(result)
    lines = result.stdout.splitlines()
    assert any(line.startswith("K0 ") and "model.py:" in line and "first differs: kernel 1 of 1" in line for line in lines)
    assert any(line.startswith("Fusion: vertical: ") and "sum at model.py:8" in line for line in lines)
    assert lines[-1].endswith(" runs.") and int(lines[-1].split()[0]) < 30


def test_bisect_of_what_is_right(right):
    result = vitrine("bisect", right)
    assert result.returncode == 1 and "nothing differs" in result.stdout, said(result)


def test_bisect_names_a_pass(tmp_path):
    fault = '\nfrom vitrine import _engine\n_engine.inject_fault("pass decompose", "aten.exp.default", "aten.sin.default")\n'
    text = MODEL.replace("gelu(b * x).sum(1, keepdim=True)", "softmax(b * x, 1)") + fault
    result = vitrine("bisect", write(tmp_path, "model.py", text), "--json")
    found = json.loads(result.stdout)
    assert found["pass"] == "decompose" and "softmax" in found["rewrites"]["text"] and found["mended_without_pass"]


def test_bisect_with_a_command_of_ones_own(tmp_path, wrong):
    test = write(
        tmp_path,
        "test.py",
        f"import runpy, torch, vitrine\nown = runpy.run_path({str(wrong)!r})\nmodel, inputs = own['model'], own['inputs']\n"
        "torch.testing.assert_close(vitrine.compile(model)(*inputs), model(*inputs), rtol=1e-4, atol=1e-4)\n",
    )
    result = vitrine("bisect", wrong, "--", sys.executable, test)
    assert result.returncode == 0 and "first differs: kernel 1 of 1" in result.stdout, said(result)
    assert "Fusion: vertical: " in result.stdout
    right = vitrine("bisect", wrong, "--", sys.executable, "-c", "pass")
    assert right.returncode == 1 and "does not fail" in right.stdout


def test_reduce_writes_a_small_file_that_fails_alone(tmp_path, wrong):
    target = tmp_path / "small.py"
    result = vitrine("reduce", wrong, "-o", target)
    assert result.returncode == 0 and "11 operators became 2 " in result.stdout, said(result)
    text = target.read_text()
    assert "aten.gelu.default" in text and "aten.sum.dim_IntList" in text and "aten.mm" not in text
    assert "stored(" not in text.partition("inputs = [")[2]  # ones do
    alone = subprocess.run([sys.executable, target], capture_output=True, text=True)
    assert alone.returncode == 1 and "eager and compiled differ" in alone.stdout, alone.stderr
    mended = write(tmp_path, "mended.py", text.replace("_engine.inject_fault(", "print("))
    assert subprocess.run([sys.executable, mended], capture_output=True).returncode == 0


def test_reduce_keeps_values_on_which_the_failure_depends(tmp_path):
    text = MODEL.replace("(a * 2).cos()", "(a * 2).cos(), torch.where(x == 0.03125, x.exp(), x).sum(1)") + FAULT.replace("mul sum", "where sum").replace("* 0.707106769f", "exp").replace("* 0.7f", "exp")
    text += 'inputs[0][3, 5] = 0.03125\n_engine.inject_fault("eq where", "0.03125f", "7.5f")\n'
    target = tmp_path / "small.py"
    result = vitrine("reduce", write(tmp_path, "model.py", text), "-o", target)
    assert result.returncode == 0, said(result)
    assert "stored(" in target.read_text().partition("inputs = [")[2]
    assert subprocess.run([sys.executable, target], capture_output=True).returncode == 1
