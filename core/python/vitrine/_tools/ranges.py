"""What a script does beside what it compiles: the ranges that PyTorch and the user's code name with record_function."""

import threading
import time

from torch.autograd.profiler import record_function

MOST = 100_000
# How PyTorch names its own ranges, and what a person calls them.
WORDS = (("enumerate(DataLoader)#", "data loading"), ("Optimizer.step#", "optimizer step"), ("Optimizer.zero_grad#", "zero_grad"))


def word_of(name: str) -> str:
    return next((word for begin, word in WORDS if name.startswith(begin)), name)


class Ranges:
    """Notes when each range of this thread began and ended. record_function itself stays what it is: a capture knows the
    class, and what its methods do is its business alone."""

    def __init__(self):
        self.found: list[tuple[int, int, str]] = []  # begin and end on CLOCK_MONOTONIC, name
        self.open: dict[int, int] = {}
        self.thread = threading.get_ident()
        self.enter, self.leave = record_function.__enter__, record_function.__exit__
        found, opened, thread, enter, leave = self.found, self.open, self.thread, self.enter, self.leave

        def begin(its):
            if threading.get_ident() == thread:
                opened[id(its)] = time.monotonic_ns()
            return enter(its)

        def end(its, *error):
            out = leave(its, *error)
            start = opened.pop(id(its), None)
            if start is not None and len(found) < MOST:
                found.append((start, time.monotonic_ns(), word_of(str(its.name))))
            return out

        record_function.__enter__, record_function.__exit__ = begin, end

    def take(self) -> list[tuple[int, int, str]]:
        """The ranges until now; no more are noted."""
        record_function.__enter__, record_function.__exit__ = self.enter, self.leave
        return sorted(self.found)
