"""Runs the tests: every suite, or what is named; exit status 1 if something failed.

  ./vitrine test                            every suite
  ./vitrine test quick                      what catches most mistakes, in under three minutes
  ./vitrine test unit gui                   these suites
  ./vitrine test python -k guards           a suite; the words from the first option on go to what runs it
  ./vitrine test tests/python/api/test_api.py   one file, or one folder; FILE::NAME is one test
  ./vitrine test tests/gui/window/tst_window.cpp   one program of the unit or GUI tests
  ./vitrine test --fresh                    without the kernels that earlier tests compiled
"""

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


def pytest(*words: str):
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]


def side_by_side():
    """Two files at a time, where pytest-xdist is there: a process of the suite takes over a gigabyte."""
    several = (os.cpu_count() or 1) > 1 and importlib.util.find_spec("xdist")
    return ["-n", "2", "--dist", "loadfile"] if several else []


def python_suite():
    """Of a test with more than four cases four, spread over them, always the same; VITRINE_TESTS=all runs each."""
    cases = [] if os.environ.get("VITRINE_TESTS") == "all" else ["--most-cases", "4"]
    return pytest("tests/python", *cases, *side_by_side())


def ctest(*choice: str):
    return ["ctest", "--test-dir", str(BUILD), *choice, "--output-on-failure", "-j2", "--no-tests=error"]


def sanitized():
    """Configures, builds and runs them in a folder of their own: without Python and Qt, which have leaks of their own."""
    folder = BUILD / "sanitized"
    options = ["-DVITRINE_OPTIMIZATION=-O0", "-DVITRINE_SANITIZE=ON", "-DVITRINE_ENGINE=OFF", "-DVITRINE_APP=OFF", f"-DPython3_EXECUTABLE={sys.executable}"]
    steps = [
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "-j2"],
        ["ctest", "--test-dir", str(folder), "-L", "^unit$", "--output-on-failure", "-j2", "--no-tests=error"],
    ]
    return ["sh", "-ec", "\n".join(shlex.join(step) for step in steps)]


def other_python(minor: int):
    """A CPython of that version with its headers, or None: its PyTorch is not needed."""
    named = [os.environ.get(f"VITRINE_PYTHON3{minor}"), shutil.which(f"python3.{minor}")]
    here = [str(p) for p in sorted(Path.home().glob(f".pyenv/versions/3.{minor}*/bin/python3.{minor}"))]
    look = f"import os, sys, sysconfig; raise SystemExit(sys.version_info[:2] != (3, {minor}) or not os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    for python in filter(None, named + here):
        if subprocess.run([python, "-c", look], capture_output=True).returncode == 0:
            return python
    return None


def frames_on(minor: int, exits: int, seconds: int):
    """Builds the engine for that CPython in a folder of its own; frames and bytecode are tried without PyTorch."""
    if sys.version_info[:2] == (3, minor):
        return ["echo", f"skipped: this is CPython 3.{minor}, and the suite python has tried it"]
    python = other_python(minor)
    if not python:
        return ["echo", f"skipped: no CPython 3.{minor} with headers was found; VITRINE_PYTHON3{minor} names one"]
    folder = BUILD.with_name(f"{BUILD.name}-python3{minor}")  # one beside the other: ccache then has for both what does not read Python's headers
    # Compiled without optimising, which takes a third of the time.
    options = [f"-DPython3_EXECUTABLE={python}", "-DVITRINE_OPTIMIZATION=-O0", "-DVITRINE_APP=OFF", "-DVITRINE_KERNEL_COMPILER=OFF", "-DVITRINE_TESTS=OFF"]
    run = ["env", f"PYTHONPATH={folder / 'python'}{os.pathsep}{ROOT}", python]
    steps = [
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder), "-j2", "--target", "_engine"],
        [*run, str(ROOT / "tests/fuzz/decoding.py")],
        [*run, str(ROOT / "tests/fuzz/osr_fuzz.py"), "--exits", str(exits), "--seconds", str(seconds), "--leaks"],
        [*run, str(ROOT / "tests/fuzz/own_loop.py")],
    ]
    return ["sh", "-ec", "\n".join(shlex.join(step) for step in steps)]


# What `quick` runs: of the Python tests a file of every part, chosen by how much it catches a second; of the programs
# all but the slowest.
QUICK_PYTHON = [
    "api/test_after_torch_compile.py",
    "api/test_api.py",
    "capture/frames/test_engine_errors.py",
    "capture/frames/test_bytecode.py",
    "library/test_custom_operators.py",
    "shapes/test_dynamic_shapes.py",
    "api/test_engine_stub.py",
    "capture/frames/test_frames.py",
    "capture/guards/test_guards.py",
    "capture/interpreter/test_identity.py",
    "autograd/engine/test_intermediate_gradients.py",
    "kernels/plans/test_kernels_in_plans.py",
    "kernels/graphs/test_lowering.py",
    "kernels/graphs/test_passes.py",
    "kernels/plans/test_plan.py",
    "library/test_random.py",
    "capture/guards/test_recompilations.py",
    "session/test_recorded_links.py",
    "session/test_recorded_training.py",
    "cli/test_start_script.py",
    "autograd/steps/test_step_in_one_graph.py",
    "capture/interpreter/test_trace.py",
    "capture/interpreter/test_trace_effects.py",
    "autograd/steps/test_training.py",
]
# Tests of these files whose names say that they take long: whole models, processes of their own.
SLOW_WORDS = ["transformers", "very_many_calls", "process", "imports", "dynamo", "unsupported_environment", "loss_curve", "recursion_limit", "do_not_load", "flex_attention", "optimizers"]
SLOW_PROGRAMS = ["test_hostile_sessions", "tst_hostile_sessions", "tst_keys"]


