"""``compile`` and what goes with it."""

import functools
import inspect
import itertools
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from vitrine import _backends, _controls, _engine
from vitrine import _logs
from vitrine._explain import Explanation
from vitrine._module import OptimizedModule, leads_on

# torch.compile's modes. On a CPU they mean the same: what they switch on does not exist there.
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# Options by name, with the type of their value.
OPTIONS = {"fuse": bool, "verify": bool, "disabled_passes": (list, tuple), "products": str, "freezing": bool, "gradients": str, "target": str, "capture_data_sizes": bool, "partition": dict}
# Who computes matrix products: the faster of PyTorch and a kernel of ours, always the kernel, always PyTorch.
PRODUCTS = ("measured", "generated", "library")
# Who writes the derivative of a graph: our rules where they cover it whole, or always PyTorch's own backward.
GRADIENTS = ("own", "borrowed")
# As torch.compile refuses them.
_SCRIPTED = (
    "torch.compile does not support compiling torch.jit.script or torch.jit.freeze models directly. "
    "Compile the module that was scripted: vitrine.compile(torch.nn.Linear(3, 3))."
)
# What a value of forward that backward needs can be pinned as.
PINS = ("saved", "recomputed")
# Numbers of the callables that share nothing they compile with others.
isolated_numbers = itertools.count(1)


def _torchs_own(what: str) -> set:
    """torch.compile's own names of modes or options: asked for where one is not ours, since loading them takes a while."""
    import torch._inductor

    return set(torch._inductor.list_mode_options() if what == "mode" else torch._inductor.list_options())


def _refuse(what: str, name, ours) -> None:
    """Raises NotImplementedError for what torch.compile has and Vitrine has not yet, ValueError for what neither has."""
    try:
        known = isinstance(name, str) and name.replace("-", "_" if what == "option" else "-") in _torchs_own(what)
    except ImportError:
        known = False
    there = f"there are {', '.join(ours)}"
    if known:
        raise NotImplementedError(f"vitrine.compile: {what} {name!r} of torch.compile is not supported yet; {there}")
    raise ValueError(f"vitrine.compile: unknown {what} {name!r}; {there}")


def _check_options(options) -> dict:
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise TypeError(f"vitrine.compile: options takes a dict, not {type(options).__name__}")
    for name, value in options.items():
        if name not in OPTIONS:
            _refuse("option", name, OPTIONS)
        if not isinstance(value, OPTIONS[name]):
            raise TypeError(f"vitrine.compile: option {name!r} does not take {value!r}")
        if name == "products" and value not in PRODUCTS:
            raise ValueError(f"vitrine.compile: option 'products' takes {', '.join(PRODUCTS)}, not {value!r}")
        if name == "gradients" and value not in GRADIENTS:
            raise ValueError(f"vitrine.compile: option 'gradients' takes {', '.join(GRADIENTS)}, not {value!r}")
        if name == "partition" and not all(isinstance(key, str) and pin in PINS for key, pin in value.items()):
            raise ValueError(f"vitrine.compile: option 'partition' takes names of values and {' or '.join(PINS)}, not {value!r}")
        if name == "target" and not re.fullmatch(r"sm_\d+a?", value):
            raise ValueError(f"vitrine.compile: option 'target' takes a GPU's architecture such as 'sm_90', not {value!r}")
    return dict(options)


def _check_mode(mode, options) -> None:
    if mode is not None and mode not in MODES:
        _refuse("mode", mode, MODES)
    if mode is not None and options is not None:
        raise RuntimeError("vitrine.compile: give either mode or options, not both")


def own_settings(mode=None, options=None) -> dict:
    """Settings of code that Vitrine compiles."""
    _check_mode(mode, options)
    settings = {**_check_options(options), "fullgraph": False, "mode": mode or "default"}
    if _logs.observer():
        settings["observer"] = _logs.observer()
    return settings


