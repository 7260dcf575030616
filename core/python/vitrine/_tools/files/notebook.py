"""A Jupyter notebook as a script: its code cells run one after the other, as __main__. The file is only read.

Each cell is a source of its own, "notebook.ipynb[cell 3]", so that tracebacks, breaks and the session name cell and line.
"""

import ast
import asyncio
import inspect
import json
import linecache
import os
import re
import runpy
import sys
import traceback
import types
from dataclasses import dataclass

from vitrine._tools.loading import LoadError, parse, raised, read_source

ENDING = ".ipynb"
# Magics whose cell or line is Python all the same.
_RUN_BODY = {"time", "timeit", "capture", "prun", "vitrine", "python", "python3"}
_RUN_LINE = {"time", "timeit"}
_OF_IPYTHON = re.compile(r"^(\s*)([%!])\s*(\w*)(.*)$")


@dataclass(frozen=True)
class Cell:
    """One code cell; number: from 1, of the code cells."""

    number: int
    name: str
    text: str  # as Python
    left_out: tuple[str, ...] = ()  # what is IPython's: "line 1: %matplotlib inline"


def is_notebook(path: str) -> bool:
    return path.endswith(ENDING)


def cells_of(path: str) -> list[Cell]:
    """Raises LoadError where the file is no notebook of Python."""
    try:
        book = json.loads(read_source(path))
        sources = [_text(cell) for cell in book["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LoadError(f"{path} is no Jupyter notebook: {type(error).__name__}: {error}", "Save it anew, in the format of version 4.") from error
    language = book.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if str(language).lower() != "python":
        raise LoadError(f"{path} is a notebook of {language}, not of Python.", "Name one whose kernel is Python's.")
    absolute = os.path.abspath(path)
    return [_cell(number, f"{absolute}[cell {number}]", text) for number, text in enumerate(sources, 1)]


def _text(cell: dict) -> str:
    source = cell["source"]
    text = source if isinstance(source, str) else "".join(source)
    if not isinstance(text, str):
        raise TypeError("a cell's source is no text")
    return text


def _cell(number: int, name: str, text: str) -> Cell:
    lines, left_out = text.splitlines(), []
    if found := re.match(r"^%%(\w+)(.*)", text.lstrip()):
        first = next(i for i, line in enumerate(lines) if line.strip())
        left_out.append(f"line {first + 1}: {lines[first].strip()}")
        if found[1] not in _RUN_BODY:
            return Cell(number, name, "", tuple(left_out))
        lines[first] = ""
    if not _parses("\n".join(lines)):
        for i, line in enumerate(lines):
            if magic := _OF_IPYTHON.match(line):
                indent, sign, word, rest = magic.groups()
                kept = sign == "%" and word in _RUN_LINE and rest.strip()
                lines[i] = indent + (rest.strip() if kept else "pass")
                left_out.append(f"line {i + 1}: {line.strip()}")
    return Cell(number, name, "\n".join(lines) + "\n", tuple(left_out))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def check_script(path: str) -> None:
    """Raises LoadError for what cannot run at all."""
    (cells_of if is_notebook(path) else parse)(path)


def run_as_main(path: str, note=lambda text: None) -> None:
    """Runs a notebook, or any other file as `python FILE` does."""
    if is_notebook(path):
        run(path, note)
    else:
        runpy.run_path(path, run_name="__main__")


def run(path: str, note) -> None:
    """Runs the cells. note: told what of IPython's is left out. What the user's code raises is a LoadError; SystemExit and
    KeyboardInterrupt stay what they are."""
    main = types.ModuleType("__main__")
    main.__dict__.update(display=_display, get_ipython=lambda: None)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        for cell in cells_of(path):
            for what in cell.left_out:
                note(f"cell {cell.number}, {what} is IPython's, and is left out.")
            _run_cell(cell, main.__dict__)
    finally:
        sys.modules["__main__"] = before


def _run_cell(cell: Cell, names: dict) -> None:
    linecache.cache[cell.name] = (len(cell.text), None, cell.text.splitlines(keepends=True), cell.name)
    try:
        code = compile(cell.text, cell.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        where = "".join(traceback.format_exception_only(error))
        raise LoadError(f"Cell {cell.number}{line} is not valid Python.", "Mend that line.", where) from error
    try:
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(types.FunctionType(code, names)())
        else:
            exec(code, names)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise raised(error, place_of(error, cell)) from error


def place_of(error: BaseException, cell: Cell) -> str:
    """ "cell 3, line 2": the innermost line of a cell that the error passed; that of this one where none is on the way."""
    book = cell.name.rpartition("[cell ")[0]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if found := re.fullmatch(re.escape(book) + r"\[cell (\d+)\]", frame.filename):
            return f"cell {found[1]}, line {frame.lineno}"
    return f"cell {cell.number}"


def _display(*values, **_) -> None:
    """What a notebook shows is printed."""
    for value in values:
        print(value)
