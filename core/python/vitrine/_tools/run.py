"""Records one file: `python -m vitrine._tools.run FILE -o SESSION`. Capture, compile, run, check against eager, measure.

Exit status: 0; 1 the user's file or environment is at fault; 2 wrong arguments; 3 compiled and eager outputs differ;
130 cancelled; of a script that ends with a status of its own, that one.
With --events each event is one line on stdout: a record separator (0x1e), then JSON.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import signal
import sqlite3
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

STARTED = time.perf_counter_ns()
COUNTED_KERNELS = 128
SESSION_LOST = "the session cannot be written: "  # what every error of the engine's session begins with


class Reporter:
    """Tells a person (stderr) or the application (--events) how far the run is."""

    def __init__(self, events: bool, outcome: int | None = None):
        # A stream of its own: the user's code may close sys.stdout.
        self.events = os.fdopen(os.dup(1), "w") if events else None
        self.cancelled = threading.Event()
        self.outcome = outcome
        if outcome is not None:
            os.set_inheritable(outcome, False)  # what the user's code starts must not hold it open

    def tell(self, **facts) -> None:
        """Tells `vitrine run` something, by the descriptor that it named: a line of JSON."""
        if self.outcome is not None:
            with contextlib.suppress(OSError):
                os.write(self.outcome, json.dumps(facts).encode() + b"\n")

    def ended(self, status: str, session: str = "") -> None:
        """That the run has ended by itself: how, and where it is recorded."""
        self.tell(status=status, session=session)
        self.outcome = None

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

    def note(self, text: str) -> None:
        """Something to know that is no failure."""
        self.event("note", text=text)
        if not self.events:
            self.flush()
            print(f"vitrine: {text}", file=sys.stderr)

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
    parser.add_argument("--eager-too", action="store_true", help="of a script: run it once more, eagerly, and compare its steps")
    parser.add_argument("--repeats", type=int, default=20, help="measured calls on each side; 0 = do not measure")
    parser.add_argument("--counters", type=int, default=COUNTED_KERNELS, metavar="N", help=f"on a GPU: kernels of a call whose hardware counters are read, and which are sampled (default {COUNTED_KERNELS}; 0: none)")
    parser.add_argument("--grad", action="store_true", help="keep grad mode on for a model in eval mode")
    parser.add_argument("--train", action="store_true", help="a step of training: forward and the gradients of the sum of its results")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--dynamic", choices=("auto", "yes", "no"), help="whether sizes are symbols from the start")
    parser.add_argument("--device", help="where model and inputs are put: cpu, cuda, cuda:1")
    parser.add_argument("--target", metavar="ARCH", help='compile for that GPU, such as "sm_90", which need not be here')
    parser.add_argument("--freezing", action="store_true", help="weights are constant: keep what is made of them alone")
    parser.add_argument("--fullgraph", action="store_true")
    parser.add_argument("--pin", action="append", default=[], metavar="NAME=WHAT", help="what becomes of a value that backward needs: saved or recomputed; repeatable")
    parser.add_argument("--check", action="store_true", help="compare every compiled graph with eager")
    parser.add_argument("--numerics", action="store_true", help="compare each value of every compiled graph with eager's and with float64")
    parser.add_argument("--edited", action="append", default=[], metavar="GENERATED=EDITED", help="two files: a kernel's text, and what is compiled in its place; repeatable")
    parser.add_argument("--events", action="store_true", help="report progress as JSON lines on stdout")
    parser.add_argument("--outcome", type=int, help=argparse.SUPPRESS)  # a descriptor, see Reporter.ended
    own = argv[: argv.index("--")] if "--" in argv else argv
    options = parser.parse_args(own)
    options.again = arguments_of(options, argv[len(own) :])
    options.script_args = argv[len(own) + 1 :]  # what stands behind -- belongs to the script
    for pin in options.pin:
        if pin.rpartition("=")[2] not in ("saved", "recomputed") or not pin.rpartition("=")[0]:
            parser.error(f"argument --pin: NAME=saved or NAME=recomputed is needed, not {pin!r}")
    for name in ("repeats", "counters"):
        if getattr(options, name) < 0:
            parser.error(f"argument --{name}: a number from 0 is needed")
    return options


# What a run of the same file is given besides it: all but where its recording goes and who listens.
NOT_AGAIN = {"file", "output", "edited", "events", "outcome"}


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


def run_script_with_numerics(options, recording) -> int:
    from vitrine._tools.numerics.record import numerics_of

    with numerics_of(options, recording):
        return run_script(options, recording)


def run_script(options, recording) -> int:
    """Runs the file as __main__; what it compiles is recorded. Returns the exit status."""
    from vitrine import _engine
    from vitrine._tools.eager_too.record import beside, record_eager_side
    from vitrine._tools.evidence import Watch
    from vitrine._tools.loading import LoadError, raised
    from vitrine._tools.measuring import record_differences
    from vitrine._tools.files.notebook import check_script, run_as_main
    from vitrine._tools.ranges import Ranges
    from vitrine._tools.eager_too.step_memory import WeighedCalls, record_compiled_step, record_prices
    from vitrine.take_over import torch_compile_taken_over
    from vitrine._tools.timeline import record_script_timeline

    check_script(options.file)  # what cannot run at all is told as for any other file
    refuse_of_a_script(options)
    run = recording.start_run(Path(options.file).name, "script", "", options.mode)
    sys.argv = [options.file, *options.script_args]
    sys.path.insert(0, str(Path(options.file).resolve().parent))
    failure = None
    recording.report.tell(script=True)  # a status that it ends the process with is its own
    recording.report.progress(f"run {Path(options.file).name}")
    _engine.profile(_engine.CALLS_RECORDED)
    watch, ranges, calls = Watch(), Ranges(), WeighedCalls(finishes=options.eager_too)
    try:
        with beside(options.eager_too, calls) as noted, torch_compile_taken_over() if options.take_over else contextlib.nullcontext():
            run_as_main(options.file, recording.report.note)
    except SystemExit as stop:
        if stop.code not in (None, 0):
            code = f"with exit status {stop.code}" if isinstance(stop.code, int) else f"saying: {stop.code}"
            failure = LoadError(f"Your script ended {code}.", "What it compiled until then is recorded.")
            failure.status = stop.code if isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        recording.end_run(run, "cancelled")
        raise
    except LoadError as error:  # of a notebook, which says in which cell
        failure = error
    except BaseException as error:
        failure = raised(error)
    finally:
        found = calls.take()
    evidence, entries = watch.evidence(), _engine.profile_take()
    recording.put("measurement", run=run["id"], kind="script", side="compiled", **evidence)
    timeline = record_script_timeline(recording, run, entries, ranges.take())
    record_compiled_step(recording, run, timeline, entries, calls.memory, found)
    if noted and not failure:
        noted.evidence = evidence
        record_eager_side(options, recording, run, noted, timeline, entries)
    record_prices(recording, run, timeline)
    del timeline  # it reads the session, which a traceback would keep open
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


def refuse_of_a_script(options):
    """What only an entry can be asked for. Raises UsageError."""
    from vitrine._tools.loading import UsageError

    for name in ("device", "train"):
        if getattr(options, name):
            raise UsageError(f"--{name} needs an entry: the file is a script.", "Define model and inputs, or name a function with --entry.")
    if options.eager_too and (options.check or options.numerics):
        raise UsageError("--eager-too compares times of steps, and --check and --numerics make steps longer.", "Leave one of them out.")


def refuse_where_switched_off():
    from vitrine._tools.loading import UsageError

    if why := switched_off():
        raise UsageError(f"There is nothing to record: {why}.", "Unset it.")


def nothing_compiled(path):
    """The LoadError of a script that compiled nothing, with what it may have meant."""
    from vitrine._tools.entries import half_an_entry, module_names
    from vitrine._tools.loading import LoadError, parse
    from vitrine._tools.files.notebook import is_notebook

    if why := switched_off():
        return LoadError(f"Nothing was compiled: {why}.", "Unset it.")
    half = "" if is_notebook(path) else half_an_entry(module_names(parse(path)))
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


# How a run that was found beside its target had ended, by its status.
ENDED = {"died": "was killed", "cancelled": "was cancelled", "failed": "failed", "finished": "had ended"}


def target_problem(options) -> tuple[str, str] | None:
    """What keeps kernels for options.target from being compiled, and what to do."""
    from vitrine import _engine, config

    problem = _engine.cuda_target_problem(options.target, config.nvrtc)
    if not problem and (options.take_over or options.check or options.device or options.train):
        return "--target compiles and does not run: it goes with none of --take-over, --check, --device and --train.", "Leave one of them out."
    return problem


def file_problem(path: str) -> tuple[str, str] | None:
    """What keeps a file from being run whatever is in it, and what to do."""
    if not os.path.exists(path):
        return f"{path} does not exist.", "Check the path."
    if os.path.isdir(path):
        return f"{path} is a folder.", "Name a Python file in it."
    try:
        with open(path, "rb") as file:
            is_session = file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}.", "Name a Python file."
    return (f"{path} is a recorded session, not a Python file.", f"To see it: vitrine open {path}") if is_session else None


def same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return os.path.realpath(one) == os.path.realpath(other)


def output_problem(options) -> tuple[str, str] | None:
    """What keeps a session from being written to options.output, and what to do."""
    path = options.output
    for read in (options.file, *(name for pair in options.edited for name in pair.split("="))):
        if same_file(path, read):
            return f"{path} is read by this run, so no session is written there.", "Name another place with -o."
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"The folder {folder} for the session does not exist.", "Make it, or name another place with -o."
    if not os.access(folder, os.W_OK):
        return f"The folder {folder} cannot be written.", "Name another place with -o."
    return None


def heed(reaction) -> None:
    """What Ctrl-C and a request to end do from now on. What the caller had ignored stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, reaction)


