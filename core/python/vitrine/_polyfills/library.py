"""What capture calls, or reads in the place of a function it cannot read: parts of recipes, and functions of PyTorch whose
arguments need not be known."""

import collections
import functools
import logging
import types

import torch

from vitrine._polyfills.transforms import function_of
from vitrine._autograd.walked_backward import note_hook


def without_numpy_warnings(function, args, kwargs):
    """What a function gives; raises FloatingPointError where NumPy would warn."""
    import numpy

    with numpy.errstate(all="raise"):
        return function(*args, **kwargs)


def _does_nothing():
    pass


def function_like(code, name, defaults, keyword_defaults, positional, keywords):
    """Calls what has the signature of this code and does nothing, with so many positional arguments and these names."""
    empty = _does_nothing.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    like = empty.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_flags=empty.co_flags | code.co_flags & 12,
        co_nlocals=count,
        co_varnames=code.co_varnames[:count],
        co_name=code.co_name,
        co_qualname=name,
    )
    function = types.FunctionType(like, {}, code.co_name, (None,) * defaults)
    function.__kwdefaults__ = dict.fromkeys(keyword_defaults)
    function.__qualname__ = name
    function(*[None] * positional, **dict.fromkeys(keywords))


def joined(parts):
    """The texts of an f-string."""
    return "".join(parts)


def call_again(function, args, kwargs):
    """A call whose result is known: it counts."""
    function(*args, **kwargs)


def _tell(self, *args, **kwargs):
    """As a library has it."""
    self.warning(*args, **kwargs)


def _tell_shortly(self, *args, **kwargs):
    self.warning(*args, **kwargs)


_LOGGING = ("logging", "logging.handlers")


def _has_own_handlers_only(logger):
    """Whether what the logger says goes to handlers of Python's own, which let no error out, and past no filter."""
    while logger:
        if logger.filters or any(h.filters or type(h).__module__ not in _LOGGING for h in logger.handlers):
            return False
        logger = logger.parent if logger.propagate else None
    return True


def only_logs(function, logger):
    """Whether a cached function hands its arguments on to a logger's method, which gives None, and does nothing else:
    `warning_once` and its like. It is then called behind the segment: it logs there if its cache does not hold it."""
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    if type(logger) is not logging.Logger or code is None or len(code.co_names) != 1:
        return False
    alike = any(
        all(getattr(code, part) == getattr(f.__code__, part) for part in ("co_code", "co_flags", "co_argcount", "co_kwonlyargcount"))
        for f in (_tell, _tell_shortly)
    )
    method = code.co_names[0]
    return (
        alike and code.co_consts[-1:] == (None,) and all(c is None or isinstance(c, str) for c in code.co_consts)
        and method in ("debug", "info", "warning", "error", "critical") and method not in vars(logger)
        and _has_own_handlers_only(logger)
    )  # fmt: skip


def one_hot(tensor, num_classes):
    """torch.nn.functional.one_hot of a known number of classes: a class that is none of them is no place to write."""
    zeros = torch.empty((*tensor.shape, num_classes), dtype=torch.int64, device=tensor.device).zero_()  # eager counts both writes
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """torch.nn.functional.max_pool1d of what is not differentiated, without indices."""
    if not input.is_floating_point():
        raise NotImplementedError
    alone = input.dim() == 2
    pooled = torch.max_pool1d_with_indices(input[None] if alone else input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)[0]
    own = pooled.clone(memory_format=torch.contiguous_format)
    return own.squeeze_(0) if alone else own


def partial_of(function, arguments, keywords):
    """functools.partial of its parts."""
    return functools.partial(function, *arguments, **keywords)


def enter(context):
    """Enters a context that somebody else will leave."""
    context.__enter__()


def as_inference(tensor):
    """The same memory as a tensor made in inference mode."""
    if tensor.is_inference():
        return tensor
    with torch.inference_mode():
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return made.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """torch.nn.functional.batch_norm, whose momentum need not be known."""
    if not training or running_mean is None:
        return torch.nn.functional.batch_norm(input, running_mean, running_var, weight, bias, training, 0.1, eps)
    mean, var = torch.zeros_like(running_mean), torch.zeros_like(running_var)
    out = torch.nn.functional.batch_norm(input, mean, var, weight, bias, True, 1.0, eps)
    running_mean.data.copy_(mean * momentum + running_mean * (1 - momentum))  # a write that PyTorch does not count
    running_var.data.copy_(var * momentum + running_var * (1 - momentum))
    return out


def leaky_relu(input, negative_slope):
    """torch.nn.functional.leaky_relu, whose slope need not be known."""
    return torch.where(input > 0, input, input * negative_slope)


def number_of(tensor, at=None):
    """tensor.item() or tensor[at].item(), as a tensor of f64 that computes as Python's floats do."""
    one = tensor.detach().reshape(()) if at is None else tensor.detach()[at]
    return one.to(torch.float64, copy=True)


def data_of(tensor):
    """tensor.data: the same memory, with a count of writes of its own. A recording knows it as detach()."""
    if torch._C._len_torch_dispatch_stack():
        return tensor.detach().data
    return tensor.data


def set_data(tensor, value):
    """tensor.data = value."""
    tensor.data = value
    return tensor


def set_version(tensor, before, writes):
    """So often was the tensor written to since then."""
    torch._C._autograd._unsafe_set_version_counter((tensor,), (before + writes,))


def bound(descriptor, owner):
    """The method that was found, of its owner. Its name may say something else: super() passes over what an attribute of a
    class gives."""
    return getattr(owner, descriptor.__name__) if owner is None else descriptor.__get__(owner)


def as_parameter(tensor):
    """The tensor itself, of class Parameter from now on."""
    tensor.__class__ = torch.nn.Parameter
    return tensor


def set_of(changes):
    """A set to which these methods, each with its argument, are done."""
    made = set()
    for method, argument in changes:
        getattr(made, method)(argument)
    return made


def filled(made, held):
    """A dict that is made empty, with what it will hold: for those who walk over it. It is given the same again later."""
    store = collections.OrderedDict.__setitem__ if isinstance(made, collections.OrderedDict) else dict.__setitem__
    for key, value in held.items():
        store(made, key, value)
    return made


def register_hook(tensor, parts):
    """Registers a hook that is given in parts. Gives the tensor."""
    hook = function_of(parts)
    tensor.register_hook(hook)
    note_hook(tensor, hook)
    return tensor


class _Patched:
    """In the place of what ``torch._dynamo.patch_dynamo_config`` gives: it sets how TorchDynamo captures."""

    def __call__(self, function):
        return function

    def __enter__(self):
        return None

    def __exit__(self, kind, error, traceback):
        return None


PATCHED = _Patched()
