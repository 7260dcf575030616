"""What tensor_fuzz.py writes programs with. In a form, {t} is a tensor of floats, {u} one that broadcasts with it, {m} one of at
least two dims, {i} a tensor of indices, {b} one of truths, {d} a dim of {t} or {m}, {k} a number, {n} a small one that is not
negative, {p} a permutation of its dims."""

HEAD = '''import torch
import torch.nn.functional as F

SIZES = @SIZES@


def floats(draw, shape, kind, dtype=torch.float32):
    t = torch.randn(shape, generator=draw) if kind != "whole" else torch.randint(-3, 4, shape, generator=draw).float()
    return change((t * 0.5 if kind == "small" else t).to(dtype))


def change(t):  # who judges a program puts another one here
    return t


def viewed(t, how, *sizes):
    """Another name for the same memory, or for a part of it; t itself where that does not fit."""
    n = min(max(sizes[0], 1), max(t.numel(), 1))
    try:
        return {
            "same": lambda: t,
            "detached": lambda: t.detach(),
            "behind": lambda: t[1:],
            "before": lambda: t[:-1],
            "turned": lambda: t.transpose(0, -1),
            "flat": lambda: t.view(-1),
            "strided": lambda: t[..., ::2],
            "column": lambda: t[..., -1],
            "row": lambda: t[0],
            "windows": lambda: t.unfold(-1, 2, 1),
            "repeated": lambda: t.expand(2, *t.shape),
            "diagonal": lambda: t.diagonal(),
            "overlapping": lambda: t.as_strided((n, max(t.numel() - n, 0)), (1, 1)),
            "by_size": lambda: t.as_strided((max(t.numel() // n, 1), 1), (n, 1)),
            "apart": lambda: t.clone(),
        }[how]()
    except (RuntimeError, IndexError):
        return t


def laid_out(t, how):
    if how == "turned" and t.dim() > 1:
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    if how == "holes":
        return torch.stack([t, t + 1], -1)[..., 0]
    if how == "shifted":
        return torch.cat([t.new_zeros(3), t.reshape(-1)])[3:].view(t.shape)
    if how == "channels_last" and t.dim() == 4:
        return t.contiguous(memory_format=torch.channels_last)
    if how == "expanded" and t.dim() > 1 and t.shape[0]:
        return t[:1].clone().expand(t.shape)
    return t
'''

