"""The start script ./vitrine on a machine that lacks something: what it says, and that nothing is done."""

import os
import subprocess
import sys
import time

import pytest
from tests.python.support.places import ROOT
from tests.python.support.command_line import write

ALL_INSTALLED = '#!/bin/sh\nfor p; do case "$p" in -*|*{*) ;; *) echo "$p ii "; esac; done\n'


@pytest.fixture
def machine(tmp_path):
    """Runs the script with stand-ins for some of the system's programs, and a finished build of nothing."""
    build = tmp_path / "build"
    write(build, "build.ninja", "rule none\n  command = true\nbuild all: phony\ndefault all\n")
    write(build, ".vitrine-python", sys.executable)
    write(build, "bin/vitrine", '#!/bin/sh\necho "command: $@"\n').chmod(0o755)

    def run(*words, programs=None, **env):
        for name, text in {"dpkg-query": ALL_INSTALLED, **(programs or {})}.items():
            write(tmp_path, f"bin/{name}", text).chmod(0o755)
        env = {"VITRINE_BUILD_DIR": str(build), "VITRINE_PYTHON": sys.executable, **env}
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([ROOT / "vitrine", *words], cwd=tmp_path, env={**os.environ, **env, "PATH": path}, capture_output=True, text=True)

    return run


def test_without_root_it_prints_the_line_and_stops(machine):
    result = machine("doctor", programs={"dpkg-query": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 1000\n", "apt-get": "#!/bin/sh\necho TOUCHED\n"})
    assert result.returncode == 3 and not result.stdout and "TOUCHED" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "apt-get install" in line]
    assert "Run as root: apt-get install -y --no-install-recommends " in line and "libcli11-dev" in line


def test_an_installation_that_fails_says_what_to_run(machine):
    result = machine("doctor", programs={"dpkg-query": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 0\n", "apt-get": "#!/bin/sh\nexit 100\n"})
    assert result.returncode == 3 and "could not be installed" in result.stderr and "Run as root: apt-get" in result.stderr


@pytest.mark.parametrize(
    "release, says",
    [("ID=debian\nVERSION_ID=\"12\"\n", ""), ("ID=ubuntu\nVERSION_ID=\"24.04\"\n", ""), ("ID=mint\nVERSION_ID=9\n", "this is mint-9;")],
)
def test_the_system_is_looked_at(machine, tmp_path, release, says):
    path = write(tmp_path, "os-release", release)
    result = machine("doctor", VITRINE_OS_RELEASE=str(path), programs={"dpkg-query": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 1000\n"})
    assert result.returncode == 3 and "libsqlite3-dev" in result.stderr
    assert says in result.stderr and ("this is" in result.stderr) == bool(says)


@pytest.mark.parametrize(
    "python, what",
    [("/no/such/python", "does not exist"), ('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2\nexit 1\n', "is Python 3.9.2; Vitrine needs CPython 3.11, 3.12 or 3.13"),
     ('#!/bin/sh\ncase "$2" in *torch*) exit 1;; esac\n', "no PyTorch")],
)  # fmt: skip
def test_a_named_python_that_does_not_fit(machine, tmp_path, python, what):
    if python.startswith("#!"):
        path = write(tmp_path, "other/python", python)
        path.chmod(0o755)
        python = str(path)
    result = machine("doctor", VITRINE_PYTHON=python)
    assert result.returncode == 3 and what in result.stderr and not result.stdout, result.stderr


@pytest.mark.parametrize(
    "words, handed", [(["doctor", "--json"], "doctor --json"), (["my file.py", "--check"], "run --open my file.py --check"), (["show", "a.vitrine", "aten"], "show a.vitrine aten")]
)
def test_words_are_handed_over(machine, words, handed):
    result = machine(*words)
    assert result.returncode == 0 and result.stdout == f"command: {handed}\n" and not result.stderr.replace("ninja: no work to do.\n", "")


def test_when_nothing_is_missing_it_adds_under_a_second(machine):
    begin = os.times()
    start = time.monotonic()
    assert machine("doctor").returncode == 0
    end = os.times()
    work = end.children_user + end.children_system - begin.children_user - begin.children_system
    assert work < 1 and time.monotonic() - start < 30  # the processor's time: the machine may be busy
