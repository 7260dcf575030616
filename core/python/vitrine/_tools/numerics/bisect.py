"""Finds the rewrite, the fusion and the kernel at which a result turns wrong: `vitrine bisect FILE [-- COMMAND]`.

Without a command each compiled graph of FILE is compared with eager, and the first that differs is compiled again and
again with fewer rewrites of passes, fewer fusions, fewer generated kernels. With one, the command is run again and again
with such limits in its environment (VITRINE_OPT_BISECT); it fails by its exit status.

Exit status: 0 found; 1 nothing differs or fails; 2 it could not run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from vitrine._tools.numerics import entry
from vitrine._tools.numerics.limits import LIMITS, LOG
from vitrine._tools.numerics.programs import Judge, watching
from vitrine._tools.numerics.rows import numerics_rows

KINDS = ("rewrites", "fusions", "kernels")
WORDS = {"rewrites": "rewrite", "fusions": "fusion", "kernels": "kernel"}


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vitrine bisect", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    entry.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="what was found as JSON")
    own, command = entry.split_script(argv)
    options = parser.parse_args(own)
    options.command = command
    return options


class GraphTest:
    """One graph against eager, in this process."""

    def __init__(self, judge: Judge):
        self.judge, self.runs = judge, 0

    def __call__(self, limits=None, disabled: tuple[str, ...] = ()) -> tuple[str, dict]:
        """How it fails with these limits ("": not at all), and what was applied."""
        from vitrine import _engine

        self.runs += 1
        _engine.opt_bisect(*((limits or {}).get(kind, -1) for kind in KINDS))
        try:
            return self.judge.difference(disabled), _engine.opt_bisect_log()
        finally:
            _engine.opt_bisect()


class CommandTest:
    """A command of the user's, whose process obeys the limits."""

    def __init__(self, command: list[str]):
        self.command, self.runs = command, 0

    def __call__(self, limits=None, disabled: tuple[str, ...] = ()) -> tuple[str, dict]:
        self.runs += 1
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.json")
            wanted = ",".join(str((limits or {}).get(kind, -1)) for kind in KINDS)
            try:
                ended = subprocess.run(self.command, env={**os.environ, LIMITS: wanted, LOG: log}, capture_output=True)
            except OSError as error:
                raise entry.LoadError(f"{self.command[0]} cannot be run: {error.strerror}.", "Give a command behind --.") from error
            try:
                with open(log) as file:
                    applied = json.load(file)
            except (OSError, ValueError):  # it was killed, or never imports vitrine
                applied = {kind: [] for kind in KINDS}
        return "" if ended.returncode == 0 else f"{self.command[0]} ended with status {ended.returncode}", applied


def search(fails, total: int) -> int:
    """The smallest limit from 1 to total with which it fails, where it does with the last and not with 0."""
    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle
    return high


def bisected(test) -> dict | None:
    """What turns the result; None where it does not fail at all. By kind: its text, the number and how many there are, or
    that it makes no difference ("")."""
    failure, applied = test({})
    if not failure:
        return None
    found = {"failure": failure}
    for kind in reversed(KINDS):
        total = len(applied.get(kind, ()))
        if total == 0 or test({kind: 0})[0]:
            found[kind] = {"text": "", "number": 0, "of": total}
            continue
        number = search(lambda limit, kind=kind: bool(test({kind: limit})[0]), total)
        _, log = test({kind: number})
        text = log[kind][number - 1][0] if len(log.get(kind, ())) >= number else applied[kind][number - 1][0]
        found[kind] = {"text": text, "number": number, "of": total}
    found["pass"] = pass_of(found["rewrites"]["text"])
    if found["pass"] and isinstance(test, GraphTest):
        try:
            found["mended_without_pass"] = not test({}, (found["pass"],))[0]
        except RuntimeError:
            pass
    found["runs"] = test.runs
    return found


def pass_of(text: str) -> str:
    """ "decompose" of "decompose: gelu at model.py:3" and of "pass decompose, decomposed"."""
    return text.removeprefix("pass ").partition(":")[0].partition(",")[0]


def failing_graph(options):
    """(name, judge) of the first compiled graph of the file that differs from eager; else of the first value that does."""
    with watching() as programs:
        name = entry.run(options)
    if not programs:
        raise entry.nothing_compiled(options)
    for number, program in enumerate(programs):
        judge = Judge(program, program.graph)
        if judge.difference():
            return f"{name}, {program.name or 'graph'} ({number + 1} of {len(programs)})", judge
    for number, program in enumerate(programs):
        if judge := diverging_value(program):
            return f"{name}, {program.name or 'graph'} ({number + 1} of {len(programs)}), of which no result differs: its value {judge.returned[0]}", judge
    return name, None


def diverging_value(program) -> Judge | None:
    """Of a graph whose results are right: the first value inside of it that is not, as the only result."""
    first = next((row["name"] for row in numerics_rows(program) if row.get("first")), None)
    judge = Judge(program, program.graph.returning([f"%{first}"]).without_dead()) if first else None
    return judge if judge and judge.difference() else None


def report(name: str, found: dict) -> str:
    lines = [f"{name}: {found['failure']}"]
    kernel = found["kernels"]
    if kernel["text"]:
        lines.append(f"{kernel['text']} first differs: kernel {kernel['number']} of {kernel['of']}; with PyTorch's operators in its place the result is right.")
    else:
        lines.append("No generated kernel is at fault: it fails without any, too.")
    fusion, rewrite = found["fusions"], found["rewrites"]
    if fusion["text"]:
        lines.append(f"Fusion: {fusion['text']} ({fusion['number']} of {fusion['of']}); without it the result is right.")
    else:
        lines.append("Fusion: it fails without any." if fusion["of"] else "Fusion: there is none.")
    if rewrite["text"]:
        lines.append(f"Rewrite: {rewrite['text']} ({rewrite['number']} of {rewrite['of']}); without it the result is right.")
        if found.get("mended_without_pass"):
            lines.append(f'  options={{"disabled_passes": ["{found["pass"]}"]}} avoids it.')
    else:
        lines.append("Passes: it fails without any rewrite." if rewrite["of"] else "Passes: none changed the graph.")
    lines.append(f"{found['runs']} runs.")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        if options.command:
            name, test = " ".join(options.command), CommandTest(options.command)
        else:
            name, judge = failing_graph(options)
            test = GraphTest(judge) if judge else None
        found = bisected(test) if test else None
    except entry.LoadError as error:
        return entry.tell(error)
    if found is None:
        print(json.dumps(None) if options.json else f"{name}: nothing differs from eager." if not options.command else f"{name}: it does not fail.")
        return 1
    print(json.dumps({"name": name, **found}, indent=1) if options.json else report(name, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
