"""Compares each value of the compiled graphs with eager's and with float64: `vitrine check FILE`.

Exit status: 0 nothing diverges; 1 a value is clearly further from float64 than eager's, or a NaN is the compiled program's
own; 2 it could not run, or none of a graph's values could be compared.
"""

import argparse
import gc
import json
import math
import sys

from vitrine._tools.numerics import entry
from vitrine._tools.numerics.budget import SECONDS, Budget
from vitrine._tools.numerics.programs import watching


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vitrine check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    entry.add_arguments(parser)
    parser.add_argument("-o", "--output", help="keep the session there, with its table numerics")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help=f"how long values are compared (default {SECONDS:g}; 0: all of them)")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    parser.add_argument("--all", action="store_true", help="every value, not those alone that differ most")
    own, script = entry.split_script(argv)
    options = parser.parse_args(own)
    options.script = script
    if not 0 <= options.seconds < math.inf:
        parser.error("argument --seconds: a number from 0 is needed")
    return options


SHOWN = 12  # values of a graph, without --all


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        return checked(options)
    except entry.LoadError as error:
        return entry.tell(error)


def checked(options) -> int:
    from vitrine._tools.numerics.record import record_numerics

    with entry.session_at(options.output) as recording:
        status = "failed"
        run = recording.start_run(options.file.rpartition("/")[2], options.entry or "", "", options.mode)
        try:
            with watching() as programs:
                name = entry.run(options)
            gc.collect()  # what the script had
            found = record_numerics(recording, programs, Budget(options.seconds, told=True))
            status = "finished"
        finally:
            recording.end_run(run, status)
            recording.close(status)
    if not found:
        raise entry.nothing_compiled(options)
    print(as_json(found) if options.json else report(name, found, options.all))
    if any(wrong(row) for _, rows in found for row in rows):
        return 1
    return 2 if any(rows and not any(row["verdict"] != "unknown" for row in rows) for _, rows in found) else 0


def wrong(row: dict) -> bool:
    return bool(row.get("first"))


def as_json(found) -> str:
    graphs = [{"compilation": program.compilation, "graph": program.name, "stage": program.graph.stage, "values": rows} for program, rows in found]
    for row in (row for graph in graphs for row in graph["values"]):
        row.update((key, None) for key, value in row.items() if isinstance(value, float) and not math.isfinite(value))
    return json.dumps(graphs, indent=1, default=list)


def number(value: float) -> str:
    return "–" if value < 0 else f"{value:.2g}"


def report(name: str, found, everything: bool) -> str:
    lines = [name]
    for program, rows in found:
        lines.append(f"\n{program.name or 'graph'} ({program.graph.stage}): {len(rows)} values" + (f", {ways(rows)}" if rows else ""))
        if late := sum(bool(row.get("skipped")) for row in rows):
            lines.append(f"  {len(rows) - late} of {len(rows)} values were compared, its results first; then the time was over (--seconds 0: all)")
            rows = [row for row in rows if not row.get("skipped")]
        lines += summary(rows) if rows or not late else []
        shown = rows if everything else worst(rows)
        lines += table(shown) if shown else []
        if len(shown) < len(rows):
            lines.append(f"  … and {len(rows) - len(shown)} more that differ less (--all)")
    return "\n".join(lines)


def ways(rows: list[dict]) -> str:
    rows = [row for row in rows if not row.get("skipped")]
    words = {"buffer": "from the program's own memory", "output": "compiled again as further results", "alone": "compiled again alone", "none": "not got"}
    counts = {source: sum(row["source"] == source for row in rows) for source in words}
    return ", ".join(f"{count} {words[source]}" for source, count in counts.items() if count)


def summary(rows: list[dict]) -> list[str]:
    out = []
    first = next((row for row in rows if row.get("first")), None)
    makers = [row for row in rows if row.get("makes")]
    if first:
        out.append(f"  First divergence: {first['name']}{at(first)}: {first['message']}")
    elif rows and all(row["verdict"] == "unknown" for row in rows):
        out.append(f"  Nothing could be compared: {rows[0]['message']}")
    elif not rows:
        out.append("  Nothing is compared: all that it computes are views.")
    else:
        out.append("  No value diverges: each is as near to float64 as eager's, or within the tolerance.")
    for row in makers[:3]:
        both = "eager too" if row["eager_nan"] + row["eager_inf"] else "the compiled program alone"
        out.append(f"  Source of NaN or infinity: {row['name']}{at(row)}: {row['nan']} NaN, {row['inf']} inf; what it reads has none ({both})")
    return out


def at(row: dict) -> str:
    return f" at {row['place']}" if row["place"] else ""


def worst(rows: list[dict]) -> list[dict]:
    """Those that differ most, in the graph's order."""
    rank = {"differs": 2, "unknown": 1}
    order = sorted(rows, key=lambda row: (bool(row.get("first") or row.get("makes")), rank.get(row["verdict"], 0), row["max_abs"]), reverse=True)[:SHOWN]
    chosen = {id(row) for row in order}
    return [row for row in rows if id(row) in chosen]


def table(rows: list[dict]) -> list[str]:
    titles = ("value", "type", "by", "verdict", "max |Δ|", "mean |Δ|", "ulp", "eager off", "compiled off", "place")
    cells = [titles]
    for row in rows:
        by = row["step"] if row["source"] == "buffer" else row["source"]
        errors = [number(row[key]) for key in ("max_abs", "mean_abs")]
        off = [number(row[key]) for key in ("eager_error", "compiled_error")]
        cells.append((row["name"], row["type"], by, row["verdict"], *errors, str(row["max_ulp"]), *off, row["place"]))
    widths = [max(len(line[i]) for line in cells) for i in range(len(titles))]
    numbers = range(4, 9)
    return ["  " + "  ".join(c.rjust(w) if i in numbers else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in cells]


if __name__ == "__main__":
    sys.exit(main())
