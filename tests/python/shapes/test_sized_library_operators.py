"""Operators of PyTorch's own libraries at one size after another: factors, transforms, complex numbers, special functions."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine
from tests.python.support.any_size import same_at_any_size
from tests.python.support.sweep import part

rand = torch.randn


def of(*sizes):
    return lambda n: [rand([n if s == "n" else s for s in sizes])]


def two(first, second):
    return lambda n: of(*first)(n) + of(*second)(n)


def square(n, *batch):
    """Far from singular."""
    return rand(*batch, n, n) * 0.1 + torch.eye(n) * 2


def definite(n, *batch):
    a = square(n, *batch)
    return a @ a.mT


def spectral(x):
    """A layer of a Fourier neural operator: few frequencies are kept."""
    f = torch.fft.rfft2(x)
    return torch.fft.irfft2(f * f.abs().reciprocal().clamp(max=2), s=x.shape[-2:])


def mixed(x):
    return torch.fft.fft2(x.to(torch.complex64)).real


def weighted(x):
    f = torch.fft.rfft(x, dim=1)
    return torch.fft.irfft(f * torch.arange(f.shape[1])[:, None], n=x.shape[1], dim=1)


def turned(x):
    return torch.view_as_real(torch.polar(x.exp(), x) * torch.complex(x, x * 2))


def below_or_above(x):
    scaled = F.interpolate(x, scale_factor=1.7, mode="bilinear"), F.interpolate(x, scale_factor=1 / 3 + 1)
    return *scaled, F.interpolate(x, size=(x.shape[2] + 1, 5), mode="area"), F.interpolate(x, scale_factor=1.5, mode="bilinear", antialias=True)


def programs():
    """By name: what runs, and its inputs for a size; which of these have no gradient."""
    torch.manual_seed(0)
    return {
        "vector @ matrix": (lambda v, a: v @ a, two(("n",), ("n", 5))),
        "matrix @ vector": (lambda a, v: a @ v, two((5, "n"), ("n",))),
        "vectors @ matrix": (lambda v, a: torch.matmul(v, a), two(("n",), (3, "n", 4))),
        "addmv": (torch.addmv, lambda n: [rand(n), rand(n, 3), rand(3)]),
        "addr": (torch.addr, lambda n: [rand(n, 4), rand(n), rand(4)]),
        "addbmm": (torch.addbmm, lambda n: [rand(n, 3), rand(2, n, 4), rand(2, 4, 3)]),
        "vdot, dist": (lambda a, b: (torch.vdot(a, b), torch.dist(a, b)), two(("n",), ("n",))),
        "block_diag": (lambda a, b: torch.block_diag(a, b, a[0]), two(("n", 3), (2, "n")), (0, 1)),
        "kron": (torch.kron, two(("n", 2), (3, "n"))),
        "bilinear": (nn.Bilinear(4, 3, 2), two(("n", 4), ("n", 3))),
        "solve": (lambda b, a: torch.linalg.solve(a, b.mT), lambda n: [rand(3, n), square(n)]),
        "solve a vector": (lambda b, a: torch.linalg.solve(a, b), lambda n: [rand(n), square(n)]),
        "solve from the right": (lambda b, a: torch.linalg.solve(a, b, left=False), lambda n: [rand(2, 3, n), square(n, 2)]),
        "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, torch.linalg.cholesky(a)), lambda n: [rand(n, 3), definite(n)]),
        "det": (torch.det, lambda n: [square(n)]),
        "slogdet": (torch.slogdet, lambda n: [square(n, 2)]),
        "qr": (lambda a: [m.abs() for m in torch.linalg.qr(a)], lambda n: [rand(n + 2, n)], (0,)),
        "singular values": (lambda a: torch.linalg.svdvals(a), lambda n: [rand(n, 4)]),
        "svd": (lambda a: [m.abs() for m in torch.linalg.svd(a, full_matrices=False)], lambda n: [rand(n + 2, 2)], (0,)),
        "eigenvalues": (lambda a: torch.linalg.eigvalsh(a), lambda n: [definite(n)]),
        "pinv": (torch.linalg.pinv, lambda n: [rand(n + 3, n)]),
        "lu": (torch.linalg.lu, lambda n: [square(n)]),
        "fft2": (mixed, of(2, "n", 5)),
        "rfft2": (spectral, of(2, "n", 6)),
        "rfft, another dim": (weighted, of(2, "n", 3)),
        "fftn of columns": (lambda x: torch.fft.fftn(x.mT.to(torch.complex64)).abs(), of(3, "n", 4)),
        "complex": (turned, of("n", 3)),
        "conj": (lambda x: (torch.fft.fft(x).conj() * torch.fft.fft(x)).real, of(2, "n")),
        "angle": (lambda x: torch.fft.rfft(x).angle().cos(), of(2, "n"), (0,)),
        "stft": (lambda x: torch.stft(x, 8, hop_length=3, window=torch.hann_window(8), return_complex=True).abs(), lambda n: [rand(2, n + 8)]),
        "sort of columns": (lambda x: x.mT.sort(1), of(3, "n")),
        "quantile": (lambda x: x.quantile(0.3, dim=0), of("n", 3)),
        "take_along_dim": (lambda x: torch.take_along_dim(x, x.argsort(0), 0), of("n", 3)),
        "take": (lambda x: x.take(torch.tensor([0, 3, 1])), of("n", 3)),
        "diag of a matrix": (lambda x: (x.diag(), x.diag(1)), lambda n: [rand(n + 1, n)]),
        "diagonal beside": (lambda x: torch.diag_embed(x, offset=-2), of(2, "n")),
        "rot90": (lambda x: (torch.rot90(x), torch.rot90(x, 2), torch.rot90(x, 3)), of("n", 3)),
        "segments": (lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 1])), of(2, "n")),
        "margin": (lambda x: F.multi_margin_loss(x, torch.arange(x.shape[0]) % 5), of("n", 5)),
        "margins": (lambda x: F.multilabel_margin_loss(x, torch.arange(x.shape[0])[:, None].expand(-1, 5).clamp(max=3).contiguous()), of("n", 5)),
        "special": (lambda x: (x.lgamma(), x.digamma(), torch.special.erfcx(x), torch.sinc(x), torch.hypot(x, x + 1)), lambda n: [rand(n, 3).abs() + 0.1]),
        "gamma": (lambda x: (torch.igamma(torch.full_like(x, 2.0), x), torch.polygamma(1, x), torch.mvlgamma(x + 3, 2)), lambda n: [rand(n, 3).abs() + 0.1], (0,)),
        "degrees": (lambda x: (x.deg2rad(), x.rad2deg(), x.signbit(), torch.round(x, decimals=1)), of("n", 3)),
        "pool beyond the end": (lambda x: F.max_pool3d(x, 2, ceil_mode=True), of(1, 2, "n", 4, 5)),
        "transposed volume": (nn.ConvTranspose3d(2, 3, 2, stride=2), of(1, 2, "n", 3, 2)),
        "cut by a pad": (lambda x: (F.pad(x[..., :-1], (0, x.shape[1] - x.shape[2])), F.pad(x, (-1, 0)), F.pad(x[:, 1:], (0, 0))), of(2, "n", "n")),
        "the last of a slice": (lambda x: (x[:, -2:].sin(), torch.cat([x, x], 1)[:, -3:]), of(2, "n", 3)),
        "all of a slice": (lambda x, y: (x[:, : y.shape[0]].sin(), x[:, : y.shape[0] + 5].cos()), two((2, "n", 3), ("n",))),
        "resampled": (below_or_above, of(1, 2, "n", 6)),
    }  # fmt: skip


NAMES = list(programs())


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


@pytest.mark.parametrize("grad", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("name", part(NAMES, 5))
def test_no_size_is_made_by_itself(name, grad):
    fn, make, *without = programs()[name]
    same_at_any_size(fn, make, grad, *without)
