"""NumPy's arrays in a compiled function: what the interpreter reads in the place of NumPy's own functions and methods.

An array is a tensor over the same memory, or of memory of its own; to the program it is an ndarray, and what leaves the
segment is one. Element types are NumPy's: they are asked of NumPy for each call. Where NumPy would warn of what the
elements are, the graph fails, and the call runs as eager does. What is not here is a break, as is writing to an array.
"""

import numpy as np
import torch

from vitrine._polyfills.array_functions import (
    all, any, argmax, argmin, clip, cumsum, dot, matmul, max, mean, min, prod, reshape, squeeze, std, sum, transpose, var,
)  # fmt: skip
from vitrine._polyfills.array_making import as_array, made_of
from vitrine._polyfills.array_types import numpy_type, plain, torch_type, type_of_number
from vitrine._polyfills.array_ufuncs import UFUNCS, told, apply
from vitrine._polyfills.array_words import is_array, known, make, refuse


class Elements:
    """tensor: the elements; scalar: it is one of NumPy's numbers."""

    @property
    def dtype(self):
        return numpy_type(self.tensor.dtype)

    @property
    def shape(self):
        return tuple(self.tensor.shape)

    @property
    def ndim(self):
        return self.tensor.dim()

    @property
    def size(self):
        return self.tensor.numel()

    @property
    def T(self):
        return transpose(self)

    @property
    def real(self):
        return make(self.tensor.real, self.scalar)

    @property
    def __array_interface__(self):
        refuse("an array's memory is handed out")

    def __len__(self):
        if self.tensor.dim() == 0:
            refuse("len() of an array without dimensions")
        return self.tensor.shape[0]

    def __iter__(self):
        if self.tensor.dim() == 0:
            refuse("iteration over an array without dimensions")
        return iter([made_of(each) for each in self.tensor.unbind(0)])

    def __getitem__(self, index):
        return _item(self, index)

    def item(self, *at):
        return self.tensor.item() if not at else refuse("item() with an index")

    def tolist(self):
        return self.tensor.tolist()

    def __bool__(self):
        return bool(self.tensor)

    def __float__(self):
        return float(self.tensor)

    def __int__(self):
        return int(self.tensor)

    def __index__(self):
        return self.tensor.__index__()

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        target = torch_type(dtype)
        if target is None or order != "K" or casting != "unsafe" or not copy:
            refuse("astype() of another kind")
        source = self.tensor.dtype
        if source.is_complex and not target.is_complex or source.is_floating_point and not target.is_floating_point:
            refuse("astype() may warn of what the elements are")
        return make(told(self.tensor.to(target, copy=True), (self.tensor,)), self.scalar)

    def copy(self, order="C"):
        if order != "C":
            refuse("copy() of another order")
        return make(self.tensor.clone(memory_format=torch.contiguous_format), False)

    def reshape(self, *shape, **more):
        return reshape(self, shape[0] if len(shape) == 1 else shape, **more)

    def transpose(self, *axes):
        return transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def ravel(self):
        return reshape(self, -1)

    def flatten(self):
        return make(self.tensor.reshape(-1).clone(), False)

    def squeeze(self, axis=None):
        return squeeze(self, axis)

    def swapaxes(self, a, b):
        return make(self.tensor.transpose(a, b), False)

    def sum(self, axis=None, keepdims=False):
        return sum(self, axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        return mean(self, axis, keepdims=keepdims)

    def prod(self, axis=None, keepdims=False):
        return prod(self, axis, keepdims=keepdims)

    def std(self, axis=None, ddof=0, keepdims=False):
        return std(self, axis, ddof=ddof, keepdims=keepdims)

    def var(self, axis=None, ddof=0, keepdims=False):
        return var(self, axis, ddof=ddof, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        return max(self, axis, keepdims=keepdims)

    def min(self, axis=None, keepdims=False):
        return min(self, axis, keepdims=keepdims)

    def argmax(self, axis=None):
        return argmax(self, axis)

    def argmin(self, axis=None):
        return argmin(self, axis)

    def any(self, axis=None, keepdims=False):
        return any(self, axis, keepdims=keepdims)

    def all(self, axis=None, keepdims=False):
        return all(self, axis, keepdims=keepdims)

    def cumsum(self, axis=None):
        return cumsum(self, axis)

    def clip(self, min=None, max=None):
        return clip(self, min, max)

    def dot(self, other):
        return dot(self, other)

    def __matmul__(self, other):
        return matmul(self, other)

    def __rmatmul__(self, other):
        return matmul(other, self)


class Array(Elements, np.ndarray):
    pass


class Scalar(Elements):
    """A number that is known when the program runs: what it is an instance of is for the interpreter to refuse."""


def _operator(name, reflected=False):
    function, warns = UFUNCS[name]

    def operator(self, *others):
        return apply(name, function, warns, (*others, self) if reflected else (self, *others))

    return operator


def _refused(name):
    def refused(self, *others):
        refuse("ndarray." + name + " writes to an array, or makes a text of it")

    return refused


def _set(name, method):
    method.__name__ = name
    setattr(Elements, name, method)


for _name, _method in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    _set(f"__{_name}__", _operator(_method))
    _set(f"__r{_name}__", _operator(_method, reflected=True))
    _set(f"__i{_name}__", _refused(f"__i{_name}__"))
for _name, _method in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "neg": "negative", "abs": "absolute", "invert": "invert",
}.items():  # fmt: skip
    _set(f"__{_name}__", _operator(_method))
for _name in ("__setitem__", "__delitem__", "__imatmul__", "__repr__", "__str__", "__format__", "__contains__", "__setattr__"):
    _set(_name, _refused(_name))


def _item(array, index):
    many = index if isinstance(index, tuple) else (index,)
    keys = []
    for key in many:
        if is_array(key):
            if key.scalar:
                refuse("an index that is computed")
            key = key.tensor
        elif isinstance(key, slice) and key.step is not None and key.step < 0:
            refuse("a slice that goes backwards")
        elif isinstance(key, (list, torch.Tensor)):
            refuse("an array indexed by such a thing")
        keys.append(key)
    found = array.tensor[tuple(keys)]
    if found.dim() == 0 and [None for key in many if key is Ellipsis]:
        refuse("a number's own place in an array")
    return made_of(found)


def of_tensor(tensor, *, force=False):
    """tensor.numpy()."""
    if force or tensor.requires_grad or not tensor.is_cpu or numpy_type(tensor.dtype) is None:
        refuse("Tensor.numpy() of a tensor that has no memory of NumPy's kind")
    return make(tensor.detach(), False)


def as_tensor(array, dtype=None, device=None):
    """torch.from_numpy, torch.as_tensor and torch.asarray."""
    if array.scalar or dtype is not None or device is not None:
        refuse("a tensor of an array, of another type or elsewhere")
    return array.tensor.data


def new_tensor(array, dtype=None, device=None, requires_grad=False):
    """torch.tensor."""
    if array.scalar or device is not None or requires_grad:
        refuse("a tensor of an array, of another kind")
    copied = array.tensor.clone(memory_format=torch.contiguous_format)
    return copied if dtype is None else copied.to(dtype)


def _filled(function):
    def filled(shape, dtype=float):
        target = torch_type(dtype)
        if target is None:
            refuse("an array of such a type")
        return make(function(shape if isinstance(shape, (tuple, list)) else (shape,), dtype=target), False)

    return filled


def full(shape, fill_value, dtype=None):
    target = type_of_number(fill_value) if dtype is None else torch_type(dtype)
    if target is None:
        refuse("an array of such a type")
    return make(torch.full(shape if isinstance(shape, (tuple, list)) else (shape,), plain(fill_value), dtype=target), False)


def array(value, dtype=None, copy=True):
    found = of_tensor(value) if not is_array(value) and isinstance(value, torch.Tensor) else as_array(value)
    if not copy:
        refuse("numpy.array that may not copy")
    target = found.tensor.dtype if dtype is None else torch_type(dtype)
    if target is None or (not target.is_floating_point and found.tensor.is_floating_point()):
        refuse("numpy.array of another kind")
    return make(found.tensor.to(target, copy=True), False)


def asarray(value, dtype=None):
    if not is_array(value) and isinstance(value, torch.Tensor):
        value = of_tensor(value)
    if is_array(value) and not value.scalar and (dtype is None or torch_type(dtype) == value.tensor.dtype):
        return value
    return array(value, dtype)


def _made(name):
    def maker(*arguments, **keywords):
        return make(known(name, arguments, keywords), False)

    return maker


# By NumPy's function: what is read in its place, whatever it is given.
MAKERS = {np.zeros: _filled(torch.zeros), np.ones: _filled(torch.ones), np.full: full, np.array: array, np.asarray: asarray}
MAKERS.update({getattr(np, name): _made(name) for name in ("arange", "linspace", "eye", "geomspace", "logspace", "hanning", "tri")})
# By PyTorch's function.
TENSORS = {"torch.from_numpy": as_tensor, "torch.as_tensor": as_tensor, "torch.asarray": as_tensor, "torch.tensor": new_tensor}
