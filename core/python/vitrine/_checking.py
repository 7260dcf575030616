"""The comparison behind a checked call of a compiled graph, and the file that shows a difference again."""

import copy
import functools
import hashlib
import os
import re
import tempfile
from pathlib import Path

import torch

from vitrine import _engine
from vitrine._tools.accuracy import compare, may_round, nudge, widened
from vitrine._tools.gpu import set_random_states

REPRODUCER = '''"""{text}

Runs one graph compiled and through PyTorch, operator by operator, and compares: python {name}
"""

import copy
from pathlib import Path

import torch
import vitrine
from vitrine import _engine
from vitrine._tools.accuracy import compare

GRAPH = """{graph}"""
{edits}
inputs = torch.load(Path(__file__).with_suffix(".pt"), weights_only=False)
outcomes = []
with torch.no_grad():
    for fuse in (False, True):
        torch.manual_seed(0)
        own = copy.deepcopy(inputs)
        outcomes.append(list(_engine.plan_run(_engine.plan_compile(GRAPH, fuse, vitrine.config.cache_dir), own)) + own)
differing = [row for row in compare(*outcomes) if row["verdict"] == "differs"]
for row in differing:
    print(row["output"], row["type"], row["message"])
print("eager and compiled differ" if differing else "eager and compiled agree")
raise SystemExit(bool(differing))
'''


def detached(values: list) -> list:
    return [v.detach() if isinstance(v, torch.Tensor) else v for v in values]


def copies(tensors: list) -> list:
    """Copies that share storages as the originals do. Raises where one cannot be copied."""
    return copy.deepcopy(detached(tensors))


def difference(eager: list, compiled: list | None, inputs: list, graph: str, cache_dir: str, failure: str):
    """None when both agree; else (one sentence, path of the reproducer or "")."""
    if compiled is None:
        text = f"a compiled graph failed where eager does not: {failure}"
    else:
        run = functools.partial(run_again, inputs, cache_dir, len(eager))
        exact = functools.partial(run, re.sub(r"\b(f32|f16|bf16)\b", "f64", graph), widened)
        nudged = lambda draw: run(graph, lambda value: nudge(value, draw))  # noqa: E731
        rows = [r for r in compare(eager, compiled, exact, lambda: rounds_to_tf32(graph), nudged) if r["verdict"] == "differs"]
        if not rows:
            return None
        text = f"a compiled graph differs from eager: {rows[0]['output']} {rows[0]['type']}: {rows[0]['message']}"
    return text, write_reproducer(text, inputs, graph, cache_dir)


def rounds_to_tf32(graph: str) -> bool:
    """Whether an operator of the graph's text may round float32 values to TF32."""
    calls = re.findall(r"= aten\.(\w+)\.[^\n]* : [^\n]*\bf32\[[^\n]*cuda", graph)
    return any(map(may_round, calls))


def random_states():
    """Of the generators in use: what :func:`set_random_states` puts back."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None


def run_again(inputs: list, cache_dir: str, count: int, graph: str, convert):
    """What the graph gives, operator by operator, for copies of the inputs that `convert` has gone over: its results, and
    behind them its inputs as it leaves them when `count` values are asked for. None where it does not run so."""
    try:
        with torch.no_grad():
            own = [convert(value) for value in copies(inputs)]
            results = list(_engine.plan_run(_engine.plan_compile(graph, False, cache_dir), own))
    except Exception:
        return None
    return (results + own)[:count]


EDITS = """
# Kernels whose text a person has written anew: what was generated, and what is compiled in its place.
EDITED = [
{pairs}
]
for generated, edited in EDITED:
    _engine.edit_kernel(generated, edited)
"""


def edits() -> str:
    """The part of a reproducer without which the edited kernels would be the generated ones again."""
    pairs = [f"    ({lines_of(generated)},\n     {lines_of(edited)})," for generated, edited in _engine.edited_kernels()]
    return EDITS.format(pairs="\n".join(pairs)) if pairs else ""


def lines_of(text: str) -> str:
    """The text as Python writes it, a line a line."""
    return "\n     ".join(map(repr, text.splitlines(keepends=True)))


def anew(path: Path):
    """A new file for this user alone in the place of one that may be there."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def write_reproducer(text: str, inputs: list, graph: str, cache_dir: str) -> str:
    """A script and its inputs, named by the graph; "" when they cannot be written."""
    folder = Path(cache_dir or os.path.join(tempfile.gettempdir(), f"vitrine-{os.geteuid()}")) / "reproducers"
    path = folder / f"differs-{hashlib.sha256((graph + edits()).encode()).hexdigest()[:12]}.py"
    try:
        if _engine.private_folder_problem(str(folder)):
            return ""
        with anew(path.with_suffix(".pt")) as file:
            torch.save(detached(inputs), file)
        with anew(path) as file:
            file.write(REPRODUCER.format(text=text.replace('"""', "'''"), name=path.name, graph=graph, edits=edits()).encode())
    except (OSError, RuntimeError):
        return ""
    return str(path)
