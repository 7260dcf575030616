"""Fuzzes the reader of sessions and the views with mutated sessions, guided by coverage, under sanitizers.

    tests/fuzz/hostile_sessions.py --executions 300000              # what the command line prints
    tests/fuzz/hostile_sessions.py --target views --executions 3000 # what the window paints

Needs Clang 19 with libFuzzer (Debian: libclang-rt-19-dev). The sessions it starts from are recorded from `samples`, or
are the files named. It works in slices, each a process with a seed of its own: a line of what each did is printed and goes
to the build folder's `slices.jsonl`, and one more call with another --seed goes on from the inputs that were kept. A failure ends
its slice, is kept in the build folder's `failures` and printed with the line that shows it again; the next slice follows.
Exit status: 0; 1 when an input crashed, took over 5 s or over 500 MB (beside what the sanitizers take).
"""

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VITRINE_BUILD_DIR", ROOT / "build")).resolve()
FOLDER = BUILD / "fuzz"
SECONDS, MEGABYTES, FILE_BYTES, SMALL_BYTES = 5, 500, 20 << 20, 200 << 10
SHADOW = 600  # megabytes of the sanitizer's own, beside what the reader takes; libFuzzer's inputs come on top
# One of each kind of recording.
RECORDED = {
    "inference": ["samples/tiny_model.py"],
    "script": ["samples/two_layer_mlp.py"],
    "breaks": ["samples/breaks/print_in_layer_loop.py"],
    "sizes": ["samples/sizes/sequence_lengths.py"],
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


def corpus(target: str, named: list[str], whole: bool) -> Path:
    """A folder with a session of each kind: cut down to few rows, or as it was recorded."""
    folder = FOLDER / f"corpus-{target}{'-whole' * whole}"
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
        for rows in (1 << 30,) if whole else (10, 100):
            small = folder / f"{session.parent.name}-{session.stem}-{rows}"
            run(tool, session, rows, small)
            if small.stat().st_size > (FILE_BYTES if whole else SMALL_BYTES):
                small.unlink()  # it would be cut off
    return folder


@dataclass
class Slice:
    """What became of one process of the fuzzer. `executions` are of mutated inputs: what it read to begin with is not counted."""

    target: str
    seed: int
    executions: int
    seconds: float
    peak_mb: int
    inputs: int
    failed: bool


def fuzz(program: Path, folder: Path, executions: int, seed: int, whole: bool) -> Slice:
    """One process from one seed; it ends at the first failure, which it keeps and prints."""
    failures = FOLDER / "failures"
    failures.mkdir(exist_ok=True)
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=16:malloc_context_size=4:max_malloc_fill_size=0", XDG_STATE_HOME="/dev/null/none")  # nothing is known of any file
    inputs = list(folder.iterdir())
    begun, held = len(inputs), sum(path.stat().st_size for path in inputs) >> 20
    rss = MEGABYTES + SHADOW + 2 * held + (1000 if whole else 100)  # it holds them all, and those that it adds
    limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={rss}", f"-malloc_limit_mb={MEGABYTES}", f"-max_len={FILE_BYTES if whole else SMALL_BYTES}"]
    control = [f"-runs={executions + begun + 8}", f"-seed={seed}", "-len_control=0", "-reload=0", "-print_final_stats=1", f"-artifact_prefix={failures}/"]
    log = FOLDER / f"log-{program.name}-{seed}"
    start = time.monotonic()
    with log.open("w") as out:
        code = subprocess.run([program, *limits, *control, folder], env=environment, stdout=out, stderr=subprocess.STDOUT).returncode
    text = log.read_text(errors="replace")
    if code:
        print("\n".join(text.splitlines()[-60:]))
    else:
        log.unlink()
    at = [int(n) for n in re.findall(r"^#(\d+)\s", text, re.MULTILINE)] + [int(n) for n in re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)]
    read = re.search(r"^#(\d+)\s+INITED", text, re.MULTILINE)
    peak = [int(n) for n in re.findall(r"stat::peak_rss_mb:\s*(\d+)", text)] + [int(n) for n in re.findall(r"rss: (\d+)Mb", text)]
    made = max(at, default=0) - (int(read.group(1)) if read else 0)
    return Slice(program.name, seed, max(made, 0) if read else 0, round(time.monotonic() - start, 1), max(peak, default=0), len(list(folder.iterdir())), bool(code))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="*", help="what to start from; default: six recorded ones")
    parser.add_argument("--target", choices=("reader", "views"), default="reader")
    parser.add_argument("--executions", type=int, default=20000)
    parser.add_argument("--slice", type=int, default=30000, help="executions of one process")
    parser.add_argument("--whole", action="store_true", help="of sessions as they were recorded, up to 20 MB; without it of few rows a table, up to 200 kB, which is ten times as fast")
    parser.add_argument("--seed", type=int, default=1, help="of the first slice; the next ones count on")
    options = parser.parse_args()
    if not shutil.which("clang++-19"):
        print("clang++-19 is not installed.", file=sys.stderr)
        return 2
    program = build(f"fuzz_{options.target}")
    folder = corpus(options.target, options.sessions, options.whole)
    before = set((FOLDER / "failures").glob("*"))
    made, seed = 0, options.seed
    while made < options.executions:
        done = fuzz(program, folder, min(options.slice, options.executions - made), seed, options.whole)
        with (FOLDER / "slices.jsonl").open("a") as out:
            print(json.dumps(dataclasses.asdict(done)), file=out)
        print(f"seed {seed}: {done.executions} executions in {done.seconds} s, peak {done.peak_mb} MB with sanitizers, {done.inputs} inputs kept{', FAILED' * done.failed}", flush=True)
        if not done.executions:
            break  # it fails before the first
        made += done.executions
        seed += 1
    failures = sorted(set((FOLDER / "failures").glob("*")) - before)
    print(f"{options.target}: {made} executions, seeds {options.seed} to {seed - 1}, {len(failures)} failures")
    for failure in failures:
        print(f"  {program} {failure}")
    return bool(failures) or made < options.executions


if __name__ == "__main__":
    sys.exit(main())