def close(options, recording, report, status: str) -> None:
    """Ends the recording and tells where it is, if it is not where it was asked for or is not whole. Raises OSError."""
    from vitrine._tools.asked import own_files

    heed(lambda *_: report.cancelled.set())  # it has ended already
    if not recording.runs:  # it ended while the file was loaded: that is a run too
        recording.end_run(recording.start_run(Path(options.file).name, options.entry or "", "", options.mode), status)
    compiled = recording.compilations()
    what, path = recording.close(status)
    if what == "dropped":
        report.note(f"{options.output} is as it was: nothing was compiled in this run.")
    elif what == "kept":
        report.note(f"What was recorded is in {path}; {options.output} is as it was.")
    elif compiled and status != "finished":
        report.note(f"What was recorded until then is in {options.output}.")
    watched = own_files(options.file, status != "finished")
    report.event("read", files=watched)
    report.tell(read=watched)
    report.event("finished", status=status, session=path)
    report.ended(status, path)


def run_entry(entry, options, recording, report) -> int:
    """Runs an entry eagerly and compiled, as the options ask for it. Returns the exit status."""
    from vitrine._tools.asked import prepare
    from vitrine._tools.measuring import record_entry

    refuse_where_switched_off()
    prepare(entry, options)
    return record_entry(entry, options, recording, report)