def _backend_settings(backend, mode, options) -> dict:
    if backend is None or (isinstance(backend, str) and backend in _backends.NAMES):
        mode = mode or "reduce-overhead" if backend == "cudagraphs" and options is None else mode
        return {**own_settings(mode, options), **({"backend": "eager"} if backend == "eager" else {})}
    if not callable(backend) and not (isinstance(backend, str) and _backends.is_registered(backend)):
        raise ValueError(f"vitrine.compile: unknown backend {backend!r}; there are {', '.join(map(repr, _backends.names()))}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"vitrine.compile: options takes a dict, not {type(options).__name__}")
    return {**own_settings(), "backend": _backends.foreign(backend, mode, options)}


def _settings(fullgraph, dynamic, backend, mode, options, recompile_limit, isolate_recompiles=False) -> dict:
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"vitrine.compile: dynamic takes True, False or None, not {dynamic!r}")
    settings = _backend_settings(backend, mode, options)
    settings["fullgraph"] = bool(fullgraph)
    settings["dynamic"] = dynamic
    if recompile_limit is not None:
        if not isinstance(recompile_limit, int) or isinstance(recompile_limit, bool) or recompile_limit < 1:
            raise TypeError(f"vitrine.compile: recompile_limit takes a positive int, not {recompile_limit!r}")
        settings["recompile_limit"] = recompile_limit
    if isolate_recompiles:
        settings["isolated"] = next(isolated_numbers)
    return settings


def with_backend(function, backend):
    """A compiled function with another backend."""
    kept = {name: value for name, value in function.settings.items() if name in ("fullgraph", "dynamic", "recompile_limit", "isolated")}
    return _engine.CompiledFunction(function.__wrapped__, {**_backend_settings(backend, None, None), **kept, "forced": True})


def original(callable_or_module):
    """What was compiled, of something that ``compile`` returned or a method of one; anything else as it is."""
    if inspect.ismethod(callable_or_module) and isinstance(callable_or_module.__func__, _engine.CompiledFunction):
        return types.MethodType(callable_or_module.__func__.__wrapped__, callable_or_module.__self__)
    if isinstance(callable_or_module, OptimizedModule):
        return callable_or_module._orig_mod
    if isinstance(callable_or_module, _engine.CompiledFunction):
        return callable_or_module.__wrapped__
    return callable_or_module


def _innermost(function):
    """What PyTorch's own wrappers (torch.compile, torch.compiler.disable) stand around: compiling one compiles that, as in
    torch.compile. A copy of their attributes on another wrapper counts for nothing."""
    while True:
        if hasattr(function, "_torchdynamo_orig_callable") and _is_pytorchs(function):
            function = original(function._torchdynamo_orig_callable)
        elif (inner := _behind_patch(function)) is not None:
            function = original(inner)
        else:
            return function


def _behind_patch(function):
    """What torch._dynamo.patch_dynamo_config decorates: its settings are about how TorchDynamo captures."""
    if getattr(function, "__module__", "") != "torch._dynamo.external_utils" or not isinstance(function, types.FunctionType):
        return None
    held = inspect.getclosurevars(function).nonlocals
    return held.get("func") if type(held.get("self")).__name__ == "DynamoConfigPatchProxy" else None


