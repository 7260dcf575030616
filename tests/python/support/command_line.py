"""Runs the program `vitrine` as a user does."""

import os
import sqlite3
import subprocess
from pathlib import Path

TINY = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).eval()
inputs = (torch.randn(2, 8),)
"""


def vitrine(*words, cwd=None, env=None, timeout=240) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["vitrine", *map(str, words)], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True,
        timeout=timeout, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def said(result: subprocess.CompletedProcess) -> str:
    return result.stdout + result.stderr


def recorded_tiny(folder: Path) -> Path:
    """The session of a run of TINY."""
    path = folder / "tiny.vitrine"
    result = vitrine("run", write(folder, "tiny.py", TINY), "-o", path, "--repeats", 3)
    assert result.returncode == 0, said(result)
    return path


def query(session, sql: str) -> list[tuple]:
    db = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()
