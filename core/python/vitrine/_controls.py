"""What a program sets for torch.compile's own compiler. Vitrine follows some of it, and names the rest once.

``torch._dynamo`` and ``torch._inductor`` take a while to load: they are only asked where the program has loaded them.
"""

import contextvars
import os
import sys
import tempfile

import torch.utils._config_module as _config_module

# Settings of the environment that torch.compile reads begin so.
_PREFIXES = (
    "TORCH_COMPILE_", "TORCH_COMPILER_", "TORCH_DYNAMO_", "TORCH_INDUCTOR_", "TORCH_LOGS", "TORCH_TRACE",
    "TORCHDYNAMO_", "TORCHINDUCTOR_", "INDUCTOR_",
)  # fmt: skip
# Each switches the compiler off where it is 1.
_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_CONFIGS = ("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config", "torch.compiler.config", "torch.fx.experimental._config")
# What has a counterpart here.
_COUNTERPARTS = {
    "torch._dynamo.config.recompile_limit": "vitrine.config.recompile_limit",
    "torch._dynamo.config.accumulated_recompile_limit": "vitrine.config.accumulated_recompile_limit",
    "torch._inductor.config.freezing": 'options={"freezing": True}',
    "torch._inductor.config.max_autotune": 'mode="max-autotune"',
    "torch._inductor.config.triton.cudagraphs": 'mode="reduce-overhead"',
    "TORCHINDUCTOR_FREEZING": 'options={"freezing": True}',
    "TORCHINDUCTOR_MAX_AUTOTUNE": 'mode="max-autotune"',
    "TORCHINDUCTOR_CUDAGRAPHS": 'mode="reduce-overhead"',
    "TORCHINDUCTOR_CACHE_DIR": "vitrine.config.cache_dir",
}
# As if it were always on; options={"capture_data_sizes": False} is off.
_ALWAYS_ON = ("torch._dynamo.config.capture_dynamic_output_shape_ops",)
# torch.compiler.set_stance's names, by the numbers that the engine has for them (core/capture/segment/controls.h).
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")

_named: set[str] = set()  # said already
_stances: list[str] = []  # parts of a stance that are not followed, to be said


def disabled_by_environment() -> str:
    """The variable that switches compilation off ("TORCH_COMPILE_DISABLE=1"), "" = none."""
    return next((f"{name}=1" for name in _SWITCHES if os.environ.get(name) == "1"), "")


def switched_off() -> bool:
    """Whether nothing may be compiled from now on: ``torch._dynamo.config.disable``."""
    config = sys.modules.get("torch._dynamo.config")
    return bool(getattr(config, "disable", False))


def stance(now) -> int:
    """The number of a ``DynamoStance``; what of it is not followed is kept for :func:`not_followed`."""
    name = getattr(now, "stance", "default")
    if name not in _STANCES:
        _stances.append(f'torch.compiler.set_stance("{name}")')
    if getattr(now, "skip_guard_eval_unsafe", False):
        _stances.append("torch.compiler.set_stance(skip_guard_eval_unsafe=True)")
    if getattr(now, "backend", None) is not None:
        _stances.append(f"torch.compiler.set_stance(force_backend={now.backend!r})")
    return _STANCES.index(name) if name in _STANCES else 0


def _environment() -> list[tuple[str, str]]:
    return [
        (name, f"{name}={value} in the environment")
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES) and name not in _SWITCHES and not _set_by_pytorch(name, value)
    ]


def _set_by_pytorch(name: str, value: str) -> bool:
    """Once torch._inductor has looked for its cache, it has put the default there, for its child processes, too."""
    if name != "TORCHINDUCTOR_CACHE_DIR":
        return False
    folder, _, of = value.rpartition("torchinductor_")
    return folder == os.path.join(tempfile.gettempdir(), "") and os.sep not in of


def _changed(entry) -> tuple:
    """(value,) where the program has set this entry to something else than its default, else ()."""
    value = entry.user_override
    if isinstance(value, contextvars.ContextVar):  # of this thread, in newer versions
        value = value.get()
    if value is _config_module._UNSET_SENTINEL:
        return ()
    try:
        return () if value == entry.default else (value,)
    except Exception:  # a value of the program's own, whose comparison is no bool
        return (value,)


def _configured() -> list[tuple[str, str]]:
    found = []
    for path in _CONFIGS:
        for name, entry in getattr(sys.modules.get(path), "_config", {}).items():
            for value in _changed(entry):
                full = f"{path}.{name}"
                if full != "torch._dynamo.config.disable" and not (full in _ALWAYS_ON and value is True):
                    found.append((full, f"{full} = {_short(value)} (default {_short(entry.default)})"))
    return found


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _logging() -> list[tuple[str, str]]:
    """torch._logging.set_logs: TORCH_LOGS does the same from outside, and is named already."""
    state = getattr(sys.modules.get("torch._logging._internal"), "log_state", None)
    if "TORCH_LOGS" in os.environ or not (getattr(state, "artifact_names", None) or getattr(state, "log_qname_to_level", None)):
        return []
    return [("torch._logging.set_logs", "torch._logging.set_logs(...)")]


def not_followed() -> list[str]:
    """What is set and not followed, beside what was named before: one sentence, or none."""
    found = [*_environment(), *_configured(), *_logging(), *((text, text) for text in _stances)]
    _stances.clear()
    new = [(name, text) for name, text in found if name not in _named]
    _named.update(name for name, _ in new)
    if not new:
        return []
    parts = [text + (f"; here it is {_COUNTERPARTS[name]}" if name in _COUNTERPARTS else "") for name, text in new]
    return [f"the program sets for torch.compile what Vitrine does not follow: {', '.join(parts)}."]