def record(options, recording, report) -> int:
    """Runs what the file names, told by report and recorded in recording, which it closes. Returns the exit status.

    Raises RuntimeError that begins with SESSION_LOST when the session takes no more.
    """
    import vitrine
    from vitrine._tools.loading import LoadError, UsageError, load

    status = "failed"
    # What goes wrong in a compilation is in the session, whose messages are shown at the end; what a taken over
    # torch.compile leaves out is not.
    warnings.filterwarnings("ignore", r"vitrine: (?!torch\.compile)", vitrine.VitrineWarning)
    vitrine.config.check = options.check
    try:
        heed(signal.default_int_handler)  # which raises KeyboardInterrupt
        report.border()
        recording.put("meta", key="file", value=os.path.abspath(options.file))
        recording.put("meta", key="arguments", value=json.dumps(options.again))
        as_script = options.take_over and not options.entry  # its own calls are what is asked for
        if options.target:
            from vitrine._tools.target import gpu_taken_for_cpu, record_for_target

            with gpu_taken_for_cpu():
                entry = load(options.file, options.entry, options.input)
            if entry is None:
                raise UsageError("--target needs an entry: the file is a script.", "Define model and inputs, or name a function with --entry.")
            refuse_where_switched_off()
            status, code = "finished", record_for_target(entry, options, recording, report)
            return code
        entry = None if as_script else load(options.file, options.entry, options.input)
        code = run_script_with_numerics(options, recording) if entry is None else run_entry(entry, options, recording, report)
        status = "finished" if code in (0, 3) else "failed"
        return code
    except LoadError as error:
        from vitrine._tools.error_place import record_place

        recording.message("error", "user", error.what, error.hint, error.detail, entity=record_place(recording, error.__cause__))
        report.failure(error.what, error.hint, error.detail)
        return 2 if isinstance(error, UsageError) else error.status
    except KeyboardInterrupt:
        status = "cancelled"
        report.failure("Cancelled.")
        return 130
    except sqlite3.Error as error:  # of the session alone: what the user's code raises is a LoadError by now
        raise RuntimeError(f"{SESSION_LOST}it cannot be read back: {error}") from error
    except Exception as error:
        if str(error).startswith(SESSION_LOST):
            raise
        what, hint, whose = failed_by(error, options.edited)
        recording.message("error", whose, what, hint, traceback.format_exc())
        report.failure(what, hint, traceback.format_exc())
        return 1
    finally:
        close(options, recording, report, status)


