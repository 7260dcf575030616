"""Runs an entry eagerly and compiled: outputs compared, times interleaved, timelines recorded apart from the timings."""

import contextlib
import gc
import os
import statistics
import time

import torch

import vitrine
from vitrine import _engine
from vitrine._tools import asked, ceilings, gpu
from vitrine._tools.apart import apart
from vitrine._tools.accuracy import Tf32Watch, compare, nudge, type_text, widened
from vitrine._tools.evidence import Watch, spread
from vitrine._tools.loading import Entry, LoadError, raised
from vitrine._tools.numerics.record import numerics_of

LONGEST_MEASUREMENT_NS = 6_000_000_000


def describe(value) -> str:
    """ "f32[8,128]" for a tensor, short repr for the rest."""
    if isinstance(value, torch.Tensor):
        return type_text(value)
    text = repr(value)
    return text if len(text) <= 24 else text[:21] + "…"


@contextlib.contextmanager
def quiet():
    """Prints of the user's code come out once, from the compiled run; the reference and the measured runs are silent."""
    with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
        yield


def copied(value: tuple):
    """A deep copy, or the values themselves where they cannot be copied (then the run's effects on them are shared)."""
    try:
        return apart(value)
    except Exception:
        return value


class Outcome:
    """What a call did: its value, or the exception it raised."""

    def __init__(self, function, args, kwargs):
        self.value = self.error = None
        try:
            self.value = function(*args, **kwargs)
        except (Exception, SystemExit) as error:
            self.error = error


def in_float64(entry: Entry, number: int, eager: Outcome, rng, watch: Tf32Watch):
    """What call `number` returns eagerly with every float32 number of the model and its inputs in float64; None when that
    cannot be told: the program does not run so, or does not repeat its own result, as its state has changed."""

    with watch:
        again = called_with(entry, number, rng, lambda value: value)
    if again.error or any(row["verdict"] == "differs" for row in compare(eager.value, again.value)):
        return None
    return called_with(entry, number, rng, widened).value


def called_with(entry: Entry, number: int, rng, convert) -> Outcome:
    """Call `number` done eagerly on copies, of which `convert` has gone over the model and its inputs."""
    function, args, kwargs = copied((entry.function, entry.calls[number], entry.kwargs))
    gpu.set_random_states(rng)
    with quiet():
        return Outcome(convert(function), *map(convert, (args, kwargs)))


def check(recording, run, entry, number, eager: Outcome, compiled: Outcome, rng) -> bool:
    """Writes one accuracy row an output; True if eager and compiled agree. rng: the state before the first call."""
    prefix = f"call {number}: " if number else ""
    if eager.error or compiled.error:
        same = type(eager.error) is type(compiled.error) and str(eager.error) == str(compiled.error)
        texts = [f"{type(e.error).__name__}: {e.error}" if e.error else "no exception" for e in (eager, compiled)]
        recording.put("accuracy", run=run["id"], output=prefix + "exception", type="", verdict="equal" if same else "differs",
                      message=texts[0] if same else f"eager: {texts[0]}; compiled: {texts[1]}", count=1, mismatched=int(not same))  # fmt: skip
        return same
    watch = Tf32Watch()

    def nudged(draw):
        return called_with(entry, number, rng, lambda value: nudge(value, draw)).value

    rows = compare(eager.value, compiled.value, lambda: in_float64(entry, number, eager, rng, watch), lambda: watch.seen, nudged)
    for row in rows:
        recording.put("accuracy", run=run["id"], **{**row, "output": prefix + row["output"]})
    return all(row["verdict"] != "differs" for row in rows)


def repeats(entry, eager: list[Outcome], rng) -> bool:
    """Whether eager gives the same again from the state before its calls, as far as that could be copied."""
    if eager[0].error:
        return True
    again = called_with(entry, 0, rng, lambda value: value)
    return not again.error and all(row["verdict"] != "differs" for row in compare(eager[0].value, again.value))


def record_differences(recording, run) -> bool:
    """Writes one accuracy row for each compiled graph that a checked call found to differ from eager."""
    found = _engine.take_differences()
    for compilation, text, reproducer in found:
        where = f"graph of compilation {compilation & 0xFFFFFFFF}"
        recording.put("accuracy", run=run["id"], output=where, type="", verdict="differs", message=text, count=1, mismatched=1)
    return bool(found)


def locate(entry, compiled, rng) -> None:
    """Calls once more with every graph checked, so that the graph at fault is named and its reproducer written."""
    vitrine.config.check = True
    gpu.set_random_states(rng)
    args, kwargs = copied((entry.args, entry.kwargs))
    with quiet():
        Outcome(compiled, args, kwargs)
    vitrine.config.check = False


def interleaved(eager, compiled, args, kwargs, repeats, border=lambda: None) -> tuple[list[int], list[int]]:
    """Times of eager and compiled calls in ns, one after the other, unprofiled; stops after six seconds. border: called between two rounds."""
    times: tuple[list[int], list[int]] = ([], [])
    for function in (eager, compiled):
        function(*args, **kwargs)
    begin = time.perf_counter_ns()
    gc.collect()
    while len(times[0]) < repeats and time.perf_counter_ns() - begin < LONGEST_MEASUREMENT_NS:
        border()
        for function, out in zip((eager, compiled), times):
            start = time.perf_counter_ns()
            result = function(*args, **kwargs)
            out.append(time.perf_counter_ns() - start)
            del result
    return times


def median(values: list[int]) -> float:
    return float(statistics.median(values)) if values else 0.0


