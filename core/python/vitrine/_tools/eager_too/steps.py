"""The steps of a script: each lasts from a call of what it calls first in a step to the next such call. The eager run and
the compiled one are cut by the same rule, so a step has the same number in both."""

import threading
import time
from dataclasses import dataclass, field

import torch

from vitrine import _engine

MOST = 100_000


def finish() -> None:
    """What a GPU still has to do belongs to what was called before."""
    if torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()


class Calls:
    """Notes when this thread calls what was compiled, until `take`. eager: it runs as eager does; finishes: what a GPU still
    has to do is waited for before each call."""

    def __init__(self, eager: bool = False, finishes: bool = True):
        self.finishes = finishes
        self.found: list[tuple[int, int, int]] = []  # which callable, by its first call; when it was called; when it began
        self.ranks: dict[int, int] = {}
        self.thread = threading.get_ident()
        _engine.before_calls(self.before, eager)

    def before(self, number: int) -> None:
        if threading.get_ident() != self.thread or len(self.found) >= MOST:
            return
        if self.finishes:
            finish()
        now = time.monotonic_ns()
        rank = self.ranks.setdefault(number, len(self.ranks))
        self.between(rank)
        self.found.append((rank, now, time.monotonic_ns()))

    def between(self, rank: int) -> None:
        """What is done before a call, which belongs to no step."""

    def take(self) -> list[tuple[int, int, int]]:
        _engine.before_calls(None, False)
        return self.found


@dataclass
class Steps:
    anchor: int = 0  # the callable that each step calls first, by its first call
    begun: list[int] = field(default_factory=list)  # on CLOCK_MONOTONIC; one more than there are steps, which end where the next begins
    ns: list[int] = field(default_factory=list)  # how long each took

    def within(self, step: int) -> tuple[int, int]:
        return self.begun[step], self.begun[step] + self.ns[step]


def steps_of(calls: list) -> Steps:
    """The step behind the last call is left out: where it ends is not known. Of those that are called about as often as any,
    the callable that was called first begins a step."""
    times: dict[int, int] = {}
    for rank, _, _ in calls:
        times[rank] = times.get(rank, 0) + 1
    often = [rank for rank, n in times.items() if 2 * n > max(times.values())]
    if not often:
        return Steps()
    anchor = min(often)
    at = [(asked, begun) for rank, asked, begun in calls if rank == anchor]
    return Steps(anchor, [begun for _, begun in at], [asked - begun for (_, begun), (asked, _) in zip(at, at[1:])])
