"""`vitrine bench`: steady state interleaved in one process, compile times in alternating fresh processes.

    vitrine bench                              kernels and call overhead against eager
    vitrine bench --against inductor           the same, torch.compile beside it
    vitrine bench bert.py --against eager,inductor,onnxruntime,openvino
                                               a model's steady state beside its peers, those that are installed
    vitrine bench --cpu --against inductor     the table of a CPU (vitrine bench --cpu --help)
    vitrine bench --cuda --against inductor    the table of a GPU (vitrine bench --cuda --help)
    vitrine bench --compile bert.py            cold and warm first call of a model, five fresh processes a side
Every figure is a median; threads are equal on all sides; nothing is profiled while it is timed. Beside each ratio stands
its 95 % interval, of the order statistics of the rounds' ratios (core/session/speed_up.h); one of fewer than five rounds, or
whose interval includes 1, is not told as a ratio.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

ELEMENTS = 4 * 1024 * 1024


@dataclass
class Case:
    """One row: a function over tensors; bytes = least traffic of a call (each input read once, each output written once)."""

    name: str
    make: Callable  # torch -> (function, args)
    bytes: int = 0


def pointwise(torch):
    x, b = torch.randn(ELEMENTS), torch.randn(ELEMENTS)
    return lambda x, b: torch.relu(x * 2 + b) * 0.5, (x, b)


def softmax(torch):
    return lambda x: torch.softmax(x * 0.125, dim=-1), (torch.randn(ELEMENTS // 1024, 1024),)


def layer_norm(torch):
    import torch.nn.functional as F

    x, w, b = torch.randn(ELEMENTS // 768, 768), torch.randn(768), torch.randn(768)
    return lambda x, w, b: F.layer_norm(x, (768,), w, b) * 1.5 + x, (x, w, b)


def gelu(torch):
    return torch.nn.functional.gelu, (torch.randn(ELEMENTS),)


def one_operator(torch):
    return lambda x: x + 1, (torch.randn(16),)


CASES = [
    Case("relu(x*2+b)*0.5, 4M", pointwise, 12 * ELEMENTS),
    Case("softmax(x*0.125), 4096x1024", softmax, 8 * ELEMENTS),
    Case("layer_norm*1.5+x, 5461x768", layer_norm, 8 * ELEMENTS),
    Case("gelu, 4M", gelu, 8 * ELEMENTS),
    Case("x + 1, 16 elements", one_operator),
]


def inductor_is_at_its_best() -> str:
    """ "" when torch.compile found a vector instruction set; else what is wrong, so that no false win is reported."""
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    isa = str(pick_vec_isa())
    return "" if isa and "INVALID" not in isa.upper() else "torch.compile found no vector instruction set here"


def time_call(function, args, inner: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(inner):
        result = function(*args)
    elapsed = time.perf_counter_ns() - start
    del result
    return elapsed / inner


def median(values) -> float:
    return sorted(values)[len(values) // 2]


def speed_up(theirs: list[float], ours: list[float]) -> dict:
    """How much faster `ours` is: ratio of the medians, low and high of its interval, rounds, and whether it is known. times: the
    i-th of both from one round."""
    from vitrine import _engine

    return _engine.speed_up([float(ns) for ns in theirs], [float(ns) for ns in ours])


def ratio_text(found: dict) -> str:
    """ "1.11x (1.08 to 1.13)", "none seen (0.97 to 1.06)", "3 calls"."""
    between = f"({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['ratio']:.2f}x {between}" if found["known"] else f"none seen {between}" if found["low"] else f"{found['calls']} calls"


def measure(sides: dict[str, Callable], args, seconds: float) -> dict[str, list[float]]:
    """ns a call of each side in each round, interleaved for about `seconds`."""
    for function in sides.values():
        for _ in range(3):
            function(*args)
    inner = max(1, int(2_000_000 / max(1.0, time_call(next(iter(sides.values())), args, 3))))
    inner = min(inner, 2000) if inner > 1 else 1
    times: dict[str, list[float]] = {name: [] for name in sides}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 7:
        for name, function in sides.items():
            times[name].append(time_call(function, args, inner))
    return times


def model_of(file: str):
    """The file's model, a :class:`vitrine._tools.loading.Entry`. Exits with what stands in the way."""
    from vitrine._tools.loading import LoadError, load

    try:
        entry = load(file, None, [])
    except LoadError as error:
        sys.exit("\n".join(filter(None, (f"vitrine bench: {error.what}", error.detail.rstrip(), f"  {error.hint}"))))
    if entry is None:
        sys.exit(f"vitrine bench: {file} has no model to call.\n  Define get_model() and get_inputs(), or model and inputs.")
    return entry


