"""The eager side of a script: it is run once more, as eager does, and its steps are set beside those of the compiled run."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from vitrine import _engine
from vitrine._tools.eager_too import losses
from vitrine._tools.evidence import spread
from vitrine._tools.eager_too.steps import Calls, Steps, steps_of
from vitrine._tools.eager_too.step_memory import STEP, compiling, overlaps, record_eager_step

TAIL = 4_000  # characters of what a run that failed printed
FEWEST = 2  # steady steps


@dataclass
class Beside:
    """What is known of the compiled run besides its session."""

    calls: Calls
    folder: str = field(default_factory=os.getcwd)  # both as they were before the script changed them
    environment: dict = field(default_factory=lambda: dict(os.environ))
    printed: str = ""
    evidence: dict = field(default_factory=dict)


class NoEagerSide(Exception):
    """Why there is none. detail: what the eager run printed."""

    def __init__(self, why: str, hint: str = "", detail: str = ""):
        super().__init__(why)
        self.hint, self.detail = hint, detail


@contextlib.contextmanager
def beside(wanted: bool, calls: Calls):
    """While the script runs compiled: notes what its eager run is compared with. None where none is wanted."""
    if not wanted:
        yield None
        return
    noted = Beside(calls)
    with losses.printed() as text:
        try:
            yield noted
        finally:
            noted.printed = text()


def record_eager_side(options, recording, run, noted: Beside, timeline, entries) -> None:
    """Runs the script eagerly and writes what is found. timeline: as record_script_timeline gives it; entries: as
    _engine.profile_take does."""
    try:
        if timeline is None:
            raise NoEagerSide("nothing that was compiled was called")
        graph, zero = timeline
        ours = steps_of(noted.calls.found)
        steady = steady_of(ours, graph)
        shown = shown_of(ours, steady)
        recording.report.progress(f"run {Path(options.file).name} once more, eagerly")
        report, text = run_eagerly(options, noted, ours.anchor, shown, recording.report)
        theirs = steps_of(report["calls"])
        put_lanes(recording, run, graph, zero, entries, ours, shown, report)
        if len(ours.ns) > STEP:
            record_eager_step(recording, run, graph, entries, *ours.within(STEP), report["memory"])
        put_times(recording, run, ours, theirs, [i for i in steady if i != shown], noted, report, text)
    except NoEagerSide as why:
        said = f"There is no speed-up of a step: {why}."
        recording.message("warning", "user", said, why.hint, why.detail, run=run["id"])  # which `vitrine run` shows at its end
        recording.report.note(said)


def steady_of(steps: Steps, graph) -> list[int]:
    """The steps in which nothing was compiled, and no memory was noted."""
    times = compiling(graph)
    steady = [i for i in range(len(steps.ns)) if i != STEP and not overlaps(times, *steps.within(i))]
    if len(steady) < FEWEST:
        raise NoEagerSide(f"the compiled run has {len(steps.ns)} whole steps, of which {len(steady)} compile nothing")
    return steady


def shown_of(steps: Steps, steady: list[int]) -> int:
    """The steady step that took most nearly the median of those whose launches are known."""
    known = [i for i in steady if i < _engine.CALLS_RECORDED] or steady
    median = statistics.median(steps.ns[i] for i in steady)
    return min(known, key=lambda i: abs(steps.ns[i] - median))


def run_eagerly(options, noted: Beside, anchor: int, shown: int, report) -> tuple[dict, str]:
    """What the eager run reports, and what it printed on stdout. Raises NoEagerSide where it fails."""
    with tempfile.TemporaryDirectory(prefix="vitrine-eager-") as folder:
        place = Path(folder)
        asked = {"file": options.file, "arguments": options.script_args, "take_over": options.take_over, "anchor": anchor, "shown": shown, "report": str(place / "report")}
        (place / "asked").write_text(json.dumps(asked))
        environment = {name: value for name, value in noted.environment.items() if not name.startswith("VITRINE_TRACE")}
        with open(place / "out", "wb") as out, open(place / "err", "wb") as err:
            words = [sys.executable, "-m", "vitrine._tools.eager_too.run_again", str(place / "asked")]
            child = subprocess.Popen(words, cwd=noted.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            status = ended(child, report)
        texts = [(place / name).read_bytes().decode(errors="replace") for name in ("out", "err")]
        if status or not (place / "report").exists():
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            raise NoEagerSide(f"the eager run failed ({how})" if status else "the eager run ended before its times were told", detail=tail_of(*texts))
        return json.loads((place / "report").read_text()), texts[0]


def ended(child: subprocess.Popen, report) -> int:
    """Its exit status. Whoever cancels this run ends that one, and what it has started."""
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(0.1)
            report.border()
    finally:
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def tail_of(out: str, err: str) -> str:
    """The last of what was printed, from a whole line on."""

    def tail(text: str) -> str:
        return text if len(text) <= TAIL else text[-TAIL:].partition("\n")[2]

    return "\n".join(tail(text).rstrip() for text in (out, err) if text.strip())


def put_lanes(recording, run, graph, zero: int, entries, ours: Steps, shown: int, report: dict) -> None:
    """The eager step's lanes, moved to where the compiled step of its number begins."""
    from vitrine._tools.timeline import Slice, add_depths, begun, put_lane, relate

    theirs = steps_of(report["calls"])
    if shown >= len(theirs.ns):
        return
    begin, end = theirs.within(shown)
    ours_begin, ours_end = ours.within(shown)
    at = ours_begin - zero
    operators = add_depths([Slice(start, ns, name) for start, ns, name in report["operators"]])
    relate(operators, graph, begun([e for e in entries if ours_begin <= e[2] < ours_end]))
    ranges, modules = (add_depths([Slice(start - begin, until - start, name) for start, until, name in report[of] if begin <= start < end]) for of in ("ranges", "modules"))
    for slices in (operators, ranges, modules):
        for s in slices:
            s.start += at
    if ranges:
        put_lane(recording, run, "eager", "range", "beside", 3, ranges)
    if modules:
        put_lane(recording, run, "eager", "module", "modules", 4, modules)
    if operators:
        put_lane(recording, run, "eager", "thread", "operators", 5, operators)
        recording.put("measurement", run=run["id"], kind="profiled", side="eager", calls=0, kept_ns=float(end - begin))
    elif report["problem"]:
        recording.message("warning", "user", f"The eager step has no operators in the timeline: {report['problem']}.", run=run["id"])


def put_times(recording, run, ours: Steps, theirs: Steps, steady: list[int], noted: Beside, report: dict, text: str) -> None:
    """The times of the same steps of both sides. Raises NoEagerSide where the runs are not the same."""
    if len(ours.ns) != len(theirs.ns):
        raise NoEagerSide(f"the compiled run has {len(ours.ns)} whole steps, the eager one {len(theirs.ns)}")
    if apart := losses.difference(text, noted.printed):
        raise NoEagerSide(f"eager and compiled do not print the same losses ({apart})", "A script that draws other numbers in each run does so, too.")
    for side, steps, evidence in (("eager", theirs, report["evidence"]), ("compiled", ours, noted.evidence)):
        recording.put("measurement", run=run["id"], kind="step", side=side, **spread([steps.ns[i] for i in steady]), **evidence)
    recording.message("info", "environment", f"The script was run twice, compiled and then eagerly; {losses.agreement(noted.printed)}.", run=run["id"])
