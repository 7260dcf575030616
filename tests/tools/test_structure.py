"""The tree keeps its own rules: include directions, confined headers, sizes, formatting, wording."""

import graphlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import rules

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
PROJECT_FOLDERS = ("core", "app", "views", "profiler", "tests", "samples")


def tracked() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listing.returncode == 0 and listing.stdout:
        return [f for f in listing.stdout.splitlines() if (ROOT / f).is_file()]
    files = (p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file())
    return [str(f) for f in files if not f.parts[0].startswith(("build", "."))]


FILES = [f for f in tracked() if not f.startswith("third_party/")]  # kept as they came
CPP = [f for f in FILES if f.endswith((".cpp", ".h"))]


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def owner_of(path: str):
    folders = [f for f in rules.ALLOWED if within(path, f)]
    return max(folders, key=len) if folders else None


def own(path: str, target: str, owner: str) -> bool:
    if owner == "views":  # a view sees its own folder, never another view's
        return path.split("/")[:2] == target.split("/")[:2] or target == "views/registry.h"
    return owner_of(target) == owner


def is_of(path: str, room: str) -> bool:
    """room: a folder with all below, or "folder/*", the files that have no room of their own there."""
    return owner_of(path) == room[:-2] if room.endswith("/*") else within(path, room)


def forbidden_includes(path: str, text: str) -> list[str]:
    owner = owner_of(path)
    problems = []
    for quote, target in INCLUDE.findall(text):
        for pattern, folders in rules.CONFINED.items():
            if re.match(pattern, target) and not any(within(path, f) for f in folders):
                problems.append(f"{path} includes <{target}>, which is confined to {', '.join(folders)}")
        if quote != '"' or target.split("/")[0] not in PROJECT_FOLDERS or not owner:
            continue
        if path == rules.REGISTRY or own(path, target, owner):
            continue
        if not any(is_of(target, f) for f in rules.ALLOWED[owner]):
            allowed = ", ".join(rules.ALLOWED[owner]) or "nothing"
            problems.append(f"{path} includes {target}; {owner} may include {allowed}")
    return problems


def test_include_rules():
    problems = [p for f in CPP for p in forbidden_includes(f, (ROOT / f).read_text(errors="replace"))]
    assert not problems, "\n".join(problems)


def test_no_rooms_include_each_other_in_a_circle():
    includes = {room: set() for room in rules.ALLOWED}
    for f in CPP:
        for quote, target in INCLUDE.findall((ROOT / f).read_text(errors="replace")):
            room, other = owner_of(f), owner_of(target)
            if quote == '"' and room and other and room != other and f != rules.REGISTRY:
                includes[room].add(other)
    try:
        tuple(graphlib.TopologicalSorter(includes).static_order())
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(
    "path,text",
    [
        ("core/capture/objects/class_dict.cpp", '#include "core/capture/hook.h"'),
        ("core/capture/driver.cpp", '#include "core/capture/segment/segment.h"'),
        ("core/capture/interpreter/types/containers/set.cpp", '#include "core/capture/segment/segment.h"'),
        ("core/capture/interpreter/state/value.cpp", '#include "core/capture/interpreter/tracer.h"'),
        ("views/graph/view.cpp", '#include "core/ir/graph.h"'),
        ("views/graph/view.cpp", '#include "views/timeline/view.h"'),
        ("core/passes/cleanup/cse.cpp", "#include <Python.h>"),
        ("core/session/reader.cpp", '#include "core/ir/graph.h"'),
        ("core/runtime/plan.cpp", "#include <llvm/IR/Module.h>"),
    ],
)
def test_the_rules_catch(path, text):
    assert forbidden_includes(path, text)


def test_python_is_reached_by_one_table():
    imports = re.compile(r"\bPyImport_(?:ImportModule\w*|Import|GetModule|AddModule\w*)\(")
    found = {f for f in CPP if within(f, "core") and imports.search((ROOT / f).read_text(errors="replace"))}
    assert found == set(rules.IMPORTS_BY_NAME), "a name of Python's is a row of core/torch_api/python_name_rows.h"


def test_no_file_is_too_long():
    sources = [f for f in FILES if f.endswith(rules.SOURCE_ENDINGS)]
    sizes = {f: sum(1 for _ in (ROOT / f).open(errors="replace")) for f in sources}
    assert not {f: n for f, n in sizes.items() if n > rules.MAX_LINES}


def test_no_file_is_called_utils():
    assert not [f for f in FILES if re.search(r"(^|/)(utils?|helpers?|misc|common)\.(cpp|h|py)$", f)]


def test_formatting():
    tool = Path(sys.executable).parent / "clang-format"
    if not tool.exists():
        pytest.skip("clang-format 19 is not in this environment")
    result = subprocess.run([tool, "--dry-run", "-Werror", *CPP], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[:4000]


def test_the_repository_speaks_of_vitrine_alone():
    problems = []
    for f in FILES:
        if f == "tests/tools/rules.py" or f.endswith((".vitrine", ".ttf", ".png", ".svg")):
            continue
        text = (ROOT / f).read_text(errors="replace")
        problems += [f"{f}: {m.group(0)}" for w in rules.FOREIGN_WORDS for m in re.finditer(w, text)]
    assert not problems, "\n".join(problems)


def test_python_has_no_mistakes_that_ruff_finds():
    tool = next((t for t in (Path(sys.executable).parent / "ruff", shutil.which("ruff")) if t and Path(t).exists()), None)
    if not tool:
        pytest.skip("ruff is not in this environment: requirements.txt has it")
    folders = [f for f in rules.PYTHON_FOLDERS if (ROOT / f).exists()]
    result = subprocess.run([tool, "check", "--no-cache", "--output-format", "concise", *folders], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[:4000] + result.stderr
