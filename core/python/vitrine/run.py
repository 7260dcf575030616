"""Records one file: `python -m vitrine.run FILE -o SESSION`. Capture, compile, run, check against eager, measure.

Exit status: 0; 1 the user's file or environment is at fault; 2 wrong arguments; 3 compiled and eager outputs differ;
130 cancelled.
With --events each event is one line on stdout: a record separator (0x1e), then JSON.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

STARTED = time.perf_counter_ns()
COUNTED_KERNELS = 128
SESSION_LOST = "the session cannot be written: "  # what every error of the engine's session begins with
NOT_CLOSED = 74  # for `vitrine run`, which then asks nothing more: the session took no more, and that has been told


class Reporter:
    """Tells a person (stderr) or the application (--events) how far the run is."""

    def __init__(self, events: bool):
        # A stream of its own: the user's code may close sys.stdout.
        self.events = os.fdopen(os.dup(1), "w") if events else None
        self.cancelled = threading.Event()

    def listen(self) -> None:
        """Reads the application's commands, JSON lines on stdin; the user's code sees an empty stdin from here on."""
        try:
            commands = os.dup(0)
        except OSError:  # closed: nobody can say anything
            return
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        threading.Thread(target=self.obey, args=(commands,), name="vitrine-commands", daemon=True).start()

    def obey(self, commands: int) -> None:
        pending = b""
        while chunk := os.read(commands, 4096):
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError, AttributeError):
                    if json.loads(line).get("command") == "cancel":
                        self.cancelled.set()

    def border(self) -> None:
        """Between two stages: where a run that was cancelled ends. Raises KeyboardInterrupt."""
        if self.cancelled.is_set():
            raise KeyboardInterrupt

    def event(self, kind: str, **facts) -> None:
        if self.events:
            self.flush()
            self.events.write("\x1e" + json.dumps({"event": kind, **facts}) + "\n")
            self.events.flush()

    def progress(self, text: str, stage: str = "", done: int = 0, total: int = 0) -> None:
        """A stage begins, or is `done` of `total`; stage is a name of the session's stages."""
        self.border()
        self.event("progress", text=text, stage=stage, done=done, total=total)
        if not self.events:
            print(f"\x1b[2mvitrine: {text}\x1b[0m" if sys.stderr.isatty() else f"vitrine: {text}", file=sys.stderr)

    def flush(self) -> None:
        """What the user's code printed comes before what is said next; it may have closed or replaced its stdout."""
        with contextlib.suppress(ValueError, AttributeError, OSError):
            sys.stdout.flush()

    def failure(self, what: str, hint: str = "", detail: str = "") -> None:
        self.event("error", text=what, hint=hint, detail=detail)
        if not self.events:
            self.flush()
            lines = (f"vitrine: {what}", detail.rstrip(), f"  {hint}" if hint else "")
            print("\n".join(line for line in lines if line), file=sys.stderr)


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vitrine run", description="Record a model or script.", epilog="What stands behind -- is the script's own.")
    parser.add_argument("file")
    parser.add_argument("-o", "--output", required=True, help="session file")
    parser.add_argument("--entry", help="function or class to call")
    parser.add_argument("--input", action="append", default=[], help='shape such as "f32[8,128]", or a Python literal')
    parser.add_argument("--take-over", action="store_true", help="compile what the script gives to torch.compile")
    parser.add_argument("--repeats", type=int, default=20, help="measured calls on each side; 0 = do not measure")
    parser.add_argument("--counters", type=int, default=COUNTED_KERNELS, metavar="N", help=f"on a GPU: kernels of a call whose hardware counters are read, and which are sampled (default {COUNTED_KERNELS}; 0: none)")
    parser.add_argument("--grad", action="store_true", help="keep grad mode on for a model in eval mode")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--target", metavar="ARCH", help='compile for that GPU, such as "sm_90", which need not be here')
    parser.add_argument("--freezing", action="store_true", help="weights are constant: keep what products pack of them")
    parser.add_argument("--fullgraph", action="store_true")
    parser.add_argument("--check", action="store_true", help="compare every compiled graph with eager")
    parser.add_argument("--edited", action="append", default=[], metavar="GENERATED=EDITED", help="two files: a kernel's text, and what is compiled in its place; repeatable")
    parser.add_argument("--events", action="store_true", help="report progress as JSON lines on stdout")
    own = argv[: argv.index("--")] if "--" in argv else argv
    options = parser.parse_args(own)
    options.again = arguments_of(options, argv[len(own) :])
    options.script_args = argv[len(own) + 1 :]  # what stands behind -- belongs to the script
    for name in ("repeats", "counters"):
        if getattr(options, name) < 0:
            parser.error(f"argument --{name}: a number from 0 is needed")
    return options


# What a run of the same file is given besides it: all but where its recording goes and who listens.
NOT_AGAIN = {"file", "output", "edited", "events"}


