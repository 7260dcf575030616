"""Results that require grad, as in eager, though no gradient comes of them; and those that do not."""

import pytest
import torch
import torch.nn.functional as F
import vitrine


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None


PROGRAMS = {
    "norm": lambda x: torch.norm(x, 0), "norm of rows": lambda x: torch.norm(x[None], 0, dim=1), "vector_norm": lambda x: torch.linalg.vector_norm(x, 0),
    "linalg.norm": lambda x: torch.linalg.norm(x, 0), "scaled": lambda x: (x * 3).norm(0) * 2, "beside another": lambda x: (torch.norm(x, 0), x * 2),
    "times another": lambda x: torch.norm(x, 0) * x.sum(), "function": Nothing.apply, "behind a function": lambda x: Nothing.apply(x * 3).sum(), "half": lambda x: x.bfloat16().norm(0),
    "cdist": lambda x: torch.cdist(x[None], x[None] + 1, p=0), "dist": lambda x: torch.dist(x, x + 1, 0), "pairwise": lambda x: F.pairwise_distance(x[None], x[None] + 1, p=0),
    "pdist": lambda x: F.pdist(torch.stack([x, x + 1, x + 2]), 0), "sign": torch.sign, "floor": torch.floor,
    "heaviside": lambda x: torch.heaviside(x, x), "compared": lambda x: (x > 0).float(), "argmax": lambda x: x.argmax().float(), "detached": lambda x: x.detach() * 1,
    "zeros_like": torch.zeros_like, "filled": lambda x: x.clone().fill_(2), "zeroed": lambda x: x.clone().zero_(), "copied over": lambda x: (x * 1).copy_(torch.ones(5)),
    "bernoulli": lambda x: torch.bernoulli(x * 0 + 1), "floor_divide": lambda x: x // 2, "max": lambda x: x.max(0), "sort": lambda x: x.sort(), "mode": lambda x: x.mode(),
    "masked": lambda x: x.masked_fill(x == x, 1.0), "of nothing": lambda x: x[:0].sum(), "frexp": torch.frexp, "angle": torch.angle, "count": torch.count_nonzero,
    "searchsorted": lambda x: torch.searchsorted(x.detach().sort()[0], x), "one_hot": lambda x: F.one_hot(x.detach().long().abs() % 3).float(),
}  # fmt: skip


def outcome(f):
    torch.manual_seed(0)
    x, hooks = torch.tensor([1.5, -0.5, 0.25, 2.0, -3.0], requires_grad=True), []
    y = x * 1
    x.register_hook(lambda grad: hooks.append(f"x {grad}")), y.register_hook(lambda grad: hooks.append(f"y {grad}"))
    results = f(y)
    results = list(results) if isinstance(results, tuple) else [results]
    told = [(r.requires_grad, r.is_leaf, r.grad_fn is None) for r in results]
    wanted = [r for r in results if r.requires_grad]
    error = ""
    if wanted:
        try:
            torch.autograd.backward(wanted, [torch.ones_like(r) for r in wanted])
        except RuntimeError as raised:
            error = str(raised)
    return told, error, hooks, str(x.grad)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_requires_grad_in_eager_does_compiled(name):
    vitrine.reset()
    assert outcome(vitrine.compile(PROGRAMS[name])) == outcome(PROGRAMS[name])
