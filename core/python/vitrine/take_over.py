"""Meanwhile ``torch.compile`` is ``vitrine.compile``: scripts written for it run unchanged and are compiled by Vitrine."""

import contextlib
import functools
import importlib.machinery
import sys
import warnings

import torch

from vitrine import _api
from vitrine._errors import CompileError, GraphBreakError, RecompileLimitError, VitrineWarning
from vitrine._module import OptimizedModule


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
    _names.follow()
    mode = _mode(mode, options)
    _leave_out(f"options={{{name!r}: {value!r}}}" for name, value in (options or {}).items())  # they tune another compiler
    own = {name: others.pop(name) for name in ("recompile_limit", "isolate_recompiles") if name in others}
    others.pop("name", None)
    _leave_out(f"{name}={value!r}" for name, value in others.items() if value)
    settings = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": _backend(backend), "mode": mode, "disable": disable, **own}
    if model is None:
        return functools.partial(_api.compile, **settings)
    return _api.compile(model, **settings)


def _with_our_reset(original):
    @functools.wraps(original)
    def reset():
        _api.reset()
        if "torch._dynamo" in sys.modules:  # else there is nothing to forget
            original()

    return reset


def _either_module(original):
    """A class of which PyTorch's compiled modules are instances and Vitrine's, too: libraries ask before they unwrap one."""

    class EitherIs(type(original)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (original, OptimizedModule))

    return EitherIs(original.__name__, (original,), {"__module__": original.__module__, "__doc__": original.__doc__})


# What else has a script know that its compile() is Vitrine's: module, name there, and what stands there meanwhile.
_NAMES = (
    ("torch.compiler", "reset", _with_our_reset),
    ("torch._dynamo", "reset", _with_our_reset),
    ("torch._dynamo", "OptimizedModule", _either_module),
    ("torch._dynamo.eval_frame", "OptimizedModule", _either_module),
)


# What a script written for torch.compile catches, and which of our errors it then catches, too.
_CAUGHT_AS = (
    ("torch._dynamo.exc", "Unsupported", GraphBreakError),
    ("torch._dynamo.exc", "FailOnRecompileLimitHit", RecompileLimitError),
)


class _Names:
    """Has the names above taken over; a finder of modules, since ``torch._dynamo`` is loaded when a script asks for it."""

    def __init__(self):
        self._replaced = []

    def follow(self):
        for path, name, replacement in _NAMES:
            module = sys.modules.get(path)
            original = getattr(module, name, None)
            if original is None or any((path, name) == known[:2] for known in self._replaced):
                continue
            self._replaced.append((path, name, module, original))
            setattr(module, name, replacement(original))
        for path, name, ours in _CAUGHT_AS:
            theirs = getattr(sys.modules.get(path), name, None)
            if theirs and not issubclass(ours, theirs):  # an `except` asks for base classes, and for nothing else
                ours.__bases__ = (CompileError, theirs)
        if "torch._dynamo" not in sys.modules and self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        if name != "torch._dynamo":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            self.follow()

        spec.loader.exec_module = exec_module
        return spec

    def give_back(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        while self._replaced:
            _, name, module, original = self._replaced.pop()
            setattr(module, name, original)
        for _, _, ours in _CAUGHT_AS:
            ours.__bases__ = (CompileError,)


_names = _Names()


@contextlib.contextmanager
def torch_compile_taken_over():
    """Within it, and in everything that looks ``torch.compile`` up meanwhile (``nn.Module.compile`` does)."""
    original = torch.compile
    torch.compile = compile
    _names.follow()
    try:
        yield
    finally:
        torch.compile = original
        _names.give_back()
