"""Backends, both ways: PyTorch's own for what Vitrine captures, and Vitrine for what TorchDynamo captures."""

import ast
import functools
import sys
import types

import torch

from vitrine import _engine
from vitrine._after_loading import after_loading

# Vitrine's own compiler; "inductor" is torch.compile's default, which Vitrine takes the place of.
OWN = ("vitrine", "inductor")
# Inductor itself.
INDUCTOR = "torch_inductor"
# "cudagraphs" is the mode "reduce-overhead"; "eager" runs the captured graph through PyTorch, node by node.
NAMES = (*OWN, "eager", "cudagraphs")
# TorchDynamo guards what it captured: Vitrine is asked again only for what its own code is made for.
_COMPILATIONS = 64


def is_registered(name: str) -> bool:
    """Whether PyTorch has a backend of this name; the registry loads torch._dynamo."""
    from torch._dynamo.backends import registry

    return name == INDUCTOR or name in registry.list_backends(exclude_tags=())


def names() -> list[str]:
    from torch._dynamo.backends import registry

    return [*NAMES, INDUCTOR, *sorted({*registry.list_backends(exclude_tags=())} - {*NAMES})]


class Foreign:
    """A backend that is not Vitrine's, as torch.compile calls it: ``mode`` and ``options`` go on where they are given."""

    def __init__(self, backend, mode=None, options=None):
        self.compiler_name = backend if isinstance(backend, str) else getattr(backend, "__name__", str(backend))
        self.compiler_fn = _found(backend)
        self.kwargs = {**({"mode": mode} if mode and mode != "default" else {}), **({"options": options} if options else {})}
        self.__name__ = self.compiler_name

    def __call__(self, graph_module, example_inputs):
        return self.compiler_fn(graph_module, example_inputs, **self.kwargs)

    def __reduce__(self):
        known = isinstance(self.compiler_name, str) and self.compiler_fn == _lookup(self.compiler_name)
        return Foreign, (self.compiler_name if known else self.compiler_fn, self.kwargs.get("mode"), self.kwargs.get("options"))


def _lookup(name: str):
    from torch._dynamo.backends import registry

    return registry.lookup_backend("inductor" if name == INDUCTOR else name)


def _found(backend):
    return _lookup(backend) if isinstance(backend, str) else backend


@functools.lru_cache(maxsize=256)
def _shared(name: str) -> Foreign:
    """Callables with the same backend share what it compiled."""
    return Foreign(name)


def foreign(backend, mode=None, options=None):
    """What the engine calls for a backend that is not Vitrine's: by its name, or the user's own callable."""
    if options or (mode and mode != "default"):
        return Foreign(backend, mode, options)
    return _shared(backend) if isinstance(backend, str) else backend


def vitrine(graph_module, example_inputs, *, mode=None, options=None):
    """``torch.compile(model, backend="vitrine")``: TorchDynamo captures, Vitrine lowers, differentiates and generates."""
    from vitrine import _api

    forward = _keeping_names(graph_module)
    settings = _api.own_settings(mode, options)
    inputs = graph_module.graph.find_nodes(op="placeholder")  # what they know of sizes, an example may not
    symbols = {str(node.target): _symbols(node.meta.get("example_value", example)) for node, example in zip(inputs, example_inputs)}
    settings.update(
        dynamic=None if any(symbols.values()) else False,
        symbols={name: dims for name, dims in symbols.items() if dims},
        recompile_limit=_COMPILATIONS,
        isolated=next(_api.isolated_numbers),
        forced=True,
    )
    return _engine.CompiledFunction(forward, settings)


def _keeping_names(graph_module):
    """The module's forward without the statements by which torch.fx lets values go: the plan knows when it needs one no more, and
    whoever watches an input (TorchDynamo does) would see its end."""
    if hasattr(graph_module, "real_recompile"):  # its code is written at its first call otherwise
        graph_module.real_recompile()
    forward = graph_module.forward
    tree = ast.parse(graph_module.code)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        function.body = [each for each in function.body if not (isinstance(each, ast.Assign) and _is_none(each.value))]
    names = dict(forward.__func__.__globals__)
    exec(compile(tree, forward.__func__.__code__.co_filename, "exec"), names)
    return types.MethodType(names["forward"], graph_module)


def _is_none(value) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _symbols(example) -> tuple[int, ...]:
    """By which dims an example input has symbols for sizes; (-1,): it is a symbol itself."""
    if isinstance(example, torch.SymInt):
        return (-1,)
    if isinstance(example, torch.Tensor):
        return tuple(dim for dim, size in enumerate(example.shape) if isinstance(size, torch.SymInt))
    return ()


def _register() -> None:
    registry = sys.modules["torch._dynamo.backends.registry"]
    if "vitrine" not in registry._BACKENDS:  # else PyTorch has found the entry point, which it loads itself
        registry.register_backend(vitrine, name="vitrine")


def register() -> None:
    """PyTorch's registry knows Vitrine once it is loaded, also where the package was not installed with its entry point."""
    after_loading("torch._dynamo.backends.registry", _register)
