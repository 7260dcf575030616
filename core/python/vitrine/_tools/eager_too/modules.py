"""Which module each part of the eager step is of: forward as hooks see it; backward by the sequence numbers by which PyTorch's
profiler joins an operator's gradient to the operator."""

import threading
import time
from dataclasses import dataclass

import torch

BACKWARD = "autograd::engine::evaluate_function"


@dataclass
class Range:
    start: int  # on CLOCK_MONOTONIC
    end: int
    name: str  # of the module within the outermost one that was called; of that one its class
    depth: int


class Modules:
    """Notes while it is entered when each module's forward began and ended in this thread."""

    def __init__(self):
        self.ranges: list[Range] = []
        self.open: list[Range] = []
        self.names: dict[int, str] = {}  # by id, of the modules below those that were called first
        self.thread = threading.get_ident()

    def __enter__(self):
        hooks = torch.nn.modules.module
        self.handles = [hooks.register_module_forward_pre_hook(self.before), hooks.register_module_forward_hook(self.after, always_call=True)]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    def before(self, module, args) -> None:
        if threading.get_ident() != self.thread:
            return
        if not self.open and id(module) not in self.names:
            self.names[id(module)] = type(module).__name__
            for path, inner in module.named_modules():
                self.names.setdefault(id(inner), path)
        self.open.append(Range(time.monotonic_ns(), 0, self.names.get(id(module)) or type(module).__name__, len(self.open)))

    def after(self, module, args, result) -> None:
        if threading.get_ident() == self.thread and self.open:
            found = self.open.pop()
            found.end = time.monotonic_ns()
            self.ranges.append(found)

    def chain_at(self, when: int) -> tuple[str, ...]:
        """The modules whose forward ran then, the outermost first."""
        return tuple(r.name for r in sorted((r for r in self.ranges if r.start <= when < r.end), key=lambda r: r.depth))


def backward_of(modules: Modules, events, offset: int, thread: int) -> list[Range]:
    """Neighbouring gradients of one module's operators are one range. offset: of the events' clock."""
    forward: dict[int, int] = {}  # by sequence number, when the operator began
    for e in events:
        if e.sequence_nr() >= 0 and not e.name().startswith(BACKWARD) and e.start_thread_id() == thread:
            forward.setdefault(e.sequence_nr(), e.start_ns() - offset)
    gradients = [e for e in events if e.name().startswith(BACKWARD) and e.start_thread_id() == thread and e.sequence_nr() in forward]
    chains: dict[int, tuple[str, ...]] = {}
    out: list[Range] = []
    now: list[Range] = []  # open, the outermost first
    for e in sorted(gradients, key=lambda e: e.start_ns()):
        number = e.sequence_nr()
        chain = chains.setdefault(number, modules.chain_at(forward[number]))
        same = next((i for i, (r, name) in enumerate(zip(now, chain)) if r.name != name), min(len(now), len(chain)))
        out += now[same:]
        start = e.start_ns() - offset
        now = now[:same] + [Range(start, start, name, depth) for depth, name in enumerate(chain) if depth >= same]
        for r in now:
            r.end = start + e.duration_ns()
    return out + now