def quick_python():
    folder = ROOT / "tests/python"
    if gone := [name for name in QUICK_PYTHON if not (folder / name).is_file()]:
        sys.exit(f"QUICK_PYTHON of tests/run.py names {', '.join(gone)}, which {folder} does not have")
    return pytest(*(str(folder / name) for name in QUICK_PYTHON), "-k", f"not ({' or '.join(SLOW_WORDS)})", *side_by_side())


# name, what it proves, command
SUITES = [
    ("structure", "include rules, file and function sizes, formatting, wording", pytest("tests/tools")),
    ("unit", "C++ parts without Python, every pass and generator against its golden file", ctest("-L", "^unit$")),
    ("python", "capture, guards, breaks, operators, kernels, session, command line", python_suite),
    ("python312", "frames and bytecode on CPython 3.12", lambda: frames_on(12, exits=300_000, seconds=100)),
    ("python313", "frames and bytecode on CPython 3.13", lambda: frames_on(13, exits=150_000, seconds=60)),
    ("sanitize", "the unit tests again, built with AddressSanitizer and UndefinedBehaviorSanitizer", sanitized),
    ("gui", "models, views and the window", ctest("-L", "^gui$")),
]
# Suites that run where they are named, and in no run of all.
SCHEDULED = [
    ("corpus", "programs of other libraries, eagerly and compiled (tests/corpus/requirements.txt)", pytest("tests/corpus")),
]
QUICK = [
    SUITES[0],
    ("unit", "C++ parts without Python", ctest("-L", "^unit$", "-E", "|".join(SLOW_PROGRAMS))),
    ("python", "a file of every part", quick_python),
    ("gui", "models, views and the window", ctest("-L", "^gui$", "-E", "|".join(SLOW_PROGRAMS))),
]


def one_path(named: str):
    """The row of a file or folder below tests, as SUITES has them."""
    path, _, test = named.partition("::")
    full = next((p.resolve() for p in (Path(path), ROOT / path) if p.exists()), None)
    if not full or not full.is_relative_to(ROOT / "tests"):
        sys.exit(f"{named} is neither a suite nor a path below tests. Suites: quick, {', '.join(name for name, _, _ in SUITES)}")
    if full in (ROOT / "tests/unit", ROOT / "tests/gui"):
        return next(suite for suite in SUITES if suite[0] == full.name)
    if full.suffix == ".cpp":
        program = BUILD / "bin" / full.stem
        if not program.exists():
            sys.exit(f"{named} is not built into {program}")
        return (named, "one program", [str(program), *filter(None, [test])])
    if full.suffix == ".py" and not full.name.startswith("test_"):
        return (named, "one program", [sys.executable, str(full)])
    return (named, "what stands there", pytest(str(full) + (f"::{test}" if test else "")))


def chosen(names: list[str]):
    rows = []
    for name in names:
        rows += QUICK if name == "quick" else [suite for suite in SUITES + SCHEDULED if suite[0] == name] or [one_path(name)]
    return rows


def environment(fresh: bool):
    env = dict(os.environ, QT_QPA_PLATFORM="offscreen", PYTHONPATH=os.pathsep.join([str(BUILD / "python"), str(ROOT)]))
    env["PATH"] = f"{BUILD / 'bin'}{os.pathsep}{env['PATH']}"
    env.setdefault("VITRINE_CACHE_DIR", str(BUILD / "test-cache"))
    env["XDG_STATE_HOME"] = str(BUILD / "test-state")  # the key of the cache and the marks of own sessions
    for folder in ("VITRINE_CACHE_DIR", "XDG_STATE_HOME") if fresh else ():
        shutil.rmtree(env[folder], ignore_errors=True)
    return env


def main() -> int:
    # The words from the first option on that is not ours belong to what runs the suite.
    words = sys.argv[1:]
    first_option = next((i for i, word in enumerate(words) if word.startswith("-") and word not in OWN_OPTIONS), len(words))
    parser = argparse.ArgumentParser(prog="vitrine test", description=__doc__, epilog=SUITE_TEXT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="suites, quick, or paths below tests; default: every suite")
    parser.add_argument("--fresh", action="store_true", help="delete the cache of kernels first")
    options, further = parser.parse_args(words[:first_option]), words[first_option:]
    rows = chosen(options.what or [name for name, _, _ in SUITES])
    if further and (len(rows) != 1 or rows[0][0] in ("python312", "python313", "sanitize")):
        parser.error(f"{' '.join(further)}: further words need one suite or path that pytest, ctest or a test program runs")
    env = environment(options.fresh)
    failed = []
    for name, about, command in rows:
        print(f"== {name}: {about}", flush=True)
        start = time.monotonic()
        if subprocess.run([*(command() if callable(command) else command), *further], cwd=ROOT, env=env).returncode:
            failed.append(name)
        print(f"== {name}: {'FAILED' if name in failed else 'passed'} in {time.monotonic() - start:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all passed", flush=True)
    return bool(failed)


OWN_OPTIONS = ("--fresh", "-h", "--help")
SUITE_TEXT = "Suites:\n" + "\n".join(f"  {name:10} {about}" for name, about, _ in SUITES)
SUITE_TEXT += "\nOnly where they are named:\n" + "\n".join(f"  {name:10} {about}" for name, about, _ in SCHEDULED)

if __name__ == "__main__":
    sys.exit(main())
