"""NumPy's functions of arrays, written with PyTorch's: what is read in the place of one that is given an array."""

import numpy as np
import torch

from vitrine._polyfills.array_making import as_array, made_of, of_one_type, stack
from vitrine._polyfills.array_types import numpy_type, plain, result_type, torch_type, type_of_both
from vitrine._polyfills.array_ufuncs import UFUNCS, made_ufunc, told, apply
from vitrine._polyfills.array_words import is_array, make, refuse


def _reduced(function, of, axis, keepdims, warns=False):
    of = as_array(of)
    if of.tensor.numel() == 0:
        refuse("a reduction of an array without elements")
    given = of.tensor
    if axis is None:
        axis = tuple(range(given.dim()))
    axis = (axis,) if isinstance(axis, int) else tuple(axis)
    found = function(given, axis, keepdims) if axis else function(given.unsqueeze(0), (0,), False)
    if warns and given.is_floating_point():
        fine = torch.isfinite(found) | ~torch.isfinite(given).all()
        torch._assert_async(fine.all())
    return made_of(found)


def _of_sums(tensor):
    """A type as wide as NumPy's for sums."""
    if tensor.dtype == torch.uint8:
        refuse("a sum of unsigned numbers")
    return tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.to(torch.int64)


def _of_means(tensor):
    if tensor.dtype == torch.float16:
        refuse("a mean of float16")
    return tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.to(torch.float64)


def sum(a, axis=None, *, keepdims=False):
    return _reduced(lambda t, dims, keep: _of_sums(t).sum(dims, keep), a, axis, keepdims, warns=True)


def mean(a, axis=None, *, keepdims=False):
    return _reduced(lambda t, dims, keep: _of_means(t).mean(dims, keep), a, axis, keepdims, warns=True)


def var(a, axis=None, *, ddof=0, keepdims=False):
    return _reduced(lambda t, dims, keep: _of_means(t).var(dims, correction=ddof, keepdim=keep), a, axis, keepdims, warns=True)


def std(a, axis=None, *, ddof=0, keepdims=False):
    return _reduced(lambda t, dims, keep: _of_means(t).std(dims, correction=ddof, keepdim=keep), a, axis, keepdims, warns=True)


def max(a, axis=None, *, keepdims=False):
    return _reduced(torch.amax, a, axis, keepdims)


def min(a, axis=None, *, keepdims=False):
    return _reduced(torch.amin, a, axis, keepdims)


def any(a, axis=None, *, keepdims=False):
    return _reduced(lambda t, dims, keep: torch.any(t.bool(), dims, keep), a, axis, keepdims)


def all(a, axis=None, *, keepdims=False):
    return _reduced(lambda t, dims, keep: torch.all(t.bool(), dims, keep), a, axis, keepdims)


def prod(a, axis=None, *, keepdims=False):
    def product(t, dims, keep):
        t = _of_sums(t)
        if len(dims) == t.dim() and not keep:
            return t.prod()
        if len(dims) != 1:
            refuse("a product over several axes")
        return t.prod(dims[0], keep)

    return _reduced(product, a, axis, keepdims, warns=True)


def _place(function, a, axis):
    given = as_array(a).tensor
    if given.numel() == 0:
        refuse("a reduction of an array without elements")
    return made_of(function(given.reshape(-1), 0) if axis is None else function(given, axis))


def argmax(a, axis=None):
    return _place(torch.argmax, a, axis)


def argmin(a, axis=None):
    return _place(torch.argmin, a, axis)


def cumsum(a, axis=None):
    given = _of_sums(as_array(a).tensor)
    return make(told(given.reshape(-1).cumsum(0) if axis is None else given.cumsum(axis), (given.sum(),)), False)


def clip(a, a_min=None, a_max=None):
    found = as_array(a)
    if a_min is not None:
        found = apply("maximum", torch.maximum, False, (found, a_min))
    return found if a_max is None else apply("minimum", torch.minimum, False, (found, a_max))


def reshape(a, shape):
    found = as_array(a).tensor.reshape(shape)
    return make(found, False)


