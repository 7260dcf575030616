"""Functions of PyTorch's that ask for numbers on the way, of sizes that are expressions: the operators that they call. What is
recorded here is compared with what PyTorch recorded for the first sizes."""

import operator
from fractions import Fraction
from functools import cache

import torch
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes, _pop_mode_temporarily

aten = torch.ops.aten
# By mode and dimensions of the input: the operator, and whether it takes align_corners.
OPERATORS = {
    ("nearest", 3): (aten.upsample_nearest1d.default, False),
    ("nearest", 4): (aten.upsample_nearest2d.default, False),
    ("nearest", 5): (aten.upsample_nearest3d.default, False),
    ("nearest-exact", 3): (aten._upsample_nearest_exact1d.default, False),
    ("nearest-exact", 4): (aten._upsample_nearest_exact2d.default, False),
    ("linear", 3): (aten.upsample_linear1d.default, True),
    ("bilinear", 4): (aten.upsample_bilinear2d.default, True),
    ("trilinear", 5): (aten.upsample_trilinear3d.default, True),
    ("bicubic", 4): (aten.upsample_bicubic2d.default, True),
}
SMOOTH = {"bilinear": aten._upsample_bilinear2d_aa.default, "bicubic": aten._upsample_bicubic2d_aa.default}  # antialias
POOLS = {3: functional.adaptive_avg_pool1d, 4: functional.adaptive_avg_pool2d, 5: functional.adaptive_avg_pool3d}
MOST = 1 << 16  # of a size that is scaled by a factor which floats round


