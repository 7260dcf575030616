"""What was found here: PyTorch, CPython, CPU features, kernel compiler, CUDA, CUPTI, display; what each missing part
switches off. `vitrine doctor [--json]`; exit status 1 when nothing could be compiled."""

from __future__ import annotations

import argparse
import ctypes.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

OK, PART, MISSING = "ok", "part", "missing"


def cpu_features() -> tuple[str, str, str]:
    try:
        flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    except (OSError, StopIteration):
        flags = []
    found = [f for f in ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "amx_tile") if f in flags]
    if {"avx2", "fma"} <= set(found):
        return OK, ", ".join(found), ""
    return MISSING, platform.machine(), "no kernel is generated; every operator runs through PyTorch"


def python_version() -> tuple[str, str, str]:
    # The package itself, which knows this too, cannot be imported by another one.
    fits = sys.version_info[:2] in ((3, 11), (3, 12), (3, 13))
    return (OK if fits else MISSING), platform.python_version(), "" if fits else "capture needs CPython 3.11, 3.12 or 3.13"


def torch_version() -> tuple[str, str, str]:
    try:
        import torch
    except ImportError as error:
        return MISSING, str(error), "nothing can be compiled; name an environment with PyTorch in VITRINE_PYTHON"
    return OK, f"{torch.__version__}, {torch.get_num_threads()} threads", ""


def engine() -> tuple[str, str, str]:
    try:
        import vitrine
    except ImportError as error:
        return MISSING, str(error), "nothing can be compiled"
    return OK, f"vitrine {vitrine.__version__}", ""


def self_tests() -> list[tuple[str, str, str, str]]:
    try:
        import torch  # noqa: F401  (the engine needs its libraries)
        from vitrine import _engine
    except ImportError:
        return []
    out = []
    for name, outcome in _engine.bridge_init()["tests"]:
        good = outcome == "ok"
        out.append((f"self-test: {name}", OK if good else PART, outcome, "" if good else "what the line above names"))
    return out


def own_program(name: str) -> str | None:
    """A program that the installed package carries, or of the build that it belongs to, else one on the PATH."""
    package = next(p for p in Path(__file__).parents if p.name == "vitrine")
    places = [package / "bin" / name, package.parent.parent / "bin" / name]
    return next((str(p) for p in places if p.exists()), None) or shutil.which(name)


def kernel_compiler() -> tuple[str, str, str]:
    program = own_program("vitrine-cc")
    off = "no kernel is generated; every operator runs through PyTorch"
    if not program:
        return MISSING, "vitrine-cc was not found", off
    result = subprocess.run([program, "--self-test"], capture_output=True, text=True, timeout=60)
    text = (result.stdout or result.stderr).strip().splitlines()
    return (OK if result.returncode == 0 else MISSING), (text[0].removeprefix("ok: ") if text else program), "" if result.returncode == 0 else off


def library(name: str, off: str):
    def look() -> tuple[str, str, str]:
        found = ctypes.util.find_library(name)
        return (OK, found, "") if found else (MISSING, f"lib{name} was not found", off)

    return look


def nvrtc() -> tuple[str, str, str]:
    """Where kernels' compilation finds it, which is also in PyTorch's packages."""
    off = "CUDA kernels"
    try:
        import torch  # noqa: F401  (the engine needs its libraries)
        from vitrine import _engine, config
    except ImportError as error:
        return MISSING, str(error), off
    problem = _engine.cuda_target_problem("sm_90", config.nvrtc)
    return (MISSING, problem[0], off) if problem else (OK, "compiles for sm_90", "")


def counters() -> tuple[str, str, str]:
    off = "hardware counters of kernels, and where they wait; everything else of a GPU works"
    import torch

    if not torch.cuda.is_available():
        return MISSING, "PyTorch sees no GPU", off
    from vitrine._tools import counters as gpu_counters

    refused = gpu_counters.problems()
    if not refused:
        return OK, f"{torch.cuda.get_device_name()}: counters and samples can be read", ""
    said = dict.fromkeys(problem for _, problem in refused)
    return (MISSING if len(refused) > 1 else PART), "; ".join(what for what, _ in said), " ".join([off + ".", *(hint for _, hint in said)])


def display() -> tuple[str, str, str]:
    where = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    return (OK, where, "") if where else (MISSING, "none", "the window cannot open; run, show, explain, bench and shot work")


def application() -> tuple[str, str, str]:
    found = own_program("vitrine-app")
    return (OK, found, "") if found else (MISSING, "vitrine-app was not built", "open and shot")


def cache_folder() -> tuple[str, str, str]:
    off = "kernels are compiled anew in each process"
    try:
        import torch  # noqa: F401  (the engine needs its libraries)
        from vitrine import _engine, config
    except ImportError as error:
        return MISSING, str(error), off
    if not config.cache_dir:
        return PART, "none", off
    problem = _engine.private_folder_problem(os.path.join(config.cache_dir, "kernels"))
    return (PART, problem, off) if problem else (OK, config.cache_dir, "")


# name, look-up -> (state, what was found, what its absence switches off)
CHECKS = [
    ("CPython", python_version),
    ("PyTorch", torch_version),
    ("engine", engine),
    ("CPU", cpu_features),
    ("kernel compiler", kernel_compiler),
    ("kernel cache", cache_folder),
    ("CUDA driver", library("cuda", "GPU runs")),
    ("NVRTC", nvrtc),
    ("CUPTI", library("cupti", "GPU timelines")),
    ("GPU's counters", counters),
    ("Graphviz", lambda: (OK, shutil.which("dot"), "") if shutil.which("dot") else (MISSING, "dot was not found", "export of graphs to SVG and PDF")),
    ("application", application),
    ("display", display),
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="vitrine doctor", description="What was found here, and what each missing part switches off.")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    rows = []
    for name, look in CHECKS:
        try:
            state, found, off = look()
        except Exception as error:  # a broken part must not hide the others
            state, found, off = MISSING, f"{type(error).__name__}: {error}", ""
        rows.append((name, state, found, off))
    rows += self_tests()
    if options.json:
        print(json.dumps([dict(zip(("name", "state", "found", "switches_off"), r)) for r in rows], indent=2))
    else:
        width = max(len(r[0]) for r in rows)
        for name, state, found, off in rows:
            print(f"{state:8}{name:{width + 2}}{found}" + (f"\n{'':{width + 10}}off: {off}" if off else ""))
    needed = {"CPython", "PyTorch", "engine"}
    return int(any(state == MISSING for name, state, _, _ in rows if name in needed))


if __name__ == "__main__":
    # Started by its path, because the package refuses to be imported where something is missing.
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent.resolve() and p != str(Path(__file__).parent)]
    sys.exit(main())
