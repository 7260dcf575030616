"""The exceptions and warnings that Vitrine raises itself."""

import linecache


class GraphBreakError(RuntimeError):
    """Capture had to stop although ``fullgraph=True`` was asked for.

    ``kind`` names the sort of break, ``reason`` says what stood in the way, ``hint`` what to do about it, and
    ``stack`` lists the user's frames as ``(place, line)``, innermost first.
    """

    def __init__(self, kind: str, reason: str, hint: str = "", stack: list | None = None):
        self.kind, self.reason, self.hint, self.stack = kind, reason, hint, list(stack or [])
        lines = [f"graph break under fullgraph=True: {reason} [{kind}]"]
        lines += [f"  at {place}" for place, *_ in self.stack]
        if hint:
            lines.append(f"  hint: {hint}")
        super().__init__("\n".join(lines))

    def __reduce__(self):
        return type(self), (self.kind, self.reason, self.hint, self.stack)


class ConstraintViolationError(RuntimeError):
    """A size is not what it was marked as: outside of the range given to ``mark_dynamic``, or fixed by the program.

    ``source`` names the size, ``reason`` says what is wrong, ``place`` is the line (``file:line``) of the program that
    asked for it.
    """

    def __init__(self, source: str, reason: str, place: str = ""):
        self.source, self.reason, self.place = source, reason, place
        text = f"Constraints violated ({source})!\n  - {reason}"
        file, _, line = place.rpartition(":")
        if file and line.isdigit():
            text += f"\n\nUser stack:\n  File \"{file}\", line {line}"
            source_line = linecache.getline(file, int(line)).strip()
            text += f"\n    {source_line}" if source_line else ""
        super().__init__(text)

    def __reduce__(self):
        return type(self), (self.source, self.reason, self.place)


class VitrineWarning(UserWarning):
    """Something runs as eager runs it, although it was to be compiled."""