FLOATS = """
{t} {o} {u}
{t} {o} {u}
{t} {o} {u}
{t} {o} {k}
{k} - {t}
{t} / ({u}.abs() + 1)
torch.{point}({t})
torch.{point}({t})
torch.{point}({t})
F.{act}({t})
F.{act}({t})
torch.{two}({t}, {u})
torch.addcmul({t}, {u}, {u}, value={k})
torch.lerp({t}, {u}, 0.25)
torch.where({b}, {t}, {u})
torch.where({t} > {u}, {t}, {k})
{t}.masked_fill({t} > {k}, {k})
{t}.clamp({k}, 2)
({t} {c} {k}).to({t}.dtype)
({t} {c} {u}) * {t}
{t}.{red}()
{t}.{red}({d})
{t}.{red}({d}, keepdim=True)
{t}.{red}({d}, keepdim=True)
{t} - {t}.{red}({d}, keepdim=True)
{m}.{sums}(({d}, {d2}))
{m}.sum(({d}, {d2}), keepdim=True)
{t}.max({d}).values
{t}.min({d}, keepdim=True)[0]
{t}.std({d}, unbiased=False)
{t}.var({d}, keepdim=True)
{t}.norm(dim={d})
torch.logsumexp({t}, {d})
F.softmax({t}, {d})
F.log_softmax({t}, {d})
{t}.softmax(-1).sum({d})
{t}.cumsum({d})
{t}.cumsum({d}).flip({d})
{t}.tanh().cumprod({d})
torch.cummax({t}, {d}).values
torch.logcumsumexp({t}, {d})
{t}.prod({d})
F.layer_norm({t}, {t}.shape[-1:])
F.layer_norm({t}, {t}.shape[-1:], {t}.new_ones({t}.shape[-1:]) * 2)
F.normalize({t}, dim={d})
F.rms_norm({t}, {t}.shape[-1:])
F.glu({t}, {d})
{m} @ {u}.transpose(-1, -2)
{m} @ {u}
{m}.transpose(-1, -2) @ {u}
torch.matmul({m}, {t}.reshape(-1)[:1].expand({m}.shape[-1]))
F.linear({m}, {t}.reshape(-1)[:1].expand(3, {m}.shape[-1]) + 1)
F.relu({m} @ {m}.mT + {k})
torch.einsum('...ij,...kj->...ik', {m}, {m})
F.conv1d({m}[None] if {m}.dim() == 2 else {m}.reshape(1, -1, {m}.shape[-1]), torch.ones(2, 1, 3) * 0.5, padding={n}, groups=1) if {m}.dim() == 2 and {m}.shape[0] == 1 else {m}
F.avg_pool2d({m}, 2, ceil_mode=True) if {m}.dim() == 4 else {m} * 2
F.max_pool2d({m}, 3, 1, 1) if {m}.dim() == 4 else {m} * 2
F.conv2d({m}, torch.full((4, {m}.shape[1], 3, 3), 0.1, dtype={m}.dtype), padding=1) if {m}.dim() == 4 else {m} + 1
F.interpolate({m}, scale_factor=2) if {m}.dim() == 4 else {m} + 2
F.adaptive_avg_pool2d({m}, 1) if {m}.dim() == 4 else {m} + 2
F.batch_norm({m}, None, None, training=True) if {m}.numel() > {m}.shape[1] else {m}
F.group_norm({m}, 1) if {m}.dim() > 2 else {m}
{t}[1:]
{t}[:-1]
{t}[..., ::2]
{t}[..., {n}:]
{t}[..., -1]
{t}[0]
{t}[None]
{t}[:, None]
{t}[..., None]
{t}.select({d}, 0)
{t}.narrow({d}, 0, 1)
{t}.flip({d})
{t}.roll({k0}, {d})
{t}.unsqueeze({d})
{t}.squeeze()
{t}.squeeze({d})
{t}.permute({p})
{t}.permute({p}).contiguous()
{m}.transpose({d}, {d2})
{m}.mT
{t}.reshape(-1)
{t}.flatten()
{m}.flatten(0, 1)
{m}.reshape({m}.shape[0], -1)
{m}.reshape(-1, {m}.shape[-1]).t()
{m}.unflatten(-1, (1, -1))
{t}.expand(2, *{t}.shape)
{t}.repeat(*[2] * {t}.dim())
{t}.repeat_interleave(2, {d})
{t}.chunk(2, {d})[0]
{t}.split(1, {d})[-1]
{t}.unbind({d})[0]
{m}.diagonal()
{m}.tril()
{m}.triu(1)
{t}.unfold({d}, 2, 1)
{t}.as_strided(({t}.numel(),), (1,)) if {t}.is_contiguous() else {t}
torch.cat([{t}, {u}], {d})
torch.cat([{t}, {t} * 2, {u}.neg()], {d})
torch.stack([{t}, {t} + 1], {d})
torch.stack([{t}, {u}.expand_as({t})])
F.pad({t}, (1, {n}))
F.pad({t}, (-1, 2), value={k})
F.pad({m}, (1, 1), mode='replicate') if {m}.dim() == 3 else F.pad({m}, (0, 1, 1, 0))
F.pad({m}, (1, 1, 0, 0), mode='constant', value={k})
{t}.index_select({d}, {i}.reshape(-1) % {t}.shape[{d}])
{t}[{i} % {t}.shape[0]]
{m}[:, {i} % {m}.shape[1]]
{t}.gather({d}, ({t} > 0).long() % {t}.shape[{d}])
{t}.gather({d}, torch.arange({t}.shape[{d}]).expand_as({t}.transpose({d}, -1)).transpose({d}, -1))
{t}.take({i} % max({t}.numel(), 1))
torch.zeros_like({t}).scatter({d}, ({t} > 0).long() % {t}.shape[{d}], {t})
torch.zeros_like({t}).scatter_add({d}, ({t} > 0).long() % {t}.shape[{d}], {t})
{t}.index_add(0, {i}.reshape(-1)[:1] % {t}.shape[0], {t}[:1])
{t}.index_put(({i} % {t}.shape[0],), torch.tensor({k}, dtype={t}.dtype))
{t}.index_put(({i} % {t}.shape[0],), torch.tensor({k}, dtype={t}.dtype), accumulate=True)
{t}.scatter({d}, torch.zeros_like({t}, dtype=torch.int64), {k})
{t}.masked_select({b}) if {b}.shape == {t}.shape else {t}
{t}[{t} > 0]
{t}.nonzero().to({t}.dtype)
torch.where({t} > 0)[0].to({t}.dtype)
torch.unique({t}.round(), return_counts=True)[1].to({t}.dtype)
torch.unique_consecutive({t}.round().reshape(-1))
torch.bincount({i}.reshape(-1) + 1).to({t}.dtype)
{t}.repeat_interleave(torch.arange({t}.shape[0]) % 3, 0)
{t}[{t}.reshape({t}.shape[0], -1)[:, 0] > 0] if {t}.numel() else {t}
torch.zeros_like({t}).index_add(0, ({t}.reshape({t}.shape[0], -1).sum(1) > 0).nonzero()[:, 0], {t}[{t}.reshape({t}.shape[0], -1).sum(1) > 0] * 2)
{t}[: ({t} > 0).sum()]
torch.arange(int({b}.sum()), dtype={t}.dtype) * {k}
{t}.narrow(0, 0, ({t} > 0).any().long().item())
sum(p.sum() * n for n, p in enumerate({t}.split([int(({t}[:1] > 9).sum()), {t}.shape[0] - int(({t}[:1] > 9).sum())])))
{t}.sort({d}).values
{t}.sort({d}, descending=True)[0]
{t}.topk(1, {d}).values
{t}.kthvalue(1, {d}).values
{t}.median({d}).values
F.one_hot({i} % 5, 5).to({t}.dtype)
F.embedding({i} % {m}.shape[0], {m}) if {m}.dim() == 2 else {m}
F.cross_entropy({m}, ({i}.reshape(-1)[:1] % {m}.shape[1]).expand({m}.shape[0])) if {m}.dim() == 2 else {m}
F.mse_loss({t}, {u}.expand_as({t}))
F.scaled_dot_product_attention({m}, {m}, {m}) if {m}.dim() > 2 else {m}
torch.take_along_dim({t}, {t}.argsort({d}), {d})
torch.take_along_dim({t}, ({t} > 0).long().sum({d}, keepdim=True) % {t}.shape[{d}], {d})
{m}.reshape(-1, {m}.shape[-1])[0] @ {m}.reshape(-1, {m}.shape[-1]).mT
{m} @ {m}.reshape(-1, {m}.shape[-1])[0]
torch.matmul({m}.reshape(-1, {m}.shape[-1])[0], {m}.mT)
torch.fft.fft2({m}.float()).real.to({t}.dtype)
torch.fft.fft({t}.float(), dim={d}).abs().to({t}.dtype)
torch.fft.irfft(torch.fft.rfft({t}.float(), dim={d}) * 2j, n={t}.shape[{d}], dim={d}).to({t}.dtype)
torch.view_as_real(torch.fft.rfft({t}.float(), dim={d}).conj()).to({t}.dtype)
torch.rot90({m}, {n}, (-2, -1))
torch.kron({m}.reshape(-1, {m}.shape[-1])[:2], {m}.reshape(-1, {m}.shape[-1])[:3])
torch.block_diag({t}.reshape(-1)[:3], {m}.reshape(-1, {m}.shape[-1])[:2])
torch.diag({t}.reshape(-1)[:5], {n})
torch.diag({m}.reshape(-1, {m}.shape[-1]))
torch.linalg.svdvals({m}.double()).to({t}.dtype)
torch.linalg.det(({m} @ {m}.mT).double() / 9 + 2 * torch.eye({m}.shape[-2]).double()).to({t}.dtype)
torch.linalg.solve(({m} @ {m}.mT).double() + 5 * torch.eye({m}.shape[-2]).double(), {m}.double()).to({t}.dtype)
{t}.float().quantile(0.5, dim={d}).to({t}.dtype)
F.pad({t}, (-1, 0))
F.pad({t}[..., :-1], (0, 0))
{t}[..., : {u}.shape[-1]]
torch.hypot({t}, {u}.expand_as({t}).abs() + 1)
{t}.sinc() + {t}.deg2rad()
torch.dist({t}, {u}.expand_as({t}).contiguous())
F.interpolate({m}, scale_factor=1.3) if {m}.dim() == 3 else {m}
torch.cdist({m}, {m} + 1) if {m}.dim() == 2 else {m}
torch.outer({t}.reshape(-1)[:5], {u}.reshape(-1)[:7])
torch.bmm({m}, {m}.mT) if {m}.dim() == 3 else {m}
torch.addmm({k0} * torch.ones(1, dtype={m}.dtype), {m}, {m}.mT) if {m}.dim() == 2 else {m}
torch.meshgrid({t}.reshape(-1)[:4], {u}.reshape(-1)[:3], indexing='ij')[0]
{t}.to(torch.{h}).to({t}.dtype)
{t}.to(torch.{h}).sum().to({t}.dtype)
({t}.to(torch.{h}) * {k}).to({t}.dtype)
({t}.to(torch.{h}) + {t}.to(torch.{h}).mean({d}, keepdim=True)).to({t}.dtype)
{t}.int().to({t}.dtype)
{t}.long().{isum}.to({t}.dtype)
{i}.to({t}.dtype) * 0.5
({i} {io} {ik}).to({t}.dtype)
({i} {io} {i}).sum().to({t}.dtype)
{i}.cumsum(0).to({t}.dtype)
{b}.sum().to({t}.dtype)
{b}.to({t}.dtype).mean()
({b} & ({t} > 0)).to({t}.dtype) if {b}.shape == {t}.shape else {t}
{b}.any().to({t}.dtype) * {t}
torch.arange({t}.shape[0], dtype={t}.dtype)
torch.linspace(0, 1, {t}.shape[-1], dtype={t}.dtype) * {t}
torch.full_like({t}, {k})
torch.zeros({t}.shape[0], 3, dtype={t}.dtype)
torch.eye(3, dtype={t}.dtype)
{t} * {t}.shape[0]
{t} * {u}.detach().mean().item()
{t} / (float({u}.detach().abs().sum()) + 1)
{t} + torch.full(({t}.dim(),), {u}.sum().item(), dtype={t}.dtype).sum()
{t} / max({t}.shape[0], 1)
{t}.argmax({d}).to({t}.dtype)
{t}.argsort({d}, stable=True).to({t}.dtype)
{t}.count_nonzero({d}).to({t}.dtype)
{t}.nan_to_num()
{t}.detach() * {u}
{t}.clone()
{t}.contiguous()
{t}.view_as({t})
{t}.mean().expand({t}.shape) + {t}
({t} - {t}.mean({d}, keepdim=True)) / ({t}.var({d}, keepdim=True, unbiased=False) + 1e-2).sqrt()
({t}.sum({d}, keepdim=True) * {t}).sum({d}, keepdim=True) - {t}
torch.bucketize({t}, torch.tensor([-1.0, 0.0, 1.0], dtype={t}.dtype)).to({t}.dtype)
torch.tensor_split({t}, 3, {d})[1]
torch.movedim({m}, {d}, {d2})
torch.hstack([{t}, {t}])
torch.complex({t}, {t}).abs()
torch.frac({t}) + torch.trunc({t})
torch.searchsorted({t}.sort(-1).values.contiguous(), {t}.contiguous()).to({t}.dtype)
torch.renorm({m}, 2, {d}, 1.0)
torch.diff({t}, dim={d})
torch.nn.functional.pixel_shuffle({m}, 2) if {m}.dim() == 4 and {m}.shape[1] == 4 else {m}
torch.nn.functional.unfold({m}, 2) if {m}.dim() == 4 else {m}
""".strip().split("\n")

