"""Timelines of one eager and one compiled call on the same clock, with the launch that replaced each eager operator.

Eager operators come from PyTorch's own profiler, module ranges from forward hooks, compiled launches from the launch
plan. Profiled times are shown, and never used for a speed-up.
"""

import contextlib
import os
import statistics
import sys
import time
from dataclasses import dataclass, field

import torch
from torch.autograd.profiler import profile, record_function

from vitrine import _engine

from vitrine._tools import gpu
from vitrine._tools.evidence import Watch, spread
from vitrine._tools.session_file import read_own

REPETITIONS = 5, 25  # of a profiled call: at least; at most, while they take less than
PROFILED_NS = 1_000_000_000
LONGEST_NS = 6_000_000_000  # from which on there are no further calls, however few there were
MOST_CELLS = 4_000_000  # of the exact alignment of eager operators with graph nodes: about a second
LOOK_AHEAD = 80  # eager calls that the alignment of a longer program may skip
KIND_SHIFT = 40


@dataclass
class Slice:
    start: int
    duration: int
    name: str
    family: str = "opaque"
    entity: int = 0
    depth: int = 0
    relation: int = 0


def add_depths(slices: list[Slice]) -> list[Slice]:
    """Sorts by start and sets the nesting depth."""
    slices.sort(key=lambda s: (s.start, -s.duration))
    open_ends: list[int] = []
    for s in slices:
        while open_ends and open_ends[-1] <= s.start:
            open_ends.pop()
        s.depth = len(open_ends)
        open_ends.append(s.start + s.duration)
    return slices


def put_lane(recording, run, side, kind, label, ordinal, slices: list[Slice]) -> None:
    import array

    def column(code, values):
        return _engine.session_blob(array.array(code, values).tobytes())

    recording.put(
        "lane", id=ordinal + 1 + 100 * (run["id"] & 0xFFFF), run=run["id"], side=side, kind=kind, label=label,
        ordinal=ordinal, count=len(slices),
        start=column("q", [s.start for s in slices]), duration=column("q", [s.duration for s in slices]),
        name=column("i", [_engine.session_name(s.name, s.family) for s in slices]),
        entity=column("q", [s.entity for s in slices]), depth=column("b", [s.depth for s in slices]),
        relation=column("q", [s.relation for s in slices]),
    )  # fmt: skip


class Graph:
    """What the session knows of the compiled programs: ATen nodes in order and the launch each became."""

    db = None

    def __init__(self, path: str):
        self.db = read_own(path)
        # What a backward compilation begins with is its half of the joint graph.
        rows = (
            "SELECT graph.compilation, node.id, node.op, node.family FROM node JOIN graph ON node.graph = graph.id WHERE graph.pass = '' AND node.kind = 'op' "
            "AND (graph.stage = 'aten' OR graph.stage = 'backward' AND graph.compilation IN (SELECT backward FROM backward)) ORDER BY graph.compilation, node.ordinal"
        )
        self.nodes: dict[int, list[tuple]] = {}  # by compilation
        for compilation, node, op, family in self.db.execute(rows):
            self.nodes.setdefault(compilation, []).append((node, op.split(".")[1] if op.startswith("aten.") else op, family))
        self.launches = {
            (compilation, ordinal): (launch, text, family or "opaque")
            for launch, compilation, ordinal, text, family in self.db.execute(
                "SELECT launch.id, launch.compilation, launch.ordinal, launch.text, kernel.family FROM launch LEFT JOIN kernel ON launch.kernel = kernel.id"
            )
        }
        self.compilation_of = {launch: compilation for (compilation, _), (launch, _, _) in self.launches.items()}
        # A library's bytes and operations are not counted, so that a matrix product or convolution comes first by name.
        # What launches nothing (a view) does no work at all, however large it is.
        rows = "SELECT launch.id, launch.kernel != 0, kernel.family = 'matmul', kernel.flops, launch.bytes FROM launch LEFT JOIN kernel ON launch.kernel = kernel.id"
        self.launch_work = {launch: (bool(runs), bool(matmul), flops or 0, moved or 0) for launch, runs, matmul, flops, moved in self.db.execute(rows)}

    def __del__(self):  # at once: a connection is in a cycle, and while it is open the session keeps its log
        if self.db:
            self.db.close()

    def launch_of(self, node: int, compilation: int = 0) -> int:
        """The launch that descends from a node, of several the one that does most of the work; 0: it needed none (a folded view,
        dead code). A launch of `compilation`, the node's own, comes before those of its backward."""
        seen, frontier, found = {node}, [node], []
        while frontier:
            at = frontier.pop()
            for (derived,) in self.db.execute("SELECT derived FROM link WHERE origin = ?", (at,)):
                if derived in self.launch_work:
                    found.append(derived)
                elif derived not in seen:
                    seen.add(derived)
                    frontier.append(derived)
        return max(sorted(found), key=lambda launch: (self.compilation_of[launch] == compilation, *self.launch_work[launch]), default=0)


