"""Where the tree lies: tests move between rooms and do not count folders."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
