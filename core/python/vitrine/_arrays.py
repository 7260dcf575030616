"""NumPy's arrays in a compiled function: what the interpreter reads in the place of NumPy's own functions and methods.

An array is a tensor over the same memory, or of memory of its own; to the program it is an ndarray, and what leaves the
segment is one. Element types are NumPy's: they are asked of NumPy for each call. Where NumPy would warn of what the
elements are, the graph fails, and the call runs as eager does. What is not here is a break, as is writing to an array.
"""

import numpy as np
import torch

_TYPES = {
    np.dtype(name): getattr(torch, "bool" if name == "?" else np.dtype(name).name)
    for name in ("?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
}
_NUMPY_TYPES = {value: key for key, value in _TYPES.items()}


def refuse(reason):
    """Ends the segment. For the interpreter, which does not come here."""
    raise NotImplementedError(reason)


def make(tensor, scalar):
    """An Array, or a Scalar. For the interpreter, which does not come here."""
    raise NotImplementedError(tensor, scalar)


def is_array(value):
    """Whether it is an Array or a Scalar. For the interpreter, which does not come here."""
    raise NotImplementedError(value)


def tensor_behind(array):
    """A tensor over a real array's memory, or None: of a type that PyTorch lacks, read-only, or with a negative stride."""
    if type(array) is not np.ndarray or array.dtype not in _TYPES or not array.flags.writeable:
        return None
    return None if [None for stride in array.strides if stride < 0] else torch.from_numpy(array)


def leave(tensor, scalar):
    """What the program gets of an array."""
    array = tensor.numpy()
    return array[()] if scalar else array


def torch_type(dtype):
    """PyTorch's name of what NumPy takes for an element type; None where there is none."""
    return _TYPES.get(np.dtype(dtype))


def numpy_type(dtype):
    return _NUMPY_TYPES.get(dtype)


def loop_types(name, operands):
    """The element types, PyTorch's, in which a ufunc takes its operands (dtypes or plain numbers) and gives its result."""
    kinds = [o if isinstance(o, np.dtype) else o.dtype if isinstance(o, np.generic) else type(o) for o in operands]
    plain = [k for k in kinds if isinstance(k, type)]
    if len(plain) == len(kinds):
        return None
    try:
        found = getattr(np, name).resolve_dtypes((*kinds, None))
        for number, dtype in zip(operands, found):
            if not isinstance(number, (np.dtype, np.generic)) and dtype.kind in "iu":
                np.array(number, dtype)  # raises where it does not fit
    except (TypeError, OverflowError):
        return None
    types = [_TYPES.get(dtype) for dtype in found]
    return None if None in types else tuple(types)


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
        return iter([_of(each) for each in self.tensor.unbind(0)])

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
        return make(_told(self.tensor.to(target, copy=True), (self.tensor,)), self.scalar)

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


def _of(tensor):
    return make(tensor, tensor.dim() == 0)


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


def _array(value):
    """An array of what NumPy takes for one: arrays, numbers, lists of these."""
    if is_array(value):
        return value
    if isinstance(value, torch.Tensor):
        refuse("a tensor is given to NumPy")
    if isinstance(value, (list, tuple)):
        rows = [_array(each) for each in value]
        if not rows:
            refuse("an array of nothing")
        return stack(rows) if [None for r in rows if r.tensor.dim()] else array_of_numbers([r.tensor for r in rows])
    return number(value)


def array_of_numbers(tensors):
    dtype = tensors[0].dtype
    if [None for t in tensors if t.dtype != dtype]:
        dtype = torch_type(result_type([numpy_type(t.dtype) for t in tensors]))
    return make(torch.stack([t.to(dtype) for t in tensors]), False)


def number(value):
    target = type_of_number(value)
    if target is None:
        refuse("an array of other things than numbers")
    return make(torch.full((), plain(value), dtype=target), False)


def type_of_number(value):
    """PyTorch's element type of the array that NumPy makes of a number."""
    return _TYPES.get(np.asarray(value).dtype) if isinstance(value, (bool, int, float, complex, np.generic)) else None


def plain(value):
    """A number of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def result_type(dtypes):
    return np.result_type(*dtypes)


def _told(result, operands):
    """The result; the graph fails where NumPy warns of it: what is not finite comes from what was not."""
    if not (result.is_floating_point() or result.is_complex()):
        return result
    fine = torch.isfinite(result)
    for operand in operands:
        if operand.is_floating_point() or operand.is_complex():
            fine = fine | torch.isnan(operand) | (torch.isinf(operand) & torch.isinf(result))
    torch._assert_async(fine.all())
    return result


def _listed(value):
    return _array(value) if isinstance(value, (list, tuple)) else value


def _ufunc(name, function, warns, operands):
    kinds = []
    for o in operands:
        if is_array(o):
            kinds.append(numpy_type(o.tensor.dtype))
        elif isinstance(o, (list, tuple)):
            return _ufunc(name, function, warns, [each if is_array(each) else _listed(each) for each in operands])
        elif isinstance(o, torch.Tensor):
            refuse("a tensor and an array are operands of one operator")
        else:
            kinds.append(o)
    types = loop_types(name, tuple(kinds))
    if types is None:
        refuse("numpy." + name + " of such operands")
    given = []
    for o, dtype in zip(operands, types):
        given.append(o.tensor.to(dtype) if is_array(o) else torch.full((), plain(o), dtype=dtype))
    result = function(*given).to(types[len(operands)])
    return _of(_told(result, given) if warns else result)


def _divide_integers(function):
    def divided(a, b):
        if not (b.is_floating_point() or b.is_complex()):
            torch._assert_async((b != 0).all())
        return function(a, b)

    return divided


def _square(a):
    return a * a


def _power(a, b):
    if not (a.is_floating_point() or a.is_complex()):
        torch._assert_async((b >= 0).all())
    return torch.pow(a, b)


# By ufunc: what computes it, and whether NumPy may warn of what the elements are.
_UFUNCS = {
    "add": (torch.add, True),
    "subtract": (torch.sub, True),
    "multiply": (torch.mul, True),
    "divide": (torch.true_divide, True),
    "floor_divide": (_divide_integers(torch.floor_divide), True),
    "remainder": (_divide_integers(torch.remainder), True),
    "power": (_power, True),
    "negative": (torch.neg, False),
    "absolute": (torch.abs, False),
    "exp": (torch.exp, True),
    "exp2": (torch.exp2, True),
    "expm1": (torch.expm1, True),
    "log": (torch.log, True),
    "log2": (torch.log2, True),
    "log10": (torch.log10, True),
    "log1p": (torch.log1p, True),
    "sqrt": (torch.sqrt, True),
    "square": (_square, True),
    "reciprocal": (torch.reciprocal, True),
    "sin": (torch.sin, True),
    "cos": (torch.cos, True),
    "tan": (torch.tan, True),
    "arcsin": (torch.asin, True),
    "arccos": (torch.acos, True),
    "arctan": (torch.atan, False),
    "arctan2": (torch.atan2, False),
    "hypot": (torch.hypot, True),
    "sinh": (torch.sinh, True),
    "cosh": (torch.cosh, True),
    "tanh": (torch.tanh, False),
    "maximum": (torch.maximum, False),
    "minimum": (torch.minimum, False),
    "equal": (torch.eq, False),
    "not_equal": (torch.ne, False),
    "less": (torch.lt, False),
    "less_equal": (torch.le, False),
    "greater": (torch.gt, False),
    "greater_equal": (torch.ge, False),
    "logical_and": (torch.logical_and, False),
    "logical_or": (torch.logical_or, False),
    "logical_xor": (torch.logical_xor, False),
    "logical_not": (torch.logical_not, False),
    "bitwise_and": (torch.bitwise_and, False),
    "bitwise_or": (torch.bitwise_or, False),
    "bitwise_xor": (torch.bitwise_xor, False),
    "invert": (torch.bitwise_not, False),
    "isnan": (torch.isnan, False),
    "isinf": (torch.isinf, False),
    "isfinite": (torch.isfinite, False),
    "floor": (torch.floor, False),
    "ceil": (torch.ceil, False),
    "trunc": (torch.trunc, False),
    "rint": (torch.round, False),
}


def _made_ufunc(name):
    function, warns = _UFUNCS[name]

    def ufunc(*operands):
        return _ufunc(name, function, warns, operands)

    return ufunc


def _operator(name, reflected=False):
    function, warns = _UFUNCS[name]

    def operator(self, *others):
        return _ufunc(name, function, warns, (*others, self) if reflected else (self, *others))

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
    return _of(found)


def _reduced(function, of, axis, keepdims, warns=False):
    of = _array(of)
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
    return _of(found)


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
    given = _array(a).tensor
    if given.numel() == 0:
        refuse("a reduction of an array without elements")
    return _of(function(given.reshape(-1), 0) if axis is None else function(given, axis))


def argmax(a, axis=None):
    return _place(torch.argmax, a, axis)


def argmin(a, axis=None):
    return _place(torch.argmin, a, axis)


def cumsum(a, axis=None):
    given = _of_sums(_array(a).tensor)
    return make(_told(given.reshape(-1).cumsum(0) if axis is None else given.cumsum(axis), (given.sum(),)), False)


def clip(a, a_min=None, a_max=None):
    found = _array(a)
    if a_min is not None:
        found = _ufunc("maximum", torch.maximum, False, (found, a_min))
    return found if a_max is None else _ufunc("minimum", torch.minimum, False, (found, a_max))


def reshape(a, shape):
    found = _array(a).tensor.reshape(shape)
    return make(found, False)


def ravel(a):
    return reshape(a, -1)


def transpose(a, axes=None):
    given = _array(a).tensor
    if axes is None:
        axes = tuple(range(given.dim() - 1, -1, -1))
    return make(given.permute(axes), False)


def swapaxes(a, axis1, axis2):
    return make(_array(a).tensor.transpose(axis1, axis2), False)


def expand_dims(a, axis):
    if not isinstance(axis, int):
        refuse("numpy.expand_dims of several axes")
    return make(_array(a).tensor.unsqueeze(axis), False)


def squeeze(a, axis=None):
    given = _array(a).tensor
    return make(given.squeeze() if axis is None else given.squeeze(axis), False)


def _of_one_type(arrays):
    given = [_array(a).tensor for a in arrays]
    dtype = torch_type(result_type([numpy_type(t.dtype) for t in given]))
    if dtype is None:
        refuse("arrays of such types together")
    return [t.to(dtype) for t in given]


def concatenate(arrays, axis=0):
    if axis is None:
        refuse("numpy.concatenate without an axis")
    return make(torch.cat(_of_one_type(arrays), axis), False)


def stack(arrays, axis=0):
    return make(torch.stack(_of_one_type(arrays), axis), False)


def vstack(arrays):
    return make(torch.vstack(_of_one_type(arrays)), False)


def hstack(arrays):
    return make(torch.hstack(_of_one_type(arrays)), False)


def where(condition, x, y):
    condition = _array(condition).tensor
    kinds = [numpy_type(v.tensor.dtype) if is_array(v) else v for v in (x, y)]
    dtype = type_of_both(tuple(kinds))
    if dtype is None:
        refuse("numpy.where of such things")
    x, y = [v.tensor.to(dtype) if is_array(v) else torch.full((), plain(v), dtype=dtype) for v in (x, y)]
    return make(torch.where(condition.bool(), x, y), False)


def type_of_both(kinds):
    """PyTorch's type of an array of either: dtypes or plain numbers."""
    known = [isinstance(k, (np.dtype, np.generic, bool, int, float, complex)) for k in kinds]
    return _TYPES.get(np.result_type(*kinds)) if False not in known else None


def _product(name, function, a, b):
    given = [_array(a).tensor, _array(b).tensor]
    dtype = torch_type(result_type([numpy_type(t.dtype) for t in given]))
    if dtype is None or dtype in (torch.bool, torch.float16):
        refuse("numpy." + name + " of such types")
    given = [t.to(dtype) for t in given]
    found = function(*given)
    if found.is_floating_point():
        torch._assert_async((torch.isfinite(found).all() | ~torch.isfinite(given[0]).all() | ~torch.isfinite(given[1]).all()))
    return _of(found)


def matmul(a, b):
    return _product("matmul", torch.matmul, a, b)


def dot(a, b):
    dims = _array(a).tensor.dim(), _array(b).tensor.dim()
    if dims == (0, 0) or 0 in dims:
        return _ufunc("multiply", torch.mul, True, (a, b))
    if dims[1] > 2:
        refuse("numpy.dot of more dimensions")
    return _product("dot", torch.matmul, a, b)


def outer(a, b):
    return _product("outer", lambda x, y: torch.outer(x.reshape(-1), y.reshape(-1)), a, b)


def norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2) or (ord == 2 and not isinstance(axis, int)):
        refuse("numpy.linalg.norm of another kind")
    given = _array(x)
    if given.tensor.dtype in (torch.float16, torch.complex64, torch.complex128):
        refuse("numpy.linalg.norm of such a type")

    def root(t, dims, keep):
        t = _of_means(t)
        return (t * t).sum(dims, keep).sqrt()

    return _reduced(root, given, axis, keepdims, warns=True)


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


