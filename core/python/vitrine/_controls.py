"""What a program sets for torch.compile's own compiler. Vitrine follows what has a meaning here, and names the rest once, by
the rows of ``_knobs.py``.

``torch._dynamo`` and ``torch._inductor`` take a while to load: they are only asked where the program has loaded them.
"""

import contextvars
import os
import sys
import tempfile
import weakref

import torch.utils._config_module as _config_module

from vitrine import config
from vitrine._knobs import SAME_NAME, knob_of

# Settings of the environment that torch.compile reads begin so.
_PREFIXES = (
    "TORCH_COMPILE_", "TORCH_COMPILER_", "TORCH_DYNAMO_", "TORCH_INDUCTOR_", "TORCH_TRACE", "TORCHDYNAMO_", "TORCHINDUCTOR_",
    "INDUCTOR_",
)  # fmt: skip
# Each switches the compiler off where it is 1.
_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_CONFIGS = ("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config", "torch.compiler.config", "torch.fx.experimental._config")
_SHARED = tuple(name for name, _ in SAME_NAME)
# Variables that stand for one of these: its value, by what the variable says.
_VARIABLES = {
    "TORCHDYNAMO_SUPPRESS_ERRORS": ("suppress_errors", lambda text: bool(text)),
    "TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS": ("capture_scalar_outputs", lambda text: True if text == "1" else None),
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES": ("automatic_dynamic_shapes", lambda text: text == "1"),
}
# What a knob is set to where it says what holds anyway.
_HOLDS = {"TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS": ("0", "1"), "TORCHDYNAMO_VERBOSE": ("0", "1"), "torch._dynamo.config.verbose": (True, False)}
# torch.compiler.set_stance's names, by the numbers that the engine has for them (core/capture/segment/controls/controls.h).
_STANCES = {"default": 0, "force_eager": 1, "eager_on_recompile": 2, "fail_on_recompile": 3, "eager_then_compile": 4, "aot_eager_then_compile": 4}
_FORCED_BACKEND = 5

_named: set[str] = set()  # said already
_stances: list[str] = []  # parts of a stance that are not followed, to be said
_forced = weakref.WeakKeyDictionary()  # compiled function -> {backend: the same with that backend}


def disabled_by_environment() -> str:
    """The variable that switches compilation off ("TORCH_COMPILE_DISABLE=1"), "" = none."""
    return next((f"{name}=1" for name in _SWITCHES if os.environ.get(name) == "1"), "")


def settings() -> dict | None:
    """Of the settings that vitrine.config and torch._dynamo.config both have those that somebody has set, or None. What
    vitrine.config was given comes before torch._dynamo's, which comes before the environment."""
    found = {}
    for variable, (name, value) in _VARIABLES.items():
        text = os.environ.get(variable)
        if text is not None and (says := value(text)) is not None:
            found[name] = says
    entries = getattr(sys.modules.get("torch._dynamo.config"), "_config", {})
    for name in _SHARED:
        for value in _given(entries[name]) if name in entries else ():
            if not _is_default(value, entries[name]):  # which is also what config.patch leaves behind
                found[name] = value
    found.update(config.given())
    return found or None


def stance(now) -> int:
    """The number of a ``DynamoStance``; what of it is not followed is kept for :func:`not_followed`."""
    name = getattr(now, "stance", "default")
    if name not in _STANCES:
        _stances.append(f'torch.compiler.set_stance("{name}")')
    if getattr(now, "skip_guard_eval_unsafe", False):
        _stances.append("torch.compiler.set_stance(skip_guard_eval_unsafe=True)")
    if name == "default" and getattr(now, "backend", None) is not None:
        return _FORCED_BACKEND
    return _STANCES.get(name, 0)


def forced(function):
    """The compiled function with the backend that ``set_stance(force_backend=...)`` asks for."""
    from vitrine import _api  # which imports this module

    backend = sys.modules["torch._dynamo.eval_frame"]._stance.backend
    made = _forced.setdefault(function, {})
    if backend not in made:
        made[backend] = _api.with_backend(function, backend)
    return made[backend]


def _environment() -> list[tuple[str, object, str]]:
    return [
        (name, value, f"{name}={value} in the environment")
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES) and not _set_by_pytorch(name, value)
    ]


def _set_by_pytorch(name: str, value: str) -> bool:
    """Once torch._inductor has looked for its cache, it has put the default there, for its child processes, too."""
    if name != "TORCHINDUCTOR_CACHE_DIR":
        return False
    folder, _, of = value.rpartition("torchinductor_")
    return folder == os.path.join(tempfile.gettempdir(), "") and os.sep not in of


def _given(entry) -> tuple:
    """(value,) where the program has set this entry, else ()."""
    value = entry.user_override
    if isinstance(value, contextvars.ContextVar):  # of this thread, in newer versions
        value = value.get()
    return () if value is _config_module._UNSET_SENTINEL else (value,)


def _is_default(value, entry) -> bool:
    try:
        return bool(value == entry.default)
    except Exception:  # a value of the program's own, whose comparison is no bool
        return False


def _configured() -> list[tuple[str, object, str]]:
    return [
        (f"{path}.{name}", value, f"{path}.{name} = {_short(value)} (default {_short(entry.default)})")
        for path in _CONFIGS
        for name, entry in getattr(sys.modules.get(path), "_config", {}).items()
        for value in _given(entry)
        if not _is_default(value, entry)
    ]


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _logging() -> list[tuple[str, object, str]]:
    """Logs that PyTorch is asked for, while its compiler runs beside Vitrine."""
    if "vitrine.take_over" in sys.modules:
        return []
    state = getattr(sys.modules.get("torch._logging._internal"), "log_state", None)
    if "TORCH_LOGS" in os.environ:
        return [("torch._logging.set_logs", None, f"TORCH_LOGS={os.environ['TORCH_LOGS']} in the environment")]
    on = getattr(state, "artifact_names", None) or getattr(state, "log_qname_to_level", None)
    return [("torch._logging.set_logs", None, "torch._logging.set_logs(...)")] if on else []


def _holds(name: str, value) -> bool:
    knob = knob_of(name)
    return knob is None or knob.kind == "obeyed" or value in _HOLDS.get(name, ())


def not_followed() -> list[str]:
    """What is set and not followed, beside what was named before: one sentence, or none."""
    found = [*_environment(), *_configured(), *_logging(), *((text, None, text) for text in _stances)]
    _stances.clear()
    new = [(name, text) for name, value, text in found if name not in _named and not _holds(name, value)]
    new += [(name, name) for name, _, _ in found if name.startswith("torch.compiler.set_stance") and name not in _named]
    _named.update(name for name, _ in new)
    return [f"the program sets for torch.compile what Vitrine does not follow: {', '.join(map(_said, new))}."] if new else []


def _said(what: tuple[str, str]) -> str:
    name, text = what
    knob = knob_of(name)
    if name.startswith("torch.compiler.set_stance("):
        return f"{text}; guards are always checked" if "guard" in name else text
    return f"{text}; here it is {knob.here}" if knob.kind == "instead" else f"{text}; {knob.here}"
