"""`VITRINE_LOGS=graph_breaks,recompiles python script.py`: what compilation does, on stderr or in the file VITRINE_LOGS_OUT. The
names are those of TORCH_LOGS, which is followed while torch.compile is taken over."""

import difflib
import functools
import os
import sys
from typing import NamedTuple

from vitrine import _log_events as events


class Kind(NamedTuple):
    what: str  # as `VITRINE_LOGS=help` says it
    tell: object  # of the facts of a compilation; or, of a session: of its database and a compilation's number
    of_session: bool = False  # it is read from a session, which is recorded for it


KINDS = {
    "graph_breaks": Kind("why a graph ends before its function does, and where", events.graph_breaks),
    "recompiles": Kind("which guard failed, with the value before and now", events.recompiles),
    "guards": Kind("what each compilation relies on", events.guards),
    "graph_code": Kind("the graph of each compilation, as text", events.graph_code),
    "dynamic": Kind("sizes and ints that became symbols, and why", events.dynamic, True),
    "aot_graphs": Kind("the ATen graphs, forward and backward, as they are compiled", events.aot_graphs, True),
    "fusion": Kind("pairs of units that were considered, and why they were not joined", events.fusion, True),
    "output_code": Kind("the generated kernels", events.output_code, True),
    "perf_hints": Kind("what keeps code from being faster, and what to do", events.perf_hints, True),
    "cudagraphs": Kind("what is replayed as a CUDA Graph, and why not", events.cudagraphs, True),
}
# Other names of TORCH_LOGS for some of them.
_OTHER_NAMES = {"graph": "graph_code", "recompiles_verbose": "recompiles", "verbose_guards": "guards", "kernel_code": "output_code", "schedule": "fusion"}

_paths: list[str] = []  # the session that logs are read from, once it is open
_told: list[int] = [0]  # the compilation that was told last
_names: set[str] = set()
_lost: set[str] = set()  # files of logs that cannot be written


def _paint(text: str, path: str) -> str:
    return f"\x1b[36m{text}\x1b[0m" if sys.stderr.isatty() and not path else text


def _out() -> str:
    return os.environ.get("VITRINE_LOGS_OUT") or (os.environ.get("TORCH_LOGS_OUT", "") if _follows_torch() else "")


def _follows_torch() -> bool:
    return "vitrine.take_over" in sys.modules


def _say(name: str, head: str, lines=()) -> None:
    path = _out()
    if path in _lost:
        path = ""
    text = "\n".join([_paint(f"vitrine {name}: ", path) + head, *(f"  {line}" for line in lines)])
    try:
        if path:
            with open(path, "a", encoding="utf-8") as file:
                print(text, file=file)
        else:
            print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError) as error:  # the script has closed its stderr: it goes on
        if path:
            _lost.add(path)
            _say("logs", f"{path} cannot be written ({getattr(error, 'strerror', None) or error}); logs go to stderr instead.")
            _say(name, head, lines)


def _asked(variable: str, every_name: bool) -> set[str]:
    """The names that a variable of the environment asks for. What it cannot have is told at once; of PyTorch's variable
    what PyTorch alone has is its own."""
    out = set()
    for given in filter(None, (name.strip() for name in os.environ.get(variable, "").split(","))):
        plain = given.lstrip("+-")
        name = _OTHER_NAMES.get(plain, plain)
        if given.startswith("-"):
            continue
        if name == "help":
            _say("logs", f"{variable} takes these names, with commas between:", [f"{n}: {kind.what}" for n, kind in KINDS.items()])
        elif name in KINDS:
            out.add(name)
        elif every_name or not _is_torchs(plain):
            near = difflib.get_close_matches(plain, [*KINDS, "help"], 1)
            _say("logs", f"there is no {plain!r}" + (f"; did you mean {near[0]}?" if near else f"; {variable}=help names all."))
        elif plain not in ("all",):
            _say("logs", f"{variable}={plain} is about PyTorch's own compiler; Vitrine has {', '.join(KINDS)}.")
        else:
            out.update(KINDS)
    return out


def _is_torchs(name: str) -> bool:
    registry = getattr(sys.modules.get("torch._logging._internal"), "log_registry", None)
    return name == "all" or (registry is not None and (registry.is_log(name) or registry.is_artifact(name))) or "." in name


def _hear(facts: dict) -> None:
    """Called by the engine, once a compilation and once a recompilation."""
    for name, kind in KINDS.items():
        if name in _names and not kind.of_session:
            for head, lines in kind.tell(facts):
                _say(name, head, lines)
    if any(KINDS[name].of_session for name in _names) and "recompilation" not in facts:
        tell_session()


def tell_session() -> None:
    """What was recorded since the last time; a backward pass is compiled when it first runs."""
    from vitrine import _engine

    if not _paths:
        return
    _engine.session_commit()
    with events.opened(_paths[0]) as session:
        for compilation in session.compilations_after(_told[0]):
            for name, kind in KINDS.items():
                if name in _names and kind.of_session:
                    for head, lines in kind.tell(session, compilation):
                        _say(name, head, lines)
            _told[0] = compilation


def _open_session() -> str:
    """Where the session is that is being recorded, "" where none is."""
    from vitrine import _engine

    try:
        return _engine.session_path()
    except RuntimeError:
        return ""


def _record() -> None:
    """A session for what is read from one: that which is recorded anyway, or one of its own that goes with the process."""
    import atexit
    import shutil
    import tempfile

    path = _open_session()
    if not path:
        folder = tempfile.mkdtemp(prefix="vitrine-logs-")
        owner = os.getpid()
        atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
        from vitrine._tools.recording import Recording

        recording = Recording(os.path.join(folder, "logs.vitrine"), 0)
        recording.start_run("logs", "script", "", "default")
        path = recording.path
        atexit.register(lambda: recording.close("finished") if os.getpid() == owner else None)
    _paths.append(path)
    owner_of_session = os.getpid()
    atexit.register(lambda: tell_session() if os.getpid() == owner_of_session else None)


def _torchs_artifacts() -> set[str]:
    """What a script has switched on by TORCH_LOGS or torch._logging.set_logs, of the names that stand here."""
    state = getattr(sys.modules.get("torch._logging._internal"), "log_state", None)
    names = {_OTHER_NAMES.get(name, name) for name in getattr(state, "artifact_names", ())}
    return names & {*KINDS}


def observer():
    """Who is to hear of compilations, or None."""
    if _follows_torch():
        _names.update(_torchs_artifacts())
    if _names and not _paths and any(KINDS[name].of_session for name in _names):
        _record()
    return _hear if _names else None


@functools.cache  # what it says is said once
def follow_torch_logs() -> None:
    """Once torch.compile is taken over: the names of TORCH_LOGS are asked for, too."""
    _names.update(_asked("TORCH_LOGS", every_name=False))


_names.update(_asked("VITRINE_LOGS", every_name=True))
