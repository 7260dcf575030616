"""What is compiled: how often its guards took the fast path, and how each of its sizes got a plan."""

from typing import NamedTuple

from vitrine import _engine


class Instance(NamedTuple):
    values: list[int]  # by symbol
    how: str  # compiled, instantiated, evaluated or recorded
    why: str


class Compiled(NamedTuple):
    name: str
    calls: int
    fast_checks: int
    walks: int
    why_no_backward: str
    backwards: int  # backward graphs that serve all sizes
    instances: list[Instance]


def compiled():
    return [Compiled(*row[:-1], [Instance(*i) for i in row[-1]]) for row in _engine.segments()]


def made_anew():
    """Why plans of new sizes were made by more than putting numbers in; nothing where none was."""
    reasons = {i.why for c in compiled() for i in c.instances if i.how in ("evaluated", "recorded")}
    return sorted(reasons | {c.why_no_backward for c in compiled()} - {""})
