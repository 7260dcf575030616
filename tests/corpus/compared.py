"""One program of programs.py, eagerly and compiled: what differs, and how often capture broke.

    python -m tests.corpus.compared NUMBER      one program, as JSON
    python -m tests.corpus.compared             all of them, as the table of docs/guide/libraries.md
"""

import importlib.util
import json
import subprocess
import sys
import warnings

import torch
from torch.utils import _pytree as pytree

import vitrine
from vitrine.take_over import torch_compile_taken_over

from tests.corpus.programs import PROGRAMS, Program, Whole


def made(program: Program):
    torch.manual_seed(0)
    return program.make()


def parameters_of(what) -> list:
    owner = getattr(what, "__self__", what)
    if hasattr(owner, "parameters"):
        return list(owner.parameters())
    cells = [cell.cell_contents for cell in getattr(what, "__closure__", None) or ()]
    return [p for held in cells if isinstance(held, torch.nn.Module) for p in held.parameters()]


def compiled_of(what):
    inner = getattr(what, "function", None)
    return vitrine.compile(inner if inner is not None else what)


def run(program: Program, compiled: bool):
    """Results and gradients of two calls."""
    what, args = made(program)
    if isinstance(what, Whole):
        return [t.detach() for t in what.run(torch.compile(what.module) if compiled else what.module)]
    call, parameters = (compiled_of(what) if compiled else what), parameters_of(what)
    told = []
    for _ in range(2):
        torch.manual_seed(2)
        with torch.set_grad_enabled(program.trains):
            result = call(*args)
        leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        told += [leaf.detach().clone() for leaf in leaves]
        if program.trains:
            sum(leaf.float().square().mean() for leaf in leaves if leaf.requires_grad).backward()
            told += [p.grad.clone() for p in parameters if p.grad is not None]
            for p in parameters:
                p.grad = None
    return told


def difference(ours: list, theirs: list, tolerance: float) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} results, eagerly {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        try:
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        except AssertionError as differs:
            return f"result {i}: {differs}"
    return ""


def breaks_of(program: Program) -> list[str] | None:
    """Their reasons; None: the library calls the compiled module, not we."""
    what, args = made(program)
    if isinstance(what, Whole):
        return None
    with torch.set_grad_enabled(program.trains):
        explained = vitrine.explain(getattr(what, "function", None) or what)(*args)
    return [str(reason).splitlines()[0] for reason in explained.graph_break_reasons]


def compared(program: Program) -> dict:
    warnings.simplefilter("ignore")
    with torch_compile_taken_over():  # before a library is loaded: some keep the class of a compiled module
        theirs = run(program, False)
        ours = run(program, True)
    return {"differs": difference(ours, theirs, program.tolerance), "results": len(theirs), "breaks": breaks_of(program)}


def in_a_process(number: int) -> dict:
    """As ``compared``; what ends the process is told, too."""
    done = subprocess.run([sys.executable, "-m", "tests.corpus.compared", str(number)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        return {"differs": f"it ended with {done.returncode}: {done.stderr[-3000:]}", "results": 0, "breaks": []}
    return json.loads(done.stdout.splitlines()[-1])


def is_there(program: Program) -> bool:
    return importlib.util.find_spec(program.library) is not None


def table() -> str:
    lines = ["| Library | Program | Against eager | Graph breaks |", "|---|---|---|---|"]
    for number, program in enumerate(PROGRAMS):
        if not is_there(program):
            continue
        told = in_a_process(number)
        same = "the same" if not told["differs"] else "differs"
        if program.trains and not told["differs"]:
            same += ", gradients too"
        breaks = "not counted" if told["breaks"] is None else len(told["breaks"]) or "none"
        lines.append(f"| {program.library} | {program.what} | {same} | {breaks} |")
        print(lines[-1], told["differs"][:2000], *(told["breaks"] or ()), sep="\n    ", file=sys.stderr)
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(compared(PROGRAMS[int(sys.argv[1])])))
    else:
        print(table())
