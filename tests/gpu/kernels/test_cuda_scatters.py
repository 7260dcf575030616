"""Kernels that write and add at indexed places, and that find where an extremum is: what eager has."""

import pytest
import torch
import vitrine
from tests.gpu.kernels.test_cuda_kernels import compiled
from vitrine import _engine

pytestmark = pytest.mark.gpu

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


def run(program, *inputs):
    plan, constants = compiled(program, *inputs)
    facts = _engine.plan_facts(plan)
    assert not facts["problems"], facts["problems"]
    got = _engine.plan_run(plan, [*inputs, *constants])
    expected = program(*inputs)
    return got, expected if isinstance(expected, tuple) else (expected,), facts


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("size", [(64, 96), (7, 33), (300, 1000)])
def test_what_is_written(size, dtype):
    x = torch.randint(-9, 9, size, device="cuda").to(dtype)
    rows, columns = torch.randperm(size[0], device="cuda"), torch.randperm(size[1], device="cuda")[:5]
    where = rows[:, None].expand(size).contiguous()
    programs = [
        lambda x, i, c: x.scatter(0, i, x),
        lambda x, i, c: x.scatter(0, i[:3], 1),
        lambda x, i, c: torch.zeros_like(x).index_put((i[:, 0],), x),
        lambda x, i, c: x.index_put((i[:2, :1] - 1, c), x[:2, :5]),
    ]
    for program in programs:
        got, expected, facts = run(program, x, where, columns)
        assert torch.equal(got[0], expected[0]) and facts["kernels"] == 2 and facts["python_calls"] == 0


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("size", [(64, 96), (7, 33), (1000, 256)])
def test_what_is_added(size, dtype):
    """Whole numbers so small that no sum is rounded: every order gives the same."""
    x = torch.randint(-2, 3, size, device="cuda").to(dtype)
    which = torch.randint(0, size[0], (size[0],), device="cuda")
    where = torch.randint(0, size[0], size, device="cuda")
    for program, index in (
        (lambda x, i: x.index_add(0, i, x * 2), which),
        (lambda x, i: x.index_add(0, i, x, alpha=-2), which),
        (lambda x, i: torch.zeros_like(x).scatter_add(0, i, x), where),
        (lambda x, i: x.t().contiguous().index_add(1, i, x.t()), which),
    ):
        got, expected, facts = run(program, x, index)
        assert torch.equal(got[0], expected[0]) and facts["kernels"] >= 2 and facts["python_calls"] == 0


INDICES = {
    "different": (50257, lambda: torch.randperm(50257, device="cuda")[:4096]),
    "often": (1000, lambda: torch.randint(0, 1000, (8, 512), device="cuda")),
    "mostly one": (30522, lambda: torch.randint(0, 30522, (8, 512), device="cuda") * (torch.rand(8, 512, device="cuda") < 0.2)),
    "one tile": (1024, lambda: torch.randint(0, 1024, (200,), device="cuda", dtype=torch.int32)),
    "many": (20000, lambda: torch.randint(0, 20000, (30000,), device="cuda")),
    "few": (2, lambda: torch.randint(0, 2, (8, 512), device="cuda")),
    "buckets": (32, lambda: torch.randint(0, 32, (512, 512), device="cuda")),
}


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64], ids=str)
@pytest.mark.parametrize("case", INDICES)
def test_gradient_of_an_embedding(case, dtype):
    """As near to the exact sum as eager's, and the same each time."""
    torch.manual_seed(0)
    rows, indices = INDICES[case]
    which = indices()
    for columns, padding in ((768, -1), (12, int(which.flatten()[0])), (33, -1)):
        if case == "buckets" and (columns == 768 or dtype == torch.float64):
            continue  # so many indices are sorted faster by PyTorch
        gradient = torch.randn(*which.shape, columns, device="cuda", dtype=dtype)
        program = lambda g, i: torch.ops.aten.embedding_dense_backward(g * 2, i, rows, padding, False)  # noqa: E731
        plan, constants = compiled(program, gradient, which)
        facts = _engine.plan_facts(plan)
        assert not facts["problems"] and facts["python_calls"] == 0 and facts["kernels"] >= 2
        got = _engine.plan_run(plan, [gradient, which, *constants])[0]
        for _ in range(3):
            assert torch.equal(got, _engine.plan_run(plan, [gradient, which, *constants])[0])
        keep = which.flatten() != padding
        added = (gradient * 2).reshape(-1, columns)[keep].double()
        exact = torch.zeros(rows, columns, device="cuda", dtype=torch.float64)
        exact.index_add_(0, which.flatten()[keep], added)
        size = torch.zeros_like(exact).index_add_(0, which.flatten()[keep], added.abs())
        eps = torch.finfo(dtype).eps
        bound = eps * exact.abs() + 64 * torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps * size
        assert got.dtype == dtype and (got.double() - exact).abs().le(bound + 1e-30).all()


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64], ids=str)
def test_what_is_added_in_order(dtype):
    x = torch.randint(-2, 3, (500, 4, 24), device="cuda").to(dtype)
    which = torch.randint(-500, 500, (700,), device="cuda")
    values = torch.randint(-2, 3, (700, 4, 24), device="cuda").to(dtype)
    for program in (
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        lambda x, i, v: torch.zeros_like(x).index_put((i,), v * 2, accumulate=True),
        lambda x, i, v: x.index_put((torch.arange(700, device="cuda").clamp(max=499), i & 3), v[:, 0], accumulate=True),
    ):
        plan, constants = compiled(program, x, which, values)
        facts = _engine.plan_facts(plan)
        assert not facts["problems"] and facts["python_calls"] == 0
        assert torch.equal(_engine.plan_run(plan, [x, which, values, *constants])[0], program(x, which, values))


