"""What the engine reaches by name is in one table: every row is there, and what is missing is named at once."""

import importlib
import subprocess
import sys
from functools import reduce

import pytest
import torch

from vitrine import _engine

NAMES = _engine.python_names()


def text(module: str, attribute: str) -> str:
    return f"{module}.{attribute}" if attribute else module


@pytest.mark.parametrize("module, attribute", [pytest.param(m, a, id=text(m, a)) for m, a, required in NAMES if required])
def test_what_must_be_there_is_there(module, attribute):
    reduce(getattr, attribute.split(".") if attribute else [], importlib.import_module(module))


def test_each_name_stands_once():
    assert len({(m, a) for m, a, _ in NAMES}) == len(NAMES)


def test_all_that_is_missing_is_told_together(monkeypatch):
    assert _engine.missing_python_names() == []
    monkeypatch.delattr(torch, "finfo")
    monkeypatch.delattr(torch.nn.Module, "_call_impl")
    assert _engine.missing_python_names() == ["torch.finfo", "torch.nn.Module._call_impl"]


def test_the_engine_says_which_names_it_misses():
    """In a process of its own: the engine asks once."""
    code = "import torch; del torch.finfo, torch._C._dispatch_keys; from vitrine import _engine; print(_engine.bridge_init())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "lacks torch._C._dispatch_keys, torch.finfo" in said.stdout + said.stderr


def test_names_are_found_without_further_imports():
    """Looking through the table loads nothing: what is not loaded is looked for when it is needed."""
    code = "import sys, torch, vitrine; from vitrine import _engine; _engine.bridge_init(); a = set(sys.modules); _engine.missing_python_names(); print(sorted(set(sys.modules) - a))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout.splitlines()[-1:] == ["[]"], said.stderr
