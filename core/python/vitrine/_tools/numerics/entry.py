"""The file that a command of this folder runs: its entry is called once, compiled, or it is run as a script."""

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

import torch

from vitrine._tools.loading import LoadError, UsageError, check_arguments, load, raised
from vitrine._tools.files.notebook import check_script, run_as_main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="Python file: it defines model and inputs, or is a script")
    parser.add_argument("--entry", help="function, class or Class.method to call")
    parser.add_argument("--input", action="append", default=[], help='one argument: "f32[8,128]" or a Python literal; repeatable')
    parser.add_argument("--take-over", action="store_true", help="compile what a script gives to torch.compile")
    parser.add_argument("--mode", default="default", help="torch.compile's modes")
    parser.add_argument("--grad", action="store_true", help="keep grad mode on for a module in eval mode")


def split_script(argv: list[str]) -> tuple[list[str], list[str]]:
    """What stands before --, and behind it."""
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


def run(options) -> str:
    """Runs it; its name for people. Raises LoadError for what the user has to mend."""
    import vitrine
    from vitrine._tools.run import file_problem

    if problem := file_problem(options.file):
        raise LoadError(*problem)
    check_arguments(options.file, options.entry, options.input)
    entry = None if options.take_over and not options.entry else load(options.file, options.entry, options.input)
    if entry is None:
        run_script(options)
        return Path(options.file).name
    owner = getattr(entry.function, "__self__", entry.function)
    is_eval = isinstance(owner, torch.nn.Module) and not owner.training
    with torch.no_grad() if is_eval and not options.grad else contextlib.nullcontext():
        compiled = vitrine.compile(entry.function, mode=options.mode)
        for args in entry.calls:
            try:
                compiled(*args, **entry.kwargs)
            except Exception as error:
                raise raised(error) from error
    return f"{entry.label}: {entry.text}"


def run_script(options) -> None:
    from vitrine.take_over import torch_compile_taken_over

    check_script(options.file)
    options.is_script = True
    sys.argv = [options.file, *getattr(options, "script", [])]
    sys.path.insert(0, str(Path(options.file).resolve().parent))
    with torch_compile_taken_over() if options.take_over else contextlib.nullcontext():
        try:
            run_as_main(options.file)
        except SystemExit as stop:
            if stop.code not in (None, 0):
                raise LoadError(f"Your script ended with {stop.code}.", "It has to run to its end.") from stop
        except LoadError:  # of a notebook
            raise
        except Exception as error:
            raise raised(error) from error


def nothing_compiled(options) -> LoadError:
    """What is said of a file that has run and compiled nothing."""
    from vitrine._tools.run import nothing_compiled

    if getattr(options, "is_script", False):
        return nothing_compiled(options.file)
    return LoadError("Nothing was compiled.", "`vitrine explain` says why.")


def tell(error: LoadError) -> int:
    """Says what the user has to mend; the exit status of what could not run."""
    lines = (f"vitrine: {error.what}", error.detail.rstrip(), f"  {error.hint}" if error.hint else "")
    print("\n".join(line for line in lines if line), file=sys.stderr)
    return 2


@contextlib.contextmanager
def session_at(path: str | None):
    """The recording of a session at that path; at one that goes afterwards where there is none. Raises LoadError."""
    from vitrine._tools.recording import Recording

    with tempfile.TemporaryDirectory() as folder:
        try:
            yield Recording(path or os.path.join(folder, "check.vitrine"), 0)
        except OSError as error:
            what, _, hint = str(error).partition("\n")
            raise LoadError(what, hint) from error


__all__ = ["LoadError", "UsageError", "add_arguments", "nothing_compiled", "run", "session_at", "split_script", "tell"]
