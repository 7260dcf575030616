"""Writes the smallest graph that is still wrong as a Python file that needs torch and vitrine alone: `vitrine reduce FILE`.

The first compiled graph of FILE that differs from eager, or fails where eager does not, is made smaller as long as it fails
in the same way: fewer results, operators cut into inputs, smaller sizes, inputs made by a seed.

Exit status: 0 written; 1 nothing differs; 2 it could not run.
"""

import argparse
import base64
import io
import sys
import zlib
from pathlib import Path

import torch

from vitrine._tools.numerics import entry
from vitrine._tools.numerics.bisect import failing_graph
from vitrine._tools.numerics.shrink import Case, Shrinker

SCRIPT = '''"""{text}

Made by `vitrine reduce`: {size}. It runs one graph compiled and through PyTorch, operator by operator, and compares:
python {name}
"""

import base64
import copy
import io
import zlib

import torch
import vitrine
from vitrine import _engine
from vitrine._tools.accuracy import compare

GRAPH = """{graph}"""
{edits}

def stored(text):
    return torch.load(io.BytesIO(zlib.decompress(base64.b85decode(text))), weights_only=True)


inputs = [
{inputs}]
outcomes = []
with torch.no_grad():
    for fuse in (False, True):
        torch.manual_seed(0)
        own = copy.deepcopy(inputs)
        try:
            outcomes.append(list(_engine.plan_run(_engine.plan_compile(GRAPH, fuse, vitrine.config.cache_dir), own)) + own)
        except Exception as error:
            if not fuse:
                raise
            raise SystemExit(f"the compiled graph fails: {{error}}")
differing = [row for row in compare(*outcomes) if row["verdict"] == "differs"]
for row in differing:
    print(row["output"], row["type"], row["message"])
print("eager and compiled differ" if differing else "eager and compiled agree")
raise SystemExit(bool(differing))
'''


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vitrine reduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    entry.add_arguments(parser)
    parser.add_argument("-o", "--output", help="the Python file (default: NAME.reduced.py, here)")
    parser.add_argument("--most", type=int, default=2000, metavar="N", help="how often the graph may be tried (default 2000)")
    own, script = entry.split_script(argv)
    options = parser.parse_args(own)
    options.script = script
    options.output = options.output or f"{Path(options.file).stem}.reduced.py"
    return options


def input_text(case: Case, name: str) -> str:
    value = case.inputs[name]
    device = f'.to("{value.device}")' if isinstance(value, torch.Tensor) and not value.is_cpu else ""
    if name not in case.made or not isinstance(value, torch.Tensor):
        buffer = io.BytesIO()
        torch.save(value.cpu() if isinstance(value, torch.Tensor) else value, buffer)
        return f'stored("{base64.b85encode(zlib.compress(buffer.getvalue(), 9)).decode()}"){device}'.replace("\\", "\\\\")
    text = case.made[name]
    if not value.is_contiguous():
        text = f"torch.empty_strided({tuple(value.shape)}, {tuple(value.stride())}, dtype={value.dtype}).copy_({text})"
    return text + device


def script(case: Case, failure: str, name: str) -> str:
    from vitrine import _engine
    from vitrine._checking import edits

    nodes = case.graph.operators
    faults = "".join(f"_engine.inject_fault{fault!r}\n" for fault in _engine.faults())
    inputs = "".join(f"    {input_text(case, node.name)},  # {node.name}\n" for node in case.graph.inputs)
    size = f"{len(nodes)} operator{'' if len(nodes) == 1 else 's'}, {len(case.graph.inputs)} input{'' if len(case.graph.inputs) == 1 else 's'}"
    return SCRIPT.format(text=failure.replace('"""', "'''"), size=size, name=name, graph=str(case.graph).replace("\\", "\\\\"), edits=edits() + faults, inputs=inputs)


def write(options, judge) -> str:
    """Makes it smaller and writes it; what to tell."""
    program = judge.program
    inputs = dict(zip((node.name for node in program.graph.inputs), program.inputs))
    shrinker = Shrinker(Case(judge.graph, inputs, program.rng), most=options.most)
    if not shrinker.kind:
        return ""
    case = shrinker.run()
    text = script(case, case.failure(), Path(options.output).name)
    try:
        Path(options.output).write_text(text)
    except OSError as error:
        raise entry.LoadError(f"{options.output} cannot be written: {error.strerror}.", "Name another place with -o.") from error
    return f"{len(program.graph.operators)} operators became {len(case.graph.operators)} after {shrinker.runs} runs: {options.output}"


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        name, judge = failing_graph(options)
        told = write(options, judge) if judge else ""
    except entry.LoadError as error:
        return entry.tell(error)
    print(told or f"{name}: nothing differs from eager.")
    return 0 if told else 1


if __name__ == "__main__":
    sys.exit(main())