IN_PLACE = """
{t}.add_({u})
{t}.mul_({k})
{t} += {k}
{t} *= {u}
{t}.relu_()
{t}.clamp_(-1, 1)
{t}.zero_()
{t}.copy_({u})
{t}[0] = {k}
{t}[..., 0] = {t}[..., -1]
{t}[1:] += {t}[:-1]
{t}[..., ::2] *= 2
{t}[{t} > 1] = {k}
{t}[{i} % {t}.shape[0]] = {k}
{t}.select({d}, 0).fill_({k})
{t}.narrow({d}, 0, 1).mul_(2)
{t}.view(-1)[:2].add_(1)
{m}.mT.add_({k})
{m}.diagonal().zero_()
{t}.masked_fill_({b}, {k})
{t}.index_fill_(0, {i}.reshape(-1) % {t}.shape[0], {k})
{t}.index_add_(0, {i}.reshape(-1)[:1] % {t}.shape[0], {t}[:1].clone())
{t}.index_copy_(0, {i}.reshape(-1)[:1] % {t}.shape[0], {t}[:1].clone())
{t}.scatter_({d}, torch.zeros_like({t}, dtype=torch.int64)[:1], {k})
{t}.unsqueeze_(0)
{t}.t_()
{t}.squeeze_()
{t}.transpose_(0, -1)
{t}.cumsum_({d})
{t}.sub_({u}, alpha=2)
{t}.addcmul_({u}, {u})
{t}.lerp_({u}, 0.5)
{t}.tril_()
{t}.neg_().abs_()
{t}.exponential_().zero_()
{t}.copy_({t}.flip({d}))
{t}[1:] = {t}[:-1].clone()
torch.add({t}, {u}, out={t})
""".strip().split("\n")

