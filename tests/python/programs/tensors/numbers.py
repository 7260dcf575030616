"""Dtype promotion and casts, overflow, division, shifts, NaN and infinity, zero sizes, rarely used operators."""

import math

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, scenario, vec

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
EVERY = (torch.bool, *INTEGERS, *FLOATS, torch.complex64)


@program(lambda: torch.tensor([0, 1, 2, 3]))
def every_pair_promotes(x):
    out = []
    for a in EVERY:
        for b in EVERY:
            out.append(x.to(a) + x[:1].to(b))
            out.append(x.to(a) * x[1].to(b))
        out.append((x.to(a) * 2).dtype)
        out.append((x.to(a) + 1.5).dtype)
        out.append((x.to(a) * True).dtype)
        out.append(torch.result_type(x.to(a), 1j))
    return out


@program(lambda: torch.tensor([-3.7, -0.5, 0.0, 0.5, 2.5, 3.5, 126.9]))
def casts_to_everything(x):
    return [x.to(a).to(b) for a in FLOATS for b in (*FLOATS, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)]


@program(lambda: torch.tensor([-129, -1, 0, 127, 128, 255, 256, 70000]))
def integer_casts_wrap(x):
    return [x.to(a).to(b) for a in INTEGERS for b in INTEGERS]


@program(lambda: torch.tensor([2**63 - 1, -(2**63), 0, -1, 1]))
def int64_overflow(x):
    return x + 1, x - 1, x * 2, -x, x.abs(), x >> 63, x << 1, x.sum(), x.sign(), x ^ -1, ~x, x.to(torch.int32), x.float()


@program(lambda: torch.tensor([2**31 - 1, -(2**31), 7], dtype=torch.int32))
def int32_overflow(x):
    return x + 1, x * x, x * 2 + 1, -x, x.abs(), x - 2**31 if False else x - 5, x.sum(), x.prod(), x.cumsum(0), x * 1.0, x // 3, x % 3, x % -3, x // -3


@program(lambda: torch.tensor([200, 100, 0, 255], dtype=torch.uint8))
def unsigned(x):
    return x - 201, x + 100, -x, x * 3, x // 7, x % 7, x / 7, x >> 3, x << 3, ~x, x > 100, x.sum(), x.max(), x.sort(), x.float().mean(), x.bitwise_and(15)


@program(lambda: torch.tensor([-7, 7, -8, 8, 0]), lambda: torch.tensor([2, -2, 3, -3, 5]))
def division_modes(a, b):
    f, g = a.float(), b.float()
    return [
        [p // q, p % q, torch.fmod(p, q), torch.remainder(p, q), torch.div(p, q, rounding_mode="trunc"), torch.div(p, q, rounding_mode="floor"),
         torch.floor_divide(p, q), torch.true_divide(p, q)]
        for p, q in ((a, b), (f, g), (a, g), (a, 2), (f, -2.5), (a.to(torch.int8), b.to(torch.int8)), (f.half(), g.half()))
    ]  # fmt: skip


@program(lambda: torch.tensor([1, 0, 3]))
def integer_division_by_zero(x):
    return x // torch.tensor([1, 0, 0])


@program(lambda: torch.tensor([1, 0, 3]))
def integer_remainder_by_zero(x):
    return x % 0


@program(lambda: torch.tensor([1.0, 0.0, -3.0, float("nan"), float("inf"), -float("inf")]))
def float_division_by_zero(x):
    z = torch.zeros(6)
    return x / 0, x // 0, x % 0, x / z, x / -z, x // z, torch.fmod(x, z), torch.remainder(x, 2), torch.remainder(2, x), x // 2, 1 // x, 0 * x


@program(lambda: torch.tensor([1, 2, 3]))
def shifts(x):
    return x << 2, x >> 1, 1 << x, 100 >> x, x << x, (x.to(torch.int8) << 6), x.to(torch.int32) >> x.to(torch.int32), x.bitwise_left_shift(3)


@program(lambda: torch.tensor([1, 2, 3]))
def negative_integer_power(x):
    return x ** -1


