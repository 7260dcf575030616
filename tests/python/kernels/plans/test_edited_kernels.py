"""vitrine run --edited: a kernel's text that a person has written anew runs in place of the generated one."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.support.command_line import said, vitrine, write

PROGRAM = """
import torch
def model(x):
    return torch.relu(x * 2 + 1) * 0.5
inputs = (torch.linspace(-1, 1, 64 * 64).reshape(64, 64),)
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The folder of a recorded run, and the text of its kernel."""
    folder = tmp_path_factory.mktemp("edited")
    write(folder, "program.py", PROGRAM)
    assert vitrine("run", "program.py", "-o", "first.vitrine", "--repeats", 0, "--grad", cwd=folder).returncode == 0
    (kernel,) = json.loads(vitrine("show", "first.vitrine", "kernels", "--json", cwd=folder).stdout)
    write(folder, "generated.cpp", kernel["source"])
    return folder, kernel["source"]


def run_edited(folder, text, name):
    write(folder, f"{name}.cpp", text)
    return vitrine("run", "program.py", "-o", f"{name}.vitrine", "--repeats", 0, "--edited", f"generated.cpp={name}.cpp", cwd=folder)


def test_the_edited_text_is_compiled_and_recorded(generated):
    folder, text = generated
    longer = text.replace("* 0.5f;", "* 0.25f;\n    mul_1 += mul_1;")
    assert longer != text
    result = run_edited(folder, longer, "same")
    assert result.returncode == 0, said(result)
    (kernel,) = json.loads(vitrine("show", "same.vitrine", "kernels", "--json", cwd=folder).stdout)
    assert kernel["source"] == longer
    # What was not changed is known to be of its operators: the store moved down by the line that was added.
    lines = longer.split("\n")
    with sqlite3.connect(folder / "same.vitrine") as db:
        places = {line for (line,) in db.execute("SELECT line FROM kernel_range WHERE text = 'source'")}
    assert any("store(" in lines[line - 1] and "mul_1" in lines[line - 1] for line in places)
    assert not any("mul_1 += mul_1" in lines[line - 1] for line in places)


def test_a_wrong_result_is_told(generated):
    folder, text = generated
    result = run_edited(folder, text.replace("* 0.5f;", "* 0.25f;"), "wrong")
    assert result.returncode == 3 and "With the kernel whose text was edited, a compiled graph differs from eager" in result.stderr, said(result)
    assert "report" not in said(result).replace("reproducer", ""), said(result)
    # Its reproducer has the edit in it, and shows the difference by itself.
    with sqlite3.connect(folder / "wrong.vitrine") as db:
        ((detail,),) = db.execute("SELECT detail FROM message WHERE detail LIKE '%reproducer%'").fetchall()
    script = Path(detail.split("reproducer: ")[1].split("\n")[0])
    assert "* 0.25f;" in script.read_text()
    end = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert end.returncode == 1 and "differ" in end.stdout, end.stdout + end.stderr


def test_an_edited_kernel_that_crashes_is_told_as_such(generated):
    folder, text = generated
    body = text.index("{", text.index("vitrine_kernel(")) + 1
    result = run_edited(folder, text[:body] + " *(volatile int*)8 = 0; " + text[body:], "crash")
    assert result.returncode == 139 and "The kernel whose text was edited" in result.stderr, said(result)


def test_what_does_not_compile_runs_through_pytorch(generated):
    folder, text = generated
    result = run_edited(folder, text.replace("* 0.5f;", "* half;"), "broken")
    assert result.returncode == 0 and "half" in said(result) and "its text was edited" in said(result)
    assert "report" not in said(result)


def test_a_gpu_that_an_edited_text_has_ended_is_no_error_of_vitrines():
    from vitrine._tools.run import failed_by

    error = RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be ...")
    what, hint, whose = failed_by(error, ["a.cu=b.cu"])
    assert what == "A kernel whose text was edited ended the GPU's context: CUDA error: an illegal memory access was encountered."
    assert "report" not in hint and whose == "user"
    assert failed_by(error, [])[2] == "vitrine" == failed_by(KeyError("x"), ["a.cu=b.cu"])[2]


def test_files_that_are_not_there(generated):
    folder, _ = generated
    result = vitrine("run", "program.py", "-o", "none.vitrine", "--edited", "generated.cpp=nowhere.cpp", cwd=folder)
    assert result.returncode == 2 and "nowhere.cpp" in said(result)


def test_the_arguments_of_a_run_are_kept(generated):
    with sqlite3.connect(generated[0] / "first.vitrine") as db:
        ((words,),) = db.execute("SELECT value FROM meta WHERE key = 'arguments'").fetchall()
    assert {"--repeats=0", "--grad"} <= set(json.loads(words))
