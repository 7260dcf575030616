"""Notebooks: `vitrine run notebook.ipynb`, explanations as pages, the cell magic."""

import json
import os
import subprocess
import sys
import types

import pytest
import torch

import vitrine
from vitrine import _notebook

from tests.python.support.command_line import query, said, write
from tests.python.support.command_line import vitrine as cli


def notebook(*cells, language="python"):
    return json.dumps({
        "cells": [{"cell_type": "markdown", "source": ["# Title"]}]
        + [{"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": [{"old": 1}], "execution_count": 7} for text in cells],
        "metadata": {"kernelspec": {"language": language}}, "nbformat": 4, "nbformat_minor": 5,
    })  # fmt: skip


COMPILED = """%matplotlib inline
import torch, vitrine

@vitrine.compile
def f(x):
    return torch.sin(x) + 1
"""


def test_cells_run_as_one_script_and_the_file_stays_as_it_is(tmp_path):
    text = notebook(COMPILED, "%%time\nprint('value', f(torch.zeros(8))[0].item())", "%%bash\nexit 1", "import asyncio\nawait asyncio.sleep(0)\ndisplay(__name__)")
    path = write(tmp_path, "book.ipynb", text)
    done = cli("run", path, "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 0, said(done)
    assert "value 1.0" in done.stdout and "__main__" in done.stdout
    assert "cell 1, line 1: %matplotlib inline is IPython's, and is left out." in done.stderr
    assert "cell 3, line 1: %%bash is IPython's" in done.stderr
    assert path.read_text() == text
    assert query(tmp_path / "s.vitrine", "SELECT path FROM file") == [(f"{path}[cell 1]",)]


def test_an_error_names_cell_and_line(tmp_path):
    path = write(tmp_path, "book.ipynb", notebook("import torch\ndef g(x):\n    return x @ torch.zeros(7)", "y = 1\ng(torch.zeros(3))"))
    done = cli("run", path, "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 1
    assert "Your code raised RuntimeError in cell 1, line 3: " in done.stderr
    assert f'File "{path}[cell 2]", line 2, in <module>' in done.stderr and "g(torch.zeros(3))" in done.stderr


def test_a_cell_that_is_no_python_is_named(tmp_path):
    path = write(tmp_path, "book.ipynb", notebook("x = 1", "\ny = (\n"))
    done = cli("run", path, "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 1 and "Cell 2, line 2 is not valid Python." in done.stderr


@pytest.mark.parametrize("text, told", [("{}", "is no Jupyter notebook"), ("nothing", "is no Jupyter notebook"), (notebook("1", language="julia"), "a notebook of julia")])
def test_what_is_no_notebook_of_python_says_so(tmp_path, text, told):
    done = cli("run", write(tmp_path, "book.ipynb", text), "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 1 and told in done.stderr


def test_the_run_dialog_s_reader_knows_them(tmp_path):
    from vitrine._tools import entries

    read = entries.read(str(write(tmp_path, "book.ipynb", notebook("1"))))
    assert read["script"] and [row["text"] for row in read["entries"]] == ["the cells of the notebook"]
    assert not entries.read("program.pt2")["script"]


def test_an_explanation_is_a_page_without_markup_of_the_program():
    def f(x):
        x = x + 1
        print("<script>")
        return x * 2

    page = vitrine.explain(f)(torch.randn(3))._repr_html_()
    assert "<b>2</b> graphs, <b>1</b> graph break" in page and "call of print()" in page
    assert "test_notebooks.py" in page and "<script" not in page
    assert page.count("<details") == page.count("</details>") and "%add = operator.add(%x, 1)" in page


class Shell:
    """What the magic asks of IPython."""

    def __init__(self):
        self.names, self.magics = {}, {}

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def run_cell(self, text):
        exec(compile(text, "<cell>", "exec"), self.names)
        return types.SimpleNamespace(success=True)


@pytest.fixture
def magic():
    shell = Shell()
    vitrine.load_ipython_extension(shell)
    return shell.magics["cell", "vitrine"]


CELL = "import torch, vitrine\nvitrine.compile(lambda x: torch.sin(x) + 1)(torch.randn(64))\n"


def test_the_cell_magic_records_and_shows_a_summary(magic, tmp_path, capfd):
    magic(f"-o {tmp_path}/cell.vitrine", CELL)
    told = capfd.readouterr().out
    assert "1 kernel" in told and "sin_add" in told and f"recorded in {tmp_path}/cell.vitrine" in told
    assert f"`vitrine show {tmp_path}/cell.vitrine`" in told and "%%vitrine -o" not in told
    assert query(tmp_path / "cell.vitrine", "SELECT label, status FROM run") == [("notebook cell", "finished")]
    magic("", CELL)  # what was compiled before is seen again
    told = capfd.readouterr().out
    assert "sin_add" in told and "%%vitrine -o FILE.vitrine" in told and "`vitrine show" not in told, "the session is gone by now"


def test_the_cell_magic_says_when_there_is_nothing(magic, capfd):
    magic("", "x = 1")
    assert "the cell compiled nothing" in capfd.readouterr().out


def test_a_second_recording_is_refused(magic, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(_notebook, "recording_now", lambda: "/somewhere/else.vitrine")
    magic("", CELL)
    assert "else.vitrine is being recorded" in capfd.readouterr().err


def test_a_real_notebook_shows_summary_and_picture(tmp_path):
    pytest.importorskip("IPython")
    script = write(tmp_path, "shell.py", f"""
from IPython.testing.globalipapp import get_ipython
shell = get_ipython()
shell.run_line_magic("load_ext", "vitrine")
shell.run_cell_magic("vitrine", "", {CELL!r})
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0 and "sin_add" in done.stdout, done.stdout + done.stderr


PROGRAM = """
import sys, torch
class Model(torch.nn.Module):
    def forward(self, x, *, k):
        return torch.relu(x + 1).sin() * k
program = torch.export.export(Model().eval(), (torch.randn(4, 8),), {"k": torch.tensor(2.0)})
torch.export.save(program, sys.argv[1])
"""


def test_an_exported_program_runs_compiled(tmp_path):
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "model.pt2"], check=True)
    done = cli("run", "model.pt2", "-o", "s.vitrine", "--repeats", 2, cwd=tmp_path)
    assert done.returncode == 0 and "1 frame is one graph" in done.stdout, said(done)
    assert [row[0] for row in query(tmp_path / "s.vitrine", "SELECT verdict FROM accuracy")] in (["equal"], ["close"])
    assert query(tmp_path / "s.vitrine", "SELECT count(*) FROM kernel WHERE kind = 'generated'") == [(1,)]
    refused = cli("run", "model.pt2", "--entry", "f", "-o", "s.vitrine", cwd=tmp_path)
    assert refused.returncode == 2 and "do not go with model.pt2" in refused.stderr


def test_what_is_no_exported_program_says_so(tmp_path):
    done = cli("run", write(tmp_path, "model.pt2", "nothing"), "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 1 and "is no exported program that this PyTorch reads" in done.stderr


CELLS = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()


def cell(text):
    done = shell.run_cell(text, store_history=True)
    done.raise_error()


cell("import torch, vitrine")
cell("@vitrine.compile\\ndef f(x):\\n    return torch.sin(x) + 1")
cell("first = f(torch.zeros(3)).tolist()")
cell("@vitrine.compile\\ndef f(x):\\n    return torch.sin(x) + 2")  # the cell once more, with another text
cell("second = f(torch.zeros(3)).tolist()")
cell("def g(x):\\n    y = x + 1\\n    print('seen')\\n    return y * 2")
cell("e = vitrine.explain(g)(torch.zeros(3))")
cell("def g(x):\\n    y = x + 1\\n\\n    print('seen')\\n    return y * 2")
cell("again = vitrine.explain(g)(torch.zeros(3))")
names = shell.user_ns
assert names["first"] == [1.0] * 3 and names["second"] == [2.0] * 3
(reason,), (moved,) = names["e"].graph_break_reasons, names["again"].graph_break_reasons
told, then = reason.stack[0], moved.stack[0]
assert told.endswith(":3 g") and then.endswith(":4 g") and told.split(":")[0] != then.split(":")[0], (told, then)
"""


def test_a_cell_that_runs_again_is_a_source_of_its_own(tmp_path):
    pytest.importorskip("IPython")
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, write(tmp_path, "cells.py", CELLS)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
