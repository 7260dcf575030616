"""What a call does on a GPU: devices, waiting for them, and CUPTI's recording as slices of the timeline."""

import contextlib

import torch
from torch.utils import _pytree as pytree

from vitrine import _engine, config

DEVICE_KINDS = ("kernel", "copy", "set", "graph")
CALL_KINDS = ("runtime_call", "driver_call")
FAMILIES = {"copy": "memory", "set": "memory"}
# A call that only asks, thousands of times: it would hide what the others do.
ASKING = ("cudaGetDevice", "cudaPeekAtLastError", "cudaGetLastError", "cudaStreamIsCapturing", "cuCtxGetCurrent", "cudaSetDevice")


def device_of(function, *trees) -> torch.device | None:
    """The GPU that a call works on, by its arguments, parameters and buffers; None: the CPU."""
    owner = getattr(function, "__self__", function)
    tensors = [t for t in pytree.tree_leaves(trees) if isinstance(t, torch.Tensor)]
    if isinstance(owner, torch.nn.Module):
        tensors += [*owner.parameters(), *owner.buffers()]
    return next((t.device for t in tensors if t.is_cuda), None)


def finished(function):
    """The function, but back only when the GPU has done what it launched."""

    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        torch.cuda.synchronize()
        return result

    return run


def random_states():
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None


def set_random_states(states) -> None:
    torch.set_rng_state(states[0])
    if states[1] is not None:
        torch.cuda.set_rng_state_all(states[1])


class Recording:
    """Of all that happens while it is entered: `activities` afterwards, or `problem`, (what, hint), where CUPTI refused."""

    def __init__(self):
        self.activities: list[dict] = []
        self.problem: tuple[str, str] | None = None
        self.lost = 0

    def __enter__(self):
        # PyTorch's profiler keeps its subscription when it ends.
        self.problem = _engine.gpu_recording_start(config.cupti, not torch.autograd._profiler_enabled())
        return self

    def __exit__(self, *exception):
        if self.problem is None:
            log, self.lost = _engine.gpu_recording_stop()
            self.activities = _engine.gpu_activities(log)


@contextlib.contextmanager
def recorded(wanted: bool):
    """A Recording of the block where it is wanted; else an empty one."""
    recording = Recording()
    with recording if wanted else contextlib.nullcontext():
        yield recording


def within(activities, begin: int, end: int) -> list[dict]:
    """What was called from `begin` on and before `end`, and what that started, which may run later."""
    calls = [a for a in activities if a["kind"] in CALL_KINDS and begin <= a["start"] < end]
    started = {a["correlation"] for a in calls}
    return [
        a
        for a in activities
        if (a["kind"] in CALL_KINDS and begin <= a["start"] < end)
        or (a["kind"] in DEVICE_KINDS and a["correlation"] in started)
        or (a["kind"] in ("wait", "overhead") and begin <= a["start"] < end)
    ]


def innermost(owners, time: int):
    """Of the owners the shortest that holds a time, or None: one that is linked, where there is one. An operator that a node
    of the graph stands for (layer_norm) may do its work in others of its own (native_layer_norm), which none stands for."""
    holding = [o for o in owners if o[0] <= time < o[1]]
    linked = [o for o in holding if o[4]]
    return min(linked or holding, key=lambda o: o[1] - o[0], default=None)


def kernels_of(activities, owners) -> list[tuple[int, str, int]]:
    """The kernels of one call in the order of their launches: (entity of the owner, name on the device, correlation).
    activities, owners: as of slices_of."""
    owner_of = {a["correlation"]: innermost(owners, a["start"]) for a in activities if a["kind"] in CALL_KINDS}
    started = sorted((a for a in activities if a["kind"] == "kernel"), key=lambda a: a["correlation"])
    return [(owner[4] if (owner := owner_of.get(a["correlation"])) else 0, a["name"], a["correlation"]) for a in started]


def slices_of(activities, begin: int, owners, make) -> dict[tuple, list]:
    """Lanes of one call: (kind, device, stream) or (kind, thread) -> slices.

    activities: of `within`; begin: the call's start; owners: (start, end, name, family, entity, relation) of what the
    CPU was doing, on the same clock: an operator, or a launch of the plan. A call of CUDA's belongs to the innermost
    owner around it, and a kernel to the owner of the call that has its correlation. make: builds a slice.
    """
    owner_of = {a["correlation"]: innermost(owners, a["start"]) for a in activities if a["kind"] in CALL_KINDS}
    lanes: dict[tuple, list] = {}
    for a in activities:
        if a["kind"] in CALL_KINDS and a["name"].split("_v")[0] in ASKING:
            continue
        owner = owner_of.get(a["correlation"]) if a["kind"] in (*DEVICE_KINDS, *CALL_KINDS) else None
        name, family = a["name"], FAMILIES.get(a["kind"], "opaque")
        if a["kind"] == "kernel":
            # Our kernels are called as in the plan.
            name, family = (owner[2] if owner and name.startswith("vitrine_") else short(name)), owner[3] if owner else "opaque"
        lane = (
            ("stream", a["device"], a["stream"]) if a["kind"] in DEVICE_KINDS
            else ("api", a["thread"]) if a["kind"] in CALL_KINDS
            else (a["kind"],)
        )  # fmt: skip
        entity, relation = (owner[4], owner[5]) if owner else (0, 0)
        lanes.setdefault(lane, []).append(make(a["start"] - begin, a["end"] - a["start"], name, family, entity, 0, relation))
    return lanes


def short(name: str) -> str:
    """A kernel's name without return type, arguments and templates: "void at::native::f<int>(float*)" -> "at::native::f"."""
    plain = demangled(name).replace("(anonymous namespace)::", "")
    depth, out = 0, ""
    for c in plain:
        if c == "(" and depth == 0:
            break
        depth += (c == "<") - (c == ">")
        if depth == 0 and c != ">":
            out += c
    return out.split()[-1] if out.split() else name


def demangled(name: str) -> str:
    try:
        return torch._C._demangle(name)
    except (AttributeError, RuntimeError):
        return name


def time_of_launches(lanes: dict[tuple, list]) -> dict[int, int]:
    """How long the GPU worked for each entity, in ns."""
    out: dict[int, int] = {}
    for lane, slices in lanes.items():
        if lane[0] == "stream":
            for s in slices:
                out[s.entity] = out.get(s.entity, 0) + s.duration
    return out


def in_order(lanes) -> list[tuple]:
    """From what the CPU does to what the device does."""
    order = ("overhead", "api", "wait", "stream")
    return sorted(lanes, key=lambda lane: (order.index(lane[0]), lane[1:]))


def label_of(lane: tuple) -> str:
    if lane[0] == "stream":
        return f"GPU {lane[1]}, stream {lane[2]}"
    return {"api": "CUDA API", "wait": "waiting", "overhead": "profiler and driver"}[lane[0]]
