"""Limits to what a process's compilations apply, as another process set them: VITRINE_OPT_BISECT="rewrites,fusions,kernels"
(-1: all). Where VITRINE_OPT_BISECT_LOG names a file, what was applied and what was held back is written to it at the end."""

import atexit
import json
import os

LIMITS, LOG = "VITRINE_OPT_BISECT", "VITRINE_OPT_BISECT_LOG"


def obey() -> None:
    from vitrine import _engine

    try:
        limits = [int(limit) for limit in os.environ[LIMITS].split(",")]
        _engine.opt_bisect(*limits)
    except (ValueError, TypeError):
        raise ValueError(f"{LIMITS} takes three numbers, as 12,-1,-1, and not {os.environ[LIMITS]!r}") from None
    if path := os.environ.get(LOG):
        atexit.register(write_log, path, os.getpid())


def write_log(path: str, process: int) -> None:
    from vitrine import _engine

    if os.getpid() == process:
        with open(path, "w") as file:
            json.dump(_engine.opt_bisect_log(), file)
