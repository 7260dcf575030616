"""`vitrine bench --cuda`: the table of a GPU. Eager, Vitrine and torch.compile interleaved in one process a case.

    python -m vitrine._tools.bench_cuda [--against inductor] [--cases NAME,...] [--seconds S] [--limit S] [--json FILE]

A side's first call is timed in a process of its own with an empty cache, a few of them beside each other. One that takes
longer than the limit is ended, and its side is "not run (time)". What they left in the caches then serves one process a
case, where all its sides are interleaved, alone on the GPU, timed by CUDA events, unprofiled. Errors are
||out - ref|| / ||ref|| against the same program in float64, inputs are random.
"""

import argparse
import copy
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from vitrine._tools.gpu_cases import CASES, Program

ALLOWED = 2.0  # an error may be so many times eager's own
FLOOR = {"float32": 3e-6, "float16": 1e-3, "bfloat16": 8e-3}  # and is never too large below this


# name: (compiler, mode)
SIDES = {
    "eager": (None, None),
    "vitrine": ("vitrine", "default"),
    "vitrine-graphs": ("vitrine", "reduce-overhead"),
    "vitrine-tuned": ("vitrine", "max-autotune"),
    "inductor": ("inductor", "default"),
    "inductor-graphs": ("inductor", "reduce-overhead"),
    "inductor-tuned": ("inductor", "max-autotune"),
}
LATE = "not run (time)"


def speed_up(theirs: list[float], ours: list[float]) -> dict:
    from vitrine._tools import bench

    return bench.speed_up(theirs, ours)


