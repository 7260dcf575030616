"""Dtypes and shapes."""

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program


@program(lambda: torch.tensor([1, 2, 3]), lambda: torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64))
def promotion(i, d):
    return i + 1, i / 2, i // 2, i * 1.5, i + d, d.float() + i, i > 1, (i > 1) + 1, i % 2, -i, i**2, 2**i, i << 1


@program(lambda: torch.tensor([-7, 7, 5, -5]), lambda: torch.tensor([2, -2, 3, 3]))
def integer_division(a, b):
    return a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a / b


@program(lambda: torch.tensor([250, 3, 7], dtype=torch.uint8), lambda: torch.tensor([100, 100, 28], dtype=torch.int8))
def small_integers(u, s):
    return u + 10, s + 100, u * 2, u + s, -s, u.float() / 3, u >> 1, u & 3


@program(lambda: torch.tensor([True, False, True]))
def booleans(b):
    return b & ~b, b | True, b ^ b, b.sum(), b.float(), b.any(), b.all(), b * 2, b == False  # noqa: E712


@program(lambda: torch.randn(4, 5, generator=torch.Generator().manual_seed(1)).half())
def half_precision(x):
    return x * 2 + 1, x.softmax(-1), x.float().sum(), (x > 0).to(x.dtype), x.to(torch.bfloat16) * 3


@program(lambda: torch.empty(0, 4), lambda: torch.empty(3, 0))
def zero_sizes(a, b):
    return a * 2, a.sum(), a.sum(0), b.softmax(-1), torch.cat([a, a]), b @ torch.empty(0, 2), a.t() + 1, a.mean()


@program(lambda: torch.tensor(3.0))
def zero_dim(x):
    return x + 1, x * x, x.view(1), x.expand(4) * 2, x.item() + 1, x.sum(), torch.stack([x, x]), x.softmax(0)


@program(mat(2, 3, 4))
def layouts(x):
    t = x.transpose(0, 2)
    return t + 1, t.contiguous(), t.reshape(-1) * 2, x.permute(1, 2, 0).sum(-1), t[1:, ::2] * 3, x.flip(0), x[..., -1], x[None]


@program(mat(1, 1, 5))
def broadcasting(x):
    return x + torch.ones(3, 1), x * torch.arange(4.0).view(4, 1, 1), x.expand(2, 3, 5).sum(1), torch.broadcast_to(x, (2, 2, 5)) - 1


# Without gelu: PyTorch's own answer for an infinity depends on where it stands (NaN in the vectorised body, the limit in
# the tail), so there is no eager result to be the same as.
@program(lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]))
def special_values(x):
    return (
        torch.relu(x), x.clamp(-1, 1), x.max(), torch.maximum(x, -x), x.exp(), x.sigmoid(), x.tanh(), x.softmax(0),
        x == x, x.isnan(), 1 / x, x.sign(), x.abs(), F.silu(x), x.sum(), torch.where(x > 0, x, -x), x.nan_to_num(),
    )  # fmt: skip


@program(mat(3, 4))
def masked_rows(x):
    mask = torch.full((3, 4), float("-inf")).triu(1)
    return (x + mask).softmax(-1), (x + float("-inf")).softmax(-1), x.masked_fill(x > 0, -1e9).softmax(-1)


@program(mat(5, 6))
def indexing(x):
    i = torch.tensor([0, 2, 2])
    return x[i], x[:, i], x[i, i], x[x > 0], x[-1, None, 2:], x.index_select(0, i), x.gather(1, i.view(3, 1)), x.take(i), x[i.tolist()]


@program(mat(3, 4))
def data_dependent_shapes(x):
    n = (x > 0).nonzero()
    u = x.round().unique()
    return n * 2, u + 1, x[x > 0].sum(), torch.where(x > 0)[0].float()


@program(mat(4, 6))
def splits_and_joins(x):
    a, b = x.chunk(2)
    c = torch.cat([b, a], dim=1)
    return c, torch.stack([a, b], -1), x.split([1, 3], 0)[1] + 1, [t * 2 for t in x.unbind(1)][2], torch.hstack([a, b])


@program(mat(3, 5))
def reductions(x):
    return (
        x.sum(0), x.mean(1, keepdim=True), x.var(-1), x.std(0, correction=0), x.amax((0, 1)), x.argmax(1), x.max(1), x.min(0).values,
        x.prod(1), x.norm(), x.logsumexp(-1), x.cumsum(1), x.median(), x.sort(1).values, x.topk(2), x.any(1), x.count_nonzero(),
    )  # fmt: skip