SLOTS = {
    "o": "+ - * + - * +".split(),
    "c": "> < >= <= == !=".split(),
    "k": "0.5 2 -1 0 1.5 3 -0.25 1e-3".split(),
    "k0": "1 2 -1".split(),
    "n": "0 1 2 3".split(),
    "h": "bfloat16 float16 float64 float32 int32 int64 bool uint8 int8".split(),
    "point": "relu abs neg tanh sigmoid exp sin cos sign floor ceil round square erf expm1 atan sinh rsqrt log1p sqrt reciprocal trunc log exp2 isnan logit erfc asinh positive digamma lgamma".split(),
    "act": "gelu silu elu leaky_relu softplus hardswish hardtanh mish relu6 selu logsigmoid softsign hardsigmoid tanhshrink celu".split(),
    "two": "maximum minimum fmax fmin atan2 hypot remainder fmod copysign logaddexp floor_divide heaviside nextafter dist pow xlogy".split(),
    "red": "sum mean amax amin sum mean logsumexp std var prod any all argmax nansum nanmean".split(),
    "sums": "sum mean amax amin var std".split(),
    "io": "+ - * // % & | ^ << >>".split(),
    "ik": "1 2 3 5".split(),
    "isum": "sum() cumsum(0) amax() bitwise_and(3) flip(0)".split(),
}  # fmt: skip
