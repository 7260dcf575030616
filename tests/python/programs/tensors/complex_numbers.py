"""Complex tensors, and those that are conjugated when they are read."""

import torch
from tests.python.programs.registry import mat, program


def rotations(width, length):
    angles = 1 / 10000 ** (torch.arange(0, width, 2).float() / width)
    angles = torch.outer(torch.arange(length).float(), angles)
    return torch.polar(torch.ones_like(angles), angles)


@program(mat(2, 5, 3, 8), mat(2, 5, 3, 8))
def rotary_embedding(q, k):
    turn = rotations(q.shape[-1], q.shape[1])[None, :, None]
    turned = []
    for x in (q, k):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned.append(torch.view_as_real(pairs * turn).flatten(3).type_as(x))
    return turned


@program(mat(6, 6))
def spectrum(x):
    f = torch.fft.rfft2(x)
    return (f * f.conj()).real, torch.fft.irfft2(f * f.conj()), torch.conj(f).abs()


@program(lambda: torch.complex(torch.arange(6.0), torch.ones(6)).reshape(2, 3))
def adjoint(z):
    return z.mH @ z, (z @ z.conj().T).real, torch.vdot(z[0], z[1]), z.conj().imag + 1


@program(lambda: torch.complex(torch.arange(4.0), torch.ones(4)))
def conjugates_that_leave(z):
    return z.conj(), z.conj().is_conj(), z.conj().resolve_conj().is_conj(), z.conj().real


@program(lambda: torch.complex(torch.arange(4.0), torch.ones(4)))
def conjugates_of_what_changes(z):
    w = z + 1
    c = w.conj()
    w.add_(1)
    d = w * c
    c.mul_(2)
    return d, w, c + 0


@program(lambda: torch.complex(torch.arange(8.0), torch.ones(8)))
def conjugate_of_every_other(z):
    return z[::2].conj() * 2, (z[::2].conj() * 2).stride()


@program(lambda: torch.complex(torch.arange(4.0), torch.ones(4)).requires_grad_())
def gradient_through_a_conjugate(z):
    return ((z * z.conj()).real * torch.arange(4.0)).sum()


@program(mat(4, 3))
def numbers_as_operands(x):
    z = torch.add(x, x * 1j, alpha=2j)
    edge = (x + 1j) * complex(-0.0, float("inf"))
    full = torch.full((3,), complex(float("nan"), -2.5))
    return z.mul(1.5 - 2j), 2j / (x + 1j), (x + 1j) ** 1.5j, torch.where(x > 0, z, 1j), z.masked_fill(x > 0, 2j), edge, full


@program(lambda: torch.arange(1.0, 5.0).requires_grad_())
def gradient_through_the_plane(x):
    z = torch.polar(x.abs() + 1, x)
    return (z * z * (2 - 1j)).abs().sum()
