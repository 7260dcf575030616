"""What the GPU's own counters tell of each kernel of a compiled call, and at which instructions its warps wait: both read
in calls of their own, after everything that is timed, and never part of a time."""

import contextlib
import fcntl
import os
import sys
import tempfile
import time

import torch

from vitrine import _engine, config

from vitrine._tools import gpu, timeline

PERIOD = 10  # an instruction of each scheduler is looked at every 2^10 cycles
MOST_PASSES = 40
USUAL_PASSES = 12
LONGEST_WAIT_S = 60
LONGEST_NS = 20_000_000_000  # of all calls that are made to count
NEITHER = "The GPU's counters were not read, nor where the kernels wait: {}."
NO_COUNTERS = "The GPU's counters were not read: {}."
NO_SAMPLES = "Where the kernels wait was not sampled: {}."


@contextlib.contextmanager
def launch_by_launch():
    """Calls of what was compiled launch each kernel by itself, CUDA Graph or not; yields a list of the launches, as
    _engine.profile_take gives them, that is filled at the end."""
    launches = []
    _engine.profile(sys.maxsize)
    try:
        yield launches
    finally:
        launches += _engine.profile_take()
        _engine.profile(0)


@contextlib.contextmanager
def alone():
    """While it is entered no other run of Vitrine reads this GPU's counters, which serve one process; yields False where one
    still does after LONGEST_WAIT_S."""
    uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", torch.cuda.current_device())
    try:
        lock = os.open(os.path.join(tempfile.gettempdir(), f"vitrine-counters-{uuid}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError:  # another user's: CUPTI says whether they are free
        yield True
        return
    try:
        deadline = time.monotonic() + LONGEST_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(0.05)
        yield True
    finally:
        os.close(lock)


def refused(answer) -> bool:
    return isinstance(answer, tuple)


def counted(call, most: int):
    """{kernels: [{metric: value}] in the order of the launches, the first `most`, passes, dropped}, or (what, hint). The
    call is made once a pass: each kernel finds in the caches what those before it left there."""
    session = _engine.gpu_counters_open(config.cupti, torch.cuda.current_device(), most, True)
    for _ in range(MOST_PASSES):
        if refused(session) or refused(begun := _engine.gpu_counters_begin(session)):
            return session if refused(session) else begun
        with launch_by_launch():
            call()
            torch.cuda.synchronize()
        last = _engine.gpu_counters_end(session)
        if refused(last):
            return last
        if last:
            return _engine.gpu_counters_read(session)
    return f"CUPTI wants more than {MOST_PASSES} passes", ""


def sampled(call, graph):
    """({rows, total, dropped} of one call, its kernels as of timeline.Call.kernels), or (what, hint)."""
    # Of kernels that were loaded since CUPTI began to record activities it gives no samples, unless it begins anew.
    if not torch.autograd._profiler_enabled():
        torch.cuda.synchronize()
        _engine.gpu_profiler_reset(config.cupti)
    # Activities say which launch a sample's kernel belongs to; CUPTI allows both if they are there first.
    with gpu.recorded(True) as recording:
        if recording.problem:
            return recording.problem
        session = _engine.gpu_sampling_open(config.cupti, PERIOD)
        if refused(session):
            return session
        if refused(begun := _engine.gpu_sampling_start(session)):
            return begun
        begin = time.monotonic_ns()
        with launch_by_launch() as launches:
            call()
            torch.cuda.synchronize()
        end = time.monotonic_ns()
        samples = _engine.gpu_sampling_stop(session)
        del session
    if refused(samples):
        return samples
    owners = [
        (start, stop, text, family, launch, launch)
        for compilation, ordinal, start, stop in launches
        for launch, text, family in [graph.launches.get((compilation, ordinal), (0, "", "opaque"))]
    ]
    return [samples, gpu.kernels_of(gpu.within(recording.activities, begin, end), owners)]


def record_counters(recording, run, compiled, args, kwargs, ours: timeline.Call, most: int) -> None:
    """Reads both for the kernels of a call of `compiled`, of which `ours` is a profiled one; what is refused is a message."""

    def tell(form: str, problem: tuple[str, str]) -> None:
        recording.message("warning", "environment", form.format(problem[0]), problem[1], run=run["id"])

    if ours.problem:
        return tell(NEITHER, ours.problem)
    with alone() as free:
        if not free:
            return tell(NEITHER, ("another run of Vitrine reads them", "Record again when it has ended."))
        read_both(recording, run, lambda: compiled(*args, **kwargs), ours, most, tell)


def read_both(recording, run, call, ours: timeline.Call, most: int, tell) -> None:
    graph = timeline.Graph(recording.path)
    # Counters come second: they leave CUPTI as it gives no samples.
    samples = sampled(call, graph)
    if refused(samples):
        tell(NO_SAMPLES, samples)
    elif not put_samples(recording, graph, samples[0], samples[1][:most]):
        tell(NO_SAMPLES, (f"CUPTI gave {samples[0]['total']} samples, none of them of a kernel that it knows", "Record the run in a process of its own."))
    if ours.duration * USUAL_PASSES > LONGEST_NS:
        return tell(NO_COUNTERS, (f"a call takes {ours.duration / 1e9:.1f} s, and is made about {USUAL_PASSES} times for it", "Record it with a smaller input."))
    counters = counted(call, most)
    if refused(counters):
        return tell(NO_COUNTERS, counters)
    kernels = ours.kernels()
    if problem := put_counters(recording, graph, counters, kernels, most):
        tell(NO_COUNTERS, problem)
    elif len(kernels) > most:
        text = f"Counters were read of the first {most} of {len(kernels)} kernels of a call."
        recording.message("info", "environment", text, "--counters N reads more.", run=run["id"])


def kernel_of_launch(graph) -> dict[int, int]:
    return dict(graph.db.execute("SELECT id, kernel FROM launch WHERE kernel != 0"))


def put_counters(recording, graph, counters, kernels, most) -> tuple[str, str] | None:
    """Rows of `counter`; (what, hint) where what was counted is not the call that is known."""
    found = counters["kernels"]
    if len(found) != min(len(kernels), most):
        return f"the counted call had {len(found)} kernels, the recorded one {len(kernels)}", "A program that does something else in each call cannot be counted."
    of_launch = kernel_of_launch(graph)
    ordinals: dict[int, int] = {}
    for (launch, name, _), values in zip(kernels, found):
        if launch not in of_launch:
            continue
        ordinal = ordinals[launch] = ordinals.get(launch, -1) + 1
        for metric, value in values.items():
            recording.put("counter", kernel=of_launch[launch], launch=launch, ordinal=ordinal, function=name, metric=metric, value=value)
    recording.put("meta", key="counter_passes", value=str(counters["passes"]))
    return None


class Lines:
    """Which lines of a generated kernel an instruction belongs to, and what they compute."""

    def __init__(self, graph, kernel: int):
        self.runs = graph.db.execute("SELECT line, end_line, source_line, offset, bytes FROM sass_lines WHERE kernel = ?", (kernel,)).fetchall()
        rows = "SELECT line, end_line, node FROM kernel_range WHERE kernel = ? AND text = 'assembly'"
        self.nodes = graph.db.execute(rows, (kernel,)).fetchall()

    def of(self, offset: int) -> tuple[int, int, int]:
        """(line of the SASS, line of the source, node), 0 where it is not known."""
        for line, end_line, source, begin, step in self.runs:
            at = line + ((offset - begin) // step if step else 0)
            if offset == begin or (step and begin <= offset and at <= end_line):
                return at, source, next((node for low, high, node in self.nodes if low <= at <= high), 0)
        return 0, 0, 0


def put_samples(recording, graph, samples, kernels) -> int:
    """Rows of `sample`; how many samples they hold."""
    of_launch = kernel_of_launch(graph)
    of_correlation = {correlation: of_launch.get(launch, 0) for launch, _, correlation in kernels}
    generated = {kernel for (kernel,) in graph.db.execute("SELECT id FROM kernel WHERE kind = 'generated'")}
    sums: dict[tuple, int] = {}
    for function, _, correlation, offset, reason, count in samples["rows"]:
        if kernel := of_correlation.get(correlation, 0):
            key = (kernel, function, offset if kernel in generated else -1, reason)
            sums[key] = sums.get(key, 0) + count
    lines = {kernel: Lines(graph, kernel) for kernel, *_ in sums}
    for (kernel, function, offset, reason), count in sorted(sums.items()):
        line, source, node = lines[kernel].of(offset)
        recording.put("sample", kernel=kernel, function=function, offset=offset, line=line, source_line=source, node=node, reason=reason, samples=count)
    recording.put("meta", key="sampling_period", value=str(2**PERIOD))
    if samples["dropped"]:
        recording.put("meta", key="samples_dropped", value=str(samples["dropped"]))
    return sum(sums.values())


def problems() -> list[tuple[str, tuple[str, str]]]:
    """What this machine refuses: (of what, (what, hint)); nothing where both can be read. Initialises CUDA."""
    torch.zeros(1, device="cuda")
    found = []
    asked = (
        ("samples", lambda: _engine.gpu_sampling_open(config.cupti, PERIOD)),
        ("counters", lambda: _engine.gpu_counters_open(config.cupti, torch.cuda.current_device(), 1, True)),
    )
    with alone():
        for name, ask in asked:
            if refused(answer := ask()):
                found.append((name, answer))
            del answer  # the one ends before the other begins
    return found