@pytest.mark.parametrize("rows", [5, 3000])
def test_gradients_of_changing_numbers_of_words(rows):
    """Whole numbers, so that every order gives the same."""
    table = torch.randint(-3, 4, (rows, 48), device="cuda").float().requires_grad_()
    vitrine.reset()
    program = vitrine.compile(lambda table, words: (torch.nn.functional.embedding(words, table) * table[0].detach()).sum())
    for count in (100, 300, 301, 1000, 5000, 5000, 40):
        words = torch.randint(0, rows, (count,), device="cuda")
        (got,) = torch.autograd.grad(program(table, words), table)
        counted = torch.zeros(rows, device="cuda").index_add_(0, words, torch.ones(count, device="cuda"))
        assert torch.equal(got, counted[:, None] * table[0].detach()), count


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_words_that_are_the_last_layer_too(dtype):
    """Both gradients of the table are as near to float64's as eager's."""
    torch.manual_seed(0)
    words = torch.randint(0, 3000, (8, 64), device="cuda")
    table = torch.randn(3000, 96, device="cuda").to(dtype) * 0.1

    def program(table, words):
        hidden = torch.tanh(torch.nn.functional.embedding(words, table))
        return torch.nn.functional.cross_entropy((hidden @ table.t()).flatten(0, 1).float(), words.flatten())

    def gradient(function, table):
        leaf = table.clone().requires_grad_()
        function(leaf, words).backward()
        return leaf.grad

    vitrine.reset()
    step = vitrine.compile(program)
    got = [gradient(step, table) for _ in range(3)]
    expected, exact = gradient(program, table), gradient(program, table.double())
    assert all(torch.equal(g, got[0]) for g in got)
    ours, eagers = ((g.double() - exact).abs().amax() / exact.abs().amax() for g in (got[0], expected))
    assert got[0].dtype == dtype and ours <= 2 * eagers + 1e-6


def test_deterministic_algorithms_are_pytorchs():
    x, which = torch.randn(64, 32, device="cuda"), torch.randint(0, 64, (64,), device="cuda")
    torch.use_deterministic_algorithms(True)
    try:
        vitrine.reset()
        program = lambda x, i: torch.zeros_like(x).index_add(0, i, x)  # noqa: E731
        compiled = vitrine.compile(program)
        assert all(torch.equal(compiled(x, which), program(x, which)) for _ in range(3))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64], ids=str)
@pytest.mark.parametrize("size", [(64, 96), (7, 33), (3, 70000), (30000, 17), (2000, 4096)])
def test_where_the_extremum_is(size, dtype):
    x = torch.randint(-3, 3, size, device="cuda").to(dtype)
    if dtype.is_floating_point:
        x[0, 1], x[-1, -1] = float("nan"), float("inf")
    for dim in (0, 1):
        program = lambda x: (*x.max(dim), *x.min(dim, True), x.argmax(dim), x.argmin(dim))  # noqa: E731
        got, expected, facts = run(program, x)
        for g, e in zip(got, expected, strict=True):
            assert torch.equal(g.nan_to_num(7), e.nan_to_num(7)) and g.stride() == e.stride()
        assert facts["python_calls"] == 0
    got, expected, _ = run(lambda x: (x.argmax(), x.t().argmin()), x)
    assert all(torch.equal(g, e) for g, e in zip(got, expected))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("size", [(7, 33), (1000, 1000), (3000, 1024)])
def test_numbers_are_eagers(size, dtype):
    x = torch.ones(size, device="cuda", dtype=dtype)
    for program in (
        lambda x: torch.rand_like(x) + torch.rand_like(x),
        lambda x: torch.randn_like(x),
        lambda x: x * torch.randn(x.shape, device="cuda", dtype=x.dtype),
        lambda x: torch.bernoulli(x, 0.3),
    ):
        run_compiled = vitrine.compile(program)
        for seed in (0, 1 << 40):
            torch.manual_seed(seed)
            expected = (program(x), torch.rand(3, device="cuda"))
            torch.manual_seed(seed)
            got = (run_compiled(x), torch.rand(3, device="cuda"))
            assert all(torch.equal(g, e) for g, e in zip(got, expected))
