"""What each kind of log says: events, each a headline and its lines. Those of the first part come from what the engine tells at
once, the others are read from the session that is being recorded."""

import contextlib

from vitrine import _engine
from vitrine._tools.session_file import read_own

_SIGNS = {"fused": "+", "rejected": "-"}


def graph_breaks(facts):
    if broke := facts.get("break"):
        hint = [f"hint: {broke['hint']}"] if broke["hint"] else []
        yield f"{broke['reason']} [{broke['kind']}]", [*(f"at {place}" for place in broke["stack"]), *hint]


def recompiles(facts):
    if again := facts.get("recompilation"):
        was = f"was {again['old']}, is {again['new']}"
        yield again["place"], [*filter(None, [again["failed"], was, again["hint"]])]


def guards(facts):
    if facts.get("guards"):
        yield f"{facts['place']}: {len(facts['guards'])} guards", facts["guards"]


def graph_code(facts):
    if facts.get("graph"):
        yield f"{facts['place']}: {len(facts['ops'])} operators", facts["graph"].rstrip().splitlines()


class Session:
    """The session of this process, for a moment. What is asked of a session stands below, by kind of log."""

    def __init__(self, path: str, db):
        self.path, self.db = path, db

    def rows(self, query: str, *values) -> list[tuple]:
        return self.db.execute(query, values).fetchall()

    def texts(self, blobs: list[int]) -> list[str]:
        return _engine.session_texts(self.path, blobs) if blobs else []

    def compilations_after(self, last: int) -> list[int]:
        return [number for (number,) in self.rows("SELECT id FROM compilation WHERE id > ? AND status <> '' ORDER BY id", last)]

    def place(self, compilation: int) -> str:
        """ "0/1 file:line function" of a compilation."""
        found = self.rows(
            "SELECT c.label, file.path, code.first_line, code.qualname FROM compilation c JOIN segment s ON s.id = c.segment "
            "JOIN frame f ON f.id = s.frame JOIN code ON code.id = f.code LEFT JOIN file ON file.id = code.file WHERE c.id = ?",
            compilation,
        )
        return "{} {}:{} {}".format(*found[0]) if found else str(compilation)


@contextlib.contextmanager
def opened(path: str):
    with contextlib.closing(read_own(path)) as db:
        yield Session(path, db)


def dynamic(session, compilation):
    rows = session.rows("SELECT name, source, origin, hint, lo, hi, fixed_by FROM symbol WHERE compilation = ? ORDER BY ordinal", compilation)
    lines = [f"{name} = {source}: {origin}" + (f"; fixed to {hint} at {fixed}" if fixed else "") for name, source, origin, hint, _, _, fixed in rows]
    if lines:
        yield f"{session.place(compilation)}: {len(lines)} symbols", lines


def aot_graphs(session, compilation):
    names = {"forward": "forward graph", "backward": "backward graph", "aten": "graph"}
    if session.rows("SELECT 1 FROM backward WHERE backward = ? AND tangents = 'all'", compilation):
        return  # told with its forward graph
    found = dict(session.rows("SELECT stage, text FROM graph WHERE compilation = ? AND stage IN ('aten', 'forward', 'backward') AND pass = '' ORDER BY ordinal", compilation))
    if "forward" in found:
        found.pop("aten", None)
    for (stage, _), text in zip(found.items(), session.texts(list(found.values()))):
        yield f"{session.place(compilation)}: {names[stage]}", text.rstrip().splitlines()


def fusion(session, compilation):
    rows = session.rows(
        "SELECT d.kind, d.verdict, d.reason, a.name, b.name FROM fusion_decision d LEFT JOIN node a ON a.id = d.a "
        "LEFT JOIN node b ON b.id = d.b WHERE d.compilation = ? ORDER BY d.ordinal",
        compilation,
    )
    lines = [f"{_SIGNS.get(verdict, '?')} {a} with {b} ({kind}): {verdict}" + (f", {why}" if why else "") for kind, verdict, why, a, b in rows]
    if lines:
        joined = sum(verdict == "fused" for _, verdict, *_ in rows)
        yield f"{session.place(compilation)}: {joined} of {len(rows)} pairs joined", lines


def output_code(session, compilation):
    rows = session.rows("SELECT label, name, space, source FROM kernel WHERE compilation = ? AND kind = 'generated' ORDER BY ordinal", compilation)
    for (label, name, space, _), text in zip(rows, session.texts([row[3] for row in rows])):
        yield f"{session.place(compilation)}: {label} {name} ({space})", text.rstrip().splitlines()


def perf_hints(session, compilation):
    lines = []
    for kind, reason, hint in session.rows("SELECT kind, reason, hint FROM graph_break WHERE compilation = ?", compilation):
        lines.append(f"the graph ends: {reason} [{kind}]" + (f"; {hint}" if hint else ""))
    for failed, hint in session.rows("SELECT failed, hint FROM recompilation WHERE compilation = ?", compilation):
        lines.append(f"compiled again: {failed}" + (f"; {hint}" if hint else ""))
    for text, hint in session.rows("SELECT text, hint FROM message WHERE entity = ? AND severity IN ('warning', 'hint')", compilation):
        lines.append(text + (f" {hint}" if hint else ""))
    opaque = [name for (name,) in session.rows("SELECT text FROM launch WHERE compilation = ? AND kind = 'opaque' ORDER BY ordinal", compilation)]
    if opaque:
        lines.append(f"left to PyTorch: {', '.join(name.partition(' ')[2] or name for name in opaque)}")
    if lines:
        yield session.place(compilation), lines


def cudagraphs(session, compilation):
    for state, reason, launches, copied in session.rows("SELECT state, reason, launches, bytes_copied FROM cuda_graph WHERE compilation = ?", compilation):
        what = f"{launches} launches, {copied} bytes copied a call" if state == "recorded" else reason
        yield f"{session.place(compilation)}: {state}", [what]