def median(values) -> float:
    return sorted(values)[len(values) // 2]


def prepared(torch, name: str, program: Program) -> Callable:
    """A side as a function without arguments that runs one call and returns its results."""
    compiler, mode = SIDES[name]
    function = program.function
    if compiler == "vitrine":
        import vitrine

        function = vitrine.compile(function, mode=mode)
    elif compiler == "inductor":
        function = torch.compile(function, mode=mode)
    return called(function, program, torch)


def called(function: Callable, program: Program, torch) -> Callable:
    """One call of the program by that function: without gradients, or with its backward where it trains."""
    module = program.module

    def infer():
        with torch.no_grad():
            return function(module, *program.args)

    def train():
        for p in module.parameters() if module is not None else ():
            p.grad = None
        for a in program.args:
            if a.requires_grad:
                a.grad = None
        loss = function(module, *program.args)
        loss.backward()
        return loss

    return train if program.trains else infer


def results(program: Program, out) -> list:
    """What a call is judged by: its result and, of training, every gradient."""
    tensors = list(out) if isinstance(out, tuple) else [out]
    if program.trains:
        tensors += [a.grad for a in program.args if a.requires_grad]
        tensors += [p.grad for p in program.module.parameters() if p.grad is not None] if program.module is not None else []
    return [t.detach().clone() for t in tensors]


def error(torch, got: list, reference: list) -> float:
    """Largest ||out - ref|| / ||ref|| of the results; infinite where a NaN or another number of results appears."""
    if len(got) != len(reference):
        return float("inf")
    worst = 0.0
    for g, r in zip(got, reference):
        e = ((g.double() - r.double()).norm() / r.double().norm().clamp(min=1e-30)).item()
        worst = max(worst, e if e == e else float("inf"))
    return worst


def in_double(torch, program: Program) -> list:
    def double(t):
        return t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t

    wide = replace(program, args=tuple(double(a) for a in program.args), module=copy.deepcopy(program.module))
    if wide.module is not None:
        wide.module.double()
    if wide.widen:
        wide.widen(wide.module)
    if wide.reset:
        wide.reset(wide.module)
    return results(wide, prepared(torch, "eager", wide)())


def once(torch, call: Callable, program: Program | None = None) -> float:
    """Milliseconds of one call on the GPU's clock."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    if program and program.reset:
        program.reset(program.module)
        torch.cuda.synchronize()
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def made(torch, name: str) -> Program:
    case = CASES[name]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case.tf32
    torch.manual_seed(0)
    return case.make(torch)


def use_cache(folder: str, name: str, side: str) -> None:
    """Where the compilers of this process keep what they made of a case: each side has its own place."""
    os.environ["VITRINE_CACHE_DIR"] = f"{folder}/{name}_{side}_v"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/{name}_{side}_i"
    os.environ["TRITON_CACHE_DIR"] = f"{folder}/{name}_{side}_t"
    if side.startswith("vitrine"):
        import vitrine

        vitrine.config.cache_dir = os.environ["VITRINE_CACHE_DIR"]


def first_call(name: str, side: str) -> None:
    """Prints the seconds of a side's first call."""
    import torch

    program = made(torch, name)
    call = prepared(torch, side, program)
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    print("\n" + json.dumps({"first_s": time.perf_counter() - start}), flush=True)


def tried(torch, program: Program, side: str, reference: list, row: dict) -> Callable:
    """The side's call, warm; its error and peak memory are in the row."""
    call = prepared(torch, side, program)
    for _ in range(4):
        if program.reset:
            program.reset(program.module)
        begin_call(torch, side)
        out = call()
    row["error"][side] = error(torch, results(program, out), reference)
    del out
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    begin_call(torch, side)
    call()
    row["peak_mb"][side] = (torch.cuda.max_memory_allocated() - before) / 2**20
    return call


def begin_call(torch, side: str) -> None:
    if side in ("inductor-graphs", "inductor-tuned"):
        torch.compiler.cudagraph_mark_step_begin()


def child(name: str, sides: list[str], seconds: float, cache: str) -> None:
    """One case: says "ready" when every side is compiled, and times them when it gets a line."""
    import torch

    program = made(torch, name)
    row: dict = {"case": name, "title": CASES[name].title, "error": {}, "peak_mb": {}, "ms": {}, "failed": {}}
    reference = in_double(torch, program)
    torch.cuda.empty_cache()
    calls = {}
    for side in sides:
        use_cache(cache, name, side)
        try:
            calls[side] = tried(torch, program, side, reference, row)
        except Exception as problem:
            row["failed"][side] = f"{type(problem).__name__}: {problem}"[:500]
    del reference
    torch.cuda.synchronize()
    print("ready", flush=True)
    sys.stdin.readline()
    times = {side: [] for side in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["eager"]) < 9:
        for side, call in calls.items():
            begin_call(torch, side)
            once(torch, call, program)
            times[side] += [once(torch, call, program) for _ in range(3)]
    row["ms"] = {side: median(t) for side, t in times.items()}
    row["faster"] = {side: speed_up(times["eager"], t) for side, t in times.items() if side != "eager"}
    if program.bytes:
        source = torch.randn(program.bytes // 8, device="cuda")
        target = torch.empty_like(source)
        row["copy_ms"] = median([once(torch, lambda: target.copy_(source)) for _ in range(50)])
    print("\n" + json.dumps(row), flush=True)


def own_process(words: list[str], log, env=None):
    words = [sys.executable, "-m", "vitrine._tools.bench_cuda", *words]
    return subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)


def until(process, wanted: Callable[[str], bool], limit: float) -> str:
    """The first such line; "" if the process ends before, or is ended after so many seconds."""
    clock = threading.Timer(limit, process.kill)
    clock.start()
    try:
        return next((line for line in process.stdout if wanted(line)), "")
    finally:
        clock.cancel()


def time_first(name: str, side: str, cache: str, limit: float) -> dict:
    """{"first_s": seconds}, or {"failed": why}."""
    use = dict(os.environ)
    for variable, kind in (("VITRINE_CACHE_DIR", "v"), ("TORCHINDUCTOR_CACHE_DIR", "i"), ("TRITON_CACHE_DIR", "t")):
        use[variable] = f"{cache}/{name}_{side}_{kind}"
    with open(f"{cache}/{name}_{side}.log", "w+") as log:
        begun = time.monotonic()
        process = own_process(["--first", name, "--sides", side], log, use)
        answer = until(process, lambda line: line.startswith("{"), limit)
        process.communicate()
        if answer:
            return json.loads(answer)
        log.seek(0)
        said = log.read().strip().splitlines()
        return {"failed": LATE if time.monotonic() - begun >= limit else (said[-1:] or ["it died"])[0][:500]}


def time_case(process, log, limit: float) -> dict:
    answer = ""
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
        answer = until(process, lambda line: line.startswith("{"), limit)
    except (BrokenPipeError, ValueError):
        pass  # it died before; its log says how
    process.communicate()
    log.seek(0)
    died = {"died": log.read()[-3000:] or LATE}
    log.close()
    return json.loads(answer) if answer else died


# The longest first, that nobody waits for them at the end.
def in_order(names: list[str], sides: list[str]) -> list[tuple[str, str]]:
    return sorted(((n, s) for n in names for s in sides if s != "eager"), key=lambda job: ("tuned" not in job[1], "inductor" not in job[1], -list(CASES).index(job[0])))


def first_calls(pool, jobs: list[tuple[str, str]], cache: str, limit: float) -> dict:
    """By (case, side): what time_first() says. How far they are goes to stderr."""
    found = {}
    for job, answer in zip(jobs, pool.map(lambda job: time_first(*job, cache, limit), jobs)):
        found[job] = answer
        print(f"\rfirst calls: {len(found)} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def measure(names: list[str], sides: list[str], seconds: float, beside: int, limit: float, first_too: bool) -> Iterator[dict]:
    """A row a case, each as soon as it is measured."""
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(beside) as pool:
        jobs = in_order(names, sides)
        first = first_calls(pool, jobs, cache, limit) if first_too else {}

        def started(name):
            log = open(f"{cache}/{name}.log", "w+")
            run = [s for s in sides if "failed" not in first.get((name, s), {})]
            process = own_process(["--child", name, "--sides", ",".join(run), "--seconds", str(seconds), "--cache", cache], log)
            until(process, lambda line: line.strip() == "ready", (2 if first_too else len(sides)) * limit)
            return process, log

        for name, (process, log) in zip(names, list(pool.map(started, names))):
            row = {"case": name, "title": CASES[name].title, "failed": {}, **time_case(process, log, 10 * seconds + limit), "first_s": {}}
            for side in sides[1:] if first_too else ():
                if "failed" in first[name, side]:
                    row["failed"][side] = first[name, side]["failed"]
                else:
                    row["first_s"][side] = first[name, side]["first_s"]
            yield row


def is_right(row: dict, side: str) -> bool:
    allowed = max(ALLOWED * row["error"]["eager"], min(FLOOR.values()))
    return row["error"][side] <= allowed


def print_head(sides: list[str]) -> None:
    print(f"{'case':52}{'eager ms':>10}" + "".join(f"{s:>18}" for s in sides[1:]) + f"{'of copy':>9}", flush=True)


def print_row(r: dict, sides: list[str]) -> None:
    if "died" in r:
        print(f"{r['title']:52} failed: {r['died'].strip().splitlines()[-1:]}", flush=True)
        return
    cells = ""
    for s in sides[1:]:
        if s in r["failed"]:
            cells += f"{LATE if r['failed'][s] == LATE else 'failed':>18}"
            continue
        if s not in r["faster"]:  # not for this side
            cells += f"{'–':>18}"
            continue
        wrong = "" if is_right(r, s) else "!"
        found = r["faster"][s]
        faster = f"{found['ratio']:.2f}x" if found["known"] else "no diff." if found["low"] else "–"
        first = "" if "first_s" not in r else f"{r['first_s'][s]:>6.2f}s" if s in r["first_s"] else f"{'–':>7}"
        cells += f"{faster:>{17 - len(first)}}{wrong:1}{first}"
    share = f"{r['copy_ms'] / r['ms']['vitrine']:>8.0%}" if "copy_ms" in r and "vitrine" in r["ms"] else ""
    print(f"{r['title']:52}{r['ms']['eager']:>10.3f}{cells}{share}", flush=True)
    for s, why in r["failed"].items():
        if why != LATE:
            print(f"    {s}: {why[:300]}", flush=True)


def print_means(rows: list[dict], sides: list[str]) -> None:
    print("speed-up over eager (no diff.: its 95 % interval includes 1; –: fewer than five calls), first call; ! = its error against float64 is more than twice eager's")
    for who in ("vitrine", "inductor"):
        if means := best_of(rows, [s for s in sides if s.startswith(who)]):
            print(f"{who}: geometric mean of the best mode {means:.2f}x")


def best_of(rows: list[dict], sides: list[str]) -> float:
    """Geometric mean over the cases of the best speed-up of these sides; 0: there is none."""
    best = [max((r["ms"]["eager"] / r["ms"][s] for s in sides if s in r["ms"]), default=0) for r in rows if "ms" in r]
    best = [b for b in best if b]
    return math.exp(sum(map(math.log, best)) / len(best)) if best else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="vitrine bench --cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="", help="inductor: torch.compile's three modes beside it")
    parser.add_argument("--sides", default="", help=f"instead: {', '.join(SIDES)}")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these")
    parser.add_argument("--cases", default="", help="the same, with commas between them")
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time a case")
    parser.add_argument("--limit", type=float, default=90.0, help="of a first call's process, in seconds")
    parser.add_argument("--beside", type=int, default=6, help="processes that compile at the same time")
    parser.add_argument("--no-first", action="store_true", help="first calls are not timed in processes of their own")
    parser.add_argument("--json", metavar="FILE", help="write the rows there too")
    for hidden in ("--child", "--first", "--cache"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = (options.case or []) + [c for c in options.cases.split(",") if c] or list(CASES)
    sides = options.sides.split(",") if options.sides else [s for s in SIDES if "inductor" not in s or options.against]
    for what, given, known in (("sides", sides, SIDES), ("cases", names, CASES)):
        if unknown := set(given) - set(known):
            parser.error(f"--{what} does not know {', '.join(sorted(unknown))}")
    if options.first:
        first_call(options.first, sides[0])
        return 0
    if sides[0] != "eager":
        sides = ["eager", *(s for s in sides if s != "eager")]
    if options.child:
        child(options.child, sides, options.seconds, options.cache)
        return 0
    import torch

    if not torch.cuda.is_available():
        print("vitrine bench: There is no GPU for --cuda here.\n  Without it kernels are measured on the CPU.", file=sys.stderr)
        return 1
    rows = []
    print_head(sides)
    for row in measure(names, sides, options.seconds, options.beside, options.limit, not options.no_first):
        rows.append(row)
        print_row(row, sides)
        if options.json:  # after each row: what was measured is kept, should the rest be ended
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)
    print_means(rows, sides)
    return any("died" in r or set(r["failed"].values()) - {LATE} for r in rows)


if __name__ == "__main__":
    sys.exit(main())
