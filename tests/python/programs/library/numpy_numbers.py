"""NumPy's numbers among tensors."""

import warnings

import numpy as np
import torch
from tests.python.programs.registry import mat, program, scenario, vec


@program(mat(2, 3))
def functions_of_sizes(x):
    n = np.prod(x.shape)
    return x / np.sqrt(x.shape[-1]), x.reshape(n), x * np.log2(8) + np.pi, np.ceil(2.5) * x, type(n).__name__, n, np.float32(n)


@program(vec())
def numbers_meet_tensors(x):
    i = x.long()
    return [
        (op(x), op(i))
        for s in (np.float64(2.5), np.float32(2.5), np.int64(3), np.int32(3), np.bool_(True), np.float16(2), np.uint8(7))
        for op in (lambda t: t * s, lambda t: s * t, lambda t: t / s, lambda t: s - t, lambda t: t < s, lambda t: s == t)
    ]


@program(vec())
def numbers_make_tensors(x):
    return (
        torch.tensor(np.float64(2)), torch.tensor(np.float32(2)), torch.tensor([np.float64(1), np.float64(2)]), torch.full((2,), np.float64(3)), torch.as_tensor(np.int32(4)),
        torch.tensor(np.bool_(True)), x.new_tensor(np.float64(1)), torch.arange(np.int64(3)), x[np.int64(2)], x[: np.int64(2)], x.view(np.int64(2), np.int64(3)), torch.scalar_tensor(np.float64(1)),
    )  # fmt: skip


@program(vec())
def arithmetic_of_numbers(x):
    a, b = np.float32(2), np.int64(7)
    c = a * 3 + b
    d = {np.int64(1): "one"}
    return type(c).__name__, c, type(a / 2).__name__, b // 2, b % 4, -b, abs(-a), d[1], int(b), float(a), round(a), f"{a:.1f} {b}", a.item(), a.dtype.name, isinstance(np.float64(1), float), b == 7, a is a, x * c


@program(vec())
def numbers_overflow(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = x * np.sqrt(np.float64(4))
        z = np.int8(100) + np.int8(100)
        w = np.log(np.float64(0))
    return y, z, w, [str(s.message) for s in seen]


@program(vec())
def errors_of_numbers(x):
    try:
        np.prod(x.shape, axis=3)
    except Exception as e:
        first = type(e).__name__
    return first, x + np.int64("3"), np.sqrt("no")


@scenario
def number_arguments_between_calls(compile):
    f = compile(lambda x, s: (x * s, type(s).__name__, s + 1))
    x = torch.ones(2)
    return [f(x, s) for s in (np.float64(2), 2.0, np.float32(2), 2, np.int64(2), np.float64(3), np.float64("nan"), np.float64(-0.0), np.float64(0.0), True, np.bool_(True))]
