"""What two runs of one script print, compared by the losses in it."""

import contextlib
import io
import math
import re
import sys

MOST_BYTES = 4_000_000
RELATIVE = 1e-3  # by which losses of runs that round differently may be apart
# "loss: 0.693", "'train_loss': 6.9e-01", "loss after 8 steps 0.31": the first number behind the word that is no whole one.
LOSS = re.compile(r"loss\w*\b([^\n]{0,60}?)(?<![\w.])([-+]?(?:\d+\.\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+|nan|inf))(?![\w.]*\w)", re.IGNORECASE)


class _KeptFile(io.FileIO):
    """Writes to a descriptor, and keeps what it wrote."""

    def __init__(self, descriptor: int):
        super().__init__(descriptor, "w", closefd=False)
        self.kept = bytearray()

    def write(self, data):
        written = super().write(data)
        if len(self.kept) < MOST_BYTES:
            self.kept += bytes(data)[:written]
        return written


@contextlib.contextmanager
def printed():
    """A function that gives what was printed through sys.stdout meanwhile; it goes where it would go."""
    before = sys.stdout
    try:
        before.flush()
        file = _KeptFile(before.fileno())
    except (AttributeError, OSError, ValueError):  # there is none, or it is no file
        yield lambda: ""
        return
    own = io.TextIOWrapper(io.BufferedWriter(file), before.encoding, before.errors, line_buffering=before.line_buffering)
    sys.stdout = own

    def text() -> str:
        with contextlib.suppress(ValueError, OSError):  # the script has closed it
            own.flush()
        return file.kept.decode(errors="replace")

    try:
        yield text
    finally:
        text()
        if sys.stdout is own:
            sys.stdout = before


def losses_of(text: str) -> list[str]:
    return [match[2] for match in LOSS.finditer(text)]


def _unit(number: str) -> float:
    """Of the last place that is printed."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def _alike(one: str, other: str) -> bool:
    a, b = float(one), float(other)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= max(RELATIVE * max(abs(a), abs(b)), 1.5 * max(_unit(one), _unit(other)))


def difference(eager: str, compiled: str) -> str:
    """How the losses that both print differ: "loss 3 of 8: eager 0.693, compiled 0.712"; "" where they do not."""
    theirs, ours = losses_of(eager), losses_of(compiled)
    if len(theirs) != len(ours):
        return f"eager printed {len(theirs)} of them, compiled {len(ours)}"
    for i, (one, other) in enumerate(zip(theirs, ours)):
        if not _alike(one, other):
            return f"loss {i + 1} of {len(ours)}: eager {one}, compiled {other}"
    return ""


def agreement(compiled: str) -> str:
    """What is said where they do not differ."""
    n = len(losses_of(compiled))
    return f"{n} printed {'loss agrees' if n == 1 else 'losses agree'}" if n else "no loss is printed, so results were not compared"