def model_rows(file: str, against: list[str], seconds: float) -> tuple[list[dict], list[str]]:
    """Median of each side's calls of a model, in turns of a few calls; and what stands in the way of the sides left out."""
    import torch

    from vitrine._tools import peers

    entry = model_of(file)
    args, function = entry.args, entry.function
    if entry.kwargs:
        keys, args = list(entry.kwargs), tuple(entry.kwargs.values())
        function = lambda *values: entry.function(**dict(zip(keys, values)))  # noqa: E731
    sides, notes, errors = {}, [], {}
    with torch.no_grad():
        expected = peers.flat_tensors(entry.function(*entry.args, **entry.kwargs))
        wanted = [peers.Peer("vitrine", (), "", peers.vitrine), *(p for p in peers.PEERS if p.name == "eager" or p.name in against)]
        for peer in wanted:
            if absent := peers.missing(peer):
                notes.append(f"{peer.name} is left out: {', '.join(absent)} cannot be imported. To install: {peer.install}")
                continue
            try:
                side = peer.prepare(function, args)
                outputs = peers.flat_tensors(side(*args))
            except Exception as error:
                notes.append(f"{peer.name} is left out: it cannot run this model ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")
                continue
            pairs = [(a.float(), e.float()) for a, e in zip(outputs, expected) if a.shape == e.shape]
            errors[peer.name] = max(((a - e).abs().max().item() for a, e in pairs if a.numel()), default=float("nan"))
            sides[peer.name] = side
        times: dict[str, list[float]] = {name: [] for name in sides}
        end = time.perf_counter() + seconds * len(sides)
        while time.perf_counter() < end or len(times["vitrine"]) < 9:
            for name, side in sides.items():
                side(*args)  # threads and caches are the other side's still
                times[name] += [time_call(side, args, 1) for _ in range(3)]
    rows = [{"side": name, "ns": median(ns), "n": len(ns), "error": errors[name], "vitrine_faster": speed_up(ns, times["vitrine"])} for name, ns in times.items()]
    return rows, notes


def print_model(file: str, rows: list[dict], notes: list[str]) -> None:
    print(f"{os.path.basename(file)}: median of a call, interleaved, how much faster Vitrine is (95 % interval); error: greatest difference from eager")
    for r in rows:
        faster = "" if r["side"] == "vitrine" else ratio_text(r["vitrine_faster"])
        print(f"{r['side']:14}{r['ns'] / 1e6:>10.3f} ms{faster:>26}{r['n']:>7} calls   error {r['error']:.1e}")
    for note in notes:
        print(note)


