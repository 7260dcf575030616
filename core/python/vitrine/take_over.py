"""Meanwhile ``torch.compile`` is ``vitrine.compile``: scripts written for it run unchanged and are compiled by Vitrine.

:func:`start` and :func:`stop` say from when to when, ``with torch_compile_taken_over():`` says it of a block."""

import contextlib
import functools
import inspect
import sys
import warnings

import torch

from vitrine import _api, _backends, _engine, _logs
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


_PARAMETERS = inspect.signature(torch.compile)


def _check_names(others) -> None:
    unknown = next((name for name in others if name not in _PARAMETERS.parameters), None)
    if unknown:
        raise TypeError(f"compile() got an unexpected keyword argument {unknown!r}")


def _without_filter(options):
    """Options for another backend. torch.compile keeps the filter of guards for itself; here guards are always checked."""
    if not isinstance(options, dict) or "guard_filter_fn" not in options:
        return options
    return {name: value for name, value in options.items() if name != "guard_filter_fn"} or None


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
    _check_names(others)
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
    else:
        options = _without_filter(options)
    own = {name: others.pop(name) for name in ("recompile_limit", "isolate_recompiles") if name in others}
    others.pop("name", None)
    _leave_out(f"{name}={value!r}" for name, value in others.items() if value)
    settings = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options, "disable": disable, **own}
    if model is None:
        return functools.partial(_compiled, **settings)
    return _compiled(model, **settings)


def _compiled(model, **settings):
    """With the calls that torch.compile's callables have beside being called."""
    made = _api.compile(model, **settings)
    if isinstance(made, (OptimizedModule, _engine.CompiledFunction)):
        own = settings["backend"] is None or settings["backend"] in _backends.NAMES
        told = {"mode": settings["mode"] or "default"} if own else None
        vars(made).update(get_compiler_config=lambda: told, aot_compile=_no_aot_compile)
    return made


def _no_aot_compile(*args, **kwargs):
    raise NotImplementedError("vitrine: aot_compile is of torch.compile's own code; vitrine.export(model, inputs, path) writes what runs elsewhere")


compile.__signature__ = _PARAMETERS  # programs ask which parameters there are


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


def _runs_what_is_compiled(original):
    """``torch._dynamo.run``: what has compiled code for its arguments runs it, all else is eager's."""

    @functools.wraps(original)
    def run(fn=None):
        stance = torch.compiler.set_stance
        return stance("eager_on_recompile") if fn is None else stance("eager_on_recompile")(fn)

    return run


# What else has a script know that its compile() is Vitrine's: module, name there, and what stands there meanwhile.
_NAMES = (
    ("torch.compiler", "reset", _with_our_reset),
    ("torch._dynamo", "reset", _with_our_reset),
    ("torch._dynamo", "explain", _of_what_runs),
    ("torch._dynamo.eval_frame", "explain", _of_what_runs),
    ("torch._dynamo", "run", _runs_what_is_compiled),
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


class torch_compile_taken_over(contextlib.ContextDecorator):
    """Within it, and in everything that looks ``torch.compile`` up meanwhile (``nn.Module.compile`` does)."""

    # No generator: one that waits at the end of a process is closed there, when this module's names are gone.

    def __init__(self):
        self._originals = []

    def __enter__(self):
        original = torch.compile
        if original is not compile:
            _names.compiler = original
        torch.compile = compile
        self._originals.append(original)
        _names.follow()
        _logs.follow_torch_logs()

    def __exit__(self, *exception):
        torch.compile = self._originals.pop()
        _names.give_back()


_started = contextlib.ExitStack()


def start() -> None:
    """From now on ``torch.compile`` is Vitrine's, for all that looks it up."""
    if torch.compile is not compile:
        _started.enter_context(torch_compile_taken_over())


def stop() -> None:
    """``torch.compile`` is PyTorch's again. What was compiled meanwhile stays Vitrine's."""
    _started.close()
