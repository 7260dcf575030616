"""Each value of a compiled graph against eager's and against float64: rows of the session's table `numerics`.

The compiled value of a node is what stands in the program's own memory behind the step that wrote it. A node that was fused
away has none: its value comes from the same graph compiled again with it, and with others, as further results. Where such a
value is the first to diverge, it is asked for once more alone. A view has the values of what it views, and no row; neither has memory that
nobody has written yet.
"""

import torch

from vitrine import _engine
from vitrine._tools.accuracy import compare_leaf, judge, judge_by_draws, type_text, WIDER, TF32
from vitrine._tools.distances import HAS_PLACES, absolute, distribution, errors, histogram
from vitrine._tools.numerics import programs
from vitrine._tools.numerics.budget import Budget
from vitrine._tools.numerics.programs import Program, asking, bytes_of, chunks
from vitrine._tools.numerics.walk import Walks

# kUlpSteps of core/session/rows.h.
VALUE_CLASSES = 16  # kValueClasses
ULP_STEPS = (0, 1, 2, 4, 8, 16, 64, 256, 4096, 65536)
_UNKNOWN = dict(max_abs=-1.0, mean_abs=-1.0, eager_error=-1.0, eager_mean=-1.0, compiled_error=-1.0, compiled_mean=-1.0)


def numerics_rows(program: Program, budget: Budget | None = None) -> list[dict]:
    """One row a value, in order of the graph. "place" and "reads" are no columns. What the budget has no time for is unknown."""
    graph, budget = program.graph, budget or Budget()
    wanted = [value for node in graph.operators if not node.is_view and not node.is_uninitialised for value in node.values]
    parts = chunks(graph, wanted)
    rows: dict[str, dict] = {}
    if len(parts) < 2:
        for part in parts:
            rows.update(compared_part(program, part))
    else:
        in_parts(program, wanted, rows, budget)
    late = f"not compared: the {budget.seconds:g} seconds were over"
    out = [rows.get(value) or {**unknown(graph, value, late), "skipped": True} for value in wanted]
    for ordinal, row in enumerate(out):
        row["ordinal"] = ordinal
    mark_makers(program, out)
    mark_first(program, out)
    return out


def in_parts(program: Program, wanted: list[str], rows: dict[str, dict], budget: Budget) -> None:
    """Of a large program: its results first, then in the graph's order what it holds in memory, last what was fused away, for
    which it is compiled again. So what there is no time for is behind what was compared. Each of the two times the graph runs
    once, by PyTorch and in float64, for all parts together."""
    graph, known = program.graph, set(wanted)
    results = dict.fromkeys(value for value in graph.returned() if value in known)
    others = [value for value in wanted if value not in results]
    fused: list[str] = []
    for part in chunks(graph, list(results)):
        if rows and budget.over():
            return
        rows.update(compared_part(program, part, fused))
        budget.tell(len(rows), len(wanted))
    in_order(program, others, rows, budget, len(wanted), fused)
    budget.tell_fused(len(fused))
    in_order(program, [value for value in wanted if value in set(fused)], rows, budget, len(wanted))


def in_order(program: Program, values: list[str], rows: dict[str, dict], budget: Budget, count: int, fused: list[str] | None = None) -> None:
    walks = Walks(program)
    for part in chunks(program.graph, values):
        if budget.over():
            return
        rows.update(compared_part(program, part, fused, walks))
        budget.tell(len(rows), count)


def compared_part(program: Program, part: list[str], fused: list[str] | None = None, walks: Walks | None = None) -> dict[str, dict]:
    """By value. fused: where those go that the program does not hold in memory; None: they are compared, too. walks: who gives
    the values of eager and of float64; None: a run of its own does."""
    graph = program.graph
    held, steps = buffers(program, part)
    if fused is not None:
        fused += [value for value in part if value not in held]
        part = [value for value in part if value in held]
    if not part:
        return {}
    of = walks or program
    eager, exact = of.eager(part), of.exact(part)
    if eager is None:
        why = f"it does not run through PyTorch operator by operator: {program.why}"
        return {value: unknown(graph, value, why) for value in part}
    again = recompiled(program, [value for value in part if value not in held])
    found = [compared(program, value, eager[i], exact[i] if exact else None, held.get(value, again.get(value))) for i, value in enumerate(part)]
    for row, value in zip(found, part):
        row.update(source="buffer" if value in held else "output" if value in again else "none", step=steps.get(value, ""))
    draw_again(program, part, found, eager, exact, [held.get(v, again.get(v)) for v in part])
    return dict(zip(part, found))


