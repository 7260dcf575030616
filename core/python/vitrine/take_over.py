"""Meanwhile ``torch.compile`` is ``vitrine.compile``: scripts written for it run unchanged and are compiled by Vitrine."""

import contextlib
import functools
import sys
import warnings

import torch

from vitrine import _api, _backends, _logs
from vitrine import _counters as _counters  # the engine asks for it where it is loaded
from vitrine._after_loading import after_loading, no_longer
from vitrine._errors import VitrineWarning
from vitrine._explain import as_pytorch_says
from vitrine._module import OptimizedModule


# Modes of torch.compile beside those that Vitrine has.
_OTHER_MODES = ("lite",)


def _left_out(what: str) -> None:
    """From a function that compile() calls: the line that is warned of calls compile()."""
    warnings.warn(f"vitrine: torch.compile(..., {what}) is taken over without it.", VitrineWarning, stacklevel=4)


def _default_backend():
    """What torch.compiler.set_default_backend was given."""
    registry = sys.modules.get("torch._dynamo.backends.registry")
    return registry.get_default_backend() if hasattr(registry, "get_default_backend") else None


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


# PyTorch's own modules that compile what they are given to run: torch.cond, map and scan outside of compiled code.
_COMPILES_FOR_ITSELF = ("torch._higher_order_ops.", "torch.nn.attention.flex_attention")


def _pytorch_calls(caller) -> bool:
    """Whether a frame is of PyTorch's own code that needs PyTorch's own compiler."""
    name = caller.f_globals.get("__name__")
    own = isinstance(name, str) and name.startswith(_COMPILES_FOR_ITSELF)
    return own and getattr(sys.modules.get(name), "__dict__", None) is caller.f_globals


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False, **others):
    """``torch.compile`` as :func:`vitrine.compile` serves it. What Vitrine has no counterpart for is left out with a
    warning; none of it changes a result."""
    _names.follow()
    if backend is not None and _pytorch_calls(sys._getframe(1)):
        settings = {"fullgraph": fullgraph, "dynamic": dynamic, "mode": mode, "options": options, "disable": disable, **others}
        return _names.compiler(model, backend=backend, **settings)
    backend = _default_backend() if backend is None else backend
    if backend is None or (isinstance(backend, str) and backend in _backends.NAMES):
        mode = _mode(mode, options)
        _leave_out(f"options={{{name!r}: {value!r}}}" for name, value in (options or {}).items())  # they tune another compiler
        options = None
    elif not callable(backend) and not _backends.is_registered(backend):
        from torch._dynamo.exc import InvalidBackend

        raise InvalidBackend(name=backend)
    own = {name: others.pop(name) for name in ("recompile_limit", "isolate_recompiles") if name in others}
    others.pop("name", None)
    _leave_out(f"{name}={value!r}" for name, value in others.items() if value)
    settings = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options, "disable": disable, **own}
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


def _of_what_runs(original):
    """``torch._dynamo.explain``, which tells what Vitrine makes of a function, in PyTorch's words."""

    @functools.wraps(original)
    def explain(f, *extra_args, **extra_kwargs):
        def inner(*args, **kwargs):
            return as_pytorch_says(*_api.explained_with_graphs(f, args, kwargs))

        return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner

    return explain


def _of_pytorch(caller) -> bool:
    return str(caller.f_globals.get("__name__")).partition(".")[0] == "torch"


def _optimized_by_us(original):
    """``torch._dynamo.optimize``, which torch.compile is built on: a program's own call of it is one of torch.compile."""

    @functools.wraps(original)
    def optimize(backend="inductor", **others):
        if _of_pytorch(sys._getframe(1)):
            return original(backend, **others)
        known = {name: others[name] for name in ("dynamic", "disable", "recompile_limit") if others.get(name) is not None}
        return functools.partial(compile, backend=backend, fullgraph=others.get("nopython", False), **known)

    return optimize


def _optimized_whole_by_us(original):
    @functools.wraps(original)
    def optimize_assert(backend, **others):
        if _of_pytorch(sys._getframe(1)):
            return original(backend, **others)
        return functools.partial(compile, backend=backend, fullgraph=True, dynamic=others.get("dynamic"))

    return optimize_assert


# What else has a script know that its compile() is Vitrine's: module, name there, and what stands there meanwhile.
_NAMES = (
    ("torch.compiler", "reset", _with_our_reset),
    ("torch._dynamo", "reset", _with_our_reset),
    ("torch._dynamo", "explain", _of_what_runs),
    ("torch._dynamo.eval_frame", "explain", _of_what_runs),
    ("torch._dynamo", "optimize", _optimized_by_us),
    ("torch._dynamo", "optimize_assert", _optimized_whole_by_us),
    ("torch._dynamo", "OptimizedModule", _either_module),
    ("torch._dynamo.eval_frame", "OptimizedModule", _either_module),
)


class _Names:
    """Has the names above taken over, those of ``torch._dynamo`` once a script has loaded it."""

    def __init__(self):
        self._replaced = []
        self.compiler = torch.compile  # PyTorch's own

    def follow(self):
        self.replace()
        if "torch._dynamo" not in sys.modules:
            after_loading("torch._dynamo", self.replace)

    def replace(self):
        for path, name, replacement in _NAMES:
            module = sys.modules.get(path)
            original = getattr(module, name, None)
            if original is None or any((path, name) == known[:2] for known in self._replaced):
                continue
            self._replaced.append((path, name, module, original))
            setattr(module, name, replacement(original))

    def give_back(self):
        no_longer("torch._dynamo", self.replace)
        while self._replaced:
            _, name, module, original = self._replaced.pop()
            setattr(module, name, original)


_names = _Names()


@contextlib.contextmanager
def torch_compile_taken_over():
    """Within it, and in everything that looks ``torch.compile`` up meanwhile (``nn.Module.compile`` does)."""
    original = torch.compile
    if original is not compile:
        _names.compiler = original
    torch.compile = compile
    _names.follow()
    _logs.follow_torch_logs()
    try:
        yield
    finally:
        torch.compile = original
        _names.give_back()
