"""The guide in docs/guide: it is built without a warning, its tables are whole, and each command and program in it runs."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vitrine import _variables

from tests.python.support.places import ROOT

GUIDE = ROOT / "docs/guide"
PAGES = sorted(GUIDE.glob("*.md"))
BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^>]*?) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
# Why a command of the guide may be left out here.
REASONS = {"it installs", "it opens a window", "it is a notebook's cell", "train.py is yours"}


def blocks(page: Path):
    """(kind, text, why it is not run) of what is between fences."""
    return [(m["kind"], m["text"], m["why"] or "") for m in BLOCK.finditer(page.read_text())]


def runs(page: Path):
    return [(kind, text) for kind, text, why in blocks(page) if not why and kind in ("sh", "python")]


def run_block(kind: str, text: str, folder: Path) -> str:
    """A program whose first line is its name is written; any other is run, as are commands. What it prints."""
    if kind == "python" and (name := re.match(r"# (\w+\.py)\n", text)):
        (folder / name[1]).write_text(text)
        return ""
    command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-euo", "pipefail", "-c", text]
    if kind == "python":  # explain() reads the source of what it shows
        (folder / "_program.py").write_text(text)
        command = [sys.executable, "_program.py"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{text}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=lambda page: page.stem)
def test_each_command_of_a_page_runs(page, tmp_path):
    said = ""
    for kind, text, why in blocks(page):
        if kind == "text":  # what the command before it prints, among other lines
            missing = [line for line in text.splitlines() if line not in said.splitlines()]
            assert not missing, f"{missing} is not in\n{said}"
        elif not why and kind in ("sh", "python"):
            said = run_block(kind, text, tmp_path)


def test_what_is_not_run_says_why():
    reasons = {why for page in PAGES for _, _, why in blocks(page) if why}
    assert reasons <= REASONS, "a command that a test can run is run"
    assert {kind for page in PAGES for kind, _, _ in blocks(page)} <= {"sh", "python", "text"}


@pytest.mark.skipif(not importlib.util.find_spec("mkdocs"), reason="MkDocs is not in this environment: requirements.txt has it")
def test_it_is_built_without_a_warning(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {file.parent.name for file in (tmp_path / "site").glob("*/index.html")}
    assert {"tour", "configuration", "api"} <= pages
    api = (tmp_path / "site/api/index.html").read_text()
    assert "register_pass" in api and "GraphBreakError" in api


def test_its_links_and_pictures_are_there():
    names = {page.name for page in PAGES} | {"configuration.md", "api.md"}
    missing = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", BLOCK.sub("", page.read_text())):
            if target not in names and not (GUIDE / target).is_file():
                missing.append(f"{page.name}: {target}")
    assert not missing


def test_each_variable_that_the_code_reads_is_in_the_table():
    asked = re.compile(r"(?:getenv|qEnvironmentVariable|environment|environ\.get|environ\.setdefault)\(\"(VITRINE_\w+)\"|\"(VITRINE_\w+)\" in os\.environ|environ\[\"(VITRINE_\w+)\"\]")
    files = [f for folder in ("core", "app", "views", "profiler") for ending in ("cpp", "py") for f in (ROOT / folder).rglob(f"*.{ending}")]
    read = {name for f in files for found in asked.findall(f.read_text(errors="replace")) for name in found if name}
    inner = {name for name in read if name.startswith("VITRINE_BENCH_")}  # between processes of one command
    assert read - inner <= set(_variables.VARIABLES)