def buffers(program: Program, wanted: list[str]) -> tuple[dict, dict]:
    """(value -> tensor, value -> step that wrote it) of what the program holds in memory of these values."""
    values, steps = {}, {}
    names = {value.partition(".")[0] for value in wanted}
    try:
        if program.plan is None:
            program.plan = program.compiled(program.graph)
        _, seen = program.call(program.plan, run=lambda plan, own: _engine.plan_values(plan, own, names))
    except Exception:
        return values, steps
    for name, output, step, tensor in seen:
        node = program.graph.by_name[name]
        value = name + (f".{output}" if output else "")
        if not node.op or node.writes or value not in wanted or value in values:
            continue
        if type_text(tensor) == program.graph.type_of(value).partition("]")[0] + "]":
            values[value], steps[value] = tensor, step
    return values, steps


def recompiled(program: Program, values: list[str]) -> dict:
    """The values as further results of the graph, compiled again; where that does not go, in halves."""
    if not values:
        return {}
    try:
        kept = [value for text in program.graph.results for value in ([text[1:]] if text[1:] in program.graph.by_name else [])]
        kept = [value for value in kept if program.graph.node_of(value).op]
        if sum(bytes_of(program.graph.type_of(value)) for value in kept) > programs.MOST_HELD:
            return alone(program, values)
        results = list(dict.fromkeys([*values, *kept]))
        got = program.call(program.compiled(asking(program.graph, results)))
        return dict(list(zip(results, got))[: len(values)])
    except Exception:
        half = len(values) // 2
        return {**recompiled(program, values[:half]), **recompiled(program, values[half:])} if half else {}


def alone(program: Program, values: list[str]) -> dict:
    """The values as the only results: those of a large program would be held beside them."""
    if program.inputs_share:
        return dict(zip(values, program.call(program.compiled(asking(program.graph, values)))))
    graph = asking(program.graph, values, False).without_unread_inputs()
    names = {node.name for node in graph.inputs}
    return dict(zip(values, program.call(program.compiled(graph), names=names)))


def unknown(graph, value: str, why: str) -> dict:
    node = graph.node_of(value)
    return {**_UNKNOWN, "name": value, "type": graph.type_of(value), "verdict": "unknown", "message": why, "max_ulp": 0, "count": 0, "histogram": "",
            "source": "none", "step": "", "place": node.place, "reads": node.reads, "eager_nan": 0, "eager_inf": 0, "nan": 0, "inf": 0}  # fmt: skip


def compared(program: Program, value: str, eager, exact, ours) -> dict:
    row = unknown(program.graph, value, "")
    if not isinstance(eager, torch.Tensor):
        return row
    eager = eager.detach()
    row.update(count=eager.numel(), **not_finite(eager, "eager_"))
    if not isinstance(ours, torch.Tensor):
        return {**row, "message": "its compiled value could not be got"}
    ours = ours.detach().to(eager.device)
    row.update(not_finite(ours, ""), **distribution(ours, VALUE_CLASSES))
    if eager.shape != ours.shape or eager.dtype != ours.dtype:
        return {**row, "verdict": "differs", "message": f"eager gives {type_text(eager)}, compiled {type_text(ours)}"}
    restrided = torch.empty_strided(eager.shape, eager.stride(), dtype=eager.dtype, device=eager.device).copy_(ours) if ours.stride() != eager.stride() else ours
    found = compare_leaf(value, eager, restrided, ULP_STEPS)
    measured = None
    doubtful = found["verdict"] == "differs"
    if doubtful and eager.dtype in WIDER:
        measured = judge(found, eager, restrided, exact, TF32 if eager.dtype == torch.float32 and program.rounds_to_tf32() else 0.0)
    elif doubtful and isinstance(exact, torch.Tensor) and exact.shape == eager.shape and not torch.equal(exact, eager):
        found["verdict"] = "close"  # float64 itself decides otherwise
    row.update(verdict=found["verdict"], message=found["message"], max_ulp=found.get("max_ulp", 0))
    row.update(distances(eager, restrided, found))
    if eager.dtype in WIDER and isinstance(exact, torch.Tensor) and exact.shape == eager.shape and exact.dtype == WIDER[eager.dtype] and torch.isfinite(exact).any():
        for side, pair in zip(("eager", "compiled"), measured or [errors(tensor, exact.detach()) for tensor in (eager, ours)]):
            row[f"{side}_error"], row[f"{side}_mean"] = (error if error == error else -1.0 for error in pair)
    return row


