"""The package as it is installed, and as a wheel carries it: all of it is there, and its programs find one another."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401  (the engine needs its libraries)

from vitrine import _engine

from tests.python.support.places import ROOT

BUILD = Path(_engine.__file__).resolve().parents[2]
MODEL = """
import torch
def model(x):
    return torch.softmax(x * 2, -1).exp() + 1
inputs = (torch.randn(32, 64),)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The prefix, the folder of packages, and a way to run an installed program, which sees nothing of the build."""
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("the engine is not of a build folder")
    prefix = tmp_path_factory.mktemp("environment")
    result = subprocess.run(["cmake", "--install", BUILD, "--component", "vitrine", "--prefix", prefix], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (packages,) = prefix.glob("lib/python3.*/site-packages")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not p or Path(p).resolve() != BUILD / "bin")
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(packages), "VITRINE_CACHE_DIR": str(prefix / "cache")}
    env.pop("VITRINE_PYTHON", None)

    def run(program, *words):
        return subprocess.run([program, *words], cwd=prefix, env=env, capture_output=True, text=True, timeout=240)

    return prefix, packages, run


def test_the_whole_package_is_installed(environment):
    prefix, packages, _ = environment
    source = ROOT / "core/python/vitrine"
    wanted = {str(f.relative_to(source)) for f in source.rglob("*") if f.is_file() and "__pycache__" not in f.parts}
    programs = {f.name for f in (BUILD / "bin").glob("vitrine*")}
    found = {str(f.relative_to(packages / "vitrine")) for f in (packages / "vitrine").rglob("*") if f.is_file()}
    assert found == wanted | {"_engine.so", "LICENSE", "NOTICE"} | {f"bin/{name}" for name in programs}
    assert {f.name for f in (prefix / "bin").iterdir()} == programs
    assert {"vitrine", "vitrine-cc", "vitrine-run"} <= programs


def test_the_version_is_the_same_everywhere(environment):
    prefix, packages, run = environment
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M).group(1)
    assert run(prefix / "bin/vitrine", "--version").stdout.strip() == version
    assert _engine.__version__ == version
    imported = run(sys.executable, "-c", "import vitrine; print(vitrine.__version__, vitrine.__file__)").stdout.split()
    assert imported == [version, str(packages / "vitrine/__init__.py")]


def test_an_installed_command_records_with_the_installed_engine(environment):
    prefix, packages, run = environment
    (prefix / "model.py").write_text(MODEL)
    result = run(prefix / "bin/vitrine", "run", "model.py", "-o", "model.vitrine", "--repeats=0")
    assert result.returncode == 0, result.stdout + result.stderr
    shown = run(packages / "vitrine/bin/vitrine", "show", "model.vitrine", "kernels")
    assert "exp" in shown.stdout, shown.stdout + shown.stderr
    assert list((prefix / "cache").rglob("*.so")), "vitrine-cc compiled nothing"


def test_the_doctor_finds_the_programs_that_are_installed(environment):
    prefix, packages, run = environment
    rows = {row["name"]: row for row in json.loads(run(prefix / "bin/vitrine", "doctor", "--json").stdout)}
    assert rows["kernel compiler"]["state"] == "ok" and rows["engine"]["state"] == "ok"
    if (packages / "vitrine/bin/vitrine-app").exists():
        assert rows["application"]["found"] == str(packages / "vitrine/bin/vitrine-app")


def test_a_script_without_its_package_says_so(environment):
    prefix, _, _ = environment
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    result = subprocess.run([sys.executable, "-I", "-S", prefix / "bin/vitrine", "--version"], env=env, capture_output=True, text=True)
    assert result.returncode == 1 and "the package vitrine is not installed" in result.stderr