def record_entry(entry: Entry, options, recording, report) -> int:
    """Records one entry. Returns 0, or 3 when an output differs from eager. Raises LoadError for an error of the user's code."""
    inputs = ", ".join(describe(a) for a in (*entry.args, *entry.kwargs.values()))
    run = recording.start_run(entry.label, entry.text, inputs, options.mode)
    owner = getattr(entry.function, "__self__", entry.function)  # of a method, its module
    is_eval = isinstance(owner, torch.nn.Module) and not owner.training
    with torch.no_grad() if is_eval and not options.grad else contextlib.nullcontext():
        return record_in_mode(entry, options, recording, report, run)


def record_in_mode(entry: Entry, options, recording, report, run) -> int:
    report.progress(f"{entry.label}: {entry.text}, eager reference")
    rng = gpu.random_states()
    if device := gpu.device_of(entry.function, entry.calls, entry.kwargs):
        recording.update_run(run, device=torch.cuda.get_device_name(device))
    reference, calls, kwargs = copied((entry.function, entry.calls, entry.kwargs))
    with quiet():
        eager = [Outcome(reference, args, kwargs) for args in calls]
    if eager[0].error:
        error = eager[0].error
        recording.end_run(run, "failed")
        where = type(entry.function).__name__ if isinstance(entry.function, torch.nn.Module) else getattr(entry.function, "__qualname__", "the entry")
        raise raised(error, where, by_eager=True)
    gpu.set_random_states(rng)
    report.progress("capture and compile", "captured")
    compiled = asked.compiled(entry, options)
    fresh = copied((entry.calls, entry.kwargs))
    outcomes = []
    with numerics_of(options, recording):
        for number, args in enumerate(fresh[0]):
            start = time.perf_counter_ns()
            outcomes.append(Outcome(compiled, args, fresh[1]))
            if number == 0:
                recording.update_run(run, first_call_ns=time.perf_counter_ns() - start)
    if isinstance(outcomes[0].error, vitrine.GraphBreakError):
        recording.end_run(run, "failed")
        raise LoadError(str(outcomes[0].error), "Leave out --fullgraph, or remove the break.")
    agree = all([check(recording, run, entry, i, e, c, rng) for i, (e, c) in enumerate(zip(eager, outcomes))])
    if not agree and not options.check:
        locate(entry, compiled, rng)
    vitrine.config.check = False  # what is measured is what runs unchecked
    if record_differences(recording, run):
        where = f"vitrine show {recording.target} messages names its reproducer"
        if options.edited:
            report.failure("With the kernel whose text was edited, a compiled graph differs from eager; eager's result is used.", f"{where}, which contains the edit.")
        else:
            report.failure("A compiled graph differs from eager; eager's result is used.", f"{where}.")
        agree = False
    elif not agree and not repeats(entry, eager, rng):
        agree = True
        text = "Outputs differ, and eager's own when it is called again: the program changes what could not be copied for the comparison."
        recording.message("warning", "user", text, "Have get_model() make all that a call changes, or give the file as a script.", run=run["id"])
        report.failure(text, "Have get_model() make all that a call changes.")
    elif not agree:
        recording.message("error", "vitrine", "Compiled outputs differ from eager.", "vitrine show SESSION accuracy lists them.", run=run["id"])
        report.failure("Compiled outputs differ from eager; use eager's.", f"vitrine show {recording.target} accuracy")
    recording.commit()
    measure(entry, options, recording, report, run, compiled)
    recording.end_run(run, "finished")
    return 0 if agree else 3


def measure(entry: Entry, options, recording, report, run, compiled) -> None:
    if options.repeats <= 0:
        return
    from vitrine._tools.counters import record_counters
    from vitrine._tools.memory import record_memory
    from vitrine._tools.timeline import record_timelines

    report.progress("measure: eager and compiled, interleaved", "timeline", 1, 2)
    args, kwargs = copied((entry.args, entry.kwargs))
    sides = (entry.function, compiled)
    if gpu.device_of(entry.function, args, kwargs):
        sides = tuple(map(gpu.finished, sides))
    watch = Watch()
    with quiet():
        eager_ns, compiled_ns = interleaved(*sides, args, kwargs, options.repeats, report.border)
    evidence = watch.evidence()
    for side, times in (("eager", eager_ns), ("compiled", compiled_ns)):
        for i, ns in enumerate(times):
            recording.put("timing", run=run["id"], side=side, ordinal=i, ns=ns)
        recording.put("measurement", run=run["id"], kind="plain", side=side, **spread(times), **evidence)
    recording.update_run(run, eager_ns=median(eager_ns), compiled_ns=median(compiled_ns))
    device = gpu.device_of(entry.function, args, kwargs)
    roofs = ceilings.Ceilings(device or torch.device("cpu"))
    roofs.measure()
    report.progress("timelines", "timeline", 2, 2)
    report.flush()
    with quiet():
        ours = record_timelines(recording, run, entry.function, compiled, args, kwargs)
        record_memory(recording, run, entry.function, compiled, args, kwargs)
    roofs.measure()
    for row in roofs.rows(vitrine.config.cache_dir):
        recording.put("ceiling", run=run["id"], **row)
    if device and options.counters > 0:
        # Last of all: what CUPTI puts around each launch for it stays there.
        report.progress("hardware counters", "timeline", 2, 2)
        recording.commit()
        with quiet():
            record_counters(recording, run, compiled, args, kwargs, ours, options.counters)


def record_ceilings(recording, run, device: torch.device) -> None:
    """What kernels of a script are measured against, and what computing a saved tensor again is priced by."""
    roofs = ceilings.Ceilings(device)
    roofs.measure()
    for row in roofs.rows(vitrine.config.cache_dir):
        recording.put("ceiling", run=run["id"], **row)
