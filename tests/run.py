"""Runs the tests: every suite, or the ones named. Each suite is a row of SUITES; exit status 1 if one failed."""

import argparse
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("VITRINE_BUILD_DIR", ROOT / "build")).resolve()


def pytest(folder: str, *extra: str):
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / folder), *extra]


def side_by_side():
    """Two files at a time, where pytest-xdist is there: a process of the suite takes over a gigabyte."""
    several = (os.cpu_count() or 1) > 1 and importlib.util.find_spec("xdist")
    return ["-n", "2", "--dist", "loadfile"] if several else []


def ctest(label: str):
    return ["ctest", "--test-dir", str(BUILD), "-L", label, "--output-on-failure", "-j2", "--no-tests=error"]


def sanitized():
    """Configures, builds and runs them in a folder of their own: without Python and Qt, which have leaks of their own."""
    folder = BUILD / "sanitized"
    options = ["-DVITRINE_SANITIZE=ON", "-DVITRINE_ENGINE=OFF", "-DVITRINE_APP=OFF", f"-DPython3_EXECUTABLE={sys.executable}"]
    steps = [
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "-j2"],
        ["ctest", "--test-dir", str(folder), "-L", "^unit$", "--output-on-failure", "-j2", "--no-tests=error"],
    ]
    return ["sh", "-ec", "\n".join(shlex.join(step) for step in steps)]


def other_python():
    """A CPython 3.12 with its headers, or None: its PyTorch is not needed."""
    named = [os.environ.get("VITRINE_PYTHON312"), shutil.which("python3.12")]
    here = [str(p) for p in sorted(Path.home().glob(".pyenv/versions/3.12*/bin/python3.12"))]
    look = "import os, sys, sysconfig; raise SystemExit(sys.version_info[:2] != (3, 12) or not os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    for python in filter(None, named + here):
        if subprocess.run([python, "-c", look], capture_output=True).returncode == 0:
            return python
    return None


def frames_312():
    """Builds the engine for CPython 3.12 in a folder of its own; frames and bytecode are tried without PyTorch."""
    if sys.version_info[:2] == (3, 12):
        return ["echo", "skipped: this is CPython 3.12, and the suite python has tried it"]
    python = other_python()
    if not python:
        return ["echo", "skipped: no CPython 3.12 with headers was found; VITRINE_PYTHON312 names one"]
    folder = BUILD / "python312"
    options = [f"-DPython3_EXECUTABLE={python}", "-DVITRINE_APP=OFF", "-DVITRINE_KERNEL_COMPILER=OFF", "-DVITRINE_TESTS=OFF"]
    run = ["env", f"PYTHONPATH={folder / 'python'}{os.pathsep}{ROOT}", python]
    steps = [
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "-j2", "--target", "_engine"],
        [*run, str(ROOT / "tests/fuzz/decoding.py")],
        [*run, str(ROOT / "tests/fuzz/osr_fuzz.py"), "--exits", "300000", "--seconds", "150", "--leaks"],
        [*run, str(ROOT / "tests/fuzz/own_loop.py")],
    ]
    return ["sh", "-ec", "\n".join(shlex.join(step) for step in steps)]


# name, what it proves, command
SUITES = [
    ("structure", "include rules, file sizes, formatting, wording", pytest("tests/tools")),
    ("unit", "C++ parts without Python, every pass and generator against its golden file", ctest("^unit$")),
    ("python", "capture, guards, breaks, operators, kernels, session, command line", pytest("tests/python", *side_by_side())),
    ("python312", "frames and bytecode on CPython 3.12", frames_312()),
    ("sanitize", "the unit tests again, built with AddressSanitizer and UndefinedBehaviorSanitizer", sanitized()),
    ("gui", "models, views and the window", ctest("^gui$")),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *[s[0] for s in SUITES]], help="default: all")
    wanted = parser.parse_args().suites or [s[0] for s in SUITES]
    env = dict(os.environ, QT_QPA_PLATFORM="offscreen", PYTHONPATH=os.pathsep.join([str(BUILD / "python"), str(ROOT)]))
    env["PATH"] = f"{BUILD / 'bin'}{os.pathsep}{env['PATH']}"
    env.setdefault("VITRINE_CACHE_DIR", str(BUILD / "test-cache"))
    env["XDG_STATE_HOME"] = str(BUILD / "test-state")  # the key of the cache and the marks of own sessions
    for folder in ("VITRINE_CACHE_DIR", "XDG_STATE_HOME"):
        shutil.rmtree(env[folder], ignore_errors=True)
    failed = []
    for name, about, command in SUITES:
        if name not in wanted:
            continue
        print(f"== {name}: {about}", flush=True)
        start = time.monotonic()
        if subprocess.run(command, cwd=ROOT, env=env).returncode:
            failed.append(name)
        print(f"== {name}: {'FAILED' if name in failed else 'passed'} in {time.monotonic() - start:.0f} s", flush=True)
    print(f"failed suites: {', '.join(failed)}" if failed else "all suites passed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
