"""Marks on tensors: which of their sizes may change from call to call. They are the attributes that the functions of the
same names of ``torch._dynamo`` leave, so that either's marks hold for both. A negative dimension counts from the end."""

import math
from typing import NamedTuple

import torch

from vitrine._errors import ConstraintViolationError, caught_as_pytorchs


class _Range(NamedTuple):
    dim: int
    min: int | None
    max: int | None


def _dims(tensor, index) -> list[int]:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"vitrine: sizes of a tensor are marked, not of {type(tensor).__name__}")
    if isinstance(index, bool) or not isinstance(index, (int, list, tuple)):
        raise TypeError(f"vitrine: dimensions are an int, a list or a tuple, not {index!r}")
    out = []
    for dim in [index] if isinstance(index, int) else index:
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"vitrine: dimension {dim} of a tensor with {tensor.dim()}")
        out.append(dim % tensor.dim())
    return out


def _kept(tensor, name: str, kind: type):
    """The set or dict at an attribute of the tensor, made when it is missing."""
    if not isinstance(tensor.__dict__.get(name), kind):
        setattr(tensor, name, kind())
    tensor._has_dynamo_dim_marking = True
    return getattr(tensor, name)


def _check_range(tensor, dim: int, min: int | None, max: int | None) -> None:
    size = tensor.size(dim)
    if (min is not None and size < min) or (max is not None and size > max):
        low, high = "-inf" if min is None else min, "inf" if max is None else max
        raise caught_as_pytorchs(ConstraintViolationError)(f"size({dim})", f"{size} not in range [{low}, {high}]")


def mark_dynamic(tensor, index, *, hint_override=None, min=None, max=None, specialize_on=None) -> None:
    """Sizes ``index`` (an int, or a list of them) of ``tensor`` are compiled as symbols from the first call on.

    ``min`` and ``max`` are the smallest and largest size that will come, both included. A size outside of them, a program
    that needs one particular size, and one that tells sizes within them apart raise :class:`ConstraintViolationError`
    (:func:`maybe_mark_dynamic` allows all that). Sizes 0 and 1 mean something else than others (empty, broadcast) and are
    compiled apart. ``hint_override`` and ``specialize_on`` are kept for ``torch.compile``: here each size has code of its
    own where that is better.
    """
    for dim in _dims(tensor, index):
        _check_range(tensor, dim, min, max)
        _kept(tensor, "_dynamo_dynamic_indices", set).add(dim)
        ranges = _kept(tensor, "_dynamo_dynamic_range", set)
        ranges.difference_update([r for r in ranges if r.dim == dim])
        ranges.add(_Range(dim, min, max))
        hints = _kept(tensor, "_dynamo_hint_overrides", dict)
        if hint_override:
            hints[dim] = hint_override
        _kept(tensor, "_specialize_on", dict)[dim] = list(specialize_on or [])


def maybe_mark_dynamic(tensor, index) -> None:
    """As :func:`mark_dynamic`, but the program may fix the sizes: then other ones are compiled anew."""
    for dim in _dims(tensor, index):
        _kept(tensor, "_dynamo_weak_dynamic_indices", set).add(dim)


def mark_unbacked(
    tensor, index, hint_override=None, strict=False, specialize_on=None, shape_id=None, min=None, max=None
) -> None:
    """As :func:`maybe_mark_dynamic`; with ``strict``, fixing a size is an error.

    ``min`` and ``max`` are as for :func:`mark_dynamic`; sizes that were given the same ``shape_id`` are equal, and raise
    :class:`ConstraintViolationError` where they are not.
    """
    for dim in _dims(tensor, index):
        _check_range(tensor, dim, min, max)
        if strict:
            _kept(tensor, "_dynamo_strict_unbacked_indices", set).add(dim)
            continue
        hints = _kept(tensor, "_dynamo_hint_overrides", dict)
        if hint_override:
            hints[dim] = hint_override
        if min is not None or max is not None:
            _kept(tensor, "_dynamo_unbacked_bounds", dict)[dim] = (min, max)
        if shape_id is not None:
            _kept(tensor, "_dynamo_shape_ids", dict)[dim] = shape_id
        _kept(tensor, "_specialize_on", dict)[dim] = list(specialize_on or [])
        _kept(tensor, "_dynamo_unbacked_indices", set).add(dim)


def mark_static(tensor, index=None):
    """Sizes ``index`` of ``tensor`` (all when left out) are fixed: another size is compiled anew. A mark as dynamic wins.

    Given a class of modules, the ints among the attributes of its instances are: as a decorator, ``@mark_static``.
    """
    if isinstance(tensor, type) and issubclass(tensor, torch.nn.Module):
        tensor._dynamo_marked_static = True
        return tensor
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"vitrine.mark_static takes a tensor or a class of modules, not {tensor!r}")
    for dim in _dims(tensor, list(range(tensor.dim())) if index is None else index):
        _kept(tensor, "_dynamo_static_indices", set).add(dim)


def resized(tensors: list, sizes: list) -> list | None:
    """Tensors like these, without values, of other sizes (by tensor a tuple with -1 for what stays, or None), that lie in
    memory as these do. None: some of them share memory, which tensors of other sizes would share otherwise, or there are
    gigabytes of a GPU to be had for them."""
    memory = [t.untyped_storage()._cdata for t in tensors]
    bytes_there = sum(t.element_size() * math.prod(new) for t, new in zip(tensors, sizes) if new and not t.is_cpu)
    if len(set(memory)) < len(memory) or bytes_there > 2**30:
        return None
    return [t if new is None else _of_size(t, [n if m < 0 else m for n, m in zip(t.shape, new)]) for t, new in zip(tensors, sizes)]


def _of_size(tensor, sizes: list):
    strides, dense, dense_new = list(tensor.stride()), 1, 1
    for d in sorted(range(tensor.dim()), key=lambda d: (tensor.stride(d), tensor.size(d))):
        if tensor.stride(d) == 0:
            continue
        if tensor.stride(d) != dense:  # a gap
            dense, dense_new = tensor.stride(d), max(tensor.stride(d), dense_new)
        strides[d], dense, dense_new = dense_new, dense * tensor.size(d), dense_new * sizes[d]
    made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device)
    return made.requires_grad_(tensor.requires_grad)


_ROUNDING = {"int": int, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "round": round}


def rounded(how: str, parts) -> int:
    """What ``how`` (``int``, ``floor``, ...) makes of a float of sizes. parts: a number, or a function and the parts of what it
    is given: ``(operator.mul, (float, 7), 0.3)``. Raises what Python raises."""
    return _ROUNDING[how](_float_of(parts))


def compared(parts) -> bool:
    """The answer to a comparison of which a float of sizes is a side; parts: as of :func:`rounded`."""
    return bool(_float_of(parts))


def _float_of(parts):
    if not isinstance(parts, tuple):
        return parts
    function, *given = parts
    return function(*map(_float_of, given))
