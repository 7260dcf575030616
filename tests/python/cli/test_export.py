"""`vitrine export SESSION --to FORMAT` writes what other programs read."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from tests.python.support.command_line import TINY, recorded_tiny, said, vitrine, write
from tests.python.support.places import ROOT


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return recorded_tiny(tmp_path_factory.mktemp("export"))


def export(session, tmp_path, *words):
    result = vitrine("export", session, "--to", *words, cwd=tmp_path)
    assert result.returncode == 0, said(result)
    return tmp_path / result.stdout.split()[1]


def test_a_trace_has_both_sides_with_named_lanes(session, tmp_path):
    path = export(session, tmp_path, "perfetto")
    assert path.name == "tiny.trace.json"
    events = json.loads(path.read_text())["traceEvents"]
    sides = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert sides == {"tiny.py, eager", "tiny.py, compiled"}
    slices = [e for e in events if e["ph"] == "X"]
    assert slices and all(e["dur"] >= 0 and e["name"] for e in slices)
    assert any("replaced by" in e.get("args", {}) for e in slices)


def test_graphs_have_a_box_around_each_kernel(session, tmp_path):
    text = export(session, tmp_path, "dot").read_text()
    assert text.startswith("digraph vitrine {") and 'label="K0"' in text and " -> " in text
    assert 'label="K0"' not in export(session, tmp_path, "dot", "--stage", "aten").read_text()


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz draws them")
@pytest.mark.parametrize("kind, part", [("svg", b"<svg"), ("pdf", b"%PDF-"), ("png", b"\x89PNG")])
def test_graphs_are_drawn_as(session, tmp_path, kind, part):
    picture = export(session, tmp_path, kind, "-o", f"graph.{kind}")
    assert part in picture.read_bytes() and not picture.with_name(f"graph.{kind}.dot").exists()


def test_svg_without_graphviz_says_what_to_do(session, tmp_path):
    path = tmp_path / "a.svg"
    result = subprocess.run([shutil.which("vitrine"), "export", session, "--to", "svg", "-o", path], env={"PATH": str(tmp_path)}, capture_output=True, text=True)  # fmt: skip
    assert result.returncode == 1 and "Graphviz is not here" in result.stderr and not (tmp_path / "a.svg.dot").exists()


def test_kernels_are_files_of_their_languages(session, tmp_path):
    folder = export(session, tmp_path, "kernels", "-o", "out")
    endings = {path.suffix for path in folder.iterdir()}
    assert endings == {".cpp", ".ll", ".s"} and all(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize(
    "words, status, says",
    [(["--to", "perfeto"], 2, 'Did you mean "perfetto"'), (["--to", "dot", "--stage", "joint"], 1, "no graph"),
     (["--to", "dot", "-o", "nowhere/a.dot"], 1, "could not be written"), ([], 2, "--to")],
)  # fmt: skip
def test_what_cannot_be_exported_is_said(session, tmp_path, words, status, says):
    result = vitrine("export", session, *words, cwd=tmp_path)
    assert result.returncode == status and says in result.stderr


OWN = """
import torch
class Own(torch.nn.Module):
    def forward(self, x):
        y = torch.nn.functional.gelu(x + 1)
        print("between")
        return y.softmax(-1) * 2
