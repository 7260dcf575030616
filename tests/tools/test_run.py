"""What `./vitrine test` makes of its words."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest, run

ROOT = Path(__file__).resolve().parents[2]


def commands(*words: str) -> list[list[str]]:
    return [command() if callable(command) else command for _, _, command in run.chosen(list(words))]


def test_a_suite_and_its_folder_are_the_same():
    for suite in ("unit", "gui"):
        assert commands(suite) == commands(f"tests/{suite}")
    assert len(run.chosen(["structure", "unit", "gui"])) == 3


@pytest.mark.parametrize("named", ["tests/tools/test_run.py", "tests/tools", "tests/tools/test_run.py::test_a_suite_and_its_folder_are_the_same"])
def test_a_path_goes_to_pytest(named):
    (command,) = commands(named)
    assert command[1:3] == ["-m", "pytest"] and command[-1] == str(ROOT / named)


def test_a_path_is_found_from_the_folder_one_stands_in(monkeypatch):
    monkeypatch.chdir(ROOT / "tests/tools")
    assert commands("test_run.py") == commands("tests/tools/test_run.py")


def test_a_source_is_the_program_that_it_is_built_into(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "BUILD", tmp_path)
    with pytest.raises(SystemExit, match="is not built"):
        commands("tests/unit/test_session.cpp")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/test_session").touch()
    assert commands("tests/unit/test_session.cpp") == [[str(tmp_path / "bin/test_session")]]


@pytest.mark.parametrize("named", ["nonsense", "core/ir", "tests/unit/test_no_such.cpp"])
def test_what_is_no_suite_and_no_path_is_refused(named):
    with pytest.raises(SystemExit, match="neither a suite nor a path below tests. Suites: quick, structure"):
        commands(named)


def test_the_quick_choice_names_what_is_there():
    structure, unit, python, gui = commands("quick")
    files = [word for word in python if word.endswith(".py")]
    assert len(files) == len(run.QUICK_PYTHON) and all(Path(f).is_file() for f in files)
    assert all(list((ROOT / "tests").rglob(f"{name}.cpp")) for name in run.SLOW_PROGRAMS)
    assert unit[unit.index("-E") + 1] == gui[gui.index("-E") + 1] == "|".join(run.SLOW_PROGRAMS)


def test_what_runs_beside_a_gpu_names_what_is_there():
    there = runpy.run_path(str(ROOT / "tests/gpu/run"))
    assert [name for name in there["CPU_TESTS"] if not (ROOT / "tests/python" / name).is_file()] == []
    assert [file for _, file, _ in there["SESSIONS"] if not (ROOT / file).is_file()] == []


def ran(monkeypatch, tmp_path, *words):
    """The commands that were started, and whether the caches were deleted."""
    started = []
    monkeypatch.setattr(sys, "argv", ["run.py", *words])
    monkeypatch.setattr(run, "BUILD", tmp_path)
    monkeypatch.delenv("VITRINE_CACHE_DIR", raising=False)
    (tmp_path / "test-cache").mkdir(exist_ok=True)
    monkeypatch.setattr(run.subprocess, "run", lambda command, **_: started.append(command) or run.subprocess.CompletedProcess(command, 0))
    assert run.main() == 0
    return started, not (tmp_path / "test-cache").exists()


def test_words_from_an_option_on_go_to_what_runs_the_suite(monkeypatch, tmp_path):
    (command,), _ = ran(monkeypatch, tmp_path, "python", "-k", "guards and not slow", "-x")
    assert command[-3:] == ["-k", "guards and not slow", "-x"]
    with pytest.raises(SystemExit):
        ran(monkeypatch, tmp_path, "unit", "gui", "-R", "session")


def test_kernels_are_kept_unless_fresh_is_said(monkeypatch, tmp_path):
    assert not ran(monkeypatch, tmp_path, "structure")[1]
    assert ran(monkeypatch, tmp_path, "--fresh", "structure")[1]
    assert ran(monkeypatch, tmp_path, "structure", "--fresh")[1]


def test_of_many_cases_as_many_lie_evenly_from_the_first_to_the_last():
    items = [SimpleNamespace(nodeid=f"f.py::{test}[{i}]") for test, count in (("few", 5), ("many", 41)) for i in range(count)]
    kept = [item.nodeid for item in items if item not in conftest.beyond(items, 5)]
    assert kept == [f"f.py::few[{i}]" for i in range(5)] + [f"f.py::many[{i}]" for i in (0, 10, 20, 30, 40)]
