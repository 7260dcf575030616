"""What one eager and one compiled call hold of memory: when, for how long, and by which operator or launch.

Either side is one call more, by PyTorch's profiler with its memory events; on the CPU a plan's temporaries lie in memory of
its own, of which the plan says what is in use. Its times are longer than those of the other
calls, and are never used for a speed-up.
"""

import sys
import time
from bisect import bisect_right

from torch.autograd.profiler import profile

from vitrine import _engine
from vitrine._tools import gpu
from vitrine._tools.timeline import MARK, Graph, Slice, add_depths, begun, clock_offset, launch_slices, operators_of, relate, set_marks, stderr_closed

MOST_ALLOCATIONS = 50_000  # of a side: what comes behind them is not told


class Blocks:
    """Memory events of a call as blocks: [start, end or -1, bytes, name of the operator, device]."""

    def __init__(self, events, begin: int, end: int):
        self.rows: list[list] = []
        self.live: dict[tuple, int] = {}  # by device and address
        self.begin, self.end = begin, end
        found: list[tuple] = []
        self.collect(events, found)
        for at, device, address, size, name in sorted(found, key=lambda e: e[0]):
            self.add(at, device, address, size, name)

    def collect(self, events, found: list[tuple]) -> None:
        stack = [(event, None) for event in events]
        while stack:
            event, parent = stack.pop()
            name = event.name
            if "Alloc" in str(event.tag):
                fields = event.extra_fields
                found.append((event.start_time_ns, str(fields.device), fields.ptr, fields.alloc_size, parent or ""))
            stack += [(child, name) for child in event.children]

    def add(self, at: int, device: str, address: int, size: int, name: str) -> None:
        if not self.begin <= at <= self.end:
            return
        if size > 0 and len(self.rows) < MOST_ALLOCATIONS:
            self.live[device, address] = len(self.rows)
            self.rows.append([at - self.begin, -1, size, name, device])
        elif size < 0 and (device, address) in self.live:  # what was there before the call is not the call's
            self.rows[self.live.pop((device, address))][1] = at - self.begin


class Owners:
    """Which slice a time falls into: the innermost that has an entity, else the outermost."""

    def __init__(self, slices: list[Slice]):
        self.slices = add_depths(slices)
        self.starts = [s.start for s in self.slices]

    def at(self, when: int) -> Slice | None:
        outermost = None
        for i in range(bisect_right(self.starts, when) - 1, -1, -1):
            s = self.slices[i]
            if s.start + s.duration >= when:
                outermost = s
                if s.entity:
                    return s
            if s.depth == 0:
                break
        return outermost


def profiled(called, args, kwargs):
    """One call with its memory events: (profile, marks, begin, end)."""
    with stderr_closed():
        prof = profile(use_kineto=True, use_cpu=True, profile_memory=True)
        prof.__enter__()
    try:
        marks = set_marks()
        begin = time.monotonic_ns()
        result = called(*args, **kwargs)
        end = time.monotonic_ns()
        del result
    finally:
        with stderr_closed():
            prof.__exit__(None, None, None)
    return prof, marks, begin, end


def planned(graph: Graph, entries: list[tuple], begin: int) -> list[dict]:
    """Temporaries in the memory that plans on the CPU share, which is no allocator's: each from the launch that makes it to
    the one that reads it last, or writes over it."""
    calls: list[tuple[int, list[tuple]]] = []
    for entry in entries:
        if not calls or calls[-1][0] != entry[0] or entry[1] <= calls[-1][1][-1][1]:
            calls.append((entry[0], []))
        calls[-1][1].append(entry)
    out = []
    for compilation, launches in calls:
        found = graph.db.execute("SELECT id, bytes, first, last, reuses FROM buffer WHERE compilation = ? AND kind = 'temporary' AND offset >= 0 AND bytes > 0", (compilation,)).fetchall()
        taken = {reuses: first for _, _, first, _, reuses in found if reuses}
        for buffer, size, first, last, _ in found:
            made = next((e for e in launches if e[1] >= first), None)
            read = next((e for e in reversed(launches) if e[1] <= min(last, taken.get(buffer, last + 1) - 1)), made)
            if made and read:
                text = graph.launches.get((compilation, made[1]), (0, ""))[1]
                out.append({"start_ns": made[2] - begin, "freed_ns": max(made[3], read[3]) - begin, "bytes": size, "op": text, "entity": buffer})
    return out


def blocks_of(measured) -> list[tuple]:
    """What came from PyTorch's allocator: (start, end or -1, bytes, name of the operator)."""
    prof, marks, begin, end = measured
    offset = clock_offset(prof.kineto_results.events(), marks)
    blocks = Blocks(prof.kineto_results.experimental_event_tree(), begin + offset, end + offset)
    return [(start, freed, size, name) for start, freed, size, name, _ in blocks.rows]


def owned(blocks: list[tuple], slices: list[Slice]) -> list[dict]:
    """The blocks with what made them."""
    owners = Owners(slices)
    out = []
    for start, freed, size, name in blocks:
        owner = owners.at(start)
        text = owner.name if owner else name.removeprefix("aten::")
        out.append({"start_ns": start, "freed_ns": freed, "bytes": size, "op": "" if text == MARK else text, "entity": owner.entity if owner else 0})
    return out


def put(recording, run, side: str, ns: int, rows: list[dict]) -> None:
    """ns: what the call took that these rows are of."""
    for ordinal, row in enumerate(sorted(rows, key=lambda r: r["start_ns"])):
        recording.put("allocation", run=run["id"], side=side, ordinal=ordinal, **row)
    recording.put("meta", key=f"memory_{side}_ns", value=str(ns))


def record_memory(recording, run, function, compiled, args, kwargs) -> None:
    """Writes what a call of either side allocates."""
    on_gpu = gpu.device_of(function, args, kwargs) is not None
    eager, ours = (gpu.finished(function), gpu.finished(compiled)) if on_gpu else (function, compiled)
    _engine.profile(sys.maxsize)
    try:
        compiled_side = profiled(ours, args, kwargs)
        entries = _engine.profile_take()
    finally:
        _engine.profile(0)
    eager_side = profiled(eager, args, kwargs)
    recording.commit()
    graph = Graph(recording.path)
    prof, marks, begin, end = eager_side
    operators = operators_of(prof, marks, begin, end)
    relate(operators, graph, begun(entries) or list(graph.nodes))
    put(recording, run, "eager", end - begin, owned(blocks_of(eager_side), operators))
    put_compiled(recording, run, compiled_side, entries, graph, on_gpu)


def put_compiled(recording, run, measured, entries: list[tuple], graph: Graph, on_gpu: bool) -> None:
    """entries: of that call, as _engine.profile_take gives them."""
    _, _, begin, end = measured
    rows = owned(blocks_of(measured), launch_slices(entries, begin, graph))
    put(recording, run, "compiled", end - begin, rows if on_gpu else rows + planned(graph, entries, begin))
