"""The exceptions and warnings that Vitrine raises itself."""


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


class VitrineWarning(UserWarning):
    """Something runs as eager runs it, although it was to be compiled."""
