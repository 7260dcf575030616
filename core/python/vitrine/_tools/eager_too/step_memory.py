"""What one step of a script holds of memory, on either side. A step is one that `Calls` tells; which one is fixed, since nobody
knows beforehand which steps compile. Its time is part of no comparison."""

import contextlib

import torch
from torch.autograd.profiler import profile

from vitrine import _engine
from vitrine._tools.eager_too.steps import Calls, steps_of
from vitrine._tools.memory import blocks_of, owned, put, put_compiled
from vitrine._tools.timeline import Slice, add_depths, begun, operators_of, relate, set_marks, stderr_closed

STEP = 5  # from 0: most scripts compile in their first steps, and few have less


class StepMemory:
    """Has PyTorch's profiler note one step's memory. A profiler of the script's own comes first: then there is none."""

    def __init__(self):
        self.prof = self.marks = None
        self.whole = False
        self.problem = ""
        self.prepare = profile._prepare_trace

    def begin(self) -> None:
        try:
            with stderr_closed():
                self.prof = profile(use_kineto=True, use_cpu=True, profile_memory=True)
                self.prof.__enter__()
            self.marks = set_marks()
        except Exception as error:  # the script profiles itself
            self.prof, self.problem = None, f"{type(error).__name__}: {error}"
            return

        def prepare(its):
            self.end("the script begins a profile of its own in that step")
            return self.prepare(its)

        profile._prepare_trace = prepare

    def end(self, problem: str = "") -> None:
        """problem: why the step was not seen to its end."""
        if not self.prof or profile._prepare_trace is self.prepare:
            return
        profile._prepare_trace = self.prepare
        self.whole, self.problem = not problem, problem
        with stderr_closed(), contextlib.suppress(Exception):
            self.prof.__exit__(None, None, None)

    def measured(self, calls: list):
        """(profile, marks, begin, end) of the step; None where it was not seen to its end."""
        steps = steps_of(calls)
        if not self.whole or steps.anchor or len(steps.ns) <= STEP:
            return None
        return self.prof, self.marks, *steps.within(STEP)


class WeighedCalls(Calls):
    """Notes calls, and one step's memory. The step is one of those that the first callable begins."""

    def __init__(self, eager: bool = False, finishes: bool = True):
        self.memory, self.begun_first = StepMemory(), 0
        super().__init__(eager, finishes)

    def between(self, rank: int) -> None:
        if rank:
            return
        if self.begun_first == STEP:
            self.memory.begin()
        elif self.begun_first == STEP + 1:
            self.memory.end()
        self.begun_first += 1

    def take(self) -> list[tuple[int, int, int]]:
        self.memory.end("the sixth step is looked at, and no seventh tells where it ends")
        return super().take()


def eager_report(memory: StepMemory, calls: list) -> dict:
    """Of the eager process, for the one that records: blocks, and the operators that they are of."""
    measured = memory.measured(calls)
    if not measured:
        return {"problem": memory.problem}
    operators = operators_of(*measured)
    return {"blocks": blocks_of(measured), "operators": [(s.start, s.duration, s.name) for s in operators], "ns": measured[3] - measured[2]}


def record_compiled_step(recording, run, timeline, entries: list[tuple], memory: StepMemory, calls: list) -> None:
    """Writes what the compiled step held, where nothing was compiled in it."""
    measured = memory.measured(calls)
    if memory.problem:
        recording.message("info", "environment", f"What a step holds of memory was not recorded: {memory.problem}.", run=run["id"], about="memory")
    if not measured or timeline is None:
        return
    graph, _ = timeline
    _, _, begin, end = measured
    own = [entry for entry in entries if begin <= entry[2] < end]
    if own and not overlaps(compiling(graph), begin, end):
        put_compiled(recording, run, measured, own, graph, torch.cuda.is_initialized())


def record_prices(recording, run, timeline) -> None:
    """Where kernels were made: the machine's ceilings, by which kernels and what is kept for backward have a price."""
    from vitrine._tools.measuring import record_ceilings

    if timeline is not None and timeline[0].db.execute("SELECT 1 FROM kernel LIMIT 1").fetchone():
        record_ceilings(recording, run, torch.device("cuda" if torch.cuda.is_initialized() else "cpu"))


def record_eager_step(recording, run, graph, entries: list[tuple], begin: int, end: int, report: dict) -> None:
    """begin, end: of the compiled step of that number."""
    if "blocks" not in report:
        return
    operators = add_depths([Slice(start, ns, name) for start, ns, name in report["operators"]])
    relate(operators, graph, begun([entry for entry in entries if begin <= entry[2] < end]))
    put(recording, run, "eager", report["ns"], owned(report["blocks"], operators))


def compiling(graph) -> list[tuple[int, int]]:
    """When something was compiled: begin and end on CLOCK_MONOTONIC."""
    started = _engine.session_started()
    return [(started + start, started + start + ns) for start, ns in graph.db.execute("SELECT start_ns, duration_ns FROM compilation")]


def overlaps(times: list[tuple[int, int]], begin: int, end: int) -> bool:
    return any(begin < until and end > start for start, until in times)
