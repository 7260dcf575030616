"""How far two tensors of one shape are apart, block by block: they may be large, and in float64 they are twice as large.

Units in the last place say nothing of a value that is next to zero beside the tensor's others: what rounds away there is
millions of them. Where such values differ, they are in no largest distance and in no histogram.
"""

import torch

BLOCK = 1 << 21  # elements
NEAR_ZERO = 2.0**-10  # of the tensor's largest value
_BITS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
HAS_PLACES = frozenset(_BITS)


def blocks(*tensors):
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, flat[0].numel(), BLOCK):
        yield tuple(tensor[start : start + BLOCK] for tensor in flat)


def errors(found: torch.Tensor, exact: torch.Tensor) -> tuple[float, float]:
    """How far it is from `exact` where that is finite: the largest distance and the root mean square."""
    largest, squares, count = [], 0.0, 0
    for a, b in blocks(found, exact):
        apart = (a.to(b.dtype) - b).abs()[torch.isfinite(b)]
        if apart.numel():
            largest.append(apart.max())
            squares, count = squares + apart.square().sum(), count + apart.numel()
    return float(torch.stack(largest).max()), float((squares / count).sqrt())


def absolute(x: torch.Tensor, y: torch.Tensor) -> tuple[float, float, float]:
    """The largest and the mean distance where it is finite, and the largest relative to x."""
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    largest, total, count, relative = 0.0, 0.0, 0, 0.0
    for a, b in blocks(x, y):
        a = a.to(wide)
        apart, scale = (a - b.to(wide)).abs(), a.abs()
        finite = torch.isfinite(apart)
        some = apart[finite]
        if some.numel():
            largest, total, count = max(largest, float(some.max())), total + float(some.sum()), count + some.numel()
        ratios = (apart / scale)[finite & (scale > 0)]
        if ratios.numel():
            relative = max(relative, float(ratios.max()))
    return largest, total / count if count else 0.0, relative


def largest_finite(x: torch.Tensor) -> float:
    parts = (a[torch.isfinite(a)] for (a,) in blocks(x))
    return max((float(part.abs().max()) for part in parts if part.numel()), default=0.0)


def distribution(x: torch.Tensor, classes: int) -> dict:
    """Least, largest, average and deviation of the finite elements, and how many are in each of so many equal parts of what
    lies between: columns of the table `numerics`. Nothing where no element is finite, of complex numbers and of a byte's floats."""
    if x.dtype.is_complex or (x.dtype.is_floating_point and x.dtype.itemsize == 1):
        return {}
    finite = [part for (a,) in blocks(x) if (part := a[torch.isfinite(a)]).numel()]
    if not finite:
        return {}
    least, largest = (float(f(torch.stack([f(part) for part in finite]))) for f in (torch.min, torch.max))
    count = sum(part.numel() for part in finite)
    average = sum(float(part.sum(dtype=torch.float64)) for part in finite) / count
    squares = sum(float((part.to(torch.float64) - average).square().sum()) for part in finite)
    counts = [0] * classes
    for part in finite:
        place = ((part.to(torch.float64) - least) * (classes / (largest - least)) if largest > least else torch.zeros_like(part, dtype=torch.float64)).long()
        counts = [a + b for a, b in zip(counts, torch.bincount(place.clamp(0, classes - 1), minlength=classes).tolist())]
    return {"least": least, "largest": largest, "average": average, "deviation": (squares / count) ** 0.5, "distribution": ",".join(map(str, counts))}


def in_last_places(x: torch.Tensor, y: torch.Tensor):
    """By block: the distances in units in the last place of what is finite on both sides or the same, those next to zero
    left out; and how many are finite on one side only. Nothing of a type that has no such units."""
    bits = _BITS.get(x.dtype)
    if bits is None:
        return
    least = NEAR_ZERO * largest_finite(x)

    def ordered(t):
        raw = t.contiguous().view(bits).to(torch.int64)
        return torch.where(raw < 0, torch.iinfo(bits).min - raw, raw)

    for a, b in blocks(x, y):
        both = torch.isfinite(a) & torch.isfinite(b)
        same = both | (a == b) | (a.isnan() & b.isnan())
        steps = torch.where(both, (ordered(a) - ordered(b)).abs(), 0)
        counted = same & ((steps == 0) | (torch.maximum(a.abs(), b.abs()) >= least))
        yield steps[counted], int((~same).sum())


def last_places(x: torch.Tensor, y: torch.Tensor, ends: tuple[int, ...] = ()) -> tuple[int, list[int]]:
    """The largest distance in units in the last place, 0 where there is none, too. With `ends`, how many elements are up to
    each of these distances, further, and finite on one side only; [] of a type that has no such units."""
    largest, out = 0, None
    for steps, one_sided in in_last_places(x, y):
        largest = max(largest, int(steps.max()) if steps.numel() else 0)
        if ends:
            counts = torch.bincount(torch.bucketize(steps, torch.tensor(ends, device=steps.device)), minlength=len(ends) + 1).tolist()
            out = [a + b for a, b in zip(out or [0] * (len(ends) + 2), [*counts, one_sided])]
    return largest, out or []


def histogram(x: torch.Tensor, y: torch.Tensor, ends: tuple[int, ...]) -> list[int]:
    return last_places(x, y, ends)[1]
