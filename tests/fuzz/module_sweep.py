"""PyTorch's own lists of modules and optimizers (ModuleInfo, OptimizerInfo), eager against compiled: results, gradients,
buffers and optimizer states of calls in a row, exceptions, and the order in which hooks run.

    python -m tests.fuzz.module_sweep [--shard 0/4] [--samples 2] [--only NAME ...]

Prints one line for each mismatch, then the figures; exit status 1 if anything differed.
"""

import argparse
import copy
import sys
import warnings

import torch
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.utils._pytree import tree_flatten, tree_map

import vitrine
from vitrine._tools.accuracy import compare, widened

from tests.python.support.op_cases import own

CALLS, STEPS = 2, 4
# What L-BFGS keeps are quotients of differences of gradients, which rounding alone decides near the end.
ROUNDED_AWAY = {"al", "ro", "H_diag", "d", "t", "old_dirs", "old_stps", "prev_flat_grad", "prev_loss"}


def tangents(results):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(r.shape, generator=generator, dtype=torch.float64).to(r.dtype) for r in results]


def dense(t):
    return t.to_dense() if isinstance(t, torch.Tensor) and t.layout != torch.strided else t


def module_calls(info, sample, dtype, training, hooked, compiled, wide=False):
    """What two calls with a backward pass each leave behind, or the exception that ended them."""
    torch.manual_seed(0)
    make = sample.constructor_input
    model = info.module_cls(*tree_map(own, make.args), **tree_map(own, make.kwargs)).to(dtype).train(training)
    model = widened(model) if wide else model
    log = hook(model) if hooked else []
    function = vitrine.compile(model) if compiled else model
    out = []
    try:
        for _ in range(CALLS):
            given = tree_map(own, (sample.forward_input.args, sample.forward_input.kwargs))
            args, kwargs = tree_map(lambda t: t.detach().double().requires_grad_(t.requires_grad), given) if wide else given
            torch.manual_seed(7)
            results = tree_flatten(function(*args, **kwargs))[0]
            wanted = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
            if wanted:
                torch.autograd.backward(wanted, tangents(wanted))
            leaves = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
            grads = [t.grad for t in (*leaves, *model.parameters())]
            out += [dense(copy.deepcopy(t.detach()) if isinstance(t, torch.Tensor) else t) for t in (*results, *grads, *model.buffers())]
            out.append([r.requires_grad for r in results if isinstance(r, torch.Tensor)])
    except Exception as error:
        out.append(f"{type(error).__name__}: {str(error).splitlines()[:1]}")
    return [*out, log]


def hook(model):
    """Every module of it tells when its hooks run."""
    log = []
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda module, args, name=name: log.append(f"before {name}"))
        module.register_forward_hook(lambda module, args, result, name=name: log.append(f"after {name}"))
        module.register_full_backward_hook(lambda module, given, got, name=name: log.append(f"backward {name}"))
    return log


def module_cases(names, samples):
    """(name, label, what to run)"""
    for info in (info for info in module_db if info.module_cls.__name__ in names):
        for dtype in (torch.float32, torch.bfloat16):
            for training in (True, False):
                torch.manual_seed(0)
                made = list(info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training))
                for i, sample in enumerate(made[:samples] if samples else made):
                    for hooked in (False, True) if i == 0 and dtype == torch.float32 else (False,):
                        label = f"{dtype} {'training' if training else 'inference'} sample {i}{' with hooks' if hooked else ''}"

                        def run(compiled, wide=False, of=(info, sample, dtype, training, hooked)):
                            return module_calls(*of, compiled, wide)

                        yield info.module_cls.__name__, label, run


def optimizer_steps(info, kwargs, compiled, wide=False):
    """The losses, parameters and states of some steps, each one compiled function with its forward and backward pass."""
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(size, generator=generator) for size in ((4, 3), (5,), (2, 3, 2))]
    weights = [torch.nn.Parameter(widened(w) if wide else w) for w in weights]
    optimizer = info.optim_cls(weights, **copy.deepcopy(kwargs))

    def loss_of(scale):
        optimizer.zero_grad()
        loss = sum(((w * (i + 1)).sin() * w).sum() for i, w in enumerate(weights)) * scale
        loss.backward()
        return loss

    def step(scale):
        if info.step_requires_closure:
            return optimizer.step(lambda: loss_of(scale))
        loss = loss_of(scale)
        optimizer.step()
        return loss

    function = vitrine.compile(step) if compiled else step
    out = []
    try:
        out += [function(1 + 0.1 * n).detach().clone() for n in range(STEPS)]
    except Exception as error:
        out.append(f"{type(error).__name__}: {str(error).splitlines()[:1]}")
    state = [{k: v for k, v in kept.items() if k not in ROUNDED_AWAY} for kept in optimizer.state.values()]
    groups = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
    return [*out, *[w.detach() for w in weights], state, groups]


def optimizer_cases(names):
    for info in (info for info in optim_db if info.optim_cls.__name__ in names):
        for flag in ("", "foreach", "fused"):
            for value in (True, False) if flag in info.supported_impls else () if flag else (None,):
                for made in info.optim_inputs_func("cpu"):
                    if flag in made.kwargs or (flag == "fused" and not value):
                        continue
                    kwargs = {**made.kwargs, **({flag: value} if flag else {})}

                    def run(compiled, wide=False, of=(info, kwargs)):
                        return optimizer_steps(*of, compiled, wide)

                    yield info.optim_cls.__name__, str(kwargs), run


def difference(run):
    """What differs, as a text; "" if nothing does, or if eager differs from itself."""
    vitrine.reset()
    eager = run(False)
    wrong = [row for row in compare(eager, run(True), lambda: run(False, True)) if row["verdict"] == "differs"]
    if not wrong or any(row["verdict"] == "differs" for row in compare(eager, run(False))):
        return ""
    return f"{wrong[0]['output']}: {wrong[0]['message']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th module and optimizer, from the i-th on")
    parser.add_argument("--samples", type=int, default=0, help="of each module and dtype; 0 for all")
    parser.add_argument("--only", nargs="*", default=[], help="these modules and optimizers")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    first, step = (int(n) for n in options.shard.split("/"))
    names = sorted({info.module_cls.__name__ for info in module_db} | {info.optim_cls.__name__ for info in optim_db})[first::step]
    names = [name for name in names if not options.only or name in options.only]
    cases = wrong = 0
    for name, label, run in (*module_cases(names, options.samples), *optimizer_cases(names)):
        cases += 1
        found = difference(run)
        wrong += bool(found)
        if found:
            print(f"{name}: {label} {found}", flush=True)
    print(f"{len(names)} modules and optimizers, {cases} cases, {wrong} wrong")
    return bool(wrong) or not cases


if __name__ == "__main__":
    sys.exit(main())
