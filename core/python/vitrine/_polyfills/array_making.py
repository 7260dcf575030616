"""Arrays of what NumPy takes for one: numbers, lists of them, arrays in a row."""

import torch

from vitrine._polyfills.array_types import numpy_type, plain, result_type, torch_type, type_of_number
from vitrine._polyfills.array_words import is_array, make, refuse


def made_of(tensor):
    return make(tensor, tensor.dim() == 0)


def as_array(value):
    """An array of what NumPy takes for one: arrays, numbers, lists of these."""
    if is_array(value):
        return value
    if isinstance(value, torch.Tensor):
        refuse("a tensor is given to NumPy")
    if isinstance(value, (list, tuple)):
        rows = [as_array(each) for each in value]
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


def of_one_type(arrays):
    given = [as_array(a).tensor for a in arrays]
    dtype = torch_type(result_type([numpy_type(t.dtype) for t in given]))
    if dtype is None:
        refuse("arrays of such types together")
    return [t.to(dtype) for t in given]


def stack(arrays, axis=0):
    return make(torch.stack(of_one_type(arrays), axis), False)
