"""A session recorded around a block of a test, and its tables as dicts."""

import contextlib
import sqlite3

from vitrine import _engine


class Session:
    def __init__(self, path):
        self.path = path

    def rows(self, table: str, **where) -> list[dict]:
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            condition = " AND ".join(f"{name} = ?" for name in where) or "1"
            return [dict(r) for r in db.execute(f"SELECT * FROM {table} WHERE {condition}", tuple(where.values()))]

    def one(self, table: str, **where) -> dict:
        rows = self.rows(table, **where)
        assert len(rows) == 1, f"{table}: {rows}"
        return rows[0]


@contextlib.contextmanager
def recorded(folder, name="session.vitrine"):
    """Records what runs inside; read the tables after the block."""
    path = str(folder / name)
    error = _engine.session_open(path)
    assert error is None, error
    _engine.session_run({"label": "test", "entry": "test", "status": "running"})
    try:
        yield Session(path)
    finally:
        _engine.session_close("finished")
        _engine.session_settle(path)  # it was recorded beside one that stood there