@program(lambda: torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0, float("nan"), float("inf"), -float("inf")]))
def powers(x):
    return (
        x**2, x**3, x**0, x**-1, x**0.5, x**-0.5, 2**x, 0**x, (-2) ** x, x**x, x.abs() ** x, x.pow(torch.tensor(2)), x.square(), x.rsqrt(),
        x.sqrt(), torch.float_power(x, 2), x.double() ** 3, x**1, x**2.0, x**4, x**-2,
    )  # fmt: skip


NAN, INF = float("nan"), float("inf")


@program(lambda: torch.tensor([[NAN, 1.0, -1.0], [INF, -INF, 0.0], [-0.0, 0.0, NAN]]))
def nan_in_reductions(x):
    return (
        x.sum(1), x.max(1), x.min(1), x.amax(0), x.amin(0), x.argmax(1), x.argmin(1), x.prod(0), x.mean(), x.nansum(), x.nanmean(1), x.var(1), x.any(), x.all(),
        x.sort(1), x.topk(2, 1), x.cummax(1), x.logsumexp(1), x.norm(dim=1), x.median(1), x.nanmedian(), x.isfinite().sum(), x.cumsum(1), x.softmax(1),
    )  # fmt: skip


@program(lambda: torch.tensor([NAN, 1.0, -1.0, INF, -INF, 0.0, -0.0, 1e-45, 3e38]))
def nan_in_pointwise(x):
    y = x.flip(0)
    return (
        torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y), x.clamp(min=0), x.clamp(max=0), x.clamp(0, NAN), x.clamp(2, 1),
        x.relu(), F.relu6(x), F.leaky_relu(x), F.elu(x), F.selu(x), F.softplus(x), F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x), F.mish(x), F.softsign(x),
        F.logsigmoid(x), x.sign(), x.sgn(), x.signbit(), x.copysign(y), x.abs(), x.neg(), x.floor(), x.ceil(), x.trunc(), x.frac(), x.round(), x.isinf(), x.isneginf(),
        x.log(), x.log1p(), x.log2(), x.exp2(), x.expm1(), x.sin(), x.tanh(), x.atan2(y), x.hypot(y), x.reciprocal(), x.erf(), x.sigmoid(), x.logit(), x.sinc(),
        x == y, x != y, x < y, x >= y, x.eq(NAN), torch.where(x > y, x, y), x.bool(), ~x.bool(), x.logical_and(y), x.logical_xor(y), x.lerp(y, 0.5), x.nextafter(y),
        torch.heaviside(x, y), x.xlogy(y), torch.addcmul(x, x, y, value=2), torch.addcdiv(x, x, y), x.ldexp(torch.tensor(2)), x.logaddexp(y), torch.threshold(x, 0, 5),
    )  # fmt: skip


@program(lambda: torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e20]))
def rounding(x):
    return x.round(), x.round(decimals=1), x.long()[:6], x.int()[:6], x.trunc(), (x * 3).round(decimals=-1), x.floor(), -x // 1, math.floor(x[0]), round(x[0].item())


@program(lambda: torch.randn(6, generator=torch.Generator().manual_seed(0)).half() * 100)
def half_intermediates(h):
    return h * h, h * 1000 * 1000, (h + 0.0001) - h, h.sum(), h.exp(), h / 3 * 3, h.bfloat16() + h, h.float() * h, h + torch.tensor(1.0), h + torch.ones(1), h.mean(), h.var(), h @ h


@program(lambda: torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).bfloat16())
def bfloat_intermediates(b):
    return b * 1.001 * 1.001, b.sum(0), b.softmax(-1), b @ b, F.layer_norm(b, (4,)), F.gelu(b), b.sigmoid() * b.tanh() + b, b.add(b, alpha=0.1), b.cumsum(0), b.norm()


@program(lambda: torch.tensor([1 + 2j, 0j, -3j, complex(INF, 0)]))
def complex_arithmetic(c):
    return c * c, c + 1, c * 1j, c / (1 + 1j), c.abs(), c.angle(), c.exp(), c.sqrt(), c.conj() * c, c.sum(), c.mean(), c == c, c.real * c.imag, -c, c**2, c.to(torch.complex128)