def ravel(a):
    return reshape(a, -1)


def transpose(a, axes=None):
    given = as_array(a).tensor
    if axes is None:
        axes = tuple(range(given.dim() - 1, -1, -1))
    return make(given.permute(axes), False)


def swapaxes(a, axis1, axis2):
    return make(as_array(a).tensor.transpose(axis1, axis2), False)


def expand_dims(a, axis):
    if not isinstance(axis, int):
        refuse("numpy.expand_dims of several axes")
    return make(as_array(a).tensor.unsqueeze(axis), False)


def squeeze(a, axis=None):
    given = as_array(a).tensor
    return make(given.squeeze() if axis is None else given.squeeze(axis), False)


def concatenate(arrays, axis=0):
    if axis is None:
        refuse("numpy.concatenate without an axis")
    return make(torch.cat(of_one_type(arrays), axis), False)


def vstack(arrays):
    return make(torch.vstack(of_one_type(arrays)), False)


def hstack(arrays):
    return make(torch.hstack(of_one_type(arrays)), False)


def where(condition, x, y):
    condition = as_array(condition).tensor
    kinds = [numpy_type(v.tensor.dtype) if is_array(v) else v for v in (x, y)]
    dtype = type_of_both(tuple(kinds))
    if dtype is None:
        refuse("numpy.where of such things")
    x, y = [v.tensor.to(dtype) if is_array(v) else torch.full((), plain(v), dtype=dtype) for v in (x, y)]
    return make(torch.where(condition.bool(), x, y), False)


def _product(name, function, a, b):
    given = [as_array(a).tensor, as_array(b).tensor]
    dtype = torch_type(result_type([numpy_type(t.dtype) for t in given]))
    if dtype is None or dtype in (torch.bool, torch.float16):
        refuse("numpy." + name + " of such types")
    given = [t.to(dtype) for t in given]
    found = function(*given)
    if found.is_floating_point():
        torch._assert_async((torch.isfinite(found).all() | ~torch.isfinite(given[0]).all() | ~torch.isfinite(given[1]).all()))
    return made_of(found)


def matmul(a, b):
    return _product("matmul", torch.matmul, a, b)


def dot(a, b):
    dims = as_array(a).tensor.dim(), as_array(b).tensor.dim()
    if dims == (0, 0) or 0 in dims:
        return apply("multiply", torch.mul, True, (a, b))
    if dims[1] > 2:
        refuse("numpy.dot of more dimensions")
    return _product("dot", torch.matmul, a, b)


def outer(a, b):
    return _product("outer", lambda x, y: torch.outer(x.reshape(-1), y.reshape(-1)), a, b)


def norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2) or (ord == 2 and not isinstance(axis, int)):
        refuse("numpy.linalg.norm of another kind")
    given = as_array(x)
    if given.tensor.dtype in (torch.float16, torch.complex64, torch.complex128):
        refuse("numpy.linalg.norm of such a type")

    def root(t, dims, keep):
        t = _of_means(t)
        return (t * t).sum(dims, keep).sqrt()

    return _reduced(root, given, axis, keepdims, warns=True)


def _filled_like(function):
    def filled(a, dtype=None):
        given = as_array(a).tensor
        return make(function(given, dtype=given.dtype if dtype is None else torch_type(dtype)), False)

    return filled


# By NumPy's function: what is read in its place when it is given an array.
FUNCTIONS = {getattr(np, name): made_ufunc(name) for name in UFUNCS}
FUNCTIONS.update(
    (getattr(np, f.__name__), f)
    for f in (
        sum, mean, var, std, max, min, any, all, prod, argmax, argmin, cumsum, clip, reshape, ravel, transpose, swapaxes,
        expand_dims, squeeze, concatenate, stack, vstack, hstack, where, dot, outer,
    )
)  # fmt: skip
FUNCTIONS.update({np.amax: max, np.amin: min, np.linalg.norm: norm, np.matmul: matmul})
FUNCTIONS.update({np.zeros_like: _filled_like(torch.zeros_like), np.ones_like: _filled_like(torch.ones_like)})
