"""What the generators of programs share: a program as a tree of statements, its bounds, how a failure is made smaller, and the
loop over seeds."""

import argparse
import contextlib
import faulthandler
import resource
import signal
import sys
import time
from pathlib import Path

import torch

KEPT = Path(__file__).parent / "kept"
MOST_BYTES = 5 << 30  # of memory: a program that wants more gets its error
MOST_SECONDS = 120  # of the process's time, for one program


class Tree:
    """A head of definitions and a body of statements: each is [line, children]."""

    def __init__(self, head):
        self.head, self.body = list(head), []

    def text(self):
        return "\n\n".join(self.head) + "\n\n\n" + "\n".join(lines_of(self.body, 0)) + "\n"


def lines_of(body, depth):
    for line, children in body:
        yield "    " * depth + line
        if line.endswith(":"):
            yield from lines_of(children, depth + 1) if children else ["    " * (depth + 1) + "pass"]


def parsed(text, filler):
    """Statements of an indented text; a line `$` is what filler() makes."""
    root = []
    levels = [(-1, root)]
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip())
        while levels[-1][0] >= depth:
            levels.pop()
        if line.strip() == "$":
            levels[-1][1].extend(filler())
            continue
        children = []
        levels[-1][1].append([line.strip(), children])
        levels.append((depth, children))
    return root


class TooLong(BaseException):
    """The program runs (nearly) for ever, or grows without bound."""


def _large(value):
    if isinstance(value, torch.Tensor):
        return value.numel() > 20000 or value.dim() > 8
    if isinstance(value, int):
        return abs(value) > 1 << 62
    return isinstance(value, (list, dict, str)) and len(value) > 300


@contextlib.contextmanager
def at_most(lines):
    """Ends a program that executes more lines, or holds a large value, such as one whose list grows while it is walked."""

    def trace(frame, event, arg):
        nonlocal lines
        if frame.f_code.co_filename != "<program>":
            return None
        lines -= event == "line"
        if lines < 0 or any(_large(v) for v in frame.f_locals.values()):
            raise TooLong
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def _out_of_time(*_):
    raise TooLong("compiled, it does not come to an end")


@contextlib.contextmanager
def within(seconds):
    """Of the process's own time: on a busy machine that is much less than goes by. What waits for ever ends, too."""
    for clock, number, most in ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 20 * seconds)):
        signal.signal(number, _out_of_time)
        signal.setitimer(clock, most)
    try:
        yield
    finally:
        for clock in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(clock, 0)


def spots(body):
    """All places of statements, last and outermost first."""
    for i in range(len(body) - 1, -1, -1):
        yield body, i
    for _, children in body:
        yield from spots(children)


def minimise(tree, fails):
    """Deletes statements and definitions, largest first, for as long as fails(tree) stays true."""
    again = True
    while again:
        again = False
        for body, i in [*spots(tree.body), *((tree.head, i) for i in range(len(tree.head) - 1, -1, -1))]:
            if i >= len(body):
                continue
            removed = body[i]
            if isinstance(removed, list) and removed[0].endswith(" += 1") and removed[0].startswith("i"):
                continue  # without it its loop has no end
            del body[i]
            if fails(tree):
                again = True
                continue
            body.insert(i, removed)
            if isinstance(removed, list) and removed[1]:  # its children in its place
                body[i : i + 1] = removed[1]
                if fails(tree):
                    again = True
                    continue
                body[i : i + len(removed[1])] = [removed]
    return tree


def main(description, generate, failure, folder, covered=lambda: ""):
    """generate(seed) -> Tree; failure(tree, seed) -> why it fails, or ""; covered() -> what the programs have been."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--show", type=int, help="print the program of this seed")
    parser.add_argument("--keep", action="store_true", help=f"write minimised failures to tests/fuzz/kept/{folder}/")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    if options.show is not None:
        print(generate(options.show).text())
        return 0
    faulthandler.enable()
    torch.set_num_threads(1)  # on a busy machine two wait for each other
    start, failed, tried = time.monotonic(), [], 0
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() - start > options.seconds:
            break
        print(f"\rseed {seed}", end="", flush=True)  # the last line of a crash
        tree = generate(seed)
        tried += 1
        why = failure(tree, seed)
        if not why:
            continue
        failed.append(seed)
        print(f"\nseed {seed} fails: {why}", flush=True)
        source = minimise(tree, lambda t: failure(t, seed, rest=True)).text()
        print(source, failure(tree, seed), flush=True)
        if options.keep:
            (KEPT / folder).mkdir(exist_ok=True)
            (KEPT / folder / f"seed_{seed}.py").write_text(source)
    print(f"\n{tried} programs in {time.monotonic() - start:.0f} s, {len(failed)} failed: {failed}", covered())
    return bool(failed)