@program(lambda: torch.empty(0), lambda: torch.empty(0, 3), lambda: torch.empty(2, 0, 3))
def empties(a, b, c):
    return (
        a.sum(), a.prod(), a.mean(), a.any(), a.all(), b.sum(0), b.sum(1), c.sum(1), c.mean(1), c.softmax(2), b.t() @ b, b @ torch.ones(3, 2), torch.cat([a, torch.ones(2)]),
        a + 1, a * a, c.reshape(0, 6), c.amax(0), b.sort(0), torch.stack([a, a]), a.std(), F.relu(c), c[:, :, 1], c.view(-1), torch.zeros(0) @ torch.zeros(0), F.layer_norm(b, (3,)),
        c.nonzero(), a.unique(), b.cumsum(0), a.norm(), torch.where(a > 0, a, 0), c.permute(2, 0, 1) + 1, a.tolist(), len(a), b.numel(), c.expand(4, 2, 0, 3).sum(1),
    )  # fmt: skip


@program(lambda: torch.empty(0))
def max_of_nothing(a):
    return a.max()


@program(lambda: torch.empty(0, 3))
def argmax_of_nothing(a):
    return a.argmax(0)


@program(lambda: torch.tensor(5))
def zero_dim_integers(n):
    return n + 1, n / 2, n // 2, n * 1.5, -n, n.float() + n, torch.arange(n), [0, 1, 2, 3, 4, 5, 6][n], range(n)[-1], torch.zeros(n), n.item() // 2, list(range(n)), "ab" * n, n > 3, bool(n), int(n), float(n), n.shape, n.sum(0)


@program(lambda: torch.tensor(2.0), lambda: torch.ones(2, dtype=torch.float64), lambda: torch.ones(2, dtype=torch.int64))
def zero_dim_promotes(s, d, i):
    return s + d, s + i, s * torch.tensor(1, dtype=torch.float64), i + torch.tensor(2.5, dtype=torch.float64), i * torch.tensor(True), s.half() + i, d + 1j, i / i, (i > 0) * 2.5, i.mul(2), torch.add(i, i, alpha=2)


@program(lambda: torch.tensor([1, 2]))
def in_place_cannot_promote(i):
    i += 0.5
    return i


@program(lambda: torch.tensor([1, 2]))
def in_place_division_of_integers(i):
    i /= 2
    return i


@program(lambda: torch.tensor([1, 2], dtype=torch.int32))
def in_place_keeps_dtype(i):
    i += torch.tensor([2**40, 1])
    i *= 3
    f = torch.ones(2, dtype=torch.float16)
    f += torch.tensor([0.123456789, 1e6], dtype=torch.float64)
    f.mul_(torch.tensor(2.0))
    return i, f, f.dtype


@program(lambda: torch.tensor([True, False]))
def boolean_arithmetic(b):
    return b + b, b * b, b + 1, b * 0.5, b | b, b ^ True, ~b, b & 1, b.sum(), b.cumsum(0), b.int() - b.int(), b / 2, b.max(), b.float().mean(), b.logical_not(), b < True, b.prod(), torch.where(b, 1, 2.5), torch.where(b, 1, 2)


@program(lambda: torch.tensor([True, False]))
def boolean_minus(b):
    return b - b


@program(lambda: torch.tensor([True, False]))
def negate_boolean(b):
    return -b


@program(vec())
def python_numbers_as_tensors(x):
    return 2 - x, 2 / x, 2**x, 2 // x, 2 % x, 1 + x, True * x, x + 10**10, x * 1e-50, x + 2**31, x.add(1, alpha=2), x.sub(1, alpha=0.5), x == 1, 3 > x, x * -0.0


@program(lambda: torch.arange(4, dtype=torch.int32))
def big_python_number(x):
    return x + 2**40


@program(lambda: torch.arange(4))
def too_big_python_number(x):
    return x + 2**70


