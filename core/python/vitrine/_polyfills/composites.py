"""Functions of PyTorch's that ask for numbers on the way, of sizes that are expressions: the operators that they call. What is
recorded here is compared with what PyTorch recorded for the first sizes."""

import operator

import torch
from torch.nn import functional
from torch.utils._python_dispatch import _pop_mode_temporarily

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
MOST = 1 << 20  # of numerator and denominator: products with sizes are exact


def scaled(size, factor):
    """int(size * factor), as floats compute it."""
    numerator, denominator = float(factor).as_integer_ratio()
    if not 0 < numerator < MOST or denominator >= MOST:
        raise NotImplementedError("a factor that floats round")
    return size * numerator // denominator


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    resize, corners = OPERATORS.get((mode, input.dim()), (None, False))
    if resize is None or antialias or recompute_scale_factor or (size is None) == (scale_factor is None):
        raise NotImplementedError("another way of resampling")
    dims = input.dim() - 2

    def each(value):
        return list(value) if isinstance(value, (list, tuple)) else [value] * dims

    sizes = each(size) if size is not None else [scaled(n, f) for n, f in zip(input.shape[2:], each(scale_factor))]
    factors = [None] * dims if scale_factor is None else [float(f) for f in each(scale_factor)]
    return resize(input, sizes, *([bool(align_corners)] if corners else []), *factors)


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
    operator.getitem: getitem,
}