@cache
def ratio_of(factor):
    """By which int(size * factor) is exact, as floats compute it; whether for sizes up to MOST alone."""
    exact = Fraction(factor)
    if 0 < exact.numerator < 1 << 20 and exact.denominator < 1 << 20:
        return exact, False
    near = exact.limit_denominator(1000)
    if near <= 0 or any(int(n * factor) != n * near.numerator // near.denominator for n in range(MOST + 1)):
        raise NotImplementedError("a factor that floats round")
    return near, True


def scaled(size, factor):
    """int(size * factor)."""
    ratio, is_bounded = ratio_of(factor)
    if is_bounded and not size <= MOST:
        raise NotImplementedError("a size whose product floats may round")
    return size * ratio.numerator // ratio.denominator


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    if (size is None) == (scale_factor is None):
        raise NotImplementedError("another way of resampling")
    dims = input.dim() - 2

    def each(value):
        return list(value) if isinstance(value, (list, tuple)) else [value] * dims

    factors = [None] * dims if scale_factor is None else [float(f) for f in each(scale_factor)]
    sizes = each(size) if size is not None else [scaled(n, f) for n, f in zip(input.shape[2:], factors)]
    if recompute_scale_factor:
        factors = [None] * dims
    if mode == "area" and not antialias and input.dim() in POOLS:
        return POOLS[input.dim()](input, sizes)
    resize, corners = OPERATORS.get((mode, input.dim()), (None, False))
    if antialias:
        resize, corners = SMOOTH.get(mode) if input.dim() == 4 else None, True
    if resize is None:
        raise NotImplementedError("another way of resampling")
    return resize(input, sizes, *([bool(align_corners)] if corners else []), *factors)


@cache
def takes_negative_places():
    """Whether this PyTorch counts places below zero from the end."""
    with _disable_current_modes():
        try:
            return torch.take_along_dim(torch.ones(1), torch.tensor([-1]), 0).item() == 1
        except RuntimeError:
            return False


def take_along_dim(input, indices, dim=None):
    if dim is None:
        return input.view(-1).gather(0, indices.view(-1))
    if indices.dim() != input.dim() or indices.dtype != torch.int64:
        raise NotImplementedError("other dimensions")

    def broadcast(of, other):
        """As large as the other where it has one element, but along `dim`."""
        along = dim % of.dim()
        return of.expand([n if d == along or n != 1 else m for d, (n, m) in enumerate(zip(of.shape, other.shape))])

    places, values = broadcast(indices, input), broadcast(input, indices)
    return values.gather(dim, places.remainder(input.shape[dim]) if takes_negative_places() else places)


def kron(input, other):
    """Each element of the one times all of the other: rows of blocks."""
    dims = max(input.dim(), other.dim())
    a, b = ([1] * (dims - of.dim()) + list(of.shape) for of in (input, other))
    left = aten._unsafe_view.default(input, [n for size in a for n in (size, 1)])
    right = aten._unsafe_view.default(other, [n for size in b for n in (1, size)])
    return aten._unsafe_view.default(left * right, [n * m for n, m in zip(a, b)])


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """As PyTorch does where a gradient is wanted: rows are images of one line."""
    if return_indices or not (torch.is_grad_enabled() and input.requires_grad):
        return functional.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def one(value):
        return value[0] if isinstance(value, (list, tuple)) else value

    window, rest = one(kernel_size), one(stride if stride else kernel_size)
    image = input.unsqueeze(-2)
    found = aten.max_pool2d_with_indices(image, [1, window], [1, rest], [0, one(padding)], [1, one(dilation)], ceil_mode)
    values, _ = (each.squeeze(-2) for each in found)
    return values


def linspace(start, end, steps, *, dtype=None, **options):
    """The operator takes a plain number of steps: it is given to the recording itself."""
    if options or not isinstance(steps, torch.SymInt) or isinstance(start, torch.Tensor) or isinstance(end, torch.Tensor):
        return torch.linspace(start, end, steps, dtype=dtype, **options)
    named = {"dtype": dtype} if dtype is not None else {}
    named |= {"device": torch.device("cpu"), "pin_memory": False}
    with _pop_mode_temporarily() as recording:
        return recording.__torch_dispatch__(aten.linspace.default, (), (start, end, steps), named)


def getitem(of, index):
    """Of indices of which one is a size: dimension by dimension, as PyTorch reads them."""
    given = index if isinstance(index, tuple) else (index,)
    plain = all(isinstance(each, (int, torch.SymInt, slice)) and not isinstance(each, bool) for each in given)
    if not plain or not any(isinstance(each, torch.SymInt) for each in given) or not isinstance(of, torch.Tensor):
        return of[index]
    dim = 0
    for each in given:
        if isinstance(each, slice):
            of = of if each == slice(None) else of[(slice(None),) * dim + (each,)]
            dim += 1
        else:
            of = of.select(dim, each)
    return of


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None, return_complex=None, align_to_window=None):  # fmt: skip
    """Real signals in windows of one length. PyTorch's own asks for the numbers of their sizes."""
    dims, rest = input.dim(), n_fft // 4 if hop_length is None else hop_length
    if win_length not in (None, n_fft) or align_to_window or dims > 2 or input.is_complex() or not return_complex:
        raise NotImplementedError("another transform of windows")
    if center:
        pad = n_fft // 2
        input = functional.pad(input.view([1] * (3 - dims) + list(input.size())), [pad, pad], pad_mode)
        input = input.view(input.shape[-dims:])
    rows = input if dims == 2 else input.unsqueeze(0)
    count = 1 + (rows.shape[1] - n_fft) // rest
    windows = rows.as_strided((rows.shape[0], count, n_fft), (rows.stride(0), rest * rows.stride(1), rows.stride(1)))
    if window is not None:
        windows = windows.mul(window)
    found = aten._fft_r2c.default(windows, [2], 1 if normalized else 0, onesided is not False).transpose(1, 2)
    return found if dims == 2 else found.squeeze(0)


BY_FUNCTION = {
    torch.stft: stft,
    functional.interpolate: interpolate,
    functional.max_pool1d: max_pool1d,
    torch.max_pool1d: max_pool1d,
    torch.linspace: linspace,
    torch.take_along_dim: take_along_dim,
    torch.Tensor.take_along_dim: take_along_dim,
    torch.kron: kron,
    operator.getitem: getitem,
}
