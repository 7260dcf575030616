"""Leaves frames at random instructions, over and over, and compares with plain CPython.

Each program runs once as it is. Then it runs with every Python frame in the concrete interpreter, which hands the
frame to CPython at a random instruction; value, exception and traceback must stay the same, and nothing may leak.

    python -m tests.fuzz.osr_fuzz [--seed N] [--exits N] [--seconds N] [--leaks]
"""

import argparse
import gc
import importlib.util
import itertools
import random
import sys
import time
from pathlib import Path

from tests.fuzz import library, syntax
from tests.fuzz.engine import _engine

GAPS = (1, 2, 4, 8, 16, 32, 105)
PROGRAMS = syntax.PROGRAMS + library.PROGRAMS
if importlib.util.find_spec("torch"):
    from tests.fuzz import models

    PROGRAMS = PROGRAMS + models.PROGRAMS


def described(value, error):
    """What a user sees of a call: its value, or the exception with its traceback's functions, lines and columns."""
    if error is None:
        return "value", repr(value)
    frames, tb = [], error.__traceback__
    while tb:
        code = tb.tb_frame.f_code
        columns = next(itertools.islice(code.co_positions(), tb.tb_lasti // 2, None))
        frames.append((Path(code.co_filename).name, code.co_name, tb.tb_lineno, columns))
        tb = tb.tb_next
    return "error", type(error).__name__, str(error), frames


def plain(function):
    try:
        return described(function(), None)
    except Exception as error:
        error.__traceback__ = error.__traceback__.tb_next
        return described(None, error)


def forced(function, seed, gap, totals):
    value, error, counts = _engine.fuzz(function, seed, gap)
    for name, count in counts.items():
        totals[name] = totals.get(name, 0) + count
    return described(value, error)


def leaked(function, rounds, seed, parts=4):
    """Least growth, in blocks of memory and in tracked objects, of `parts` times `rounds` runs; the first warms up.

    Dicts that grow and shrink by themselves move a single reading up and down by hundreds; a leak moves each one up.
    """
    totals, levels = {}, []
    for _ in range(parts + 1):
        for i in range(rounds):
            forced(function, seed + i, GAPS[i % len(GAPS)], totals)
        gc.collect()
        levels.append((sys.getallocatedblocks(), len(gc.get_objects())))
    return tuple(min(after[k] - before[k] for before, after in itertools.pairwise(levels)) for k in (0, 1))


def growth(function, seed, rounds=56, attempts=5):
    """(what is kept, in how many runs): blocks of memory or objects, where half of the runs keep one; else None.

    Caches of CPython and the library fill up and empty over hundreds of runs; a leak never stops. So it is asked again
    before it is believed, of twice as many runs each time.
    """
    for attempt in range(attempts):
        runs = rounds << attempt
        kept = max(leaked(function, runs, seed + attempt))
        if kept < runs // 2:
            return None
    return kept, runs


def run(seed, exits, seconds, programs=PROGRAMS):
    """Returns (counts, mismatches): each mismatch says program, seed, gap, expected, got."""
    chance, totals, mismatches = random.Random(seed), {"forced": 0}, []
    expected = {}
    for function in programs:
        for _ in range(2):
            expected[function] = plain(function)
    end = time.monotonic() + seconds
    while totals["forced"] < exits and time.monotonic() < end and not mismatches:
        for function in programs:
            one, gap = chance.getrandbits(60), chance.choice(GAPS)
            got = forced(function, one, gap, totals)
            if got != expected[function]:
                mismatches.append((function.__name__, one, gap, expected[function], got))
    return totals, mismatches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--exits", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--leaks", action="store_true", help="afterwards, runs each program often and counts what is left")
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    totals, mismatches = run(options.seed, options.exits, options.seconds)
    print(totals)
    for name, seed, gap, expected, got in mismatches:
        print(f"MISMATCH {name} seed={seed} gap={gap}\n  expected {expected}\n  got      {got}")
    leaks = [(p.__name__, kept) for p in PROGRAMS if options.leaks and (kept := growth(p, options.seed))]
    for name, (kept, runs) in leaks:
        print(f"LEAK {name}: {kept} blocks or objects in {runs} runs")
    return bool(mismatches or leaks) or totals["forced"] < min(options.exits, 10_000)


if __name__ == "__main__":
    sys.exit(main())
