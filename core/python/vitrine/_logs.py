"""`VITRINE_LOGS=graph_breaks,recompiles python script.py`: what capture does, on stderr. The names are those of TORCH_LOGS."""

import difflib
import os
import sys

# What can be told.
NAMES = {
    "graph_breaks": "why a graph ends before its function does, and where",
    "recompiles": "which guard failed, with the value before and now",
    "guards": "what each compilation relies on",
    "graph_code": "the graph of each compilation, as text",
}
# Names of TORCH_LOGS that nothing stands behind yet.
NOT_YET = ("output_code", "fusion", "dynamic", "perf_hints", "cudagraphs")


def _paint(text: str) -> str:
    return f"\x1b[36m{text}\x1b[0m" if sys.stderr.isatty() else text


def _say(name: str, head: str, lines=()) -> None:
    text = "\n".join([_paint(f"vitrine {name}: ") + head, *(f"  {line}" for line in lines)])
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):  # the script has closed its stderr: it goes on
        pass


def _asked() -> set[str]:
    """The names that the environment asks for. What it cannot have is told at once."""
    names = [name.strip() for name in os.environ.get("VITRINE_LOGS", "").split(",")]
    out = set()
    for name in filter(None, names):
        if name == "help":
            _say("logs", "VITRINE_LOGS takes these names, with commas between:", [f"{n}: {what}" for n, what in NAMES.items()])
        elif name in NAMES:
            out.add(name)
        elif name in NOT_YET:
            _say("logs", f"{name} is not supported yet.")
        else:
            near = difflib.get_close_matches(name, [*NAMES, "help"], 1)
            _say("logs", f"there is no {name!r}" + (f"; did you mean {near[0]}?" if near else "; VITRINE_LOGS=help names all."))
    return out


_names = _asked()


def _hear(facts: dict) -> None:
    """Called by the engine, once a compilation and once a recompilation."""
    if again := facts.get("recompilation"):
        if "recompiles" in _names:
            was = f"was {again['old']}, is {again['new']}"
            _say("recompiles", again["place"], filter(None, [again["failed"], was, again["hint"]]))
        return
    broke = facts["break"]
    if broke and "graph_breaks" in _names:
        hint = [f"hint: {broke['hint']}"] if broke["hint"] else []
        _say("graph_breaks", f"{broke['reason']} [{broke['kind']}]", [*(f"at {place}" for place in broke["stack"]), *hint])
    if facts["graph"] and "graph_code" in _names:
        _say("graph_code", f"{len(facts['ops'])} operators", facts["graph"].rstrip().splitlines())
    if facts["guards"] and "guards" in _names:
        _say("guards", f"{len(facts['guards'])} guards", facts["guards"])


observer = _hear if _names else None
