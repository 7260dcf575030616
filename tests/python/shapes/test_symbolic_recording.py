"""A program recorded once with expressions for sizes is the one that eager runs at every other size."""

import pytest
import torch
from torch.nn import functional as F

from tests.python.support.recorded_program import SEED, Program, run_aten, same

HINT = {"s": 7, "t": 6}
SIZES = [{"s": s, "t": t} for s, t in ((4, 9), (5, 4), (16, 5), (33, 17), (64, 64))]


class SymbolicProgram(Program):
    """`dims`: by input, the names of its dims that are symbols. With `joints`, inputs of fixed sizes require grad."""

    def __init__(self, fn, dims, joints=()):
        self.dims = iter(dims)
        fixed = [not any(isinstance(x, str) for x in d) for d in dims]
        super().__init__(fn, [torch.randn(shape(d, HINT)).requires_grad_(bool(joints) and f) for d, f in zip(dims, fixed)], joints=joints)

    def _input(self, tensor):
        names = tuple(d if isinstance(d, str) else None for d in next(self.dims))
        fake_tensor = self.lowering.symbolic_input(tensor, names, "placeholder", f"L['x{len(self.inputs)}']")
        self.inputs.append((tensor, fake_tensor))
        return fake_tensor


def shape(dims, values):
    return [values[d] if isinstance(d, str) else d for d in dims]


def transformer(x, wqkv, wo, w1, w2, g):
    n, t, d = x.shape
    q, k, v = F.linear(F.layer_norm(x, (d,), g), wqkv).view(n, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4).unbind(0)
    a = ((q @ k.transpose(-2, -1)) * (d // 4) ** -0.5).softmax(-1) @ v
    x = x + F.linear(a.transpose(1, 2).reshape(n, t, d), wo)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,), g), w1)), w2)


CASES = {
    "pointwise": (lambda x: (x * 2 + 1).relu(), [("s", 4)]),
    "two symbols": (lambda x, y: x + y, [("s", "t"), ("t",)]),
    "broadcast": (lambda x, y: x * y, [("s", 1, 4), ("t", 4)]),
    "sum": (lambda x: (x.sum(), x.sum(0), x.mean(1)), [("s", "t")]),
    "softmax": (lambda x: x.softmax(-1), [(3, "s")]),
    "layer norm": (lambda x, w: F.layer_norm(x, (8,), w), [("s", "t", 8), (8,)]),
    "view": (lambda x: x.view(x.shape[0] * x.shape[1], 4), [("s", "t", 4)]),
    "view of -1": (lambda x: x.reshape(-1, 4).t().reshape(4, -1), [("s", "t", 4)]),
    "flatten": (lambda x: x.flatten(), [("s", 3, 4)]),
    "slice": (lambda x: x[1:], [("s", 4)]),
    "slice end": (lambda x: x[:, : x.shape[0] - 1], [("s", "s")]),
    "slice of a buffer": (lambda x, b: b[: x.shape[0]] + x, [("s", 4), (64, 4)]),
    "cat": (lambda x, y: torch.cat([x, y], 0), [("s", 4), ("t", 4)]),
    "stack": (lambda x: torch.stack([x, x + 1], 1), [("s", 4)]),
    "pad": (lambda x: F.pad(x, (1, 2)), [(3, "s")]),
    "linear": (F.linear, [("s", 8), (6, 8), (6,)]),
    "linear of three dims": (F.linear, [("s", "t", 8), (6, 8), (6,)]),
    "matmul": (torch.matmul, [("s", 3, "t"), ("t", 4)]),
    "bmm": (torch.bmm, [("s", 3, "t"), ("s", "t", 3)]),
    "transpose": (lambda x: x.transpose(0, 1).contiguous(), [("s", "t", 4)]),
    "expand": (lambda x, y: x.expand(y.shape[0], -1), [(1, 4), ("s", 4)]),
    "arange": (lambda x: x + torch.arange(x.shape[0]), [("s",)]),
    "full": (lambda x: x.new_full((x.shape[0], x.shape[0]), 2.0), [("s", 4)]),
    "causal mask": (lambda x: x.masked_fill(torch.ones(x.shape[0], x.shape[0]).triu(1) > 0, -1e9), [("s", "s")]),
    "cumsum": (lambda x: x.cumsum(0), [("s", 4)]),
    "conv": (lambda x, w: F.conv1d(x, w, padding=1), [(2, 3, "s"), (5, 3, 3)]),
    "max pool": (lambda x: F.max_pool2d(x, 2), [(2, 3, "s", "t")]),
    "batch": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), [("s", 3, 8, 8), (5, 3, 3, 3)]),
    "chunk": (lambda x: [c + 1 for c in x.chunk(2, -1)], [("s", 8)]),
    "split": (lambda x: [c + 1 for c in x.split(3, -1)], [("s", 8)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), [("s", 3, "t"), ("s", "t", 4)]),
    "loss": (lambda x, y: F.mse_loss(x, y), [("s", 4), ("s", 4)]),
    "diagonal": (lambda x: x.diagonal() + 1, [("s", "s")]),
    "repeat": (lambda x: x.repeat(2, 1), [("s", 4)]),
    "unfold": (lambda x: x.unfold(0, 2, 1) + 1, [("s", 4)]),
    "topk": (lambda x: x.topk(2, -1)[0], [(4, "s")]),
    "sort": (lambda x: x.sort(-1)[0], [(4, "s")]),
    "norm": (lambda x: F.normalize(x, dim=-1), [("s", "t")]),
    "transformer": (transformer, [("s", "t", 16), (48, 16), (16, 16), (32, 16), (16, 32), (16,)]),
}