def aligned(names: list[str], ops: list[str]) -> list[tuple[int, int]]:
    """Pairs (i, j) with names[i] == ops[j], both rising, as many as possible (longest common subsequence)."""
    if len(names) * len(ops) > MOST_CELLS:
        return aligned_in_order(names, ops)
    # best[i][j]: length for names[i:] and ops[j:] = best[i+1][j+1] + 1 if they begin alike,
    #             else max(best[i+1][j], best[i][j+1])
    best = [[0] * (len(ops) + 1)]
    for name in reversed(names):
        below, row = best[-1], [0] * (len(ops) + 1)
        for j in range(len(ops) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if name == ops[j] else max(below[j], row[j + 1])
        best.append(row)
    best.reverse()
    pairs, i, j = [], 0, 0
    while i < len(names) and j < len(ops):
        if names[i] == ops[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def aligned_in_order(names: list[str], ops: list[str]) -> list[tuple[int, int]]:
    """The same for long programs: each operator takes the next call of its name that is not far away."""
    pairs, at = [], 0
    for j, op in enumerate(ops):
        i = next((i for i in range(at, min(at + LOOK_AHEAD, len(names))) if names[i] == op), -1)
        if i >= 0:
            pairs.append((i, j))
            at = i + 1
    return pairs


def relate(slices: list[Slice], graph: Graph, compilations: list[int]) -> None:
    """Eager operators and the nodes of what ran compiled, `compilations` in this order, run in the same order; eager has
    calls inside calls besides."""
    nodes = [(*node, compilation) for compilation in compilations for node in graph.nodes.get(compilation, [])]
    for i, j in aligned([s.name for s in slices], [op for _, op, *_ in nodes]):
        node, _, family, compilation = nodes[j]
        slices[i].entity, slices[i].family, slices[i].relation = node, family, graph.launch_of(node, compilation)


@contextlib.contextmanager
def module_ranges(model, out: list[tuple[int, int, str]]):
    """Collects (start, end, path) of every forward of `model`'s modules while it is active."""
    if not isinstance(model, torch.nn.Module):
        yield
        return
    names = {id(m): name for name, m in model.named_modules()}
    open_calls: list[tuple[int, int]] = []

    def before(module, args):
        open_calls.append((id(module), time.monotonic_ns()))

    def after(module, args, result):
        key, start = open_calls.pop()
        if names.get(key):
            out.append((start, time.monotonic_ns(), names[key]))

    handles = [
        torch.nn.modules.module.register_module_forward_pre_hook(before),
        torch.nn.modules.module.register_module_forward_hook(after),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


MARK, MEMORY, AUTOGRAD = "vitrine.mark", "[memory]", "autograd::engine"


def set_marks() -> list[tuple[int, int]]:
    """Known times on CLOCK_MONOTONIC, around ranges of the profile that is being taken."""
    marks = []
    for _ in range(4):
        begin = time.monotonic_ns()
        with record_function(MARK):
            pass
        marks.append((begin, time.monotonic_ns()))
    return marks


def operators_of(prof, marks: list[tuple[int, int]], begin: int, end: int) -> list[Slice]:
    """What a profile tells of the thread that set its marks, from `begin` on; and of the threads on which autograd runs a
    backward pass meanwhile."""
    events = prof.kineto_results.events()
    offset = clock_offset(events, marks)
    threads = {next(e.start_thread_id() for e in events if e.name() == MARK)}
    threads |= {e.start_thread_id() for e in events if e.name().startswith(AUTOGRAD)}
    return [
        Slice(max(0, e.start_ns() - offset - begin), e.duration_ns(), e.name().removeprefix("aten::"))
        for e in events
        if begin <= e.start_ns() - offset < end and e.start_thread_id() in threads and e.name() not in (MARK, MEMORY)
    ]


def clock_offset(events, marks: list[tuple[int, int]]) -> int:
    """Profiler clock minus CLOCK_MONOTONIC in ns, from the shortest of the marks set around known times."""
    found = [e for e in events if e.name() == MARK]
    best = min(range(len(found)), key=lambda i: marks[i][1] - marks[i][0])
    return found[best].start_ns() - (marks[best][0] + marks[best][1]) // 2


@contextlib.contextmanager
def quiet_profile():
    """PyTorch's profiler without the lines that its library writes to stderr when it starts and stops."""
    prof = profile(use_kineto=True, use_cpu=True)
    with stderr_closed():
        prof.__enter__()
    try:
        yield prof
    finally:
        with stderr_closed():
            prof.__exit__(None, None, None)


@contextlib.contextmanager
def stderr_closed():
    """Nothing reaches the process's stderr, from native code neither."""
    sys.stderr.flush()
    kept, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(sink)


@dataclass
class Call:
    """One profiled call: slices from its begin, its duration, and what it did on a GPU."""

    slices: list[Slice]
    modules: list[Slice]
    begin: int
    duration: int
    activities: list[dict]
    problem: tuple[str, str] | None = None
    compilations: list[int] = field(default_factory=list)  # that ran in it, in order, each as often as it began
    measurement: dict = field(default_factory=dict)  # of the calls that it was chosen from: a row of the session, but for run and side
    others: list["Call"] = field(default_factory=list)  # all of them, with slices and activities; of a compiled call

    def owners(self) -> list[tuple]:
        return [(self.begin + s.start, self.begin + s.start + s.duration, s.name, s.family, s.entity, s.relation) for s in self.slices]

    def within(self) -> list[dict]:
        return gpu.within(self.activities, self.begin, self.begin + self.duration)

    def on_gpu(self) -> dict[tuple, list[Slice]]:
        return gpu.slices_of(self.within(), self.begin, self.owners(), Slice)

    def kernels(self) -> list[tuple[int, str, int]]:
        """(launch, name on the device, correlation) in the order of the launches."""
        return gpu.kernels_of(self.within(), self.owners())


def enough(durations: list[int]) -> bool:
    """Whether these profiled calls, in ns, will do: short ones vary most, and cost least to repeat."""
    fewest, most = REPETITIONS
    spent = sum(durations)
    return len(durations) >= most or len(durations) >= fewest and spent > PROFILED_NS or spent > LONGEST_NS


def nearest(durations: list[int], plain: float) -> int:
    """Which of the profiled calls stands for the others: the one that took most nearly what the unprofiled calls did in the
    median, `plain`; where these were not measured (0), the one most nearly their own median."""
    wanted = plain or statistics.median(durations)
    return min(range(len(durations)), key=lambda i: abs(durations[i] - wanted))


def measurement(durations: list[int], kept: int, watch: Watch) -> dict:
    return {"kind": "profiled", "kept": kept, "kept_ns": float(durations[kept]), **spread(durations), **watch.evidence()}


def eager_call(function, args, kwargs, on_gpu=False, plain: float = 0) -> Call:
    """Of some profiled calls the one that is nearest to `plain`, the median of calls without a profile."""
    calls: list[tuple[int, int]] = []
    modules: list[tuple[int, int, str]] = []
    called = gpu.finished(function) if on_gpu else function
    if on_gpu:
        function(*args, **kwargs)
    # PyTorch's profiler inside: it subscribes to CUPTI although it is asked for the CPU alone.
    with gpu.recorded(on_gpu) as recording, quiet_profile() as prof, module_ranges(function, modules):
        marks = set_marks()
        watch = Watch()
        while not enough([end - begin for begin, end in calls]):
            begin = time.monotonic_ns()
            called(*args, **kwargs)
            calls.append((begin, time.monotonic_ns()))
        durations = [end - begin for begin, end in calls]
        kept = nearest(durations, plain)
        measured = measurement(durations, kept, watch)
    begin, end = calls[kept]
    operators = operators_of(prof, marks, begin, end)
    ranges = [Slice(s - begin, e - s, name, "view") for s, e, name in modules if begin <= s < end]
    call = Call(add_depths(operators), add_depths(ranges), begin, end - begin, recording.activities, recording.problem)
    call.measurement = measured
    return call


def begun(entries: list[tuple]) -> list[int]:
    """The compilations of a profile: one begins where another one's launches or its own first stand."""
    out: list[int] = []
    before = (0, -1)
    for compilation, ordinal, *_ in entries:
        if compilation != before[0] or ordinal <= before[1]:
            out.append(compilation)
        before = (compilation, ordinal)
    return out


def launch_slices(entries: list[tuple], begin: int, graph: Graph) -> list[Slice]:
    """The launches of one profiled call, from its begin."""
    slices = []
    for compilation, ordinal, start, end in entries:
        launch, text, family = graph.launches.get((compilation, ordinal), (0, f"launch {ordinal}", "opaque"))
        slices.append(Slice(start - begin, end - start, text, family, launch, 0, launch))
    return add_depths(slices)


def compiled_call(function, args, kwargs, recording, on_gpu=False, plain: float = 0) -> tuple[Call, Graph]:
    """Of some profiled calls the one that is nearest to `plain`, with its launches; and what is known after them, since a
    call may compile."""
    runs = []
    called = gpu.finished(function) if on_gpu else function
    if on_gpu:
        called(*args, **kwargs)
    with gpu.recorded(on_gpu) as device:
        watch = Watch()
        while not enough([duration for duration, _, _ in runs]):
            _engine.profile(sys.maxsize)
            begin = time.monotonic_ns()
            try:
                called(*args, **kwargs)
            finally:
                end = time.monotonic_ns()
                entries = _engine.profile_take()
                _engine.profile(0)
            runs.append((end - begin, begin, entries))
        durations = [duration for duration, _, _ in runs]
        kept = nearest(durations, plain)
        measured = measurement(durations, kept, watch)
    recording.commit()
    graph = Graph(recording.path)
    calls = [
        Call(launch_slices(entries, begin, graph), [], begin, duration, device.activities, device.problem, begun(entries)) for duration, begin, entries in runs
    ]
    call = calls[kept]
    call.measurement, call.others = measured, calls
    return call, graph


def record_timelines(recording, run, function, compiled, args, kwargs) -> Call:
    """Writes the lanes of both sides; returns the compiled call."""
    on_gpu = gpu.device_of(function, args, kwargs) is not None
    eager = eager_call(function, args, kwargs, on_gpu, run.get("eager_ns", 0))
    ours, graph = compiled_call(compiled, args, kwargs, recording, on_gpu, run.get("compiled_ns", 0))
    relate(eager.slices, graph, ours.compilations or list(graph.nodes))
    problem = eager.problem or ours.problem
    theirs_there, ours_there = ({}, {}) if problem or not on_gpu else (eager.on_gpu(), ours.on_gpu())
    lanes = [("eager", "module", "modules", eager.modules), ("eager", "thread", "operators", eager.slices)]
    # The devices of both sides face each other.
    lanes += [("eager", lane[0], gpu.label_of(lane), theirs_there[lane]) for lane in gpu.in_order(theirs_there)]
    lanes += [("compiled", lane[0], gpu.label_of(lane), ours_there[lane]) for lane in reversed(gpu.in_order(ours_there))]
    lanes.append(("compiled", "launch", "launches", ours.slices))
    for ordinal, (side, kind, label, slices) in enumerate(lanes):
        put_lane(recording, run, side, kind, label, ordinal, add_depths(slices))
    for side, call, plain in (("eager", eager, run["eager_ns"]), ("compiled", ours, run["compiled_ns"])):
        recording.put("measurement", run=run["id"], side=side, **call.measurement)
        recording.put("meta", key=f"profiled_{side}_ns", value=str(call.duration))
        if plain:
            recording.put("meta", key=f"profiling_cost_{side}", value=f"{call.duration / plain - 1:+.1%}")
    if problem:
        text = f"There is no timeline of the GPU: {problem[0]}."
        recording.message("warning", "environment", text, problem[1], run=run["id"])
    elif on_gpu:
        put_launch_times(recording, graph, gpu.time_of_launches(ours_there), [gpu.time_of_launches(call.on_gpu()) for call in ours.others])
        if run["mode"] in ("reduce-overhead", "max-autotune"):
            text = "The timeline shows the compiled call launch by launch: a call whose launches are timed replays no CUDA graph."
            recording.message("info", "environment", text, "The measured times and the speed-up are of replays.", run=run["id"])
    else:
        put_launch_times(recording, graph, time_of_launches(ours), [time_of_launches(call) for call in ours.others])
    ours.problem = problem
    ours.others = []
    return ours


def record_script_timeline(recording, run, entries, ranges=()) -> tuple[Graph, int] | None:
    """Lanes of a script's compiled run: its calls of what was compiled and the launches inside them, from the first call on,
    and what it did beside. entries: as _engine.profile_take gives them; ranges: as Ranges.take does. Returns what is known of
    its programs, and when the first call began; None where nothing that was compiled was called."""
    recording.commit()
    graph = Graph(recording.path)
    rows = (
        "SELECT call.start_ns, call.duration_ns, iif(call.kind = 'compile', 'compile ', '') || label, compilation.id FROM call JOIN compilation ON call.compilation = compilation.id "
        "WHERE run = ? AND call.duration_ns > 0 ORDER BY call.start_ns"
    )
    calls = [Slice(start, duration, name, "opaque", compilation) for start, duration, name, compilation in graph.db.execute(rows, (run["id"],))]
    if not calls:
        return None
    first = calls[0].start
    for call in calls:
        call.start -= first
    launches, times = [], {}
    for compilation, ordinal, start, end in entries:
        if (compilation, ordinal) in graph.launches:
            launch, text, family = graph.launches[compilation, ordinal]
            launches.append(Slice(start - _engine.session_started() - first, end - start, text, family, launch))
            times.setdefault(launch, []).append(end - start)
    begin = _engine.session_started() + first
    beside = [Slice(start - begin, end - start, name, "opaque") for start, end, name in ranges if start >= begin]
    put_lane(recording, run, "compiled", "call", "calls", 0, add_depths(calls))
    if beside:
        put_lane(recording, run, "compiled", "range", "beside", 1, add_depths(beside))
    put_lane(recording, run, "compiled", "launch", "launches", 2, add_depths(launches))
    if not torch.cuda.is_initialized():  # what a launch takes on a GPU is not seen from here
        put_launch_times(recording, graph, {launch: statistics.median(ns) for launch, ns in times.items()}, of_calls(times))
    return graph, begin


def time_of_launches(call: Call) -> dict[int, int]:
    """How long each launch of a call took, in ns: where its code ran several times, the last of them."""
    return {s.entity: s.duration for s in call.slices}


def of_calls(times: dict[int, list[int]]) -> list[dict[int, int]]:
    """{launch: its times} as one dict a call."""
    longest = max(map(len, times.values()), default=0)
    return [{launch: ns[i] for launch, ns in times.items() if i < len(ns)} for i in range(longest)]


def put_launch_times(recording, graph: Graph, times: dict[int, float], calls: list[dict[int, int]]) -> None:
    """Fills each launch's time in ns, by its id (of a GPU's launch that of its kernels), and how it scatters over `calls`."""
    columns = [c[1] for c in graph.db.execute("PRAGMA table_info(launch)")]
    for launch, ns in times.items():
        found = graph.db.execute("SELECT * FROM launch WHERE id = ?", (launch,)).fetchone()
        if found:
            each = spread([call[launch] for call in calls if launch in call])
            several = {"calls": each["calls"], "lower_ns": each["lower_ns"], "upper_ns": each["upper_ns"]} if each["calls"] else {}
            recording.put("launch", **{**dict(zip(columns, found)), "median_ns": float(ns), **several})
