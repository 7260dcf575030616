"""Strings and numbers."""

import math

import torch
from tests.python.programs.registry import program, vec


@program(vec())
def f_strings(x):
    text = f"{x.shape[0]:>4}|{x.dtype}|{'a' * 2!r}|{3.14159:.2f}|{list(x.shape)}"
    return x * len(text), text, "%d-%s" % (3, "z"), "{}".format(4)


@program(vec())
def print_tensor(x):
    y = x * 2
    print(y)
    print(f"{y.sum():.3f}", y.shape, sep="; ", end="!\n")
    return y


@program(vec(), 3, 2.5, True, None, "s", 2**70)
def python_scalars(x, i, f, b, n, s, big):
    return x * i + f - b, n is None, s + "t", big // 3, i**2 % 5, -i // 2, divmod(i, 2), round(f), i & 1 | 4, ~i


@program(vec(), float("nan"))
def nan_argument(x, f):
    return x * f, f != f


@program(vec(), -0.0)
def negative_zero(x, f):
    return x * f, math.copysign(1, f)


@program(vec())
def math_on_sizes(x):
    return x / math.sqrt(x.shape[0]) + math.pi + math.ceil(x.numel() / 4) + int(3.9) + float("2.5")


@program(vec(), 1j)
def complex_numbers(x, c):
    y = x * c
    return y.real, y.imag, torch.view_as_real(y), y.abs()
