"""Whether the machine did other work while calls were timed, as far as Linux tells it, and how the calls scatter."""

import contextlib
import glob
import os
import resource
import statistics
import time

import torch

SHORTEST_NS = 50_000_000  # for which /proc/stat, which counts hundredths of a second, tells something


def ticks() -> tuple[float, float, float]:
    """CPU seconds that the whole machine worked, that its host took from it, and all of its time, since it started."""
    with open("/proc/stat") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    hertz = os.sysconf("SC_CLK_TCK")
    busy = user + nice + system + irq + softirq
    return busy / hertz, steal / hertz, (busy + idle + iowait + steal) / hertz


def waits() -> dict[str, int]:
    """Of each thread of this process how long, in ns, it was ready to run and did not."""
    out = {}
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/schedstat") as file:
            out[thread] = int(file.read().split()[1])
    return out


def known(ask):
    """What `ask` tells; None on a machine that does not."""
    try:
        return ask()
    except (OSError, ValueError, IndexError):
        return None


def work_of_children() -> float:
    """CPU seconds of all processes that this one started, and of those that these did: the kernel compiler works for us."""
    used, found = 0, [str(os.getpid())]
    while found:
        parent = found.pop()
        for thread in glob.glob(f"/proc/{parent}/task/*/children"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(thread) as file:
                    children = file.read().split()
                found += children
                for child in children:
                    with open(f"/proc/{child}/stat") as file:
                        fields = file.read().rpartition(")")[2].split()
                    used += sum(map(int, fields[11:15]))  # its own, and of those children that it waited for
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used / os.sysconf("SC_CLK_TCK") + ended.ru_utime + ended.ru_stime


def own_work() -> float:
    """CPU seconds of this process and of those that it started."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime + work_of_children()


class Watch:
    """From its making to `evidence`."""

    def __init__(self):
        self.load = known(lambda: os.getloadavg()[0])
        self.ticks, self.waits = known(ticks), known(waits)
        self.work, self.preempted = own_work(), resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        self.begin = time.perf_counter_ns()

    def evidence(self) -> dict:
        """The columns of `measurement` that tell what the machine did since; -1: it does not say."""
        wall = time.perf_counter_ns() - self.begin
        preempted, after, waits_after = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, known(ticks), known(waits)
        out = {
            "wall_ns": wall, "cores": os.cpu_count() or 0, "threads": torch.get_num_threads(), "preempted": preempted - self.preempted,
            "load": -1.0 if self.load is None else float(self.load), "others": -1.0, "steal": -1.0, "waited": -1.0,
        }  # fmt: skip
        if self.ticks and after and wall >= SHORTEST_NS:
            busy, stolen, total = (b - a for a, b in zip(self.ticks, after))
            out["others"] = max(0.0, busy - (own_work() - self.work)) * 1e9 / wall
            out["steal"] = stolen / total if total > 0 else -1.0
        if self.waits and waits_after:
            longest = max((ns - self.waits.get(thread, 0) for thread, ns in waits_after.items()), default=0)
            out["waited"] = min(1.0, longest / wall) if wall else -1.0
        return out


def spread(durations: list[int]) -> dict:
    """The columns of `measurement` that tell of how these calls scatter, in ns."""
    if not durations:
        return {"calls": 0}
    lower, middle, upper = statistics.quantiles(durations, n=4, method="inclusive") if len(durations) > 1 else durations * 3
    return {
        "calls": len(durations), "least_ns": float(min(durations)), "lower_ns": float(lower), "median_ns": float(middle), "upper_ns": float(upper),
        "most_ns": float(max(durations)),
    }  # fmt: skip