def symbols(dims):
    return list(dict.fromkeys(d for shape in dims for d in shape if isinstance(d, str)))


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_recorded_once_it_serves_every_size(name):
    fn, dims = CASES[name]
    torch.manual_seed(SEED)
    program = SymbolicProgram(fn, dims)
    for values in [HINT, *SIZES]:
        given = [values[s] for s in symbols(dims)]
        assert program.lowering.holds(given), (values, program.lowering.guards())
        inputs = [torch.randn(shape(d, values)) for d in dims]
        graph = program.recorded.aten_at(program.lowering, given)
        same(program._rebuild(run_aten(graph, inputs + program.recorded.constants())), fn(*inputs), 1e-5)


TRAINED = {
    "linear": (lambda x, w, b: F.linear(x, w, b).square().mean(), [(2, "s", 16), (16, 16), (16,)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (16,), w, b).sum(), [(2, "s", 16), (16,), (16,)]),
    "computed again": (lambda x, w: F.gelu(F.linear(x, w)).square().mean(), [(2, "s", 16), (16, 16)]),
    "transformer": (transformer, [(1, "t", 16), (48, 16), (16, 16), (32, 16), (16, 32), (16,)]),
}


@pytest.mark.parametrize("name", TRAINED)
def test_a_derivative_asks_nothing_of_sizes(name):
    program = SymbolicProgram(*TRAINED[name], joints=("own",))
    assert not isinstance(program.joints["own"], str), program.joints["own"]
    assert program.lowering.guards() == []


def test_what_depends_on_a_size_is_a_guard():
    program = SymbolicProgram(lambda x: x * 2 if x.shape[0] > 6 else x * 3, [("s", 4)])
    assert [program.lowering.holds([s]) for s in (6, 7, 8)] == [False, True, True]


def test_a_size_that_is_read_as_a_number_is_fixed():
    program = SymbolicProgram(lambda x: x * float(int(x.shape[0]) ** 0.5), [("s", 4)])
    assert [program.lowering.holds([s]) for s in (6, 7, 8)] == [False, True, False]


def test_a_power_of_a_size_is_a_size():
    program = SymbolicProgram(lambda x: x + 1, [("s", 4)])
    ninth = program.lowering.symbol("s") ** 9
    assert isinstance(ninth, torch.SymInt) and int(ninth) == HINT["s"] ** 9
