"""A program that ``torch.export.save`` wrote, as an entry: its module, called with the example inputs that were saved with it."""

from pathlib import Path

import torch

from vitrine._errors import text_of
from vitrine._tools.loading import Entry, LoadError, UsageError, user_traceback

ENDING = ".pt2"


def is_program(path: str) -> bool:
    return path.endswith(ENDING)


def check_arguments(path: str, entry: str | None, specs: list[str]) -> None:
    """Raises UsageError for what is asked of Python files alone."""
    if entry or specs:
        raise UsageError(f"--entry and --input do not go with {path}: an exported program has one entry and its own inputs.", "Leave them out.")


def _module_of(program):
    """Without the check of its inputs, which are those that it was exported with: it asks what no graph can."""
    try:
        return program.module(check_guards=False)
    except TypeError:  # an older PyTorch
        return program.module()


def load(path: str) -> Entry:
    """Raises LoadError."""
    try:
        program = torch.export.load(path)
        module = _module_of(program)
        module.training = False  # how it was exported cannot be changed; --grad has it differentiated
    except Exception as error:
        what = text_of(error).strip().partition("\n")[0]
        raise LoadError(f"{path} is no exported program that this PyTorch reads: {type(error).__name__}: {what}", "Write it with torch.export.save, by the same version.", user_traceback(error)) from error
    if program.example_inputs is None:
        raise LoadError(f"{path} was saved without example inputs.", "Export it again: torch.export.export keeps those that it is given.")
    args, kwargs = program.example_inputs
    return Entry(Path(path).name, f"{Path(path).name}(*example_inputs)", module, [tuple(args)], dict(kwargs))
