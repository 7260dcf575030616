"""The session of a run, from Python's side: runs, timings, checks and timelines beside what the engine records itself."""

import contextlib
import os
import platform
import time

import torch

from vitrine import _engine
from vitrine._tools.session_file import read_own


class Recording:
    """Owns the session of this process, which belongs at `target`. Raises OSError when it cannot be written."""

    def __init__(self, target: str, import_ns: int, report=None):
        error = _engine.session_open(target)
        if error:
            raise OSError(error)
        self.target, self.import_ns, self.report = target, import_ns, report
        self.absolute = os.path.abspath(target)  # the user's code may change the working folder
        self.path = _engine.session_path()  # beside an earlier session, until it is known what this one is worth
        self.started = time.monotonic_ns()
        self.runs: list[dict] = []
        for key, value in facts().items():
            _engine.session_put("meta", {"key": key, "value": value})

    def start_run(self, label: str, entry: str, inputs: str, mode: str) -> dict:
        """A new row of `run`; the row is a dict that later calls complete."""
        run = {
            "label": label, "entry": entry, "inputs": inputs, "device": "cpu", "mode": mode, "status": "running",
            "started_unix_ns": time.time_ns(), "import_ns": self.import_ns,
        }  # fmt: skip
        run["id"] = _engine.session_run(run)
        self.runs.append(run)
        return run

    def compilations(self) -> int:
        """How many compilations were recorded so far."""
        return _engine.session_compilations()

    def kernels(self) -> int:
        """How many generated kernels were compiled so far."""
        self.commit()
        with contextlib.closing(read_own(self.path)) as db:
            return db.execute("SELECT count(*) FROM kernel WHERE kind = 'generated' AND error = ''").fetchone()[0]

    def update_run(self, run: dict, **facts) -> None:
        run.update(facts)
        _engine.session_put("run", run)

    def end_run(self, run: dict, status: str) -> None:
        self.update_run(run, status=status, device=self.device(run))

    def device(self, run: dict) -> str:
        """What the run was measured on. Of a script its graphs tell, once they are compiled."""
        if run["device"] != "cpu" or not torch.cuda.is_initialized():
            return run["device"]
        self.commit()
        with contextlib.closing(read_own(self.path)) as db:
            found = db.execute("SELECT type FROM buffer WHERE instr(type, 'cuda:') LIMIT 1").fetchone()
        return torch.cuda.get_device_name(int(found[0].rpartition("cuda:")[2])) if found else run["device"]

    def put(self, table: str, **row) -> int:
        return _engine.session_put(table, row)

    def message(self, severity: str, origin: str, text: str, hint: str = "", detail: str = "", run: int = 0, entity: int = 0, about: str = "") -> None:
        row = {"severity": severity, "origin": origin, "text": text, "hint": hint, "detail": detail, "entity": entity, "about": about}
        self.put("message", run=run, time_ns=time.monotonic_ns() - self.started, **row)

    def commit(self) -> None:
        _engine.session_commit()

    def close(self, status: str) -> tuple[str, str]:
        """What became of the recording (see :func:`settle`; "nothing": it was at its target all the time), and where it is."""
        for run in self.runs:
            if run["status"] == "running":
                self.end_run(run, status)
        _engine.session_close(status)
        if same_file(self.path, self.absolute):
            return "nothing", self.target
        what, where, _ = settle(self.absolute)
        if what in ("nothing", "recording"):  # another process came first, and has put it where it belongs
            return "replaced", self.target
        return what, self.target if what == "replaced" else as_spelled(where, self.target)

    def close_at_exit(self, run: dict, status: str) -> None:
        """Of a process that is about to end: a "finished" run is a failed one where its exit status is none."""
        _engine.session_close_at_exit({**run, "status": status}, self.absolute)


def same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return os.path.realpath(one) == os.path.realpath(other)


def as_spelled(path: str, target: str) -> str:
    """A file beside the target, named from where the target was named."""
    return os.path.join(os.path.dirname(target), os.path.basename(path)) if path else ""


def settle(target: str) -> tuple[str, str, str]:
    """Moves a recording that was made beside `target`, and is closed or has lost its process, to where it belongs:
    what became of it (nothing | recording | replaced | kept | dropped), where it is, how it ended. Raises OSError."""
    return _engine.session_settle(target)


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def facts() -> dict[str, str]:
    """What identifies the machine and its software in a session."""
    import vitrine

    return {
        "vitrine": vitrine.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cpu": cpu_name(),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "created_unix_ns": str(time.time_ns()),
    }
