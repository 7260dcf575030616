"""Records one file: `python -m vitrine.run FILE -o SESSION`. Capture, compile, run, check against eager, measure.

Exit status: 0; 1 the user's file or environment is at fault; 2 wrong arguments; 3 compiled and eager outputs differ.
With --events each event is one line on stdout: a record separator (0x1e), then JSON.
"""

import argparse
import contextlib
import json
import runpy
import sys
import time
from pathlib import Path

STARTED = time.perf_counter_ns()


class Reporter:
    """Tells a person (stderr) or the application (--events) how far the run is."""

    def __init__(self, events: bool):
        self.events = events

    def event(self, kind: str, **facts) -> None:
        if self.events:
            sys.__stdout__.write("\x1e" + json.dumps({"event": kind, **facts}) + "\n")
            sys.__stdout__.flush()

    def progress(self, text: str) -> None:
        self.event("progress", text=text)
        if not self.events:
            print(f"\x1b[2mvitrine: {text}\x1b[0m" if sys.stderr.isatty() else f"vitrine: {text}", file=sys.stderr)

    def failure(self, what: str, hint: str = "", detail: str = "") -> None:
        self.event("error", text=what, hint=hint, detail=detail)
        if not self.events:
            print("".join(f"{line}\n" for line in (f"vitrine: {what}", detail.rstrip(), f"  {hint}" if hint else "") if line), file=sys.stderr, end="")


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vitrine run", description="Record a model or script.")
    parser.add_argument("file")
    parser.add_argument("-o", "--output", required=True, help="session file")
    parser.add_argument("--entry", help="function or class to call")
    parser.add_argument("--input", action="append", default=[], help='shape such as "f32[8,128]", or a Python literal')
    parser.add_argument("--take-over", action="store_true", help="compile what the script gives to torch.compile")
    parser.add_argument("--repeats", type=int, default=20, help="measured calls on each side; 0 = do not measure")
    parser.add_argument("--grad", action="store_true", help="keep grad mode on for a model in eval mode")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--fullgraph", action="store_true")
    parser.add_argument("--events", action="store_true", help="report progress as JSON lines on stdout")
    parser.epilog = "What stands after -- are the script's own arguments."
    own = argv.index("--") if "--" in argv else len(argv)
    options = parser.parse_args(argv[:own])
    options.script_args = argv[own + 1 :]
    return options


def run_script(options, recording) -> int:
    """Runs the file as __main__; what it compiles is recorded. Returns the exit status."""
    from vitrine.take_over import torch_compile_taken_over

    run = recording.start_run(Path(options.file).name, "script", "", options.mode)
    sys.argv = [options.file, *options.script_args]
    sys.path.insert(0, str(Path(options.file).resolve().parent))
    try:
        with torch_compile_taken_over() if options.take_over else contextlib.nullcontext():
            runpy.run_path(options.file, run_name="__main__")
    except SystemExit as stop:
        code = stop.code
        recording.end_run(run, "finished" if code in (None, 0) else "failed")
        return 0 if code is None else code if isinstance(code, int) else 1
    except BaseException as error:
        from vitrine.loading import LoadError, user_traceback

        recording.end_run(run, "failed")
        raise LoadError(f"Your code raised {type(error).__name__}: {error}", "Mend the error below; eager raises it too.", user_traceback(error)) from error
    recording.end_run(run, "finished")
    return 0


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    report = Reporter(options.events)
    try:
        import torch  # noqa: F401

        import vitrine
    except ImportError as error:
        report.failure(f"Vitrine cannot run in this Python: {error}", "./vitrine doctor says what is missing.")
        return 1
    import_ns = time.perf_counter_ns() - STARTED
    from vitrine.loading import LoadError, load
    from vitrine.recording import Recording

    try:
        recording = Recording(options.output, import_ns, report)
    except OSError as error:
        report.failure(str(error), "Name another place with -o.")
        return 1
    status = "failed"
    try:
        as_script = options.take_over and not options.entry  # its own calls are what is asked for
        entry = None if as_script else load(options.file, options.entry, options.input)
        if entry is None:
            code = run_script(options, recording)
        else:
            from vitrine.measuring import record_entry

            code = record_entry(entry, options, recording, report)
        status = "finished" if code in (0, 3) else "failed"
        return code
    except LoadError as error:
        recording.message("error", "user", error.what, error.hint, error.detail)
        report.failure(error.what, error.hint, error.detail)
        return 1
    except KeyboardInterrupt:
        status = "cancelled"
        report.failure("Cancelled.", "What was recorded until then is kept.")
        return 130
    finally:
        recording.close(status)
        report.event("finished", status=status, session=options.output)


if __name__ == "__main__":
    sys.exit(main())
