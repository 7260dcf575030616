"""`vitrine bench --cpu`: the table of a CPU. Eager, Vitrine and its peers interleaved in one process a case.

    python -m vitrine._tools.cpu_cases.table [--against inductor,onnxruntime,openvino] [--cases NAME,...] [--threads N] [--json FILE]

Times are medians of unprofiled calls. `--clock cpu` counts the process's CPU time instead of the wall's, for one thread
beside other work. Errors are ||out - ref|| / ||ref|| against the same program in float64; "!" marks one of more than twice
eager's. `*-frozen` packs weights once, as ONNX Runtime and OpenVINO always do.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

from vitrine._tools import bench, bench_cuda, peers
from vitrine._tools.cpu_cases import CASES, Program


def prepared(torch, side: str, program: Program) -> Callable:
    """The side as a function without arguments that runs one call and returns its results."""
    compiler, _, frozen = side.partition("-")
    function = program.function
    if compiler == "vitrine":
        import vitrine

        function = vitrine.compile(function, options={"freezing": True} if frozen else None)
    elif compiler == "inductor":
        torch._dynamo.reset()
        function = torch.compile(function, options={"freezing": True} if frozen else None)
    elif leaves_python(side):
        return exported(torch, compiler, program)
    return bench_cuda.called(function, program, torch)


def leaves_python(side: str) -> bool:
    """It takes a model out of Python, and knows no gradients."""
    return side in ("onnxruntime", "openvino")


def exported(torch, name: str, program: Program) -> Callable:
    peer = next(p for p in peers.PEERS if p.name == name)
    module = torch.nn.Module()
    module.inner = program.module
    module.forward = lambda *args: program.function(module.inner, *args)
    with torch.no_grad():
        run = peer.prepare(module, program.args)
    return lambda: tuple(run(*program.args))


def child(name: str, sides: list[str], seconds: float, clock: Callable[[], int]) -> dict:
    """One case in this process."""
    import torch

    torch.manual_seed(0)
    program = CASES[name].make(torch)
    row: dict = {"case": name, "title": CASES[name].title, "error": {}, "ms": {}, "failed": {}}
    reference, calls = bench_cuda.in_double(torch, program), {}
    for side in sides:
        if leaves_python(side) and (program.trains or program.module is None):
            continue
        try:
            call = prepared(torch, side, program)
            for _ in range(3):
                out = call()
            row["error"][side] = bench_cuda.error(torch, bench_cuda.results(program, out), reference)
            calls[side] = call
        except Exception as problem:
            row["failed"][side] = f"{type(problem).__name__}: {problem}"[:500]
    times: dict[str, list[float]] = {side: [] for side in calls}
    one = timed(calls["eager"], 1, clock)
    inner = max(1, min(2000, int(0.002 / max(one, 1e-7))))
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(times["eager"]) < 9:
        for side, call in calls.items():
            call()  # threads and caches are the other side's still
            times[side].append(timed(call, inner, clock))
    row["ms"] = {side: 1e3 * bench.median(t) for side, t in times.items()}
    row["faster"] = {side: bench.speed_up(times["eager"], t) for side, t in times.items() if side != "eager"}
    if program.bytes:
        source = torch.randn(program.bytes // 8)
        target = torch.empty_like(source)
        row["copy_ms"] = 1e3 * bench.median([timed(lambda: target.copy_(source), 1, clock) for _ in range(50)])
    return row


def timed(call: Callable, inner: int, clock: Callable[[], int]) -> float:
    """Seconds of one call, of `inner` in a row."""
    start = clock()
    for _ in range(inner):
        call()
    return (clock() - start) / 1e9 / inner


def own_process(name: str, sides: list[str], options) -> dict:
    words = ["--child", name, "--sides", ",".join(sides), "--seconds", str(options.seconds), "--clock", options.clock, "--threads", str(options.threads)]
    try:
        done = subprocess.run([sys.executable, "-m", "vitrine._tools.cpu_cases.table", *words], capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"case": name, "title": CASES[name].title, "died": bench_cuda.LATE}
    answer = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("{")), "")
    return json.loads(answer) if answer else {"case": name, "title": CASES[name].title, "died": done.stderr[-3000:] or f"status {done.returncode}"}


def print_means(rows: list[dict], sides: list[str]) -> None:
    print("speed-up over eager (no diff.: its 95 % interval includes 1); ! = its error against float64 is more than twice eager's")
    for who in dict.fromkeys(s.partition("-")[0] for s in sides[1:]):
        if mean := bench_cuda.best_of(rows, [s for s in sides if s.partition("-")[0] == who]):
            print(f"{who}: geometric mean of its best {mean:.2f}x")


def main() -> int:
    parser = argparse.ArgumentParser(prog="vitrine bench --cpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="", help="peers beside it: inductor, onnxruntime, openvino; those that are installed")
    parser.add_argument("--sides", default="", help="instead, for example eager,vitrine,vitrine-frozen,inductor,inductor-frozen")
    parser.add_argument("--cases", default="", help=f"of {', '.join(CASES)}; with commas between them")
    parser.add_argument("--seconds", type=float, default=2.0, help="measuring time a side")
    parser.add_argument("--limit", type=float, default=300.0, help="of a case, in seconds")
    parser.add_argument("--threads", type=int, default=0, help="of every side; default: PyTorch's number")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json", metavar="FILE", help="write the rows there too")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    against = [a for a in options.against.split(",") if a]
    frozen = ["vitrine-frozen"] + (["inductor-frozen"] if "inductor" in against else [])
    sides = options.sides.split(",") if options.sides else ["eager", "vitrine", *frozen[:1], *against, *frozen[1:]]
    names = [c for c in options.cases.split(",") if c] or list(CASES)
    known = {"vitrine-frozen", "inductor-frozen", "vitrine", *(p.name for p in peers.PEERS)}
    for what, given, all in (("sides", sides, known), ("cases", names, set(CASES))):
        if unknown := set(given) - all:
            parser.error(f"{what}: {', '.join(sorted(unknown))} is not known")
    sides = ["eager", *(s for s in sides if s != "eager")]
    if options.child:
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
        print("\n" + json.dumps(child(options.child, sides, options.seconds, time.process_time_ns if options.clock == "cpu" else time.perf_counter_ns)), flush=True)
        return 0
    absent = [p.name for p in peers.PEERS if p.name in sides and peers.missing(p)]
    sides = [s for s in sides if s not in absent]
    print(*[f"{name} is left out: it is not installed" for name in absent], sep="\n", end="\n" if absent else "")
    bench_cuda.print_head(sides)
    rows = []
    for name in names:
        rows.append(own_process(name, sides, options))
        bench_cuda.print_row(rows[-1], sides)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)
    print_means(rows, sides)
    return any("died" in r for r in rows)


if __name__ == "__main__":
    sys.exit(main())
