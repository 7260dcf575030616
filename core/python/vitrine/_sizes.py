"""Marks on tensors: which of their sizes may change from call to call. They are the attributes that
``torch._dynamo.mark_dynamic`` and ``mark_static`` leave, so that either's marks hold for both."""

from typing import NamedTuple


class _Range(NamedTuple):
    dim: int
    min: int
    max: int


_UNBOUNDED = (1 << 63) - 1


def _dims(tensor, dims) -> list[int]:
    out = []
    for dim in [dims] if isinstance(dims, int) else list(dims):
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"vitrine: dimension {dim} of a tensor with {tensor.dim()}")
        out.append(dim % tensor.dim())
    return out


def _members(tensor, name: str) -> set:
    if not hasattr(tensor, name):
        setattr(tensor, name, set())
    return getattr(tensor, name)


def mark_dynamic(tensor, dims, *, min: int | None = None, max: int | None = None) -> None:
    """Sizes ``dims`` (an int or several) of ``tensor`` are compiled as symbols from the first call on.

    ``min`` and ``max`` are the smallest and largest size that will come, both included. A call whose size lies outside
    raises ``ValueError`` when it has to be compiled. Sizes 0 and 1 mean something else than others (empty, broadcast) and
    are compiled apart.
    """
    for dim in _dims(tensor, dims):
        size = tensor.size(dim)
        if (min is not None and size < min) or (max is not None and size > max):
            raise ValueError(f"vitrine.mark_dynamic: size {dim} is {size}, outside of [{min}, {max}]")
        _members(tensor, "_dynamo_dynamic_indices").add(dim)
        if min is None and max is None:
            continue
        ranges = _members(tensor, "_dynamo_dynamic_range")
        for old in [r for r in ranges if r.dim == dim]:
            ranges.discard(old)
        ranges.add(_Range(dim, 0 if min is None else min, _UNBOUNDED if max is None else max))


def mark_static(tensor, dims=None) -> None:
    """Sizes ``dims`` of ``tensor`` (all when left out) are fixed: another size is compiled anew."""
    for dim in _dims(tensor, range(tensor.dim()) if dims is None else dims):
        _members(tensor, "_dynamo_static_indices").add(dim)