def _is_pytorchs(wrapper) -> bool:
    if hasattr(wrapper, "_torchdynamo_wrapper_id"):
        return wrapper._torchdynamo_wrapper_id == id(wrapper)
    names = wrapper.__globals__ if isinstance(wrapper, types.FunctionType) else {}  # older versions leave no number
    name = names.get("__name__", "")
    return name.startswith("torch._dynamo.") and getattr(sys.modules.get(name), "__dict__", None) is names


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
):
    """Compiles a function or a module; takes what ``torch.compile`` takes.

    Args:
        model: a function, a method, any callable, or an ``nn.Module``. Left out, ``compile`` is a decorator.
        fullgraph: raise :class:`GraphBreakError` where capture would have to stop, instead of going on behind it.
        dynamic: ``None``: sizes are fixed at first; one that changes (or an int that does) becomes a symbol, and other
            values of it need no other compilation. ``True``: all sizes of arguments are symbols from the start. ``False``:
            a new size is compiled anew. See :func:`mark_dynamic` and :func:`mark_static`.
        backend: ``None`` or ``"vitrine"``, ``"eager"`` to run the captured graph through PyTorch,
            ``"cudagraphs"`` for the mode ``"reduce-overhead"``, the name of any backend that PyTorch knows
            (``"aot_eager"``, ``"openvino"``, ...; ``"torch_inductor"`` is Inductor itself), or a callable. It receives a
            ``torch.fx.GraphModule`` and the list of example inputs, and returns a callable that takes the graph's
            inputs and returns the tuple of its outputs. As under ``torch.compile``, sizes that may change come first, as
            ``SymInt``, and what the backend asks of them is asked of later calls again.
        mode: one of ``torch.compile``'s modes; on a CPU all mean ``"default"``.
        options: ``fuse``, ``verify``, ``disabled_passes``, ``products`` (``"measured"``, ``"generated"`` or
            ``"library"``: matrix products by the faster of PyTorch and a generated kernel, always the kernel, or
            always PyTorch, as eager does), ``freezing`` (weights are constant between calls without gradients, so that what
            products pack of them is kept and, on a CPU, what is computed of them alone. It is made anew when a weight's ``_version`` or address has changed, or one of 64
            elements that are looked at; a write through ``.data`` or NumPy to others would go unseen), ``gradients`` (``"own"`` or ``"borrowed"``: a graph's derivative is written
            by Vitrine's gradient rules where they cover all its operators, or always by running PyTorch's own
            backward once at capture; :func:`explain` and the session say which it was), ``target`` (``"sm_90"``: kernels are compiled for that GPU, which need not be
            here, as if every tensor were on it; calls run as eager does where there is none), ``capture_data_sizes``
            (``True``: sizes and ints that depend on data, those of ``nonzero``, masks, ``unique`` or ``item``, are part of one
            graph, as ``torch.compile`` has it with ``capture_dynamic_output_shape_ops`` and ``capture_scalar_outputs``;
            ``False``: each is a graph break), ``partition`` (``{"gelu": "recomputed", "add_1": "saved"}``: what becomes of
            values that backward needs, by their names in the joint graph; the session says what could not be obeyed).
        name: accepted as ``torch.compile`` does; nothing is called by it.
        disable: return ``model`` as it is.
        recompile_limit: how often one place of the function is compiled before it runs eagerly (under ``fullgraph``
            :class:`RecompileLimitError` is raised instead); left out, ``vitrine.config.recompile_limit``. Methods of a
            module are counted by module.
        isolate_recompiles: what this callable compiles serves no other one, and counts against no other's limit.

    Returns:
        For a module an :class:`OptimizedModule`, which shares its parameters; for anything else a callable with
        the same name, signature and documentation.
    """
    settings = _settings(fullgraph, dynamic, backend, mode, options, recompile_limit, isolate_recompiles)
    if model is None:
        return functools.partial(_compile, settings=settings, disable=disable)
    return _compile(model, settings, disable)


def _compile(model, settings, disable):
    if not callable(model):
        raise TypeError(f"vitrine.compile takes a function, a module or another callable, not {model!r}")
    if isinstance(model, torch.jit.RecursiveScriptModule):
        raise RuntimeError(_SCRIPTED)
    if disable or torch.compiler.is_exporting() or _controls.disabled_by_environment():
        return model
    if isinstance(model, type):
        return _class(model, settings)
    model = _innermost(original(model))
    if isinstance(model, torch.nn.Module):
        return OptimizedModule(model, settings)
    return _function(model, settings)


def _class(model: type, settings: dict) -> type:
    """Calls of its instances are compiled, as torch.compile has it of a class that it decorates."""
    call = model.__call__
    if getattr(call, "__self__", None) is model:  # how the class itself is called: its instances are not
        raise TypeError(f"vitrine.compile: instances of {model.__name__} cannot be called")
    model.__call__ = _function(_own(model, "__call__"), settings)
    if issubclass(model, torch.nn.Module):
        model._call_impl = _function(_own(model, "_call_impl"), settings)
    return model


