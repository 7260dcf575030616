"""Settings of the whole process. Assign to them at any time; what is compiled afterwards obeys.

``recompile_limit``              how often one place of a function is compiled before it runs eagerly
``accumulated_recompile_limit``  the same for all places of one function together
``cache_dir``                    where compiled kernels and reproducers go ("" = nowhere)
``nvrtc``                        path of NVRTC's library, for kernels of a GPU ("" = where the loader looks)
``nvdisasm``                     path of nvdisasm, by which a session shows SASS ("" = no SASS)
``cupti``                        path of CUPTI's library, for timelines of a GPU ("" = where the loader looks)
``threads``                      threads of a kernel, 0 = as PyTorch
``autotune_seconds``             how long the max-autotune modes may compile and measure candidates on a GPU for one compiled function
``check``                        compare each compiled graph with eager at every call, and use eager's where they differ

What follows means the same as in ``torch._dynamo.config``, and comes before it where both are set.

``fail_on_recompile_limit_hit``       reaching a limit is an error (:class:`vitrine.RecompileLimitError`)
``error_on_recompile``                compiling a place again is an error (:class:`vitrine.RecompileError`)
``suppress_errors``                   where a backend fails, eager runs the graph, with a warning
``disable``                           nothing is compiled
``capture_scalar_outputs``            ``False``: reading a tensor's number is a graph break; ``True``: other backends are given floats that are read, too
``capture_dynamic_output_shape_ops``  ``False``: an operator whose result's size depends on data is a graph break
``assume_static_by_default``          ``False``: sizes are symbols from the start
``automatic_dynamic_shapes``          ``False``: a size that changes is compiled anew
``specialize_int``                    ints are never symbols
``specialize_float``                  floats are never symbols
``allow_ignore_mark_dynamic``         a mark that the program contradicts is no error

``cache_size_limit``, ``accumulated_cache_size_limit`` and ``fail_on_cache_limit_hit`` are older names. ``patch(name=value)``
sets for a ``with`` block or a decorated function; ``del config.name`` goes back to the default.
"""

import contextlib
import os
import shutil
import sys
import types
from pathlib import Path


def _default_cache_dir() -> str:
    named = os.environ.get("VITRINE_CACHE_DIR")
    if named is not None:
        return named
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # a user without a home, as in some containers
        return ""
    return str(Path(base) / "vitrine")


def _package_file(pattern: str) -> str:
    """A file of NVIDIA's Python packages, which came with PyTorch or by themselves; "" if there is none."""
    for folder in sys.path:
        for found in sorted(Path(folder).glob(f"nvidia/*/{pattern}")):
            return str(found)
    return ""


def _nvdisasm() -> str:
    toolkit = Path("/usr/local/cuda/bin/nvdisasm")
    return _package_file("bin/nvdisasm") or shutil.which("nvdisasm") or (str(toolkit) if toolkit.exists() else "")


# name -> (type, default)
_SETTINGS = {
    "recompile_limit": (int, 8),
    "accumulated_recompile_limit": (int, 256),
    "cache_dir": (str, _default_cache_dir()),
    "nvrtc": (str, _package_file("lib/libnvrtc.so.*")),
    "nvdisasm": (str, _nvdisasm()),
    "cupti": (str, _package_file("lib/libcupti.so.*")),
    "threads": (int, 0),
    "autotune_seconds": (int, 120),
    "check": (bool, False),
    "fail_on_recompile_limit_hit": (bool, False),
    "error_on_recompile": (bool, False),
    "suppress_errors": (bool, False),
    "disable": (bool, False),
    "capture_scalar_outputs": (bool, None),
    "capture_dynamic_output_shape_ops": (bool, True),
    "assume_static_by_default": (bool, True),
    "automatic_dynamic_shapes": (bool, True),
    "specialize_int": (bool, False),
    "specialize_float": (bool, False),
    "allow_ignore_mark_dynamic": (bool, False),
}
# The engine is told of these at once. It asks for the others before it compiles.
_TOLD = ("recompile_limit", "accumulated_recompile_limit", "cache_dir", "nvrtc", "nvdisasm", "cupti", "threads", "autotune_seconds", "check")
_OLDER_NAMES = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "accumulated_recompile_limit",
    "fail_on_cache_limit_hit": "fail_on_recompile_limit_hit",
}
_given: set[str] = set()  # those that the program has set to something else than the default


def given() -> dict:
    """What the program has set, by name."""
    return {name: globals()[name] for name in _given}


@contextlib.contextmanager
def patch(changes=None, value=None, /, **more):
    """Sets for a ``with`` block, or for a function that it decorates: ``patch(name=value)``, ``patch("name", value)``,
    ``patch({"name": value})``."""
    changes = {**({changes: value} if isinstance(changes, str) else changes or {}), **more}
    module, before = sys.modules[__name__], {}
    try:
        for name, new in changes.items():
            name = _OLDER_NAMES.get(name, name)
            old = (name in _given, globals().get(name))
            setattr(module, name, new)
            before.setdefault(name, old)
        yield
    finally:
        for name, (was_given, old) in before.items():
            if was_given:
                setattr(module, name, old)
            else:
                delattr(module, name)


class _Config(types.ModuleType):
    def __setattr__(self, name, value):
        name = _OLDER_NAMES.get(name, name)
        if name in _SETTINGS:
            kind, default = _SETTINGS[name]
            if kind is str and isinstance(value, os.PathLike):
                value = os.fspath(value)
            fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) and (kind is not int or value >= 0)
            if not fits and not (value is None and default is None):
                raise TypeError(f"vitrine.config.{name} takes a {kind.__name__}, not {value!r}")
            self._tell(name, value)
            (_given.discard if value == default else _given.add)(name)
        elif not name.startswith("__"):
            raise AttributeError(f"vitrine.config has no setting {name!r}; it has {', '.join(_SETTINGS)}")
        super().__setattr__(name, value)

    def __delattr__(self, name):
        name = _OLDER_NAMES.get(name, name)
        if name not in _SETTINGS:
            return super().__delattr__(name)
        self._tell(name, _SETTINGS[name][1])
        super().__setattr__(name, _SETTINGS[name][1])
        _given.discard(name)

    def __getattr__(self, name):
        if name in _OLDER_NAMES:
            return getattr(self, _OLDER_NAMES[name])
        raise AttributeError(f"vitrine.config has no setting {name!r}")

    @staticmethod
    def _tell(name, value):
        if name in _TOLD:
            from vitrine import _engine

            _engine.configure(name, value)


for _name, (_, _value) in _SETTINGS.items():
    globals()[_name] = _value
sys.modules[__name__].__class__ = _Config
for _name in _TOLD:
    _Config._tell(_name, _SETTINGS[_name][1])
