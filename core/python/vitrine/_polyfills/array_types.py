"""NumPy's element types and PyTorch's, and real arrays: what the interpreter asks when it compiles."""

import numpy as np
import torch

_TYPES = {
    np.dtype(name): getattr(torch, "bool" if name == "?" else np.dtype(name).name)
    for name in ("?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
}
_NUMPY_TYPES = {value: key for key, value in _TYPES.items()}


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


def type_of_number(value):
    """PyTorch's element type of the array that NumPy makes of a number."""
    return _TYPES.get(np.asarray(value).dtype) if isinstance(value, (bool, int, float, complex, np.generic)) else None


def plain(value):
    """A number of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def result_type(dtypes):
    return np.result_type(*dtypes)


def type_of_both(kinds):
    """PyTorch's type of an array of either: dtypes or plain numbers."""
    known = [isinstance(k, (np.dtype, np.generic, bool, int, float, complex)) for k in kinds]
    return _TYPES.get(np.result_type(*kinds)) if False not in known else None


def tensor_behind(array):
    """A tensor over a real array's memory, or None: of a type that PyTorch lacks, read-only, or with a negative stride."""
    if type(array) is not np.ndarray or array.dtype not in _TYPES or not array.flags.writeable:
        return None
    return None if [None for stride in array.strides if stride < 0] else torch.from_numpy(array)


def leave(tensor, scalar):
    """What the program gets of an array."""
    array = tensor.numpy()
    return array[()] if scalar else array


def made_for_real(name, arguments, keywords):
    """What NumPy makes of numbers, as a tensor: for the interpreter, when it compiles."""
    made = getattr(np, name)(*arguments, **keywords)
    return torch.from_numpy(made) if made.dtype in _TYPES else None