def arguments_of(options, script: list[str]) -> list[str]:
    """The arguments by which the same is recorded again; those behind -- last."""
    words = []
    for name, value in vars(options).items():
        word = "--" + name.replace("_", "-")
        if name in NOT_AGAIN or value is None or value is False or value == []:
            continue
        words += [word] if value is True else [f"{word}={each}" for each in (value if isinstance(value, list) else [value])]
    return words + script


def use_edited_kernels(pairs: list[str]) -> tuple[str, str] | None:
    """Has the engine compile the second file of each pair wherever it would compile the first's text; or what is wrong."""
    from vitrine import _engine

    for pair in pairs:
        texts = [Path(name) for name in pair.split("=")]
        if len(texts) != 2 or not all(path.is_file() for path in texts):
            return f"--edited {pair} does not name two files.", "Give GENERATED=EDITED: the text that was generated, and the one to compile."
        _engine.edit_kernel(*(path.read_text() for path in texts))
    return None


def run_script(options, recording) -> int:
    """Runs the file as __main__; what it compiles is recorded. Returns the exit status."""
    from vitrine import _engine
    from vitrine.evidence import Watch
    from vitrine.loading import LoadError, parse, raised
    from vitrine.measuring import record_differences
    from vitrine.take_over import torch_compile_taken_over
    from vitrine.timeline import record_script_timeline

    parse(options.file)  # what cannot run at all is told as for any other file
    run = recording.start_run(Path(options.file).name, "script", "", options.mode)
    sys.argv = [options.file, *options.script_args]
    sys.path.insert(0, str(Path(options.file).resolve().parent))
    failure = None
    recording.report.progress(f"run {Path(options.file).name}")
    _engine.profile(_engine.CALLS_RECORDED)
    watch = Watch()
    try:
        with torch_compile_taken_over() if options.take_over else contextlib.nullcontext():
            runpy.run_path(options.file, run_name="__main__")
    except SystemExit as stop:
        if stop.code not in (None, 0):
            code = f"with exit status {stop.code}" if isinstance(stop.code, int) else f"saying: {stop.code}"
            failure = LoadError(f"Your script ended {code}.", "What it compiled until then is recorded.")
    except KeyboardInterrupt:
        recording.end_run(run, "cancelled")
        raise
    except BaseException as error:
        failure = raised(error)
    recording.put("measurement", run=run["id"], kind="script", side="compiled", **watch.evidence())
    record_script_timeline(recording, run, _engine.profile_take())
    nothing = not failure and not recording.compilations()
    if nothing and not options.take_over:
        failure = nothing_compiled(options.file)
    recording.end_run(run, "failed" if failure else "finished")
    if failure:
        raise failure
    if nothing:  # as a script it did what it was asked for
        why = switched_off() or "the script called neither vitrine.compile nor torch.compile"
        recording.message("warning", "user", f"Nothing was compiled: {why}.", run=run["id"])
        return 0
    return 3 if record_differences(recording, run) else 0


def switched_off():
    """"TORCH_COMPILE_DISABLE=1 in the environment ...", "" where nothing is."""
    from vitrine._controls import disabled_by_environment

    switch = disabled_by_environment()
    return switch and f"{switch} in the environment switches compilation off"


def refuse_where_switched_off():
    from vitrine.loading import UsageError

    if why := switched_off():
        raise UsageError(f"There is nothing to record: {why}.", "Unset it.")


def nothing_compiled(path):
    """The LoadError of a script that compiled nothing, with what it may have meant."""
    from vitrine.loading import LoadError, half_an_entry, module_names, parse

    if why := switched_off():
        return LoadError(f"Nothing was compiled: {why}.", "Unset it.")
    half = half_an_entry(module_names(parse(path)))
    why = f"{half}, and" if half else "the file names no entry, and"
    return LoadError(f"Nothing was compiled: {why} as a script it called no function of vitrine.compile.", NOTHING_COMPILED)


NOTHING_COMPILED = (
    "Define model and inputs, or get_model() and get_inputs(); name a function with --entry; call vitrine.compile in the "
    "script; or give --take-over where it calls torch.compile."
)


REPORT_IT = "Please report it with the file and the lines above."


def failed_by(error: Exception, edited: list[str]) -> tuple[str, str, str]:
    """What ended a run that nothing else accounts for, what to do about it, and whose it is ("user" or "vitrine")."""
    if edited and str(error).startswith("CUDA error"):
        what = str(error).partition("\n")[0]
        return f"A kernel whose text was edited ended the GPU's context: {what}.", "Its text may touch what is not its tensors'. The run that it was taken from is as it was.", "user"
    return f"Vitrine itself failed: {type(error).__name__}: {error}", REPORT_IT, "vitrine"


def cancel(*_) -> None:
    raise KeyboardInterrupt


