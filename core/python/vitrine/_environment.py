"""What Vitrine needs to find before anything of it is imported."""

from __future__ import annotations  # an older Python must get as far as the message

import importlib.util
import json
import sys

PYTHONS = ((3, 11), (3, 12), (3, 13))
OLDEST_TORCH = (2, 11)


def python_names() -> str:
    """3.11, 3.12 or ..., as a sentence says it."""
    *others, last = (".".join(map(str, version)) for version in PYTHONS)
    return f"{', '.join(others)} or {last}"


def _python_problem(version) -> str | None:
    if sys.implementation.name != "cpython":
        return f"Vitrine needs CPython, this is {sys.implementation.name}."
    if tuple(version[:2]) not in PYTHONS:
        return f"Vitrine needs CPython {python_names()}, this is {version[0]}.{version[1]}."
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "Vitrine needs CPython's global lock, and this one runs without it."
    return None


def _torch_problem(version: str) -> str | None:
    try:
        found = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    except ValueError:
        return None  # a development build: the engine's self-test decides
    if found < OLDEST_TORCH:
        return f"Vitrine needs PyTorch {'.'.join(map(str, OLDEST_TORCH))} or newer, this is {version}."
    return None


def check() -> None:
    """As :func:`find`; where one of Vitrine's own programs is starting, one message and exit status 1 instead."""
    try:
        find()
    except ImportError as problem:
        if sys.argv[:1] != ["-m"]:  # so it is while `python -m` imports the package
            raise
        text = f"Vitrine cannot run in {sys.executable}: {problem}"
        hint = (
            "vitrine doctor says what is missing; VITRINE_PYTHON names another Python."
        )
        if "--events" in sys.argv:
            print(
                "\x1e"
                + json.dumps(
                    {"event": "error", "text": text, "hint": hint, "detail": ""}
                ),
                flush=True,
            )
        else:
            print(f"vitrine: {text}\n  {hint}", file=sys.stderr)
        raise SystemExit(1) from None


def find() -> None:
    """Raises ImportError with what is needed, when Python, PyTorch or the built engine do not fit."""
    if problem := _python_problem(sys.version_info):
        raise ImportError(problem)
    if importlib.util.find_spec("torch") is None:
        raise ImportError(
            "Vitrine needs PyTorch, which is not installed in this environment. Install it with pip."
        )
    import torch

    if problem := _torch_problem(torch.__version__):
        raise ImportError(problem)
    try:
        from vitrine import _engine
    except ModuleNotFoundError as error:
        raise ImportError(
            "Vitrine's engine is not built. Run ./vitrine test, or build the target _engine."
        ) from error
    if problem := _engine.find_pytorch():
        raise ImportError(
            f"Vitrine does not fit PyTorch {torch.__version__}: {problem}".rstrip()
        )
