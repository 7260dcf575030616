"""The module that ``vitrine.compile`` returns."""

import contextlib
import functools
import inspect

import torch

from vitrine import _engine
from vitrine._after_loading import after_loading


def leads_on(wrapper, compiled):
    """Leaves on a wrapper what torch.compile leaves on its own: by it PyTorch goes on to what was compiled, where it is asked to
    disable or compile the wrapper."""
    wrapper.__dict__.update(_torchdynamo_orig_callable=compiled, _torchdynamo_wrapper_id=id(wrapper))
    return wrapper


class OptimizedModule(torch.nn.Module):
    """Runs a module compiled. Everything else (state, attributes, mode, conversion) is the module's own.

    ``_orig_mod`` is the module; parameters and buffers are shared with it. ``state_dict()`` and
    ``named_parameters()`` prefix names with ``_orig_mod.``, as ``torch.compile`` does. Attributes are read from
    and written to the module.
    """

    # What lives on the wrapper itself; every other name is the module's.
    _own_names = frozenset({"_orig_mod", "_settings", "_compiled_call", "forward", "__dict__"})

    def __init__(self, module: torch.nn.Module, settings: dict):
        object.__setattr__(self, "_settings", settings)
        super().__init__()
        self._modules["_orig_mod"] = module
        call = _engine.CompiledFunction(module, settings)
        with contextlib.suppress(TypeError, ValueError):  # a forward without a signature
            call.__signature__ = inspect.signature(module.forward)
        self.__dict__["_compiled_call"] = self.__dict__["forward"] = call
        leads_on(self, module)
        if type(module).__doc__ is not None:
            object.__setattr__(self, "__doc__", module.__doc__)

    def __call__(self, *args, **kwargs):
        own = self.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            return super().__call__(*args, **kwargs)
        return own["_compiled_call"](*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):  # not yet while nn.Module sets its own default
            self._orig_mod.training = value

    def __getattr__(self, name: str):
        modules = self.__dict__.get("_modules")
        if not modules or "_orig_mod" not in modules:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value) -> None:
        if name in self._own_names or name in self.__dict__ or hasattr(type(self), name) or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._own_names or name in self.__dict__ or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __iter__(self):
        return iter(self._orig_mod)

    def __contains__(self, item) -> bool:
        return item in self._orig_mod

    @property
    def dynamo_ctx(self):
        """Compiles another function as this module was; frameworks that unwrap it (Lightning) have its methods compiled so."""
        from vitrine import _api  # which imports this module

        return functools.partial(_api._compile, settings=self._settings, disable=False)

    def __dir__(self):
        return sorted({*dir(self._orig_mod), *super().__dir__()})

    def __reduce_ex__(self, protocol):
        return type(self), (self._orig_mod, self._settings)


_call = OptimizedModule.__call__


def _call_that_dynamo_reads(self, *args, **kwargs):
    """To torch.export, say, this module is the one that was compiled."""
    if torch.compiler.is_dynamo_compiling():
        return self._orig_mod(*args, **kwargs)
    return _call(self, *args, **kwargs)


def _heed_dynamo() -> None:
    OptimizedModule.__call__ = _call_that_dynamo_reads


after_loading("torch._dynamo", _heed_dynamo)  # the question costs each call a tenth of a microsecond
