"""A script run as eager does, in a process of its own: `python -m vitrine._tools.eager_too.run_again ASKED`, a file of JSON that says
what is run and where its report goes. `vitrine run --eager-too` starts it; what the script prints is the starter's to keep."""

import contextlib
import ctypes
import json
import signal
import sys
from pathlib import Path

from vitrine._tools.evidence import Watch
from vitrine._tools.files.notebook import run_as_main
from vitrine._tools.ranges import Ranges
from vitrine._tools.eager_too.modules import Modules, backward_of
from vitrine._tools.eager_too.step_memory import WeighedCalls, eager_report
from vitrine._tools.timeline import MARK, clock_offset, operators_of, quiet_profile, set_marks
from vitrine.take_over import torch_compile_taken_over


PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


class ProfiledCalls(WeighedCalls):
    """Has one step profiled: the `wanted`-th, from 0, of those that `anchor` begins. It is none whose memory is noted."""

    def __init__(self, anchor: int, wanted: int):
        self.anchor, self.wanted, self.met = anchor, wanted, 0
        self.open = contextlib.ExitStack()
        self.profile = self.marks = None
        self.modules = Modules()
        self.problem = ""
        super().__init__(eager=True)

    def between(self, rank: int) -> None:
        if rank == self.anchor and self.met == self.wanted + 1:
            self.open.close()
        super().between(rank)
        if rank != self.anchor:
            return
        if self.met == self.wanted:
            self.begin()
        self.met += 1

    def begin(self) -> None:
        try:
            self.profile = self.open.enter_context(quiet_profile())
            self.marks = set_marks()
            self.open.enter_context(self.modules)
        except Exception as error:  # the script profiles itself
            self.problem = f"{type(error).__name__}: {error}"
            self.profile = None

    def operators(self) -> list:
        self.open.close()
        begun = [begun for rank, _, begun in self.found if rank == self.anchor]
        if not self.profile or len(begun) < self.wanted + 2:
            return []
        slices = operators_of(self.profile, self.marks, begun[self.wanted], begun[self.wanted + 1])
        return [(s.start, s.duration, s.name) for s in slices]

    def module_ranges(self) -> list:
        """Of forward and backward of the step that was profiled."""
        if not self.profile:
            return []
        events = self.profile.kineto_results.events()
        thread = next(e.start_thread_id() for e in events if e.name() == MARK)
        backward = backward_of(self.modules, events, clock_offset(events, self.marks), thread)
        return [(r.start, r.end, r.name) for r in (*self.modules.ranges, *backward)]


def end_with_starter() -> None:
    """Nobody would wait for a script whose starter was killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    sys.argv = [asked["file"], *asked["arguments"]]
    sys.path.insert(0, str(Path(asked["file"]).resolve().parent))
    end_with_starter()
    watch, ranges, calls = Watch(), Ranges(), ProfiledCalls(asked["anchor"], asked["shown"])
    ended = False
    try:
        with torch_compile_taken_over() if asked["take_over"] else contextlib.nullcontext():
            run_as_main(asked["file"])
        ended = True
    except SystemExit as stop:
        ended = stop.code in (None, 0)
        raise
    finally:
        if ended:
            evidence, found = watch.evidence(), calls.take()
            report = {"calls": found, "ranges": ranges.take(), "operators": calls.operators(), "modules": calls.module_ranges(), "problem": calls.problem, "evidence": evidence, "memory": eager_report(calls.memory, found)}
            Path(asked["report"]).write_text(json.dumps(report))


if __name__ == "__main__":
    main()
