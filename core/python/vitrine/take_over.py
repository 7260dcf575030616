"""Meanwhile ``torch.compile`` is ``vitrine.compile``: scripts written for it run unchanged and are compiled by Vitrine."""

import contextlib
import functools
import sys
import warnings

import torch

from vitrine import _api
from vitrine._errors import VitrineWarning


# Modes of torch.compile beside those that Vitrine has.
_OTHER_MODES = ("lite",)


def _left_out(what: str) -> None:
    """From a function that compile() calls: the line that is warned of calls compile()."""
    warnings.warn(f"vitrine: torch.compile(..., {what}) is taken over without it.", VitrineWarning, stacklevel=4)


def _backend(backend):
    if backend is None or callable(backend) or backend in _api.BACKENDS:
        return "vitrine" if backend is None else backend
    _left_out(f"backend={backend!r}")
    return "vitrine"


def _mode(mode, options):
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is None or mode in _api.MODES:
        return mode
    if mode not in _OTHER_MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join((*_api.MODES, *_OTHER_MODES))}")
    _left_out(f"mode={mode!r}")
    return None


def _leave_out(others):
    for what in others:
        _left_out(what)


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False, **others):
    """``torch.compile`` as :func:`vitrine.compile` serves it. What Vitrine has no counterpart for is left out with a
    warning; none of it changes a result."""
    _resets.follow()
    mode = _mode(mode, options)
    _leave_out(f"options={{{name!r}: {value!r}}}" for name, value in (options or {}).items())  # they tune another compiler
    limit = others.pop("recompile_limit", None)
    others.pop("name", None)
    _leave_out(f"{name}={value!r}" for name, value in others.items() if value)
    settings = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": _backend(backend), "mode": mode, "disable": disable, "recompile_limit": limit}
    if model is None:
        return functools.partial(_api.compile, **settings)
    return _api.compile(model, **settings)


class _Resets:
    """PyTorch's functions that forget what was compiled: meanwhile they have Vitrine forget it, too."""

    def __init__(self):
        self._replaced = []

    def follow(self):
        """Takes those over that are there now: ``torch._dynamo`` is loaded when a script asks for it."""
        for name in ("torch.compiler", "torch._dynamo"):
            module = sys.modules.get(name)
            if module is None or any(module is known for known, _ in self._replaced) or not hasattr(module, "reset"):
                continue
            self._replaced.append((module, module.reset))
            module.reset = self._with_ours(module.reset)

    @staticmethod
    def _with_ours(original):
        @functools.wraps(original)
        def reset():
            _api.reset()
            if "torch._dynamo" in sys.modules:  # else there is nothing to forget
                original()

        return reset

    def give_back(self):
        while self._replaced:
            module, original = self._replaced.pop()
            module.reset = original


_resets = _Resets()


@contextlib.contextmanager
def torch_compile_taken_over():
    """Within it, and in everything that looks ``torch.compile`` up meanwhile (``nn.Module.compile`` does)."""
    original = torch.compile
    torch.compile = compile
    _resets.follow()
    try:
        yield
    finally:
        torch.compile = original
        _resets.give_back()