@program(lambda: torch.arange(3.0))
def factories(x):
    return (
        torch.arange(0, 1, 0.3), torch.arange(5, 0, -2), torch.linspace(0, 1, 4), torch.logspace(0, 1, 3), torch.eye(2, 3), torch.full((2,), 3), torch.full((2,), True),
        torch.full_like(x, 2, dtype=torch.int8), x.new_zeros(2), x.new_tensor([1, 2]), x.new_full((2,), 7), x.new_ones(2, dtype=torch.bool), torch.zeros(()), torch.ones([2, 1]),
        torch.tri(3) if hasattr(torch, "tri") else 0, torch.tril_indices(3, 3), torch.meshgrid(x, x, indexing="ij"), torch.cartesian_prod(x, x), torch.combinations(x), torch.vander(x),
        torch.arange(3, dtype=torch.float16) + 1, torch.zeros(2, dtype=torch.complex64), torch.hann_window(4), torch.block_diag(x, x), torch.diag_embed(x), torch.range(0, 2),
    )  # fmt: skip


@program(mat(3, 4))
def rare_operators(x):
    i = torch.tensor([2, 0, 1])
    return (
        torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, dims=2), torch.kron(x, x[:1]), torch.cdist(x, x), torch.cross(x[:, :3], x[:, 1:]), torch.outer(x[0], x[1]),
        x.bucketize(torch.tensor([-0.5, 0.0])), torch.searchsorted(torch.tensor([-0.5, 0.0]), x), x.histc(4), torch.bincount(i), x.quantile(0.3), x.kthvalue(2), x.mode(),
        torch.cummin(x, 1), x.cumprod(1), torch.diff(x), torch.trapezoid(x), x.renorm(2, 0, 1), F.normalize(x), F.cosine_similarity(x, x + 1), F.pairwise_distance(x, x + 1),
        torch.addmm(x[:, :3], x, x.t(), beta=0.5, alpha=2), torch.baddbmm(x[None, :, :3], x[None], x.t()[None]), torch.chain_matmul(x, x.t()), torch.linalg.norm(x), torch.take_along_dim(x, i[:, None], 1),
        torch.isin(x, x[0]), torch.unique_consecutive(i), torch.nn.functional.pad(x, (1, 1), value=2), F.one_hot(i), torch.aminmax(x), torch.std_mean(x), torch.var_mean(x, 1), x.trace(), torch.dist(x, x + 1),
        torch.fft.fft(x).abs(), torch.fft.rfft(x).real, torch.fft.irfft(torch.fft.rfft(x)), torch.linalg.svdvals(x), torch.linalg.inv(x[:, :3] + torch.eye(3)), torch.linalg.solve(x[:, :3] + torch.eye(3), x),
        torch.linalg.det(x[:, :3]), torch.nn.functional.interpolate(x[None], 8), F.unfold(x[None, None], 2), F.glu(x), F.cross_entropy(x, i), F.mse_loss(x, x + 1), F.kl_div(x, x.softmax(1)), F.softmin(x, 1),
    )  # fmt: skip


@scenario
def dtypes_between_calls(compile):
    def f(x):
        return x * 2 + 1, x / 2, x.sum(), (x > 1) * x

    g = compile(f)
    return [g(torch.tensor([0, 1, 2, 3]).to(d)) for d in EVERY[1:-1]] + [g(torch.tensor([[1, 2], [3, 4]]).t()), g(torch.tensor(3.5)), g(torch.empty(0))]


@scenario
def number_types_between_calls(compile):
    def f(x, k):
        return x * k, x + k, k

    g = compile(f)
    x = torch.arange(3)
    return [g(x, k) for k in (2, 2.0, True, -0.0, 0.0, 0, False, 1, 1.0, NAN, INF, 2 + 0j)]


@program(vec())
def scalars_computed_in_python(x):
    n = x.numel()
    return x * (n / 4), x * (n // 4), x * (n**0.5), x * (n % 4), x + (n >> 1), x * bool(n), x * (n and 2.5), x - (n or 1), x * -n, x + int("12"), x * float("1e-3"), x * abs(-n), x * round(n / 7, 2), x * divmod(n, 4)[1], x * max(n, 2.5), x * pow(n, 2, 5), x * sum([n, 1.5])


@program(lambda: torch.tensor([3, -4, 7]))
def remainders_of_a_number(i):
    return 5 % i, 5 // i, i % 5, -7 % i
