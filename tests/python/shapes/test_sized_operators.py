"""Small programs at one size after another: eager's results each time, few compilations in all, and no size that is recorded
or compiled by itself: numbers are put into what is compiled."""

import functools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitrine
from tests.python.support.any_size import MOST, SIZES, same_at_any_size
from tests.python.support.segments import made_anew
from tests.python.support.sweep import part

rand = torch.randn


def ints(*sizes, hi=10):
    return torch.randint(hi, sizes)


def of(*sizes):
    return lambda n: [rand([n if s == "n" else s for s in sizes])]


def rope(x):
    n, d = x.shape[1], x.shape[2]
    angles = torch.outer(torch.arange(n).float(), 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d)))
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class Halves(nn.Module):
    """A layer as autocast runs it behind a product."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.layer(x @ x.mT @ x).float()


def no_weights(attention):
    return functools.partial(attention, need_weights=False)


def programs():
    """By name: what runs, and its inputs for a size; which of these have no gradient."""
    torch.manual_seed(0)
    return {
        "x / n": (lambda x: x / x.shape[0], of('n',3)),
        "x * n": (lambda x: x * x.shape[0] + x.shape[0], of('n',3)),
        "n - x": (lambda x: x.shape[0] - x, of('n',3)),
        "n / x": (lambda x: x.shape[0] / x, of('n',3)),
        "x // n": (lambda x: x // x.shape[0], of('n',3), (0,)),
        "x % n": (lambda x: x % x.shape[0], of('n',3)),
        "mean by hand": (lambda x: x.sum(0) / x.shape[0], of('n',3)),
        "total / n": (lambda x: x.sum() / x.shape[0], of('n',3)),
        "int tensor * n": (lambda x: x * x.shape[0], lambda n: [ints(n,3)]),
        "int32 * n": (lambda x: (x * x.shape[0], x.sum(dtype=torch.int32) * x.shape[0], x / x.shape[0]), lambda n: [ints(n,3).int()]),
        "u8 + n": (lambda x: x + x.shape[0], lambda n: [ints(n,3).to(torch.uint8)]),
        "bool * n": (lambda x: (x > 0) * x.shape[0], of('n',3)),
        "bf16 * n": (lambda x: x * x.shape[0], lambda n: [rand(n,3).bfloat16()]),
        "bf16 0-d * n": (lambda x: x.sum() * x.shape[0], lambda n: [rand(n,3).bfloat16()]),
        "f64 / n": (lambda x: x / x.shape[0], lambda n: [rand(n,3).double()]),
        "full": (lambda x: torch.full((x.shape[0],), x.shape[0]), of('n',3)),
        "full float": (lambda x: torch.full((x.shape[0],), float(x.shape[0])) + x[:, 0], of('n',3)),
        "scale": (lambda x: x * (1 / math.sqrt(x.shape[-1])), of(3,'n')),
        "scale **-0.5": (lambda x: (x @ x.t()) * x.shape[-1] ** -0.5, of(3,'n')),
        "clamp": (lambda x: (x * 10).clamp(max=x.shape[0]), of('n',3)),
        "clamp both": (lambda x: (x * 10).clamp(-x.shape[0], x.shape[0] - 1), of('n',3)),
        "arange * 2": (lambda x: torch.arange(x.shape[0]) * 2, of('n',3)),
        "arange / n": (lambda x: torch.arange(x.shape[0]) / x.shape[0] + x[:, 0], of('n',3)),
        "x > n": (lambda x: (x * 30 > x.shape[0]), of('n',3)),
        "x == n-1": (lambda x: (x == x.shape[0] - 1), lambda n: [ints(n,3)]),
        "masked_fill n": (lambda x: x.masked_fill(x > 0, x.shape[0]), of('n',3)),
        "add alpha": (lambda x: torch.add(x, x.sin(), alpha=x.shape[0]), of('n',3)),
        "tensor(float(n))": (lambda x: x * torch.tensor(float(x.shape[0])), of('n',3)),
        "numel": (lambda x: x.square().sum() / x.numel(), of('n',3)),
        "n*m": (lambda x, y: (x.sum() + y.sum()) / (x.shape[0] * y.shape[0]), lambda n: [rand(n,3), rand(n+3,3)]),
        "var by hand": (lambda x: ((x - x.mean(0)) ** 2).sum(0) / (x.shape[0] - 1), of('n',3)),
        "n if": (lambda x: x * (x.shape[0] // 2), of('n',3)),
        "div inplace": (lambda x: x.clone().div_(x.shape[0]), of('n',3)),
        "add_ n": (lambda x: (x * 1).add_(x.shape[0]).mul_(x.shape[0]), of('n',3)),
        "log n": (lambda x: x.softmax(0).log() / math.log(x.shape[0]), of('n',3)),
        "pow positions": (lambda x: x * torch.pow(10000, -torch.arange(0, x.shape[1]).float() / x.shape[1]), of(3,'n')),
        "relative pos": (lambda x: x + (torch.arange(x.shape[0])[:, None] - torch.arange(x.shape[0])[None]).clamp(-4, 4).float(), lambda n: [rand(n,n)]),
        "mod arange": (lambda x, t: F.embedding((torch.arange(x.shape[0]) + x.shape[0] // 2) % x.shape[0], x), lambda n: [rand(n,4), rand(2)]),
        "flip idx": (lambda x: x[x.shape[0] - 1 - torch.arange(x.shape[0])], of('n',4)),
        "eq idx": (lambda x: x[torch.arange(x.shape[0]) * 7 % x.shape[0]], of('n',4)),
        "loss / n": (lambda x, y: F.cross_entropy(x, y, reduction='sum') / x.size(0), lambda n: [rand(n,10), ints(n)]),
        "accuracy": (lambda x, y: (x.argmax(1) == y).sum() / len(x), lambda n: [rand(n,10), ints(n)]),
        "accuracy float": (lambda x, y: (x.argmax(1) == y).float().sum() / y.size(0), lambda n: [rand(n,10), ints(n)]),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2), lambda n: [rand(2,3,n,n+1)]),
        "max_pool2d idx": (lambda x: F.max_pool2d(x, 2, return_indices=True), lambda n: [rand(2,3,n,n+1)]),
        "max_pool3d": (lambda x: F.max_pool3d(x, 2), lambda n: [rand(1,2,4,n,n+1)]),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), of(2,3,'n')),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), lambda n: [rand(2,3,n,n+1)]),
        "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), lambda n: [rand(1,2,4,n,n+1)]),
        "adaptive_avg1": (lambda x: F.adaptive_avg_pool1d(x, 1), of(2,3,'n')),
        "adaptive_avg2": (lambda x: F.adaptive_avg_pool2d(x, 1), lambda n: [rand(2,3,n,n+1)]),
        "adaptive_max2": (lambda x: F.adaptive_max_pool2d(x, 2), lambda n: [rand(2,3,n,n+1)]),
        "adaptive_max1": (lambda x: F.adaptive_max_pool1d(x, 1), of(2,3,'n')),
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), lambda n: [rand(1,8,n,n+1)]),
        "unfold": (lambda x: x.unfold(0, 2, 1) * 2, of('n',3)),
        "F.unfold": (lambda x: F.unfold(x, 2), lambda n: [rand(1,2,n,n+1)]),
        "roll": (lambda x: x.roll(1, 0), of('n',3)),
        "roll n//2": (lambda x: x.roll(x.shape[0] // 2, 0) * 2, of('n',3)),
        "flip": (lambda x: x.flip(0) + 1, of('n',3)),
        "repeat_interleave": (lambda x: x.repeat_interleave(2, 0), of('n',3)),
        "repeat": (lambda x: x.repeat(2, 3), of('n',3)),
        "tile": (lambda x: x.tile(2), of('n',3)),
        "tril": (lambda x: x.tril(), lambda n: [rand(n,n)]),
        "triu 1": (lambda x: x.triu(1), lambda n: [rand(n,n)]),
        "topk": (lambda x: x.topk(2, 0), of('n',3)),
        "topk n": (lambda x: x.topk(x.shape[0] // 2, 0), of('n',3)),
        "sort": (lambda x: x.sort(0), of('n',3)),
        "argsort": (lambda x: x.argsort(0), of('n',3)),
        "kthvalue": (lambda x: x.kthvalue(2, 0), of('n',3)),
        "median": (lambda x: x.median(0), of('n',3)),
        "mode": (lambda x: x.mode(0), lambda n: [ints(n,3)]),
        "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1., 0., 1.])), of('n',3)),
        "searchsorted": (lambda x, y: torch.searchsorted(x, y), lambda n: [rand(n).sort()[0], rand(n, 3)]),
        "pad constant": (lambda x: F.pad(x, (1, 2)), of(2,3,'n')),
        "pad circular": (lambda x: F.pad(x, (1, 2), mode='circular'), of(2,3,'n')),
        "pad to n": (lambda x, y: F.pad(x, (0, 0, 0, 70 - x.shape[0])), lambda n: [rand(n,3), rand(2)]),
        "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), lambda n: [rand(1,2,n,n+1), rand(1,n,4,2).tanh()]),
        "cdist": (lambda x, y: torch.cdist(x, y), lambda n: [rand(n,3), rand(n+1,3)]),
        "cdist 3d": (lambda x: torch.cdist(x, x + 1), of(2,'n',3)),
        "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), lambda n: [rand(2,n,3), rand(2,3,n)]),
        "einsum attention": (lambda q, k: torch.einsum("bnhd,bmhd->bhnm", q, k).softmax(-1), lambda n: [rand(2,n,2,4), rand(2,n,2,4)]),
        "index_add": (lambda x, i, s: torch.zeros(x.shape[0], 3).index_add(0, i, s), lambda n: [rand(n,3), ints(2*n,hi=n), rand(2*n,3)]),
        "scatter_add": (lambda x, i: torch.zeros(5, 3).scatter_add(0, i, x), lambda n: [rand(n,3), ints(n,3,hi=5)]),
        "scatter_reduce": (lambda x, i: torch.zeros(5, 3).scatter_reduce(0, i, x, 'mean'), lambda n: [rand(n,3), ints(n,3,hi=5)]),
        "scatter_reduce amax": (lambda x, i: torch.zeros(5, 3).scatter_reduce(0, i, x, 'amax'), lambda n: [rand(n,3), ints(n,3,hi=5)]),
        "index_reduce": (lambda x, i: torch.ones(5, 3).index_reduce(0, i, x, 'amax'), lambda n: [rand(n,3), ints(n,hi=5)]),
        "scatter": (lambda x, i: torch.zeros(5, 3).scatter(0, i, x), lambda n: [rand(n,3), torch.arange(n)[:,None].expand(n,3).remainder(5).contiguous()]),
        "gather": (lambda x, i: x.gather(0, i), lambda n: [rand(n,3), ints(n,3,hi=n)]),
        "index_select": (lambda x, i: x.index_select(0, i), lambda n: [rand(n,3), ints(2*n,hi=n)]),
        "index": (lambda x, i: x[i], lambda n: [rand(n,3), ints(2*n,hi=n)]),
        "index two": (lambda x, i: x[torch.arange(x.shape[0]), i], lambda n: [rand(n,3), ints(n,hi=3)]),
        "setitem slice": (lambda x: torch.zeros(x.shape[0] + 1, 3).index_fill(0, torch.tensor(0), 1.) , of('n',3)),
        "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), lambda n: [rand(2,3,n), rand(3,4,3)]),
        "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), lambda n: [rand(1,3,n,n+1), rand(3,4,3,3)]),
        "conv2d": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), lambda n: [rand(1,3,n,n+1), rand(4,3,3,3)]),
        "conv2d same": (lambda x, w: F.conv2d(x, w, padding='same'), lambda n: [rand(1,3,n,n+1), rand(4,3,3,3)]),
        "depthwise": (lambda x, w: F.conv1d(x, w, padding=1, groups=4), lambda n: [rand(2,4,n), rand(4,1,3)]),
        "nll_loss": (lambda x, y: F.nll_loss(x.log_softmax(-1), y), lambda n: [rand(n,10), ints(n)]),
        "cross_entropy": (lambda x, y: F.cross_entropy(x, y), lambda n: [rand(n,10), ints(n)]),
        "cross_entropy none": (lambda x, y: F.cross_entropy(x, y, reduction='none'), lambda n: [rand(n,10), ints(n)]),
        "cross_entropy ignore": (lambda x, y: F.cross_entropy(x, y, ignore_index=0), lambda n: [rand(n,10), torch.randint(1,10,(n,))]),
        "cross_entropy smooth": (lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), lambda n: [rand(n,10), ints(n)]),
        "cross_entropy weight": (lambda x, y, w: F.cross_entropy(x, y, w), lambda n: [rand(n,10), ints(n), torch.rand(10)], (2,)),
        "cross_entropy 3d": (lambda x, y: F.cross_entropy(x, y), lambda n: [rand(2,10,n), ints(2,n)]),
        "cross_entropy lm": (lambda x, y: F.cross_entropy(x.view(-1, 10), y.view(-1)), lambda n: [rand(2,n,10), ints(2,n)]),
        "cross_entropy shift": (lambda x, y: F.cross_entropy(x[:, :-1].reshape(-1, 10), y[:, 1:].reshape(-1)), lambda n: [rand(2,n,10), ints(2,n)]),
        "cross_entropy probs": (lambda x, y: F.cross_entropy(x, y.softmax(-1)), lambda n: [rand(n,10), rand(n,10)]),
        "bce": (lambda x, y: F.binary_cross_entropy_with_logits(x, y), lambda n: [rand(n), torch.rand(n)]),
        "bce plain": (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), lambda n: [rand(n), rand(n)]),
        "kl_div": (lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean'), lambda n: [rand(n,5), rand(n,5)]),
        "l1": (lambda x, y: F.l1_loss(x, y), lambda n: [rand(n,3), rand(n,3)]),
        "margin": (lambda x, y: F.margin_ranking_loss(x, y, torch.ones(1)), lambda n: [rand(n), rand(n)]),
        "triplet": (lambda a, b, c: F.triplet_margin_loss(a, b, c), lambda n: [rand(n,4), rand(n,4), rand(n,4)]),
        "cosine_embedding": (lambda a, b: F.cosine_similarity(a, b).mean(), lambda n: [rand(n,4), rand(n,4)]),
        "multilabel": (lambda x, y: F.multilabel_soft_margin_loss(x, y), lambda n: [rand(n,4), torch.rand(n,4).round()]),
        "group_norm": (lambda x: F.group_norm(x, 2), of(2,4,'n')),
        "group_norm w": (nn.GroupNorm(2, 4), of(2,4,'n')),
        "instance_norm": (lambda x: F.instance_norm(x), of(2,4,'n')),
        "batch_norm train": (lambda x: F.batch_norm(x, None, None, training=True), of('n',4)),
        "BatchNorm1d": (nn.BatchNorm1d(4), of('n',4)),
        "BatchNorm2d": (nn.BatchNorm2d(3), lambda n: [rand(2,3,n,n+1)]),
        "rms_norm": (lambda x: F.rms_norm(x, (8,)), of('n',8)),
        "local_response": (lambda x: F.local_response_norm(x, 2), of(2,4,'n')),
        "normalize": (lambda x: F.normalize(x, dim=0), of('n',4)),
        "embedding": (lambda i, w: F.embedding(i, w), lambda n: [ints(2,n), rand(10,3)]),
        "embedding pad": (lambda i, w: F.embedding(i, w, padding_idx=0), lambda n: [ints(2,n), rand(10,3)]),
        "cumsum": (lambda x: x.cumsum(0), of('n',3)),
        "cummax": (lambda x: x.cummax(0), of('n',3)),
        "logcumsumexp": (lambda x: x.logcumsumexp(0), of('n',3)),
        "volume rendering": (lambda x: (x.sigmoid().cumprod(0) * x).sum(), of('n',3)),
        "one_hot": (lambda i: F.one_hot(i, 10), lambda n: [ints(n)]),
        "stack": (lambda x: torch.stack([x, x + 1, x * 2], 1), of('n',3)),
        "chunk": (lambda x: [c + 1 for c in x.chunk(2, 0)], of('n',3)),
        "split": (lambda x: [c * 2 for c in x.split([1, x.shape[0] - 1])], of('n',3)),
        "tensor_split": (lambda x: [c * 2 for c in x.tensor_split(2)], of('n',3)),
        "chunk -1": (lambda x: torch.cat([c * 2 for c in x.chunk(3, -1)], 0), of('n',6)),
        "unbind": (lambda x: x.unbind(1), of('n',3)),
        "logsumexp": (lambda x: x.logsumexp(0), of('n',3)),
        "norm": (lambda x: (x.norm(), x.norm(dim=0)), of('n',3)),
        "max": (lambda x: x.max(0), of('n',3)),
        "argmax": (lambda x: x.argmax(0), of('n',3)),
        "amax all": (lambda x: (x.amax(), x.max(), x.min()), of('n',3)),
        "prod": (lambda x: x.prod(0), of('n',3)),
        "any": (lambda x: ((x > 1).any(0), (x > 1).all()), of('n',3)),
        "diff": (lambda x: x.diff(dim=0), of('n',3)),
        "outer": (lambda x: torch.outer(x, x), of('n',)),
        "diag": (lambda x: torch.diag(x), of('n',)),
        "diag_embed": (lambda x: torch.diag_embed(x), of(2,'n')),
        "diagonal": (lambda x: x.diagonal() * 2, lambda n: [rand(n,n)]),
        "eye": (lambda x: x + torch.eye(x.shape[0]), lambda n: [rand(n,n)]),
        "meshgrid": (lambda x, y: torch.stack(torch.meshgrid(x, y, indexing='ij')), lambda n: [rand(n), rand(n+1)]),
        "cartesian": (lambda x, y: torch.cartesian_prod(x, y), lambda n: [rand(n), rand(n+1)]),
        "addmm": (lambda x, y, b: torch.addmm(b, x, y), lambda n: [rand(n,3), rand(3,4), rand(4)]),
        "baddbmm": (lambda x: torch.baddbmm(torch.zeros(1), x, x.transpose(1, 2)), of(2,'n',3)),
        "mv": (lambda x, v: x @ v, lambda n: [rand(n,3), rand(3)]),
        "dot": (lambda x: x @ x, of('n',)),
        "glu": (lambda x: F.glu(x), of('n',6)),
        "prelu": (lambda x, w: F.prelu(x, w), lambda n: [rand(n,3), rand(3)]),
        "softmax dim0": (lambda x: x.softmax(0), of('n',3)),
        "gumbel": (lambda x: x.log_softmax(0), of('n',3)),
        "dropout eval": (lambda x: F.dropout(x, 0.5, False), of('n',3)),
        "lerp": (lambda x: torch.lerp(x, x + 1, 0.3), of('n',3)),
        "nan_to_num": (lambda x: x.nan_to_num(), of('n',3)),
        "isin": (lambda i: torch.isin(i, torch.tensor([1, 2])), lambda n: [ints(n)]),
        "unflatten": (lambda x: x.unflatten(1, (2, 3)) * 2, of('n',6)),
        "movedim": (lambda x: x.movedim(0, 1) * 2, of('n',3)),
        "squeeze": (lambda x: x.unsqueeze(1).squeeze(1) * 2, of('n',3)),
        "view_as": (lambda x: (x * 2).view_as(x.t().contiguous().t()), of('n',3)),
        "narrow": (lambda x: x.narrow(0, 1, x.shape[0] - 1) * 2, of('n',3)),
        "select last": (lambda x: x[-1] * 2, of('n',3)),
        "step slice": (lambda x: x[::2] * 2, of('n',3)),
        "neg slice": (lambda x: x[:-1] - x[1:], of('n',3)),
        "half slice": (lambda x: x[: x.shape[0] // 2] * 2, of('n',3)),
        "rope": (lambda x: rope(x), of(2,'n',8)),
        "sdpa causal": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), of(2,2,'n',8)),
        "sdpa mask": (lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(x.shape[2], x.shape[2], dtype=torch.bool).tril()), of(2,2,'n',8)),
        "sdpa float mask": (lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m), lambda n: [rand(2,2,n,8), rand(n,n)]),
        "MHA": (nn.MultiheadAttention(8, 2, batch_first=True), lambda n: [rand(2, n, 8)] * 3),
        "EncoderLayer": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), of(2,'n',8)),
        "masked mean": (lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True).clamp(min=1), lambda n: [rand(2,n,3), torch.rand(2,n).round()]),
        "masked_select sum": (lambda x, m: x.masked_fill(m == 0, 0).sum(), lambda n: [rand(2,n), torch.rand(2,n).round()]),
        "pairwise dist": (lambda x: (x[:, None] - x[None]).norm(dim=-1), of('n',3)),
        "pdist": (lambda x: F.pdist(x), of('n',3)),
        "matrix_exp": (lambda x: torch.linalg.matrix_exp(x * 0.1), of('n',3,3)),
        "vmap": (lambda x: torch.vmap(lambda a: a.sin().sum())(x), of('n',3)),
        "randperm like": (lambda x: x[torch.arange(x.shape[0]).flip(0)], of('n',3)),
        "pad_sequence mask": (lambda l, x: (torch.arange(x.shape[1])[None] < l[:, None]).float() * x, lambda n: [ints(2,hi=n)+1, rand(2,n)]),
        "channel shuffle": (lambda x: F.channel_shuffle(x, 2), lambda n: [rand(1,4,n,n+1)]),
        "dropout2d eval": (lambda x: F.dropout2d(x, 0.5, False), lambda n: [rand(1,4,n,n+1)]),
        "logical": (lambda x: x.where(x.isfinite() & (x > 0), 0.0), of('n',3)),
        "trapz": (lambda x: torch.trapz(x, dim=0), of('n',3)),
        "heaviside": (lambda x: torch.heaviside(x, torch.tensor(0.5)), of('n',3)),
        "segment mean": (lambda x, i: torch.zeros(4, 3).index_add(0, i, x) / torch.zeros(4).index_add(0, i, torch.ones(x.shape[0])).clamp(min=1)[:, None], lambda n: [rand(n,3), ints(n,hi=4)]),
        "linspace": (lambda x: x + torch.linspace(0, 1, x.shape[0])[:, None], of('n',3)),
        "where n": (lambda x: torch.where(x > 0, x, x.shape[0]), of('n',3)),
        "maximum": (lambda x: torch.maximum(x, torch.tensor(x.shape[0])), of('n',3)),
        "tensor(n)": (lambda x: x * torch.tensor(x.shape[0]), of('n',3)),
        "new_tensor n": (lambda x: x * x.new_tensor(x.shape[0]), of('n',3)),
        "max_pool1d": (lambda x: F.max_pool1d(x, 2), of(2,3,'n')),
        "max_pool1d k3 s1": (lambda x: F.max_pool1d(x, 3, 1, 1), of(2,3,'n')),
        "interp nearest x2": (lambda x: F.interpolate(x, scale_factor=2), lambda n: [rand(1,2,n,n+1)]),
        "interp bilinear x2": (lambda x: F.interpolate(x, scale_factor=2, mode='bilinear'), lambda n: [rand(1,2,n,n+1)]),
        "interp bilinear ac": (lambda x: F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True), lambda n: [rand(1,2,n,n+1)]),
        "interp size": (lambda x, y: F.interpolate(x, size=y.shape[2:], mode='bilinear') + y, lambda n: [rand(1,2,4,5), rand(1,2,n,n+1)]),
        "interp nearest size": (lambda x, y: F.interpolate(x, size=y.shape[-2:], mode='nearest') + y, lambda n: [rand(1,2,n,5), rand(1,2,2*n,n+1)]),
        "interp linear1d": (lambda x: F.interpolate(x, scale_factor=2, mode='linear'), of(1,2,'n')),
        "interp bicubic": (lambda x: F.interpolate(x, scale_factor=2, mode='bicubic'), lambda n: [rand(1,2,n,n+1)]),
        "interp trilinear": (lambda x: F.interpolate(x, scale_factor=2, mode='trilinear'), lambda n: [rand(1,1,3,n,n+1)]),
        "interp half": (lambda x: F.interpolate(x, scale_factor=0.5), lambda n: [rand(1,2,n,n+1)]),
        "F.fold": (lambda x: F.fold(F.unfold(x, 2), x.shape[-2:], 2), lambda n: [rand(1,2,n,n+1)]),
        "pad reflect": (lambda x: F.pad(x, (1, 1), mode='reflect'), of(2,3,'n')),
        "pad replicate": (lambda x: F.pad(x, (1, 2), mode='replicate'), of(2,3,'n')),
        "pad reflect 2d": (lambda x: F.pad(x, (1, 1, 1, 1), mode='reflect'), lambda n: [rand(1,2,n,n+1)]),
        "pad replicate 2d": (lambda x: F.pad(x, (1, 1, 1, 1), mode='replicate'), lambda n: [rand(1,2,n,n+1)]),
        "index_put": (lambda x, i: x.clone().index_put((i,), torch.ones(3)), lambda n: [rand(n,3), ints(n,hi=n)]),
        "count_nonzero": (lambda x: (x > 1).count_nonzero(0), of('n',3)),
        "as_strided": (lambda x: x.as_strided((x.shape[0] - 1, 2), (3, 1)) * 2, of('n',3)),
        "select n-1": (lambda x: x[x.shape[0] - 1] * 2, of('n',3)),
        "upsample+cat": (lambda x, y: torch.cat([F.interpolate(x, scale_factor=2), y], 1), lambda n: [rand(1,2,n,n), rand(1,2,2*n,2*n)]),
        "message passing": (lambda x, i, w: torch.cat([x, torch.zeros(x.shape[0], 3).index_add(0, i[1], F.relu(torch.cat([x[i[0]], x[i[1]]], -1) @ w))], -1), lambda n: [rand(n,3), ints(2, 2*n, hi=n), rand(6,3)]),
        "std": (lambda x: x.std(0), of('n',3)),
        "std of all": (lambda x: (x.std(), x.std(-1, correction=0)), of('n',3)),
        "var_mean": (lambda x: torch.var_mean(x, 0, correction=0), of('n',3)),
        "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y), lambda n: [rand(n,3), rand(n,3)]),
        "smooth_l1 each": (lambda x, y: F.smooth_l1_loss(x, y, reduction='none', beta=0.5), lambda n: [rand(n,3), rand(n,3)]),
        "huber": (lambda x, y: F.huber_loss(x, y, delta=0.7), lambda n: [rand(n,3), rand(n,3)]),
        "soft margin": (lambda x, y: F.soft_margin_loss(x, y.sign()), lambda n: [rand(n,3), rand(n,3)], (1,)),
        "x ** n": (lambda x: x.sigmoid() ** x.shape[0], of('n',3)),
        "x ** (n - 2)": (lambda x: x.abs() ** (x.shape[0] - 2), of('n',3)),
        "lstm cell": (nn.LSTMCell(3, 4), of('n',3)),
        "conv3d": (nn.Conv3d(2, 3, 2), lambda n: [rand(1,2,3,n,n+1)]),
        "x[:, n-1]": (lambda x: x[:, x.shape[1] - 1] * 2, of(3,'n',2)),
        "one_hot n": (lambda x, i: F.one_hot(i, x.shape[0]), lambda n: [rand(n), ints(4, hi=n)]),
        "torch.fill n": (lambda x: torch.fill(x, x.shape[0]), of('n',3)),
        "inv": (lambda x: torch.linalg.inv(x @ x.mT + torch.eye(x.shape[1])), lambda n: [rand(2,n,n)]),
        "cholesky": (lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(x.shape[1])), lambda n: [rand(2,n,n)]),
        "solve": (lambda x, b: torch.linalg.solve(x @ x.mT + torch.eye(x.shape[1]), b), lambda n: [rand(2,n,n), rand(2,n,3)]),
        "embedding_bag": (lambda w, i: F.embedding_bag(i, w, mode='sum'), lambda n: [rand(10,4), ints(n,3)], (0,)),
        "embedding_bag mean": (lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 1])), lambda n: [rand(10,4), ints(n)], (0,)),
        "embedding_bag max": (lambda w, i: F.embedding_bag(i, w, mode='max'), lambda n: [rand(10,4), ints(n,3)], (0,)),
        "MHA fast": (nn.MultiheadAttention(8, 2, batch_first=True).eval(), lambda n: [rand(2, n, 8)] * 3),
        "MHA fast, no weights": (no_weights(nn.MultiheadAttention(8, 2, batch_first=True).eval()), lambda n: [rand(2, n, 8)] * 3),
        "EncoderLayer fast": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), of(2,'n',8)),
        "embedding_bag grad": (lambda w, i: F.embedding_bag(i, w, mode='sum'), lambda n: [rand(10,4), ints(n,3)]),
        "embedding_bag mean grad": (lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 1])), lambda n: [rand(10,4), ints(n)]),
        "embedding_bag max grad": (lambda w, i: F.embedding_bag(i, w, mode='max'), lambda n: [rand(10,4), ints(n,3)]),
        "embedding_bag weights": (lambda w, i, p: F.embedding_bag(i, w, mode='sum', per_sample_weights=p), lambda n: [rand(10,4), ints(n,3), rand(n,3)]),
        "cumprod": (lambda x: x.cumprod(0), of('n',3), (0,)),
        "logical in place": (lambda x: ((x > 0).logical_and_(x < 1).logical_xor_(x > 2), (x > 0).logical_or_(x < -1).logical_not_()), of('n',3), (0,)),
        "bitwise in place": (lambda x: (x > 0).bitwise_and_(x < 1).bitwise_xor_(x > 2).bitwise_or_(x < -1), of('n',3), (0,)),
        "stft": (lambda x: torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True).abs(), lambda n: [rand(2,10*n)], (0,)),
        "fill_": (lambda x: (x * 1).fill_(x.shape[0]) + x, of('n',3)),
        "fill_ input": (lambda x: x.fill_(x.shape[0]) + 1, of('n',3), (0,)),
        "fill_ ints": (lambda x: x.fill_(x.shape[0]), lambda n: [ints(n,3)]),
        "full_like n": (lambda x: torch.full_like(x, x.shape[0]), of('n',3)),
        "x[0, n-1]": (lambda x: x[1:, x.shape[1] - 1, 0] * 2, of(3,'n',2)),
        "row of fixed length": (lambda x: x[0, 0].unsqueeze(0) * 2, of(2,'n',5)),
        "einsum of a row": (lambda x: torch.einsum("n,e->ne", x[:, 0], x[0]), of('n',5)),
        "dropout": (lambda x: F.dropout(x, 0.5), of('n',3)),
        "dropout layer": (nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.ReLU()), of('n',3)),
        "dropout2d": (lambda x: F.dropout2d(x, 0.5), lambda n: [rand(2,4,n,n+1)]),
        "alpha dropout": (lambda x: F.alpha_dropout(x, 0.5, True), of('n',3)),
        "gumbel softmax": (lambda x: F.gumbel_softmax(x), of('n',3)),
        "drawn in place": (lambda x: (x.clone().normal_(), torch.empty(x.shape[0]).uniform_(), x.clone().random_(5), x.clone().geometric_(0.4)), of('n',3)),
        "dropout between": (lambda x: F.dropout(x.sin(), 0.5).cos() + F.dropout(x, 0.1), of('n',3)),
        "pad to eight": (lambda x: F.pad(x, (0, 0, 0, -x.shape[0] % 8)) * 2, of('n',3)),
        "pad by nothing at 3": (lambda x: F.pad(x.exp(), (0, 0, 0, -(x.shape[0] + 1) % 4)).sum(1), of('n',3)),
        "pad on all sides": (lambda x: F.pad(x, (-(x.shape[1] + 1) % 4, x.shape[0] % 3, -x.shape[0] % 3, 0), value=2.0).t() + 1, lambda n: [rand(n+1,n)], (0,)),
        "pad ints": (lambda x: F.pad(x, (-(x.shape[0] + 1) % 4, 0), value=7).cumsum(0), lambda n: [ints(n)]),
        "pad to the other's length": (lambda x, y: F.pad(x, (0, (y.shape[0] - x.shape[1]) // 2)) + 1, lambda n: [rand(3,n // 2 * 2), rand(n)], (0,1)),
        "conv2d of halves": (lambda x, w: F.conv2d(x.bfloat16(), w.bfloat16(), padding=1).float(), lambda n: [rand(2,3,n,n+1), rand(4,3,3,3)], (0,1)),
        "conv2d f64": (lambda x, w: F.conv2d(x, w, padding=1), lambda n: [rand(2,3,n,n+1).double(), rand(4,3,3,3).double()]),
        "complex": (lambda x: (torch.polar(x.abs(), x) * torch.polar(x.cos().abs(), x)).abs(), of('n',3), (0,)),
        "log_prob": (lambda x, y: torch.distributions.Categorical(logits=x).log_prob(y), lambda n: [rand(n,5), ints(n,hi=5)]),
        "histc": (lambda x: torch.histc(x, 5, -2, 2), of('n',3), (0,)),
    }  # fmt: skip


NAMES = list(programs())


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


@pytest.mark.parametrize("grad", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("name", part(NAMES, 3))
def test_no_size_is_made_by_itself(name, grad):
    fn, make, *without = programs()[name]
    same_at_any_size(fn, make, grad, *without)


@torch.no_grad()
def test_windows_of_images_of_any_size():
    """Squares of an image as rows, and back, as Swin has them: a border where a side is no multiple of theirs."""

    def windows(x, side=4):
        b, h, w, c = x.shape
        x = F.pad(x, (0, 0, 0, -w % side, 0, -h % side))
        rows, columns = x.shape[1] // side, x.shape[2] // side
        y = x.view(b, rows, side, columns, side, c).transpose(2, 3).reshape(-1, side * side, c).softmax(-1)
        return y.view(b, rows, columns, side, side, c).transpose(2, 3).reshape(x.shape)[:, :h, :w]

    ours = vitrine.compile(windows)
    for n in (9, 5, 12, 8, 31, 16, 6, 18, 4, 3, 24, 11):
        for w in (n, n + 1, 4):
            x = rand(2, n, w, 3)
            torch.testing.assert_close(ours(x), windows(x), check_stride=True)


def test_halves_behind_a_product_are_normalised_at_any_size():
    """Gradients in bfloat16 are rounding in part: ours are no farther from those in float64 than eager's."""
    model, exact = Halves(nn.LayerNorm(8)), nn.LayerNorm(8).double()
    ours = vitrine.compile(model, fullgraph=True, recompile_limit=MOST)
    for n in SIZES:
        torch.manual_seed(n)
        x = rand(n, 8)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            product = (x @ x.mT @ x).double()
        found, eagers = [torch.autograd.grad(m(x).square().sum(), list(model.parameters())) for m in (ours, model)]
        right = torch.autograd.grad(exact(product).square().sum(), list(exact.parameters()))
        for a, b, c in zip(found, eagers, right, strict=True):
            assert (a - c).abs().max() <= (b - c).abs().max() + 0.01 * c.abs().max() + 0.05
    assert not made_anew()
