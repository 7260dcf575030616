"""Fuzzes the reader of sessions and the views with mutated sessions, guided by coverage, under sanitizers.

    tests/fuzz/hostile_sessions.py --executions 300000              # what the command line prints
    tests/fuzz/hostile_sessions.py --target views --executions 3000 # what the window paints

Needs Clang 19 with libFuzzer (Debian: libclang-rt-19-dev). The sessions it starts from are recorded from `samples`, or
are the files named. A failure is kept in the build folder's `failures` and printed with the line that shows it again.
Exit status: 0; 1 when an input crashed, took over 5 s or over 500 MB.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VITRINE_BUILD_DIR", ROOT / "build")).resolve()
FOLDER = BUILD / "fuzz"
SECONDS, MEGABYTES, FILE_BYTES = 5, 500, 20 << 20
SHADOW = 600  # megabytes of the sanitizer's own, beside what the reader takes
# One of each kind of recording.
RECORDED = {
    "inference": ["samples/tiny_model.py"],
    "script": ["samples/two_layer_mlp.py"],
    "breaks": ["samples/print_in_layer_loop.py"],
    "sizes": ["samples/sequence_lengths.py"],
    "training": ["samples/training/whole_step.py"],
    "gpu": ["samples/tiny_model.py", "--target", "sm_90"],
}


def run(*words, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], check=True, **more)


def build(target: str) -> Path:
    """Builds the target with Clang in a folder of its own and returns its path."""
    options = ["-DVITRINE_FUZZ=ON", "-DVITRINE_SANITIZE=ON", "-DVITRINE_ENGINE=OFF", "-DVITRINE_KERNEL_COMPILER=OFF", "-DVITRINE_STRICT=OFF"]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    run("cmake", "-S", ROOT, "-B", FOLDER, "-G", "Ninja", *compilers, *options, stdout=subprocess.DEVNULL)
    run("cmake", "--build", FOLDER, "-j2", "--target", target, "small_session")
    return next(FOLDER.rglob(target))


def corpus(target: str, named: list[str]) -> Path:
    """A folder with a session of each kind, cut down to few rows."""
    folder = FOLDER / f"corpus-{target}"
    folder.mkdir(parents=True, exist_ok=True)
    sessions = [Path(name) for name in named]
    if not sessions:
        recorded = FOLDER / "recorded"
        recorded.mkdir(exist_ok=True)
        for name, words in RECORDED.items():
            session = recorded / f"{name}.vitrine"
            if not session.exists():
                run(BUILD / "bin/vitrine", "run", ROOT / words[0], *words[1:], "--repeats", "3", "-o", session)
            sessions.append(session)
    sessions += sorted((ROOT / "tests/sessions").rglob("*.vitrine"))
    tool = next(FOLDER.rglob("small_session"))
    for session in sessions:
        for rows in (10, 100):
            run(tool, session, rows, folder / f"{session.parent.name}-{session.stem}-{rows}")
    return folder


def fuzz(program: Path, folder: Path, executions: int, seed: int, jobs: int) -> int:
    """Runs `jobs` processes side by side; returns how many executions they made. Prints each failure."""
    failures = FOLDER / "failures"
    failures.mkdir(exist_ok=True)
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=16")
    made = 0
    running = []
    for job in range(jobs):
        limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES + SHADOW}", f"-malloc_limit_mb={MEGABYTES}", f"-max_len={FILE_BYTES}"]
        control = [f"-runs={executions // jobs}", f"-seed={seed + job}", "-len_control=0", "-print_final_stats=1", f"-artifact_prefix={failures}/"]
        log = (FOLDER / f"log-{program.name}-{job}").open("w+")
        running.append((log, subprocess.Popen([program, *limits, *control, folder], env=environment, stdout=log, stderr=subprocess.STDOUT)))
    for log, process in running:
        process.wait()
        log.seek(0)
        text = log.read()
        log.close()
        done = re.search(r"stat::number_of_executed_units: (\d+)", text)
        made += int(done.group(1)) if done else 0
        if process.returncode:
            print("\n".join(text.splitlines()[-60:]))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="*", help="what to start from; default: six recorded ones")
    parser.add_argument("--target", choices=("reader", "views"), default="reader")
    parser.add_argument("--executions", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not shutil.which("clang++-19"):
        print("clang++-19 is not installed.", file=sys.stderr)
        return 2
    name = f"fuzz_{options.target}"
    program = build(name)
    folder = corpus(options.target, options.sessions)
    before = set((FOLDER / "failures").glob("*"))
    made = fuzz(program, folder, options.executions, options.seed, options.jobs)
    failures = sorted(set((FOLDER / "failures").glob("*")) - before)
    print(f"{options.target}: {made} executions, seeds {options.seed} to {options.seed + options.jobs - 1}, {len(list(folder.iterdir()))} inputs kept, {len(failures)} failures")
    for failure in failures:
        print(f"  {program} {failure}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