def with_known_hashes() -> None:
    """Begins anew where strings have other hashes in each process: both runs of a script shall have the same."""
    if "PYTHONHASHSEED" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    if options.eager_too and argv is None:
        with_known_hashes()
    report = Reporter(options.events, options.outcome)
    faulthandler.enable()

    def leave(*_):  # nothing is recorded yet, and an import that is interrupted can raise anything
        report.failure("Cancelled.")
        report.ended("cancelled")
        os._exit(130)

    heed(leave)
    # `vitrine run` holds it back until somebody heeds it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if options.events:
        report.listen()
    code = prepared(options, report)
    report.ended("refused")  # unless it was told already how it ended
    return code


def prepared(options, report) -> int:
    """Runs the file if all that a run needs is there. Returns the exit status."""
    if problem := file_problem(options.file) or output_problem(options):
        report.failure(*problem)
        return 1
    try:
        import torch  # noqa: F401

        import vitrine  # noqa: F401
        from vitrine._api import MODES
    except ImportError as error:
        report.failure(f"Vitrine cannot run in {sys.executable}: {error}", "vitrine doctor says what is missing; VITRINE_PYTHON names another Python.")
        return 1
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
    from vitrine._tools.loading import LoadError, UsageError, check_arguments

    try:
        check_arguments(options.file, options.entry, options.input)
    except UsageError as error:  # a session that stands there stays
        report.failure(error.what, error.hint)
        return 2
    except LoadError:
        pass  # told in the session, when the file is loaded
    return recorded(options, report, import_ns)


def recorded(options, report, import_ns: int) -> int:
    """Opens the session and records the run in it. Returns the exit status."""
    from vitrine._tools.recording import Recording, as_spelled, settle

    heed(lambda *_: report.cancelled.set())  # a session that is half open is opened first
    try:
        what, path, status = settle(options.output)
        if what in ("kept", "replaced"):
            report.note(f"An earlier run {ENDED.get(status, 'ended')} before it could be put in place; it is in {as_spelled(path, options.output)}.")
        recording = Recording(options.output, import_ns, report)
    except OSError as error:
        what, _, hint = str(error).partition("\n")
        report.failure(what, hint)
        return 1
    report.event("recording", session=recording.path)
    report.tell(recording=recording.path)
    try:
        return record(options, recording, report)
    except OSError as error:
        what, _, where = str(error).partition("\n")
        report.failure(what, f"What was recorded is in {where}." if where else "")
    except RuntimeError as error:
        if not str(error).startswith(SESSION_LOST):
            raise
        report.failure(f"The session could not be written to its end: {str(error).removeprefix(SESSION_LOST).removeprefix('session: ')}.", "Make room on the disk, or name another place with -o.")
    report.ended("not closed", recording.path)
    return 1


if __name__ == "__main__":
    sys.exit(main())