def copy_ns(torch, moved: int, seconds: float) -> float:
    """Time of a copy that reads and writes `moved` bytes together, into memory that is there already."""
    source = torch.randn(moved // 8)
    target = torch.empty_like(source)
    return median(measure({"copy": target.copy_}, (source,), seconds)["copy"])


def steady_state(against: list[str], seconds: float) -> list[dict]:
    import torch

    import vitrine

    rows = []
    with torch.no_grad():
        for case in CASES:
            function, args = case.make(torch)
            sides = {"eager": function, "vitrine": vitrine.compile(function)}
            if "inductor" in against:
                torch._dynamo.reset()
                sides["inductor"] = torch.compile(function)
            torch.testing.assert_close(sides["vitrine"](*args), function(*args))
            times = measure(sides, args, seconds)
            row = {"case": case.name, **{f"{name}_ns": median(ns) for name, ns in times.items()}}
            row |= {f"{name}_vitrine_faster": speed_up(ns, times["vitrine"]) for name, ns in times.items() if name != "vitrine"}
            if case.bytes:
                row["bandwidth_of_copy"] = copy_ns(torch, case.bytes, seconds) / row["vitrine_ns"]
            rows.append(row)
    return rows


def print_steady(rows: list[dict], against: list[str]) -> None:
    sides = ["eager", "vitrine", *against]
    others = [side for side in sides if side != "vitrine"]
    print(f"{'case':32}" + "".join(f"{s:>12}" for s in sides) + "".join(f"{'vs ' + side:>26}" for side in others) + f"{'of copy':>9}")
    for r in rows:
        cells = "".join(f"{r[s + '_ns'] / 1000:>10.2f}us" for s in sides)
        ratios = "".join(f"{ratio_text(r[side + '_vitrine_faster']):>26}" for side in others)
        share = f"{r['bandwidth_of_copy']:>8.0%}" if "bandwidth_of_copy" in r else ""
        print(f"{r['case']:32}{cells}{ratios}{share}")


CHILD = """
import json, os, sys, time
t0 = time.perf_counter()
import torch
side = os.environ["VITRINE_BENCH_SIDE"]
if side == "vitrine":
    import vitrine
    compile = vitrine.compile
else:
    import torch._dynamo, torch._inductor.compile_fx
    compile = torch.compile
from vitrine._tools.bench import model_of
entry = model_of(os.environ["VITRINE_BENCH_FILE"])
t1 = time.perf_counter()
with torch.no_grad():
    compiled = compile(entry.function)
    compiled(*entry.args, **entry.kwargs)
    t2 = time.perf_counter()
    compiled(*entry.args, **entry.kwargs)
    t3 = time.perf_counter()
print("\\n" + json.dumps({"import": t1 - t0, "first": t2 - t1, "second": t3 - t2}))
"""


def fresh_process(side: str, file: str, cache: str) -> dict:
    env = dict(os.environ, VITRINE_BENCH_SIDE=side, VITRINE_BENCH_FILE=file, VITRINE_CACHE_DIR=cache, TORCHINDUCTOR_CACHE_DIR=cache)
    result = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True)
    if result.returncode:
        told = result.stderr[-3000:].rstrip()
        sys.exit(told if told.startswith("vitrine bench:") else f"vitrine bench: {side} failed:\n{told}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def compile_times(file: str, sides: list[str], processes: int) -> list[dict]:
    """Cold: an empty cache; warm: a second process on the cache the cold one left."""
    samples: dict[tuple[str, str], list[dict]] = {}
    for _ in range(processes):
        for side in sides:
            with tempfile.TemporaryDirectory() as cache:
                for temperature in ("cold", "warm"):
                    samples.setdefault((side, temperature), []).append(fresh_process(side, file, cache))
    return [
        {"side": side, "cache": temperature, **{k: median([r[k] for r in runs]) for k in runs[0]}, "n": len(runs)}
        for (side, temperature), runs in samples.items()
    ]


def main() -> int:
    if "--cuda" in sys.argv[1:]:
        from vitrine._tools import bench_cuda

        sys.argv.remove("--cuda")
        return bench_cuda.main()
    if "--cpu" in sys.argv[1:]:
        from vitrine._tools.cpu_cases import table

        sys.argv.remove("--cpu")
        return table.main()
    parser = argparse.ArgumentParser(prog="vitrine bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a Python file with a model: measure its calls instead of kernels")
    parser.add_argument("--against", default="", help="peers, comma separated: inductor; with FILE also eager, onnxruntime, openvino")
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time a case")
    parser.add_argument("--compile", metavar="FILE", help="measure the first call of FILE's model instead")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    against = [a for a in options.against.split(",") if a]
    known = ["eager", "inductor", "onnxruntime", "openvino"] if options.file else ["inductor"]
    if unknown := [a for a in against if a not in known]:
        parser.error(f"--against knows {', '.join(known)}{'' if options.file else ' (more with FILE)'}, not {', '.join(unknown)}")
    if options.file and options.compile:
        parser.error("FILE and --compile FILE do not go together")
    if options.seconds <= 0 or options.processes < 1:
        parser.error("--seconds and --processes take numbers above 0")
    if options.compile:
        rows = compile_times(options.compile, ["vitrine", *against], options.processes)
        for r in rows:
            if not options.json:
                print(f"{r['side']:10}{r['cache']:6} import {r['import']:6.2f} s   first call {r['first']:7.3f} s   second {r['second'] * 1e3:8.2f} ms   (median of {r['n']})")
    else:
        if "inductor" in against and (problem := inductor_is_at_its_best()):
            sys.exit(f"vitrine bench: {problem}; the comparison would not be fair")
        if options.file:
            rows, notes = model_rows(options.file, against, options.seconds)
            if not options.json:
                print_model(options.file, rows, notes)
        else:
            rows = steady_state(against, options.seconds)
            if not options.json:
                print_steady(rows, against)
    if options.json:
        print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