def target_problem(options) -> tuple[str, str] | None:
    """What keeps kernels for options.target from being compiled, and what to do."""
    from vitrine import _engine, config

    problem = _engine.cuda_target_problem(options.target, config.nvrtc)
    if not problem and (options.take_over or options.check):
        return "--target compiles and does not run: it goes neither with --take-over nor with --check.", "Leave one of them out."
    return problem


def output_problem(path: str) -> tuple[str, str] | None:
    """What keeps a session from being written there, and what to do."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"The folder {folder} for the session does not exist.", "Make it, or name another place with -o."
    if not os.access(folder, os.W_OK):
        return f"The folder {folder} cannot be written.", "Name another place with -o."
    return None


def record(options, recording, report) -> int:
    """Runs what the file names, told by report and recorded in recording, which it closes. Returns the exit status.

    Raises RuntimeError that begins with SESSION_LOST when the session takes no more.
    """
    import vitrine
    from vitrine.loading import LoadError, UsageError, load

    status = "failed"
    # What goes wrong in a compilation is in the session, whose messages are shown at the end; what a taken over
    # torch.compile leaves out is not.
    warnings.filterwarnings("ignore", r"vitrine: (?!torch\.compile)", vitrine.VitrineWarning)
    vitrine.config.check = options.check
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, cancel)
    try:
        recording.put("meta", key="file", value=os.path.abspath(options.file))
        recording.put("meta", key="arguments", value=json.dumps(options.again))
        as_script = options.take_over and not options.entry  # its own calls are what is asked for
        if options.target:
            from vitrine.target import gpu_taken_for_cpu, record_for_target

            with gpu_taken_for_cpu():
                entry = load(options.file, options.entry, options.input)
            if entry is None:
                raise UsageError("--target needs an entry: the file is a script.", "Define model and inputs, or name a function with --entry.")
            refuse_where_switched_off()
            status, code = "finished", record_for_target(entry, options, recording, report)
            return code
        entry = None if as_script else load(options.file, options.entry, options.input)
        if entry is None:
            code = run_script(options, recording)
        else:
            refuse_where_switched_off()
            from vitrine.measuring import record_entry

            code = record_entry(entry, options, recording, report)
        status = "finished" if code in (0, 3) else "failed"
        return code
    except LoadError as error:
        from vitrine.error_place import record_place

        recording.message("error", "user", error.what, error.hint, error.detail, entity=record_place(recording, error.__cause__))
        report.failure(error.what, error.hint, error.detail)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        status = "cancelled"
        report.failure("Cancelled.", f"What was recorded until then is in {options.output}.")
        return 130
    except Exception as error:
        if str(error).startswith(SESSION_LOST):
            raise
        what, hint, whose = failed_by(error, options.edited)
        recording.message("error", whose, what, hint, traceback.format_exc())
        report.failure(what, hint, traceback.format_exc())
        return 1
    finally:
        if not recording.runs:  # it ended while the file was loaded: that is a run too
            recording.end_run(recording.start_run(Path(options.file).name, options.entry or "", "", options.mode), status)
        recording.close(status)
        report.event("finished", status=status, session=options.output)


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    report = Reporter(options.events)
    faulthandler.enable()
    if options.events:
        report.listen()
    if problem := output_problem(options.output):
        report.failure(*problem)
        return 1
    try:
        import torch  # noqa: F401

        import vitrine  # noqa: F401
        from vitrine._api import MODES
    except ImportError as error:
        report.failure(f"Vitrine cannot run in {sys.executable}: {error}", "vitrine doctor says what is missing; VITRINE_PYTHON names another Python.")
        return 1
    except KeyboardInterrupt:
        report.failure("Cancelled.")
        return 130
    import_ns = time.perf_counter_ns() - STARTED
    if options.mode and options.mode not in MODES:
        report.failure(f"There is no mode {options.mode!r}.", f"Modes: {', '.join(MODES)}.")
        return 2
    if options.target and (problem := target_problem(options)):
        report.failure(*problem)
        return 1
    if problem := use_edited_kernels(options.edited):
        report.failure(*problem)
        return 2
    from vitrine.loading import LoadError, UsageError, check_arguments
    from vitrine.recording import Recording

    try:
        check_arguments(options.file, options.entry, options.input)
    except UsageError as error:  # a session that stands there stays
        report.failure(error.what, error.hint)
        return 2
    except LoadError:
        pass  # told in the session, when the file is loaded
    try:
        recording = Recording(options.output, import_ns, report)
    except OSError as error:
        what, _, hint = str(error).partition("\n")
        report.failure(what, hint)
        return 1
    try:
        return record(options, recording, report)
    except RuntimeError as error:
        if not str(error).startswith(SESSION_LOST):
            raise
        report.failure(f"The session could not be written to its end: {str(error).removeprefix(SESSION_LOST).removeprefix('session: ')}.", "Make room on the disk, or name another place with -o.")
        return NOT_CLOSED


if __name__ == "__main__":
    sys.exit(main())