model, inputs = Own().eval(), (torch.randn(4, 8),)
"""


def test_the_page_of_a_run_has_every_section_and_loads_nothing(tmp_path):
    path = tmp_path / "own.vitrine"
    assert vitrine("run", write(tmp_path, "own.py", OWN), "-o", path, "--repeats", 3).returncode == 0
    text = export(path, tmp_path, "html").read_text()
    for id in ("summary", "problems", "breaks", "guards", "graphs", "kernels", "timeline", "source"):
        assert f'<section id="{id}">' in text, id
    assert "default-src 'none'" in text and "<script" not in text and "http://" not in text and "https://" not in text
    assert "<svg" in text and text.count("<details") > 3
    assert "void " in text and 'id="f1-' in text and 'href="#f1-' in text


HOSTILE = "<script>alert(1)</script>\" onload='x' \x1b[2J"


def test_what_a_stranger_wrote_is_escaped(session, tmp_path):
    hostile = tmp_path / "hostile.vitrine"
    shutil.copy(session, hostile)
    db = sqlite3.connect(hostile)
    for table in ("run", "kernel", "node", "guard", "code", "file", "name", "stage", "lane", "message", "compilation"):
        for _, column, kind, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
            if kind == "TEXT" and (table, column) not in {("stage", "name"), ("lane", "side"), ("node", "kind"), ("kernel", "kind")}:
                db.execute(f'UPDATE {table} SET "{column}" = ?', (HOSTILE,))
    db.execute("UPDATE meta SET value = ? WHERE key IN ('file', 'cpu', 'torch')", (HOSTILE,))
    db.commit()
    db.close()
    text = export(hostile, tmp_path, "html", "-o", "hostile.html").read_text()
    assert "<script" not in text and "onload='" not in text and "\x1b" not in text and "&lt;script&gt;" in text
    Checked().feed(text)


class Checked(HTMLParser):
    """Every element and attribute of a page is one that we write."""

    def handle_starttag(self, tag, attrs):
        assert tag in set("html head meta title style body header h1 h2 h3 div nav a main section p ul li b i br span code pre table thead tbody tr th td details summary svg g rect text polyline".split()), tag
        for name, value in attrs:
            assert name in set("lang charset http-equiv content name id href class x y width height rx points viewbox role open".split()), name
            assert name != "href" or value.startswith("#")


def test_each_aten_graph_is_a_python_file_that_runs(tmp_path):
    program = write(tmp_path, "train.py", TINY)
    path = tmp_path / "train.vitrine"
    assert vitrine("run", program, "--train", "-o", path, "--repeats", 0).returncode == 0
    folder = export(path, tmp_path, "fx")
    files = sorted(folder.iterdir())
    assert len(files) == 2 and any("backward" in f.name for f in files)
    for file in files:
        ran = subprocess.run([sys.executable, file], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
        assert ran.returncode == 0 and "torch.float32" in ran.stdout, said(ran) + file.read_text()
    assert "(2, 8)" in "".join(subprocess.run([sys.executable, f], capture_output=True, text=True).stdout for f in files)


def test_graphs_of_a_block_run_as_python(tmp_path):
    path = tmp_path / "block.vitrine"
    assert vitrine("run", ROOT / "samples/transformer_block.py", "-o", path, "--repeats", 0).returncode == 0
    (file,) = export(path, tmp_path, "fx").iterdir()
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout == "torch.float32 (8, 128, 768)\n", said(ran)
    as_fx = subprocess.run([sys.executable, "-c", f"import runpy; print(len(runpy.run_path({str(file)!r})['graph_module']().graph.nodes))"], capture_output=True, text=True)
    assert int(as_fx.stdout) > 30, said(as_fx)


def test_a_debug_folder_has_a_folder_a_compilation(session, tmp_path):
    folder = export(session, tmp_path, "debug-folder")
    (compilation,) = [path for path in folder.iterdir() if path.is_dir() and path.name != "fx"]
    graphs = sorted(path.name for path in (compilation / "graphs").iterdir())
    assert graphs[0] == "00_captured.txt" and any(name.endswith("_fused.txt") for name in graphs)
    assert "vitrine_kernel" in next((compilation / "kernels").glob("*.cpp")).read_text()
    assert {"guards.txt", "launches.txt"} <= {path.name for path in compilation.iterdir()}
    assert {"README.txt", "fx"} <= {path.name for path in folder.iterdir()}
    named = export(session, tmp_path, "debug-folder", "-o", "here", "--compilation", "0/0")
    assert named.name == "here" and (named / compilation.name).is_dir()
    result = vitrine("export", session, "--to", "debug-folder", "-o", "nowhere", "--compilation", "9/9", cwd=tmp_path)
    assert result.returncode == 1 and "no compilation" in said(result)