def not_finite(tensor, prefix: str) -> dict:
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return {prefix + "nan": 0, prefix + "inf": 0}
    return {prefix + "nan": int(tensor.isnan().sum()), prefix + "inf": int(tensor.isinf().sum())}


def distances(eager, ours, found: dict) -> dict:
    """Largest and mean distance, and the histogram in units in the last place, as far as they were not measured already."""
    if eager.numel() == 0 or eager.dtype.is_complex:
        return {}
    if "counts" in found:
        max_abs, mean_abs, counts = found["max_abs"], found["mean_abs"], found["counts"]
    elif found["verdict"] == "equal":
        max_abs, mean_abs, counts = 0.0, 0.0, [eager.numel(), *[0] * (len(ULP_STEPS) + 1)] if eager.dtype in HAS_PLACES else []
    else:
        (max_abs, mean_abs, _), counts = absolute(eager, ours), histogram(eager, ours, ULP_STEPS)
    out = {"max_abs": max_abs, "mean_abs": mean_abs}
    return {**out, "histogram": ",".join(map(str, counts))} if counts else out


def draw_again(program: Program, chunk, rows, eager, exact, ours) -> None:
    """What is still doubtful may be as near to float64 as eager is with its inputs moved by one unit in the last place."""
    doubtful = [i for i, row in enumerate(rows) if row["verdict"] == "differs" and "compiled by" in row["message"]]
    if not doubtful or exact is None:
        return
    values = [chunk[i] for i in doubtful]
    own = [rows[i] for i in doubtful]
    pick = lambda tensors: [(chunk[i], tensors[i]) for i in doubtful]  # noqa: E731

    def nudged(draw):
        return program.nudged(values, draw) or []

    judge_by_draws(own, list(range(len(own))), [(f"output[{i}]", t) for i, (_, t) in enumerate(pick(eager))], pick(ours), pick(exact), nudged)


def mark_makers(program: Program, rows: list[dict]) -> None:
    """`makes`: the first values with a NaN, or an infinity that nobody asked for, of which all that was read has none."""
    graph = program.graph
    bad = {}
    for node, tensor in zip(graph.inputs, program.inputs):
        real = isinstance(tensor, torch.Tensor) and (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        bad[node.name] = real and not bool(torch.isfinite(tensor).all())
    by_value = {row["name"]: row for row in rows}
    for node in graph.operators:
        reads_bad = any(bad.get(value, False) for value in node.reads)
        for value in node.values:
            row = by_value.get(value)
            if row is None or row.get("skipped"):
                bad[value] = reads_bad
                continue
            bad[value] = bool(row["nan"] + row["inf"] + row["eager_nan"] + row["eager_inf"])
            asked = "inf" in node.text.partition(" : ")[0] and not row["nan"] + row["eager_nan"]
            row["makes"] = int(bad[value] and not reads_bad and bool(node.reads) and not asked)


def mark_first(program: Program, rows: list[dict]) -> None:
    """`first`: the first value that differs. One that was fused away is asked for alone before it is named."""
    for row in rows:
        if row["verdict"] != "differs":
            continue
        if row["source"] == "output":
            value = row["name"]
            alone, eager, exact = recompiled(program, [value]), program.eager([value]), program.exact([value])
            if alone and eager:
                found = compared(program, value, eager[0], exact[0] if exact else None, alone[value])
                draw_again(program, [value], [found], eager, exact, [alone[value]])
                keep = {key: row[key] for key in ("ordinal", "makes") if key in row}
                row.update(found, **keep, source="alone")
            if row["verdict"] != "differs":
                continue
        row["first"] = 1
        return
