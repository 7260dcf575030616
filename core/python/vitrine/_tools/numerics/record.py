"""Rows of the table `numerics` in the session that is recorded."""

import contextlib

from vitrine._tools.numerics.budget import SECONDS, Budget
from vitrine._tools.numerics.programs import Program, watching
from vitrine._tools.numerics.rows import numerics_rows
from vitrine._tools.session_file import read_own

_NO_COLUMNS = ("place", "reads", "skipped")


def record_numerics(recording, programs: list[Program], budget: Budget | None = None) -> list[tuple[Program, list[dict]]]:
    """Compares the programs, one after the other; those that are recorded get their rows. A program's inputs go afterwards."""
    out, budget = [], budget or Budget()
    recording.commit()
    with contextlib.closing(read_own(recording.path)) as db:
        for at, program in enumerate(programs):
            budget.share(program.name, len(programs) - at)
            rows = numerics_rows(program, budget)
            if program.compilation:
                ids = node_ids(db, program)
                for row in rows:
                    columns = {key: value for key, value in row.items() if key not in _NO_COLUMNS}
                    recording.put("numerics", compilation=program.compilation, node=ids.get(row["name"].partition(".")[0], 0), **columns)
            program.inputs, program.plan = [], None
            out.append((program, rows))
    recording.commit()
    return out


@contextlib.contextmanager
def numerics_of(options, recording):
    """Compares what is compiled meanwhile value by value, once it has run, where the options ask for it."""
    if not options.numerics:
        yield
        return
    with watching() as programs:
        yield
    recording.report.progress("numerics")
    found = record_numerics(recording, programs, Budget(SECONDS))
    if skipped := sum(bool(row.get("skipped")) for _, rows in found for row in rows):
        text = f"{skipped} of {sum(len(rows) for _, rows in found)} values were not compared: {SECONDS:g} seconds were over."
        recording.message("info", "environment", text, "`vitrine check FILE --seconds 0 -o SESSION` compares all.")


def node_ids(db, program: Program) -> dict[str, int]:
    """By name, the nodes of the graph that the program was compiled from."""
    query = "SELECT id FROM graph WHERE compilation = ? AND stage = ? AND pass = '' ORDER BY ordinal LIMIT 1"
    found = db.execute(query, (program.compilation, program.graph.stage)).fetchone()
    return dict(db.execute("SELECT name, id FROM node WHERE graph = ?", found)) if found else {}


def label(db, compilation: int) -> str:
    found = db.execute("SELECT label FROM compilation WHERE id = ?", (compilation,)).fetchone()
    return found[0] if found else ""
