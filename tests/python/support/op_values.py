"""Other values and other layouts for the tensors of a call: the ends of floating types, numbers whose squares overflow or
vanish, tensors with holes. `VALUES` and `LAYOUTS` name them."""

import itertools
import math
import zlib

import torch
from torch.utils._pytree import tree_map

PLAIN = (0.0, 1.0, 0.5, 2.0, 2.5, 3.0, 20.5, 88.6, 104.5, math.inf, 1e-3, 1e7, 0.3, 100.25)


def extremes(dtype):
    """NaN, infinities, both zeros, the largest and the smallest numbers of a type, and some between."""
    if dtype.is_floating_point:
        f = torch.finfo(dtype)
        ends = [f.max, f.tiny, f.tiny / 4, f.tiny * f.eps, f.eps, 1 + f.eps]
        values = [s * v for v in (*PLAIN, *ends) for s in (1, -1)] + [math.nan]
        return torch.tensor(values, dtype=torch.float64).to(dtype)
    i = torch.iinfo(dtype)
    return torch.tensor([0, 1, 2, 3, 7, 63, 100, i.max, i.max - 1, i.min, i.min + 1, *([-1, -2, -7] if i.min else [200])], dtype=dtype)


def differences(expected, found):
    """Where two results differ: in a NaN, an infinity, the sign of a zero, or by more than rounding."""
    if not expected.dtype.is_floating_point:
        return expected != found
    x, y, f = expected.double(), found.double(), torch.finfo(expected.dtype)
    special = (x.isnan() != y.isnan()) | ((x.isinf() | y.isinf()) & (x != y) & ~x.isnan())
    zeros = (x == 0) & (y == 0) & (x.signbit() != y.signbit())
    far = ((x - y).abs() > 2 * f.tiny) & ((x - y).abs() > 200 * f.eps * x.abs().clamp(max=f.max)) & x.isfinite()
    return special | zeros | far


def _ends(t, generator):
    """Every number an extreme one."""
    values = extremes(t.dtype)
    return values[torch.randint(len(values), t.shape, generator=generator)]


def _few(t, generator):
    """One in eight of them."""
    return torch.where(torch.rand(t.shape, generator=generator) < 0.125, _ends(t, generator), t.detach())


def _scaled(part):
    """As they are, but with an exponent of that part of what the type has."""
    return lambda t, generator: (t.detach().double() * math.exp2(math.log2(torch.finfo(t.dtype).max) * part)).to(t.dtype)


VALUES = {"ends": _ends, "few": _few, "large": _scaled(0.6), "huge": _scaled(0.96), "small": _scaled(-0.6), "tiny": _scaled(-1.02)}


def _holes(t):
    wide = torch.empty((*t.shape, 2), dtype=t.dtype)
    wide[..., 1] = 7
    wide[..., 0] = t
    return wide[..., 0]


def _turned(t):
    return t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t


def _shifted(t):
    return torch.cat([t.new_zeros(3), t.contiguous().view(-1)])[3:].view(t.shape)


def _channels_last(t):
    return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t


LAYOUTS = {"holes": _holes, "turned": _turned, "shifted": _shifted, "channels_last": _channels_last}
MIXED = "mixed"  # each tensor of a call in another one of these


def _each_tensor(sample, change):
    def one(t):
        if not isinstance(t, torch.Tensor) or t.layout != torch.strided or t.is_quantized or t.is_conj() or t.is_neg():
            return t
        return change(t)

    return tree_map(one, (sample.input, sample.args, sample.kwargs))


def _whole_ends(t, generator):
    """Every integer an extreme one, but none is -1: eager's process ends where the smallest is divided by it."""
    values = extremes(t.dtype)
    values = values[values != -1] if t.dtype.is_signed else values
    return values[torch.randint(len(values), t.shape, generator=generator)]


def with_values(sample, name, seed, whole=False):
    """(input, args, kwargs) with other numbers in all tensors of floating types, and for "ends" in those of integers if
    `whole`; the same at each call."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name} {seed}".encode()))

    def change(t):
        if whole and name == "ends" and not (t.is_floating_point() or t.is_complex() or t.dtype is torch.bool):
            return torch.empty_like(t).copy_(_whole_ends(t, generator))
        if not t.is_floating_point() or t.dtype.itemsize < 2:
            return t
        return torch.empty_like(t, requires_grad=False).copy_(VALUES[name](t, generator)).requires_grad_(t.requires_grad)

    return _each_tensor(sample, change)


def with_layout(sample, name):
    """(input, args, kwargs) with all tensors laid out otherwise."""
    kinds = itertools.cycle(LAYOUTS.values() if name == MIXED else [LAYOUTS[name]])
    return _each_tensor(sample, lambda t: next(kinds)(t.detach()).requires_grad_(t.requires_grad))
