"""`vitrine export SESSION --to FORMAT` writes what other programs read."""

import json
import shutil
import subprocess

import pytest
from tests.python.support.command_line import TINY, said, vitrine, write


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    path = folder / "tiny.vitrine"
    assert vitrine("run", write(folder, "tiny.py", TINY), "-o", path, "--repeats", 3).returncode == 0
    return path


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
    if shutil.which("dot"):
        assert "<svg" in export(session, tmp_path, "svg", "-o", "graph.svg").read_text()


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
