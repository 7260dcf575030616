"""The session that this process records, read from Python's side. Sessions from elsewhere are read by core/session alone."""

import os
import sqlite3
from urllib.parse import quote


def read_own(path: str) -> sqlite3.Connection:
    """Read-only: SQLite plays back no journal then, and what stands in the schema runs nothing."""
    db = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        db.execute(f"PRAGMA {pragma}")
    return db
