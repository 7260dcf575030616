"""Torch at large: autocast and inference modes, linear algebra, complex numbers, indexing, promotion, random
numbers, and one call of very many functions."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils._pytree as pytree
from tests.python.programs.registry import program, vec


def m(*s):
    return lambda: torch.randn(*s, generator=torch.Generator().manual_seed(3))


def sq(n):

    def f():
        a = torch.randn(n, n, generator=torch.Generator().manual_seed(5))
        return a @ a.T + n * torch.eye(n)
    return f


@program(m(4, 4))
def autocast_ctx(x):
    with torch.autocast('cpu', dtype=torch.bfloat16):
        y = x @ x
        z = torch.softmax(y, -1)
    return (y, z, y.dtype)


@program(m(4, 4))
def autocast_disabled_inside(x):
    with torch.autocast('cpu', dtype=torch.bfloat16):
        a = x @ x
        with torch.autocast('cpu', enabled=False):
            b = x @ x
        c = F.linear(x, x) + x.sum()
    return (a, b, c, torch.is_autocast_enabled('cpu'))


@torch.autocast('cpu', dtype=torch.bfloat16)
def deco_ac(x):
    return x @ x


@program(m(4, 4))
def autocast_deco(x):
    return deco_ac(x) + x @ x


@program(m(4))
def inference(x):
    with torch.inference_mode():
        y = x * 2
    return (y + 0 if not y.is_inference() else y.clone(), y.is_inference())


@torch.inference_mode()
def inf_deco(x):
    return x * 3


@program(m(4))
def inference_deco(x):
    return (inf_deco(x).is_inference(), x + 1)


@torch.no_grad()
def ng(x):
    return x * 2


@program(m(4))
def nograd_deco(x):
    w = torch.ones(4, requires_grad=True)
    return (ng(w * x), w * x)


@program(m(4))
def set_grad(x):
    p = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(p)
    return (y, torch.is_grad_enabled() == p)


@program(m(4))
def enable_grad_nested(x):
    with torch.no_grad():
        a = torch.is_grad_enabled()
        with torch.enable_grad():
            b = torch.is_grad_enabled()
    return (a, b, x * 1)


@program(sq(4))
def linalg(x):
    L = torch.linalg.cholesky(x)
    i = torch.linalg.inv(x)
    s = torch.linalg.solve(x, x[:, 0])
    d = torch.linalg.det(x)
    n = torch.linalg.norm(x)
    q, r = torch.linalg.qr(x)
    return (L, i, s, d, n, q @ r, torch.linalg.eigvalsh(x), torch.linalg.matrix_rank(x), torch.linalg.slogdet(x), torch.linalg.svdvals(x), torch.linalg.pinv(x), torch.linalg.matrix_power(x, 2), torch.trace(x), torch.linalg.vector_norm(x, ord=3), torch.cholesky_inverse(L))


@program(m(8))
def fft(x):
    f = torch.fft.rfft(x)
    return (torch.fft.irfft(f, 8), f.abs(), f.real, f.imag, torch.fft.fft(x).abs(), torch.fft.fftshift(x))


@program(m(4, 2))
def complexes(x):
    c = torch.view_as_complex(x)
    d = c * c.conj()
    return (d.real, torch.view_as_real(c * 2), c.abs(), c.angle(), torch.polar(x[:, 0].abs(), x[:, 1]), torch.complex(x[:, 0], x[:, 1]).sum(), c.conj().resolve_conj(), c.imag, torch.is_complex(c))


@program(m(2, 3, 4))
def einsums(x):
    return (torch.einsum('bij,bkj->bik', x, x), torch.einsum('bij->ji', x), torch.einsum('...j,j->...', x, x[0, 0]), torch.tensordot(x, x, dims=([1, 2], [1, 2])), torch.bmm(x, x.mT), torch.kron(x[0], x[1]), torch.outer(x[0, 0], x[0, 1]), torch.cdist(x, x), torch.cross(x[..., :3], x[..., :3].flip(-1), dim=-1))


@program(m(5, 4))
def scatters(x):
    i = torch.tensor([[0, 1, 2, 0], [1, 1, 3, 4]])
    z = torch.zeros(5, 4)
    return (z.scatter(0, i, x[:2]), z.scatter_add(0, i, x[:2]), x.gather(0, i), z.index_add(0, torch.tensor([1, 1, 2]), x[:3]), z.index_copy(0, torch.tensor([4, 0]), x[:2]), x.index_select(1, torch.tensor([3, 0])), z.index_put((torch.tensor([1, 2]), torch.tensor([0, 0])), x[0, :2]), z.scatter_reduce(0, i, x[:2], 'amax', include_self=False), x.take(torch.tensor([0, 7])), torch.take_along_dim(x, i, 0), z.put(torch.tensor([3]), x[0, :1]))


@program(m(5, 4))
def masks(x):
    k = x > 0
    return (x.masked_fill(k, 0.0), torch.where(k, x, -x), x.masked_fill(~k, float('-inf')).softmax(-1), x.masked_scatter(k, torch.ones(20)), k.any(), k.all(1), k.sum(), x[k].shape[0] >= 0, torch.nonzero(k).shape[1], x.clamp(min=0).where(k, torch.tensor(9.0)))


@program(m(3, 4, 5))
def indexing_of_tensors(x):
    i = torch.tensor([0, 2])
    b = torch.tensor([True, False, True])
    return (x[i], x[:, i], x[i, :, i], x[..., i], x[b], x[None, ..., 0], x[i[:, None], torch.tensor([[0, 1]])], x[:, [0, 1]], x[0, ..., -1], x[-1], x[1:2, ::2, [4, 0]], x[b, 1], x[torch.tensor(1)], x[slice(None), 0], x[[[0, 1], [1, 2]]], x[True].shape, x[..., None, :].shape)


@program(m(4, 4))
def writes(x):
    y = x.clone()
    y[0] = 1
    y[:, 1] += 2
    y[1:3, 2:] *= 0
    y[y > 2] = 2
    y[torch.tensor([0, 0])] = 5.0
    y.T[3] = 7
    y[..., -1] = x[0]
    y.diagonal().fill_(3)
    y.view(-1)[5] = 8
    y[0, 0].add_(1)
    y[None, 1] = 2
    return y


@program(m(4))
def out_args(x):
    o = torch.empty(4)
    torch.add(x, 1, out=o)
    torch.mul(o, 2, out=o)
    p = torch.empty(0)
    torch.sin(x, out=p)
    return (o, p)


@program(m(4))
def expand_write(x):
    y = x[:1].expand(4)
    try:
        y.add_(1)
    except RuntimeError as e:
        return (str(e)[:30], x)


@program(m(4))
def resize(x):
    y = x.clone()
    y.resize_(2, 2)
    z = torch.empty(0)
    z.set_(y)
    return (y * 1, z + 1)


@program(m(4))
def promote(x):
    i = torch.arange(4)
    b = i > 1
    h = x.half()
    bf = x.bfloat16()
    d = x.double()
    u = i.to(torch.uint8)
    return (x + i, i + 1.5, b + 1, b * x, h + x, h + bf, d + h, u + i, u - 200, u // 3, i // -2, i % -3, -i % 3, i << 2, i >> 1, i & 1, ~i, i / 2, x // 0.3, x % 0.3, torch.remainder(-x, 0.7), torch.fmod(-x, 0.7), h * 2, bf / 3, i ** 2, 2 ** i, torch.result_type(i, x), i.float().mean(), b.float().sum(), i.bool(), torch.tensor(3) + h, torch.tensor(3.0) * i, x + torch.tensor(2, dtype=torch.float64))


@program(m(6))
def nans(x):
    n = torch.tensor([1.0, float('nan'), float('inf'), -float('inf'), 0.0, -0.0])
    return (n + x, n.max(), n.min(), torch.maximum(n, x), torch.fmax(n, x), n.clamp(-1, 1), torch.nan_to_num(n), n.isnan(), n.isfinite(), n.softmax(0), n.sum(), n.nansum(), n.sign(), 1 / n, n.sqrt(), n.log(), n.exp(), n.relu(), torch.sigmoid(n), n.tanh(), F.silu(n), n == n, n.argmax(), n.sort().values, torch.atan2(n, x), n.round(), n.floor(), n.frac(), F.gelu(n, approximate='tanh'), F.softplus(n), F.leaky_relu(n), F.elu(n), n.cumsum(0), n.prod(), n.abs(), torch.sgn(n), n.rsqrt(), n.reciprocal(), n.erf(), torch.expm1(n), torch.log1p(n), n.pow(2), n.pow(0.5), torch.hypot(n, x), torch.logaddexp(n, x), F.hardswish(n), F.mish(n), n.std(), n.median(), n.mode())


@program(lambda: torch.zeros(0, 3))
def empties_of_tensors(x):
    return (x + 1, x.sum(), x.sum(0), x.mean(), torch.cat([x, torch.ones(1, 3)]), x.T @ x, x.view(3, 0), x.softmax(0), F.layer_norm(x, (3,)), x.amax(1), x.numel(), torch.empty(0).prod(), x.any(), x.reshape(-1).shape, x.expand(0, 3), x.repeat(2, 2), torch.stack([x, x]))


@program(lambda: torch.tensor(2.5))
def zerod(x):
    return (x + 1, x * torch.ones(3), x.view(1), x.sum(), x.softmax(0), x.unsqueeze(0), x.max(), x.expand(3), x.reshape(1, 1), x.clamp(0, 1), torch.stack([x, x]), x.squeeze(), x.ndim, x.argmax(), x.sort(), x.cumsum(0), x.item())


@program(m(2, 3, 4, 5))
def chlast(x):
    y = x.to(memory_format=torch.channels_last)
    c = nn.functional.conv2d(y, torch.ones(2, 3, 3, 3), padding=1)
    return (y + 1, c.is_contiguous(memory_format=torch.channels_last), c, F.max_pool2d(y, 2), y.contiguous(), F.interpolate(y, scale_factor=2), y.mean((2, 3)), y.flatten(1), F.batch_norm(y, torch.zeros(3), torch.ones(3)), F.pixel_unshuffle(y[..., :4, :4], 2), y.permute(0, 2, 3, 1).is_contiguous())


@program(m(3, 4))
def aliases(x):
    v = x.view(-1)
    r = x.reshape(4, 3)
    t = x.t()
    d = x.detach()
    s = x[1:]
    v[0] = 9
    return (x, v, r, t, d, s, x is x.contiguous(), x.data_ptr() == v.data_ptr())


@program(m(3, 4))
def attrs(x):
    return (x.dtype, x.device, x.shape, x.ndim, x.is_leaf, x.requires_grad, x.grad, x.layout, x.is_contiguous(), x.element_size(), x.nbytes, x.itemsize, x.stride(), x.storage_offset(), x.is_floating_point(), x.T.shape, x.mT.shape, x.is_cuda, x.is_sparse, x.names if False else None, len(x), x.numel(), x.nelement(), x.size(-1), x.dim(), x.real.shape, x.data.shape, x.is_signed(), x.untyped_storage().nbytes())


@program(m(4))
def rng(x):
    torch.manual_seed(3)
    a = torch.rand(4)
    b = torch.randn_like(x)
    c = torch.randint(0, 5, (3,))
    d = torch.randperm(5)
    e = torch.bernoulli(torch.full((4,), 0.5))
    f = F.dropout(x, 0.5, True)
    g = torch.empty(3).uniform_()
    h = torch.empty(3).normal_(1, 2)
    i = torch.multinomial(torch.ones(4), 2)
    j = torch.normal(x, 1.0)
    with torch.random.fork_rng():
        k = torch.rand(2)
    gen = torch.Generator().manual_seed(4)
    l = torch.rand(2, generator=gen)
    return (a, b, c, d, e, f, g, h, i, j, k, l, torch.rand(1), F.dropout2d(x.view(1, 4, 1, 1), 0.5, True), F.alpha_dropout(x, 0.5, True), F.rrelu(x, training=True), torch.poisson(x.abs()), torch.initial_seed())


@program(m(4))
def default_dtype(x):
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.ones(3) + 1
    finally:
        torch.set_default_dtype(torch.float32)
    return (y, torch.ones(2).dtype, x)


@program(m(4))
def funcs(x):
    g = torch.func.grad(lambda t: (t ** 2).sum())(x)
    v = torch.vmap(lambda t: t * 2)(x)
    j = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    H = torch.func.hessian(lambda t: (t ** 3).sum())(x)
    vg = torch.func.grad_and_value(lambda t: t.sum())(x)
    jr = torch.func.jacrev(torch.sin)(x)
    return (g, v, j, H, vg, jr)


@program(m(4))
def status(x):
    return (torch.jit.is_scripting(), torch.jit.is_tracing(), torch.is_tensor(x), torch.get_default_dtype(), torch.is_storage(x), torch.are_deterministic_algorithms_enabled(), torch.overrides.is_tensor_like(x), torch.backends.mkldnn.is_available(), torch.cuda.is_available(), x + 1)


@program(m(6))
def sorts(x):
    return (x.sort(descending=True), x.topk(2), x.argsort(), x.kthvalue(2), torch.unique(x.round()), torch.searchsorted(torch.arange(3.0), x), torch.bucketize(x, torch.arange(3.0)), torch.bincount(torch.tensor([1, 1, 2])), torch.histc(x, 3), x.cummax(0), x.diff(), x.msort(), torch.unique_consecutive(torch.tensor([1, 1, 2])), torch.isin(x, x[:2]), x.median(), x.quantile(0.3), x.flip(0), x.roll(2), torch.combinations(x[:3]), torch.cartesian_prod(x[:2], x[:2]), x.logcumsumexp(0), torch.trapezoid(x), torch.cov(torch.stack([x, x * 2])), torch.corrcoef(torch.stack([x, x.sin()])), torch.meshgrid(x, x, indexing='ij')[0], torch.tril_indices(3, 3), torch.block_diag(x[:2], x[2:]), torch.vander(x[:2]))


@program(m(2, 3, 8))
def nnf(x):
    return (F.pad(x, (1, 2), 'reflect'), F.unfold(x[None], (2, 2)), F.one_hot(torch.tensor([0, 2]), 3), F.normalize(x), F.cosine_similarity(x, x.flip(0)), F.pairwise_distance(x[0], x[1]), F.glu(x), F.group_norm(x, 3), F.instance_norm(x), F.local_response_norm(x, 2), F.embedding(torch.tensor([0, 1]), x[0]), F.embedding_bag(torch.tensor([0, 1, 1]), x[0], torch.tensor([0, 2])), F.interpolate(x, size=4, mode='linear'), F.grid_sample(x[None], torch.zeros(1, 2, 2, 2), align_corners=False), F.affine_grid(torch.eye(2, 3)[None], (1, 1, 2, 2), align_corners=False), F.cross_entropy(x[0], torch.tensor([1, 2, 0])), F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction='batchmean'), F.mse_loss(x, x * 2), F.binary_cross_entropy_with_logits(x, x.sigmoid()), F.smooth_l1_loss(x, x + 1), F.huber_loss(x, x + 1), F.triplet_margin_loss(x[0], x[1], x[0] + 1), F.ctc_loss(x.permute(2, 0, 1).log_softmax(-1), torch.tensor([[1], [2]]), (8, 8), (1, 1)), F.max_pool1d(x, 2, return_indices=True), F.avg_pool1d(x, 2), F.adaptive_max_pool1d(x, 2), F.lp_pool1d(x, 2, 2), F.conv1d(x, torch.ones(4, 3, 2)), F.conv_transpose1d(x, torch.ones(3, 4, 2)), F.scaled_dot_product_attention(x, x, x, is_causal=True), F.multi_margin_loss(x[0], torch.tensor([1, 2, 0])), F.gumbel_softmax(x[0], hard=True).sum(), F.bilinear(x[0], x[1], torch.ones(2, 8, 8)), F.threshold(x, 0.1, 20), F.hardtanh(x), F.logsigmoid(x), F.softsign(x), F.tanhshrink(x), F.prelu(x, torch.tensor([0.2])), F.celu(x), F.selu(x), F.relu6(x), F.hardsigmoid(x), F.softmin(x, -1), F.rms_norm(x, (8,)), F.fold(torch.ones(1, 4, 4), (3, 3), (2, 2)), F.channel_shuffle(x[None], 1), F.pixel_shuffle(torch.ones(1, 4, 2, 2), 2))


@program(m(3, 4))
def subclassy(x):
    p = nn.Parameter(x.clone())
    q = nn.ParameterList([p])
    return (p.shape, isinstance(p, nn.Parameter), p + 1)


@program(m(3, 4))
def sparse(x):
    s = x.to_sparse()
    return (s.to_dense() + 1, torch.sparse.mm(s, x.T), s.is_sparse)


@program(m(3, 4))
def quant(x):
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    return (q.dequantize(), torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255))


@program(m(3, 4))
def utils(x):
    return (torch.allclose(x, x), torch.equal(x, x + 0), torch.numel(x), torch.is_floating_point(x), torch.chunk(x, 2, 1), torch.split(x, [1, 3], 1), torch.tensor_split(x, 3, 1), torch.hsplit(x, 2), torch.vstack([x, x]), torch.hstack([x, x]), torch.dstack([x, x]), torch.broadcast_tensors(x, x[0]), torch.atleast_3d(x), torch.movedim(x, 0, 1), torch.swapaxes(x, 0, 1), torch.rot90(x), torch.narrow(x, 1, 0, 2), torch.select(x, 0, 1), torch.unbind(x), torch.ravel(x), torch.clone(x), torch.zeros_like(x), torch.full_like(x, 2), torch.arange(0, 1, 0.3), torch.linspace(0, 1, 3), torch.logspace(0, 1, 3), torch.eye(3), torch.tril(x), torch.triu(x, 1), torch.diag(x[0]), torch.diagflat(x[0]), torch.repeat_interleave(x, 2, 0), torch.tile(x, (2,)), torch.addmm(x, x @ x.T, x), torch.baddbmm(x[None], x[None, :, :3], x[None]), torch.addcmul(x, x, x, value=2), torch.addcdiv(x, x, x.abs() + 1), torch.lerp(x, x * 2, 0.3), torch.clamp(x, x - 1, x + 0.1), torch.heaviside(x, x), torch.square(x), torch.sinc(x), torch.dist(x, x * 2), torch.logsumexp(x, 1), torch.renorm(x, 2, 0, 1.0), torch.std_mean(x), torch.var(x, 1, correction=0), torch.aminmax(x), torch.count_nonzero(x), torch.bitwise_xor(torch.tensor([1, 2]), 3), torch.gcd(torch.tensor(12), torch.tensor(8)), torch.unflatten(x, 1, (2, 2)), torch.empty(2).fill_(1), torch.scalar_tensor(3.0), torch.tensor([[1, 2], [3, 4]]), torch.as_tensor([1.5]), torch.from_numpy(__import__('numpy').ones(2)), x.new_zeros(2), x.new_tensor([1]), x.type_as(torch.ones(1, dtype=torch.float64)), x.to(torch.int), x.long(), x.tolist()[0][0] > -99)


@torch.jit.script
def scripted(x, scale: int):
    if scale > 3:
        x = x.exp()
    return x * scale + 1


@program(m(4, 4))
def scripted_function(x):
    return scripted(x, x.size(0)).relu(), scripted(x, scale=2)


@program(vec(3))
def tensors_by_their_class(x):
    listed = torch.Tensor([1.5, 2, 3]) + torch.LongTensor((1, 2, 3)) * x
    nested = torch.FloatTensor([[x.shape[0], 2], [3, 4]]), torch.DoubleTensor([1]), torch.BoolTensor([1, 0])
    shapes = [torch.Tensor(2, 3).shape, torch.IntTensor(len(x)).zero_(), torch.HalfTensor().shape]
    return listed, nested, shapes, torch.get_float32_matmul_precision()


@program(vec(3))
def tensors_by_their_class_of_others(x):
    alias = torch.Tensor(x)
    alias += 1
    try:
        return alias, x, torch.LongTensor([x[0].int(), 2]), torch.LongTensor("ab")
    except TypeError as error:
        return alias, x, type(error)


@program(m(3, 4))
def results_with_fields_made_anew(x):
    shifted = pytree.tree_map(lambda v: v + 1, {"most": torch.max(x, 1), "parts": torch.linalg.qr(x)})
    most = torch.return_types.max([x, x.argmax(1)])
    return shifted["most"].values * 2, shifted["parts"].Q, most.indices, type(shifted["most"]).__name__, most
