"""The fastest that this machine copies memory and multiplies matrices: what kernels are measured against (roofline).

A machine that does other work meanwhile is slower and never faster: the best of several measurements counts, those of
earlier runs on the same machine with as many threads included. These are kept in the cache folder, with their date.
"""

import contextlib
import glob
import json
import math
import os
import platform
import stat
import tempfile
import time

import torch

REPETITIONS = 4
# (device type) -> bytes of a copy at least; n of an n x n product; element types of products.
SIZES = {
    "cuda": (1 << 28, 8192, (torch.float32, torch.float16, torch.bfloat16)),
    "cpu": (1 << 26, 768, (torch.float32,)),
}
BEYOND_CACHE, LARGEST_COPY = 4, 1 << 29  # a copy is so many times the last-level cache, up to so many bytes
NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
FILE, MOST_BYTES, MOST_MACHINES = "ceilings.json", 1 << 20, 64
FASTEST = 1e18  # no machine does more a second: what claims to is damaged


def size_in_bytes(text: str) -> int:
    """Of "32768K", as the kernel writes it."""
    text = text.strip()
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit


def cpu_cache_bytes() -> int:
    """The caches of the last level that this process's CPUs have, together; 0: not known."""
    found: dict[tuple[int, str], int] = {}
    for cpu in os.sched_getaffinity(0):
        for folder in glob.glob(f"/sys/devices/system/cpu/cpu{cpu}/cache/index*"):
            with contextlib.suppress(OSError, ValueError):
                level, shared, size = (open(f"{folder}/{name}").read().strip() for name in ("level", "shared_cpu_list", "size"))
                found[int(level), shared] = size_in_bytes(size)
    last = max((level for level, _ in found), default=0)
    if last:
        return sum(size for (level, _), size in found.items() if level == last)
    with contextlib.suppress(OSError, ValueError):
        return max(0, os.sysconf("SC_LEVEL3_CACHE_SIZE"))
    return 0


def cache_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0))
    return cpu_cache_bytes()


def machine(device: torch.device) -> str:
    """What the kept rates are of: "AMD EPYC, 2 threads, on host"."""
    from vitrine._tools.recording import cpu_name

    if device.type == "cuda":
        name = torch.cuda.get_device_name(device) + (", TF32" if torch.backends.cuda.matmul.allow_tf32 else "")
    else:
        name = f"{cpu_name()}, {torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"
    return f"{name}, on {platform.node()}"


def shortest(device: torch.device, work) -> float:
    """Seconds of the fastest of REPETITIONS, after one that does not count."""
    times = []
    for _ in range(REPETITIONS + 1):
        if device.type == "cuda":
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        else:
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
    return min(times[1:])


def copy_bytes(device: torch.device, cache: int) -> int:
    return max(SIZES[device.type][0], min(BEYOND_CACHE * cache, LARGEST_COPY))


def one_round(device: torch.device, cache: int) -> list[dict]:
    """kind, type, rate and note of each ceiling: bytes a second of a copy (read and written), operations a second of products.
    Where there is no memory for it, what could be measured."""
    _, n, dtypes = SIZES[device.type]
    size, rows = copy_bytes(device, cache), []
    try:
        with torch.no_grad():
            source = torch.ones(size // 4, device=device)
            target = torch.empty_like(source)
            seconds = shortest(device, lambda: target.copy_(source))
            rows.append({"kind": "copy", "type": "f32", "rate": 2 * size / seconds, "note": f"{size >> 20} MiB"})
            source = target = None
            for dtype in dtypes:
                a, b = (torch.ones(n, n, device=device, dtype=dtype) for _ in range(2))
                seconds = shortest(device, lambda a=a, b=b: torch.mm(a, b))
                note = f"{n} × {n} × {n}" + (", TF32" if device.type == "cuda" and dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32 else "")
                rows.append({"kind": "product", "type": NAMES[dtype], "rate": 2 * n**3 / seconds, "note": note})
    except RuntimeError:  # out of memory
        pass
    return rows


class Ceilings:
    """Of one device; `measure` as often as there is occasion, then `rows`."""

    def __init__(self, device: torch.device):
        self.device, self.machine, self.cache = device, machine(device), cache_bytes(device)
        self.best: dict[tuple[str, str], dict] = {}
        self.times = 0

    def measure(self) -> None:
        self.times += 1
        for row in one_round(self.device, self.cache):
            self.add({**row, "source": "measured", "measured_unix_ns": time.time_ns()})

    def add(self, row: dict) -> None:
        key = row["kind"], row["type"]
        if key not in self.best or row["rate"] > self.best[key]["rate"]:
            self.best[key] = row

    def rows(self, folder: str) -> list[dict]:
        """Rows of the session's table `ceiling`, but for their run; and keeps them in the cache folder ("": nowhere)."""
        kept = read(folder)
        for row in kept.get(self.machine, []):
            self.add({**row, "source": "kept"})
        out = list(self.best.values())
        if folder and out:
            facts = [{name: row[name] for name in KEPT} for row in out]
            if facts != kept.get(self.machine):
                write(folder, {**{name: rows for name, rows in kept.items() if name != self.machine}, self.machine: facts})
        return [{**row, "times": self.times, "machine": self.machine, "cache_bytes": self.cache} for row in out]


# What is kept of a ceiling, and of which type it is.
KEPT = {"kind": str, "type": str, "rate": float, "note": str, "measured_unix_ns": int}


def whole(row) -> bool:
    return (
        isinstance(row, dict) and row.keys() == KEPT.keys() and all(type(row[name]) is kind for name, kind in KEPT.items())
        and row["kind"] in ("copy", "product") and row["type"] in NAMES.values() and row["note"].isprintable() and len(row["note"]) < 100
        and math.isfinite(row["rate"]) and 0 < row["rate"] < FASTEST and 0 <= row["measured_unix_ns"] < 1 << 62
    )  # fmt: skip


def is_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read(folder: str) -> dict[str, list[dict]]:
    """What is kept, by machine; nothing of a file that is not ours alone or not whole."""
    try:
        handle = os.open(os.path.join(folder, FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not folder or not stat.S_ISREG(found.st_mode) or not is_ours(found) or found.st_size > MOST_BYTES:
                return {}
            kept = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {name: [row for row in rows if whole(row)] for name, rows in kept.items() if isinstance(rows, list)}


def write(folder: str, kept: dict[str, list[dict]]) -> None:
    """Where it cannot be written nothing is kept. The machines that were measured last stay."""
    order = sorted(kept, key=lambda name: max((row["measured_unix_ns"] for row in kept[name]), default=0))
    text = json.dumps({name: kept[name] for name in order[-MOST_MACHINES:]}, indent=1)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_ours(os.stat(folder)):
            return
        handle, name = tempfile.mkstemp(prefix=FILE, dir=folder)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(name, os.path.join(folder, FILE))
        except OSError:
            os.unlink(name)
