"""How long values are compared: a training step of a language model has thousands, and each part of them runs it again."""

import math
import sys
import time

SECONDS = 120.0
TOLD_EVERY = 5.0


class Budget:
    """seconds: 0 = as long as it takes. told: whether progress is written to stderr."""

    def __init__(self, seconds: float = 0, told: bool = False):
        self.seconds, self.told = seconds, told
        self.end = time.monotonic() + seconds if seconds else math.inf
        self.until, self.next = self.end, time.monotonic() + TOLD_EVERY
        self.name = ""

    def share(self, name: str, left: int) -> None:
        """For a program: of the time that is left its part, where as many programs are to come with it."""
        now = time.monotonic()
        self.name, self.until = name, self.end if left < 2 or self.end == math.inf else now + (self.end - now) / left

    def over(self) -> bool:
        return time.monotonic() >= self.until

    def tell_fused(self, values: int) -> None:
        """Before the longest part: until it is done nothing is counted."""
        if self.told and values:
            print(f"vitrine: {self.name or 'graph'}: compiled again for {values} values that are in no memory", file=sys.stderr)

    def tell(self, done: int, of: int) -> None:
        now = time.monotonic()
        if self.told and now >= self.next:
            self.next = now + TOLD_EVERY
            print(f"vitrine: {self.name or 'graph'}: {done} of {of} values compared", file=sys.stderr)
