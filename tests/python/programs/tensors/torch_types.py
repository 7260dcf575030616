"""Element types, layouts and kinds of tensor that an operator meets or makes."""

import torch
from tests.python.programs.registry import mat, program, vec


@program(vec())
def made_of_bools(x):
    none = torch.zeros(6, dtype=torch.bool)
    return none, none | (x > 0), torch.zeros_like(x, dtype=torch.bool), torch.ones(2, dtype=torch.bool), x + 1


@program(vec())
def other_layouts(x):
    """What an operator makes may not be a plain strided tensor."""
    return x.view(2, 3).to_mkldnn().relu().to_dense() + 1, x.to_sparse().to_dense() * 2


def outcome(function, *args):
    try:
        return function(*args)
    except RuntimeError as error:
        return str(error)


@program(lambda: torch.tensor([1, 2], dtype=torch.int8), lambda: torch.tensor([1.0, 2.0]).half())
def numbers_out_of_range(s, h):
    """PyTorch refuses numbers that the element type cannot hold, and wraps negative ones for uint8."""
    u = s.to(torch.uint8)
    return (
        outcome(lambda: s.clamp(min=300)), outcome(lambda: h.clamp(max=70000.0)), outcome(lambda: s.clone().fill_(300)),
        outcome(lambda: h.masked_fill(h > 1, -1e9)), outcome(lambda: torch.full((2,), 1e39)), outcome(lambda: s + 300),
        outcome(lambda: torch.where(s > 1, s, 300)), outcome(lambda: h * 70000), outcome(lambda: s.fill_(float("nan"))),
        u.clamp(-1, 5), u < -1, u + -1, u * -3, outcome(lambda: torch.add(s, s, alpha=300)), s == 300, h < 1e6,
    )  # fmt: skip


@program(mat(4, 4))
def views_count_writes(x):
    """A write through a view is seen by its base's version, and what mul_ returns is still that view."""
    before = x._version
    row = x[0]
    got = row.mul_(2)
    return x, row, got, row is got, x._version - before, row._version - before, got._base is x, row._is_view()


@program(mat(4, 4))
def inference_tensors_written_outside(x):
    with torch.inference_mode():
        y = x * 2
    try:
        y.add_(1)
    except RuntimeError as error:
        return y.clone(), str(error)


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@program(vec())
def tensor_becomes_subclass(x):
    loud = x.as_subclass(Loud)
    again = torch.Tensor._make_subclass(Loud, x)
    return type(loud + 1).__name__, (again * 2).as_subclass(torch.Tensor), x + 1
