"""Complex tensors: what is written out for real numbers is left to PyTorch, values and gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
import vitrine

inf, linalg = math.inf, torch.linalg
ORDERS = [2, 1, 0, inf, -inf, 3, 4.5, 0.5, -1]
REDUCTIONS = {
    **{f"norm {p}": lambda x, p=p: x.norm(p) for p in ORDERS},
    **{f"norm {p} of columns": lambda x, p=p: torch.norm(x, p, 0, keepdim=True) for p in ORDERS},
    **{f"vector_norm {p}": lambda x, p=p: linalg.vector_norm(x, p, dim=-1) for p in ORDERS},
    **{f"normalize {p}": lambda x, p=p: F.normalize(x, p=p, dim=1) for p in ORDERS},
    **{f"distance {p}": lambda x, p=p: F.pairwise_distance(x, x.flip(0), p=p) for p in ORDERS},
    "norm fro": lambda x: torch.norm(x, "fro"), "norm nuc": lambda x: torch.norm(x, "nuc"), "matrix_norm": lambda x: linalg.matrix_norm(x, 1),
    "mean": lambda x: x.mean(), "mean of rows": lambda x: x.mean(1), "sum": lambda x: x.sum(0), "prod": lambda x: x.prod(1), "var": lambda x: x.var(1),
    "std": lambda x: x.std(), "var_mean": lambda x: torch.var_mean(x, 0), "std_mean": lambda x: torch.std_mean(x, 1), "cumsum": lambda x: x.cumsum(1),
    "nansum": lambda x: torch.nansum(x), "logsumexp": lambda x: torch.logsumexp(x, 1), "count_nonzero": lambda x: torch.count_nonzero(x, 0),
    "softmax": lambda x: torch.softmax(x, 1), "log_softmax": lambda x: torch.log_softmax(x, 1), "cumprod": lambda x: x.cumprod(0), "any": lambda x: x.any(1),
    "trace": lambda x: x[:, :4].trace(), "amax": lambda x: x.amax(1), "aminmax": lambda x: torch.aminmax(x),
}  # fmt: skip
POINTWISE = {
    "renorm 2": lambda x: torch.renorm(x, 2.0, 0, 0.5), "renorm 1": lambda x: x.renorm(1, 1, 2.0), "abs": lambda x: x.abs(), "angle": lambda x: x.angle(),
    "nan_to_num": lambda x: torch.nan_to_num(x), "square": lambda x: x.square(), "sgn": lambda x: x.sgn(), "sign": lambda x: x.sign(), "logit": lambda x: x.logit(),
    "sigmoid": lambda x: x.sigmoid(), "tanh": lambda x: x.tanh(), "exp2": lambda x: x.exp2(), "log1p": lambda x: x.log1p(), "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: x.rsqrt(), "power": lambda x: x**2.5, "square root of square": lambda x: (x * x).sum().sqrt(), "silu": F.silu, "gelu": F.gelu,
    "glu": lambda x: F.glu(x[:, :4]), "logsigmoid": F.logsigmoid, "celu": F.celu, "relu": F.relu, "floor": lambda x: x.floor(), "div": lambda x: torch.div(x, 3, rounding_mode="floor"),
    "addcmul": lambda x: torch.addcmul(x, x, x.conj(), value=2), "addcdiv": lambda x: torch.addcdiv(x, x.flip(0), x + 3), "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3),
    "where": lambda x: torch.where(x.real > 0, x, x.conj()), "parts": lambda x: x.real * x.imag, "view": lambda x: torch.view_as_real(x).square().sum(-1).sqrt(),
    "dropout": lambda x: F.dropout(x, 0.0), "index_add": lambda x: x.index_add(0, torch.tensor([0, 2]), x[:2], alpha=3), "tensordot": lambda x: x @ x.mH,
}  # fmt: skip
LOSSES = {
    **{f"triplet {p}": lambda x, p=p: F.triplet_margin_loss(x, x.flip(0), x.flip(1), p=p) for p in (1, 2, 3)},
    "mse": lambda x: F.mse_loss(x, x.flip(0)), "l1": lambda x: F.l1_loss(x, x.flip(0)), "smooth l1": lambda x: F.smooth_l1_loss(x, x.flip(0)),
    "huber": lambda x: F.huber_loss(x, x.flip(0)), "soft margin": lambda x: F.soft_margin_loss(x, x.flip(0)), "cosine": lambda x: F.cosine_similarity(x, x.flip(0)),
    "layer_norm": lambda x: F.layer_norm(x, (5,)), "rms_norm": lambda x: F.rms_norm(x, (5,)), "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 1), "avg_pool": lambda x: F.avg_pool2d(x[None, None], 2), "max_pool": lambda x: F.max_pool2d(x[None, None], 2),
    "cross entropy": lambda x: F.cross_entropy(x, torch.arange(4)), "bce": lambda x: F.binary_cross_entropy_with_logits(x, x), "upsample": lambda x: F.interpolate(x[None, None], scale_factor=2),
}  # fmt: skip


def outcome(f, dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 5, dtype=torch.complex128, generator=generator).to(dtype).requires_grad_()
    try:
        results = f(x)
        results = results if isinstance(results, (tuple, list)) else (results,)
        wanted = [r for r in results if r.requires_grad]
        tangents = [torch.randn(r.shape, dtype=torch.complex128, generator=generator).to(r.dtype) for r in wanted]
        grads = torch.autograd.grad(wanted, x, tangents, allow_unused=True) if wanted else ()
    except (RuntimeError, NotImplementedError, IndexError) as error:
        return type(error), str(error).split("\n")[0]
    return [(r.requires_grad, r.detach()) for r in results], grads


def check(table, dtype):
    wrong = []
    for name, f in table.items():
        vitrine.reset()
        expected, found = outcome(f, dtype), outcome(vitrine.compile(f), dtype)
        try:
            torch.testing.assert_close(found, expected, equal_nan=True)
        except (AssertionError, TypeError, ValueError):
            if found != expected:
                wrong.append(f"{name}: {found}, in eager {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.complex32], ids=str)
@pytest.mark.parametrize("table", ["REDUCTIONS", "POINTWISE", "LOSSES"])
def test_complex_numbers_are_no_real_ones(table, dtype):
    check(globals()[table], dtype)
