"""The session of a run, from Python's side: runs, timings, checks and timelines beside what the engine records itself."""

import contextlib
import os
import platform
import time

import torch

from vitrine import _engine
from vitrine.session_file import read_own


class Recording:
    """Owns the session file of this process. Raises OSError when it cannot be written."""

    def __init__(self, path: str, import_ns: int, report=None):
        error = _engine.session_open(path)
        if error:
            raise OSError(error)
        self.path, self.import_ns, self.report = path, import_ns, report
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
        self.commit()
        with contextlib.closing(read_own(self.path)) as db:
            return db.execute("SELECT count(*) FROM compilation").fetchone()[0]

    def kernels(self) -> int:
        """How many generated kernels were compiled so far."""
        self.commit()
        with contextlib.closing(sqlite3.connect(f"file:{quote(os.path.abspath(self.path))}?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM kernel WHERE kind = 'generated' AND error = ''").fetchone()[0]

    def update_run(self, run: dict, **facts) -> None:
        run.update(facts)
        _engine.session_put("run", run)

    def end_run(self, run: dict, status: str) -> None:
        self.update_run(run, status=status)

    def put(self, table: str, **row) -> int:
        return _engine.session_put(table, row)

    def message(self, severity: str, origin: str, text: str, hint: str = "", detail: str = "", run: int = 0, entity: int = 0) -> None:
        now = time.monotonic_ns() - self.started
        self.put("message", run=run, time_ns=now, severity=severity, origin=origin, text=text, hint=hint, detail=detail, entity=entity)

    def commit(self) -> None:
        _engine.session_commit()

    def close(self, status: str) -> None:
        for run in self.runs:
            if run["status"] == "running":
                self.end_run(run, status)
        _engine.session_close(status)


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
