"""The exceptions and warnings that Vitrine raises itself."""

import functools
import linecache
import sys
import traceback

from vitrine._after_loading import after_loading


def text_of(error: BaseException) -> str:
    """What an error says of itself. A user's class may raise in ``__str__``: then what Python's traceback has there."""
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


# What a program written for torch.compile catches, by the name of ours.
_CAUGHT_AS = {
    "GraphBreakError": ("torch._dynamo.exc", "Unsupported"),
    "RecompileError": ("torch._dynamo.exc", "RecompileError"),
    "RecompileLimitError": ("torch._dynamo.exc", "FailOnRecompileLimitHit"),
    "ConstraintViolationError": ("torch.fx.experimental.symbolic_shapes", "ConstraintViolationError"),
}


def _derive(ours: type) -> None:
    path, name = _CAUGHT_AS[ours.__name__]
    theirs = getattr(sys.modules.get(path), name, None)
    if theirs and not issubclass(ours, theirs):
        ours.__bases__ = (CompileError, theirs)


@functools.cache
def _derive_later(ours: type) -> None:
    after_loading("torch._dynamo", functools.partial(_derive, ours))


def caught_as_pytorchs(ours: type) -> type:
    """An error class of ours, derived from PyTorch's of the same meaning, too: an ``except`` asks for base classes, and for
    nothing else. The clause may be the first that loads PyTorch's."""
    _derive(ours)
    if "torch._dynamo" not in sys.modules:
        _derive_later(ours)
    return ours


def backend_failed(backend, error: BaseException):
    """What the error of a user's own backend arrives as, as from torch.compile."""
    from torch._dynamo.exc import BackendCompilerFailed

    made = BackendCompilerFailed(backend, error, None)
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


class CompileError(RuntimeError):
    """What ``vitrine.compile`` raises where eager would not. ``remedy`` says what to do about it."""

    remedy = ""


class GraphBreakError(CompileError):
    """Capture had to stop although ``fullgraph=True`` was asked for.

    ``kind`` names the sort of break, ``reason`` says what stood in the way, ``hint`` what to do about it, and
    ``stack`` lists the user's frames as ``(place, line)``, innermost first.
    """

    remedy = "Leave out fullgraph, or remove the break."

    def __init__(self, kind: str, reason: str, hint: str = "", stack: list | None = None):
        self.kind, self.reason, self.hint, self.stack = kind, reason, hint, list(stack or [])
        lines = [f"graph break under fullgraph=True: {reason} [{kind}]"]
        lines += [f"  at {place}" for place, *_ in self.stack]
        if hint:
            lines.append(f"  hint: {hint}")
        self.msg = "\n".join(lines)  # as torch._dynamo.exc.Unsupported has it
        RuntimeError.__init__(self, self.msg)  # and no other base's (take_over.py)

    @property
    def real_stack(self) -> traceback.StackSummary:
        """The user's frames, outermost first, as torch._dynamo.exc.Unsupported has them."""
        frames = []
        for place, *_ in reversed(self.stack):
            file, _, rest = str(place).rpartition(":")
            number, _, name = rest.partition(" ")
            frames.append((file, int(number) if number.isdigit() else 0, name, None))
        return traceback.StackSummary.from_list(frames)

    def __reduce__(self):
        return type(self), (self.kind, self.reason, self.hint, self.stack)


class RecompileError(CompileError):
    """A place was to be compiled again, which ``error_on_recompile`` forbids. ``place`` is where, ``failed`` the guard."""

    remedy = "Leave error_on_recompile out, or pass what the guard asks for."

    def __init__(self, place: str, failed: str):
        self.place, self.failed = place, failed
        RuntimeError.__init__(
            self, f"Recompiling function {place}\n    triggered by the following guard failure(s):\n    - {failed}"
        )

    def __reduce__(self):
        return type(self), (self.place, self.failed)


class RecompileLimitError(CompileError):
    """A function was compiled as often as ``recompile_limit`` allows, and it may not run eagerly: ``asked_by`` says why not
    (``fullgraph=True``, or ``fail_on_recompile_limit_hit``).

    ``reason`` names the function, ``hint`` says what to do about it.
    """

    remedy = "Leave out fullgraph, or raise the limit."

    def __init__(self, reason: str, hint: str = "", asked_by: str = "fullgraph=True"):
        self.reason, self.hint, self.asked_by = reason, hint, asked_by
        RuntimeError.__init__(self, f"recompile limit reached under {asked_by}: {reason}\n  hint: {hint}")

    def __reduce__(self):
        return type(self), (self.reason, self.hint, self.asked_by)


class ConstraintViolationError(CompileError):
    """A size is not what it was marked as: outside of the range given to ``mark_dynamic``, or fixed by the program.

    ``source`` names the size, ``reason`` says what is wrong, ``place`` is the line (``file:line``) of the program that
    asked for it.
    """

    remedy = "Give mark_dynamic the range that occurs, or leave the size unmarked."

    def __init__(self, source: str, reason: str, place: str = ""):
        self.source, self.reason, self.place = source, reason, place
        text = f"Constraints violated ({source})!\n  - {reason}"
        file, _, line = place.rpartition(":")
        if file and line.isdigit():
            text += f"\n\nUser stack:\n  File \"{file}\", line {line}"
            source_line = linecache.getline(file, int(line)).strip()
            text += f"\n    {source_line}" if source_line else ""
        RuntimeError.__init__(self, text)

    def __reduce__(self):
        return type(self), (self.source, self.reason, self.place)


class DoubleBackwardError(CompileError):
    """A derivative of a compiled region's derivative was asked for (``create_graph=True``). ``region`` names it."""

    remedy = "Run that part uncompiled (vitrine.disable)."

    def __init__(self, region: str):
        self.region = region
        super().__init__(
            f"vitrine.compile does not support double backward (create_graph=True): {region} was "
            f"compiled with its first derivative only. Run it uncompiled (vitrine.disable)."
        )

    def __reduce__(self):
        return type(self), (self.region,)


class VitrineWarning(UserWarning):
    """Something runs as eager runs it, although it was to be compiled."""