def _filled_like(function):
    def filled(a, dtype=None):
        given = _array(a).tensor
        return make(function(given, dtype=given.dtype if dtype is None else torch_type(dtype)), False)

    return filled


def array(value, dtype=None, copy=True):
    found = of_tensor(value) if not is_array(value) and isinstance(value, torch.Tensor) else _array(value)
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


def made_for_real(name, arguments, keywords):
    """What NumPy makes of numbers, as a tensor: for the interpreter, when it compiles."""
    made = getattr(np, name)(*arguments, **keywords)
    return torch.from_numpy(made) if made.dtype in _TYPES else None


def _made(name):
    def maker(*arguments, **keywords):
        return make(known(name, arguments, keywords), False)

    return maker


def known(name, arguments, keywords):
    """A copy of made_for_real(). For the interpreter, which does not come here."""
    raise NotImplementedError(name)


# By NumPy's function: what is read in its place when it is given an array; of the second, whatever it is given.
FUNCTIONS = {getattr(np, name): _made_ufunc(name) for name in _UFUNCS}
FUNCTIONS.update(
    (getattr(np, f.__name__), f)
    for f in (
        sum, mean, var, std, max, min, any, all, prod, argmax, argmin, cumsum, clip, reshape, ravel, transpose, swapaxes,
        expand_dims, squeeze, concatenate, stack, vstack, hstack, where, dot, outer,
    )
)  # fmt: skip
FUNCTIONS.update({np.amax: max, np.amin: min, np.linalg.norm: norm, np.matmul: matmul})
FUNCTIONS.update({np.zeros_like: _filled_like(torch.zeros_like), np.ones_like: _filled_like(torch.ones_like)})
MAKERS = {np.zeros: _filled(torch.zeros), np.ones: _filled(torch.ones), np.full: full, np.array: array, np.asarray: asarray}
MAKERS.update({getattr(np, name): _made(name) for name in ("arange", "linspace", "eye", "geomspace", "logspace", "hanning", "tri")})
# By PyTorch's function.
TENSORS = {"torch.from_numpy": as_tensor, "torch.as_tensor": as_tensor, "torch.asarray": as_tensor, "torch.tensor": new_tensor}
