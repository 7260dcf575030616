"""Runs the program `vitrine` as a user does."""

import os
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
