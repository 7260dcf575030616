"""Compiles an entry for a GPU that need not be here: everything up to the machine code, and no launch of it.

The user's file is loaded as it stands. What it puts on a GPU stays on the CPU, and capture takes every tensor to be on
the GPU. The call itself runs eagerly, so that code behind a graph break is reached and compiled too.
"""

import contextlib
import time

import torch
from torch.overrides import TorchFunctionMode

import vitrine
from vitrine import _api
from vitrine._tools.loading import LoadError, raised
from vitrine._tools.measuring import Outcome, describe

# What PyTorch says where a program needs a GPU and there is none.
NO_GPU = (
    "Torch not compiled with CUDA enabled",
    "from the 'CUDA' backend",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "CUDA driver version is insufficient",
    "on device meta is not on the expected device",  # what the program itself makes on a GPU lies on meta
)


def _is_gpu(place) -> bool:
    if isinstance(place, torch.device):
        return place.type == "cuda"
    return isinstance(place, str) and place.split(":")[0] == "cuda"


class _OnTheCpu(TorchFunctionMode):
    """A tensor that is made on or moved to a GPU is made or stays on the CPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = {k: torch.device("cpu") if k == "device" and _is_gpu(v) else v for k, v in (kwargs or {}).items()}
        if func is torch.Tensor.cuda:
            return args[0].cpu()
        if func is torch.Tensor.to:
            args = tuple(torch.device("cpu") if _is_gpu(a) else a for a in args)
        return func(*args, **kwargs)


def gpu_taken_for_cpu():
    """While it is active, device="cuda", .to("cuda") and .cuda() give tensors of the CPU; nothing where there is a GPU."""
    return contextlib.nullcontext() if torch.cuda.is_available() else _OnTheCpu()


def compiled_for(function, options):
    settings = _api._settings(options.fullgraph, None, None, options.mode, None, None)
    settings["target"] = options.target
    return _api._compile(function, settings, disable=False)


def needs_a_gpu(error) -> bool:
    return error is not None and any(words in str(error) for words in NO_GPU)


def record_for_target(entry, options, recording, report) -> int:
    """Captures, fuses, generates and compiles; 0. Raises LoadError for an error of the user's code."""
    inputs = ", ".join(describe(a) for a in (*entry.args, *entry.kwargs.values()))
    run = recording.start_run(entry.label, entry.text, inputs, options.mode)
    recording.update_run(run, device=f"cuda ({options.target}, compiled only)")
    report.progress(f"{entry.label}: {entry.text}, compiled for {options.target}")
    owner = getattr(entry.function, "__self__", entry.function)
    is_eval = isinstance(owner, torch.nn.Module) and not owner.training
    compiled = compiled_for(entry.function, options)
    outcomes = []
    with torch.no_grad() if is_eval and not options.grad else contextlib.nullcontext():
        for args in entry.calls:
            start = time.perf_counter_ns()
            outcomes.append(Outcome(compiled, args, entry.kwargs))
            if len(outcomes) == 1:
                recording.update_run(run, first_call_ns=time.perf_counter_ns() - start)
    report.flush()
    failure = next((o.error for o in outcomes if o.error), None)
    if isinstance(failure, vitrine.GraphBreakError):
        recording.end_run(run, "failed")
        raise LoadError(str(failure), "Leave out --fullgraph, or remove the break.")
    if failure and not needs_a_gpu(failure):
        recording.end_run(run, "failed")
        raise raised(failure)
    tell(recording, report, run, options.target, failure)
    recording.end_run(run, "finished")
    return 0


def tell(recording, report, run, target, failure) -> None:
    """What was compiled, and what became of the call itself."""
    kernels = recording.kernels()
    what = f"{kernels} generated kernel{'' if kernels == 1 else 's'} compiled for {target}." if kernels else f"No kernel was generated for {target}."
    if failure:
        why = str(failure).splitlines()[0].split(". ")[0].removesuffix(".")  # PyTorch goes on to name every backend
        text = f"{what} The call was not run: its code itself asks for a GPU ({why})."
    else:
        text = f"{what} The call itself ran eagerly, on the CPU; nothing was launched or measured."
    recording.message("info", "vitrine", text, run=run["id"])
    report.progress(text)