def _own(model: type, name: str):
    """The class's method; one that it inherits as a copy: what is compiled of it is not what other classes run."""
    function = original(getattr(model, name))
    if name in vars(model) or not isinstance(function, types.FunctionType):
        return function
    copy = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    copy.__dict__.update(function.__dict__)
    return copy


def _function(function, settings):
    return leads_on(_like(_engine.CompiledFunction(function, settings), function), function)


def _reduce(wrapper):
    """What pickle needs of a wrapper: the name by which its module has it, else how to make it again."""
    found = sys.modules.get(getattr(wrapper, "__module__", None))
    name = getattr(wrapper, "__qualname__", "")
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is wrapper:
        return name
    if isinstance(wrapper, _engine.DisabledFunction):
        return disable, (wrapper.__wrapped__, wrapper.recursive, wrapper.reason)
    return _function, (wrapper.__wrapped__, wrapper.settings)


def _like(wrapper, function):
    """Gives the wrapper the name, documentation and attributes of the function."""
    wrapper.__dict__.update(getattr(function, "__dict__", {}) if inspect.isroutine(function) else {})
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    return wrapper


class disable:
    """Keeps what runs inside from being captured: it runs as eager runs it, and so does all that it calls.

    As a decorator ``@vitrine.disable``, as a function ``vitrine.disable(fn)``, and as a context
    ``with vitrine.disable(): ...``. With ``recursive=False`` the function itself is not captured, and what it calls is.
    ``reason`` is what :func:`explain` says of it. ``torch.compiler.disable`` means the same.
    """

    def __new__(cls, function: Callable | None = None, recursive: bool = True, reason: str | None = None):
        if function is None:
            made = super().__new__(cls)
            made._recursive, made._reason = recursive, reason
            return made
        if isinstance(function, torch.nn.Module):
            function.forward = disable(function.forward, recursive, reason)
            return function
        if not callable(function):
            raise TypeError(f"vitrine.disable takes a function, a module or another callable, not {function!r}")
        return _like(_engine.DisabledFunction(original(function), recursive, reason), function)

    def __call__(self, function: Callable):
        return disable(function, self._recursive, self._reason)

    def __enter__(self):
        if not self._recursive:
            raise TypeError("vitrine.disable: recursive=False is about a function; as a context, disable() holds for all inside")
        self._outer = _engine.switch_capture_off(True)
        return self

    def __exit__(self, *exception):
        _engine.switch_capture_off(self._outer)


def reset() -> None:
    """Forgets everything that was compiled in this process."""
    _engine.reset()


def is_compiling() -> bool:
    """Whether the calling code is being captured right now."""
    return torch.compiler.is_compiling()


def explain(function: Callable):
    """Says what capture makes of a call: ``print(vitrine.explain(model)(x))``.

    Returns a callable that takes the arguments of ``function``, runs it once, freshly captured, and returns an
    :class:`~vitrine._explain.Explanation` with ``graphs``, ``graph_break_reasons``, ``ops`` and ``guards``.
    """

    def explained(*args, **kwargs) -> Explanation:
        return _explained(function, args, kwargs)

    return explained


def _explained(function, args, kwargs, **more) -> Explanation:
    target = _innermost(original(function))
    seen: list[dict] = []
    settings = {"mode": "default", "fullgraph": False, "observer": seen, **more}
    run = OptimizedModule(target, settings) if isinstance(target, torch.nn.Module) else _engine.CompiledFunction(target, settings)
    try:
        result = run(*args, **kwargs)
    finally:
        _engine.forget(seen)
    return Explanation(seen, result)


def explained_with_graphs(function, args, kwargs) -> tuple[Explanation, list]:
    """What :func:`explain` says of a call, and its graphs as modules of ``torch.fx``."""
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    return _explained(function, args, kwargs, backend=keep), graphs
