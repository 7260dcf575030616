"""Context managers and the world outside."""

import contextlib
import random

import torch
import torch.nn.functional as F
from tests.python.programs.registry import program, vec


@contextlib.contextmanager
def scaled(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


@program(vec())
def context_manager(x):
    log = []
    with scaled(log) as k:
        x = x * k
    with contextlib.suppress(ZeroDivisionError):
        x = x + 1 // 0
    return x, log


@program(vec())
def numpy_round_trip(x):
    import numpy as np

    a = np.sin((x * 2).numpy())
    return torch.from_numpy(a) + 1, float(a.sum()) > 0


@program(vec())
def python_random(x):
    random.seed(4)
    return x * random.random() + random.randint(1, 5)


@program(vec())
def torch_random(x):
    torch.manual_seed(7)
    noise = torch.randn_like(x) * 0.5
    return x + noise, torch.rand(3), F.dropout(x, 0.5, True), torch.randperm(4), torch.bernoulli(torch.full((3,), 0.5))


@program(vec())
def locals_and_frames(x):
    y = x + 1
    names = sorted(locals())
    return y, names


@program(vec())
def type_checks(x):
    return (
        isinstance(x, torch.Tensor), type(x) is torch.Tensor, x.is_floating_point(), x.dim(), x.size(), x.dtype is torch.float32,
        x.device.type, x.is_contiguous(), x.element_size(), x.requires_grad, torch.is_tensor(x), callable(x.add), x.data_ptr() != 0,
    )  # fmt: skip


@program(vec())
def tolist_and_item(x):
    values = x.tolist()
    return sum(values), x.max().item(), int(x[3]), float(x[0]), [v for v in values if v > 0]


@program(vec())
def deletes(x):
    y = x + 1
    z = [y, x]
    del y
    del z[0]
    return z[0] * 2


@program(vec(), lambda: iter([1, 2, 3]))
def consumes_iterator(x, it):
    x = x * next(it)
    for k in it:
        x = x + k
    return x, next(it, "empty")


@program(vec())
def string_dispatch(x):
    for name in ("sin", "cos"):
        x = getattr(torch, name)(x)
    return getattr(x, "clamp")(min=0.1)


@program(vec())
def identity_checks(x):
    y = x
    z = x + 0
    return y is x, z is x, [x] == [x], x in [x], None is not x


@program(vec(), vec())
def tensor_equality(x, y):
    if torch.equal(x, y):
        return x + 1
    return x - 1


@program(vec())
def sort_tensors_by_value(x):
    low, high = sorted([x + 1, x - 1], key=lambda t: t.sum().item())
    return low, high


@program(vec())
def set_default_dtype_inside(x):
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.zeros(2) + 1
    finally:
        torch.set_default_dtype(torch.float32)
    return y, x + torch.ones(6)
