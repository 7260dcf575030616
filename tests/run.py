"""Runs the tests: every suite, or the ones named. Each suite is a row of SUITES; exit status 1 if one failed."""

import argparse
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


# name, what it proves, command
SUITES = [
    ("structure", "include rules, file sizes, formatting, wording", pytest("tests/tools")),
    ("unit", "C++ parts without Python, every pass and generator against its golden file", ctest("^unit$")),
    ("python", "capture, guards, breaks, operators, kernels, session, command line", pytest("tests/python")),
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
    shutil.rmtree(env["VITRINE_CACHE_DIR"], ignore_errors=True)
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
