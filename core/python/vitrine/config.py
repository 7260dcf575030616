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
"""

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
}


class _Config(types.ModuleType):
    def __setattr__(self, name, value):
        if name in _SETTINGS:
            kind = _SETTINGS[name][0]
            if kind is str and isinstance(value, os.PathLike):
                value = os.fspath(value)
            if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)) or (kind is int and value < 0):
                raise TypeError(f"vitrine.config.{name} takes a {kind.__name__}, not {value!r}")
            from vitrine import _engine

            _engine.configure(name, value)
        elif not name.startswith("__"):
            raise AttributeError(f"vitrine.config has no setting {name!r}; it has {', '.join(_SETTINGS)}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config
for _name, (_, _value) in _SETTINGS.items():
    setattr(sys.modules[__name__], _name, _value)
