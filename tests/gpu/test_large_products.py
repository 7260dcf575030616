"""Large products by tiles on a Hopper GPU, alone and with what follows them, against float64."""

import pytest
import torch
import torch.nn.functional as F
import vitrine

from tests.python.support.recorded import recorded

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.is_available() and torch.cuda.get_device_capability() != (9, 0), reason="tiles are for Hopper GPUs"),
]
OURS = {"options": {"products": "generated"}}


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    vitrine.reset()


def random(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes, device="cuda").to(dtype)


def compiled(function, **how):
    """Two calls; the results of the second, and the texts of the kernels."""
    def both(*inputs):
        run = vitrine.compile(function, **how)
        with torch.no_grad():
            run(*inputs)
            return run(*inputs)
    return both


def check(function, inputs, tolerance=4e-3, **how):
    vitrine.reset()
    got = compiled(function, **(how or OURS))(*inputs)
    eager = function(*inputs)
    exact = function(*(t.double() if t.is_floating_point() else t for t in inputs))
    assert got.shape == eager.shape and got.dtype == eager.dtype and got.stride() == eager.stride()
    error, own = (((r.double() - exact).norm() / exact.norm()).item() for r in (got, eager))
    assert error <= max(1.1 * own, 1e-3), (error, own)


SIZES = [(512, 512, 512), (1000, 1000, 1000), (130, 4104, 1024), (4096, 768, 768), (77, 2048, 2048), (256, 1001, 2056)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products_of_either_direction(sizes, dtype):
    torch.manual_seed(0)
    m, n, k = sizes
    for turn_a in (False, True):
        for turn_b in (False, True):
            if (turn_a and m % 8) or (turn_b and n % 8):
                continue
            a = random(k, m, dtype=dtype).t() if turn_a else random(m, k, dtype=dtype)
            b = random(k, n, dtype=dtype) if turn_b else random(n, k, dtype=dtype).t()
            check(lambda a, b: a @ b, (a, b))


PROGRAMS = {
    "bias": (lambda x, w, b: F.linear(x, w, b), [(600, 1024), (1536, 1024), (1536,)]),
    "bias and gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), [(600, 1024), (1536, 1024), (1536,)]),
    "gate": (lambda x, w, v: F.silu(x @ w.t()) * (x @ v.t()), [(512, 1024), (2048, 1024), (2048, 1024)]),
    "residual": (lambda x, w, r: r + 0.5 * (x @ w.t()), [(512, 1024), (768, 1024), (512, 768)]),
    "heads": (lambda x, w: (x @ w.t()).view(8, 64, 12, 64).transpose(1, 2).relu(), [(512, 1024), (768, 1024)]),
    "batches": (lambda x, w: torch.bmm(x, w) * 2 + 1, [(5, 200, 512), (5, 512, 264)]),
    "of itself": (lambda x: x + x @ x, [(1024, 1024)]),
    "a slice": (lambda x, w: (x[:, 8:520] @ w[:512]).relu(), [(600, 1024), (1024, 768)]),
    "two results": (lambda x, w: (x @ w).relu().float().sum(-1), [(600, 1024), (1024, 768)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_follows(name):
    torch.manual_seed(0)
    function, sizes = PROGRAMS[name]
    check(function, [random(*s) for s in sizes])


def test_dropout_leaves_out_what_eager_leaves_out():
    torch.manual_seed(0)
    x, w = random(512, 1024), random(768, 1024)
    function = lambda x, w: F.dropout(x @ w.t(), 0.3, True)
    run = vitrine.compile(function, **OURS)
    for seed in range(3):
        torch.manual_seed(seed)
        got = run(x, w)
        torch.manual_seed(seed)
        torch.testing.assert_close(got, function(x, w), rtol=1.6e-2, atol=0.1)


def test_it_is_a_kernel_of_ours(tmp_path):
    x, w = random(512, 1024), random(768, 1024)
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(lambda x, w: (x @ w.t()).relu(), **OURS)(x, w)
    assert any(r["family"] == "matmul" and r["name"] == "product_relu" for r in session.rows("kernel"))


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_measured(mode):
    torch.manual_seed(0)
    function, sizes = PROGRAMS["gate"]
    check(function, [random(*s) for s in sizes], mode=mode)


def test_replays_follow_their_tensors():
    """A CUDA Graph whose operands move from call to call."""
    torch.manual_seed(0)
    w = random(768, 1024)
    run = vitrine.compile(lambda x: (x @ w.t()).relu() * 2, mode="max-autotune")
    with torch.no_grad():
        for _ in range(8):
            x = random(512, 1024)
            torch.testing.assert_close(run(x), (x @ w.t()).relu() * 2, rtol=1.6e-2, atol=1e-2)


def test_operands_that_begin_anywhere():
    torch.manual_seed(0)
    w = random(768, 1024)
    run = vitrine.compile(lambda x: x @ w.t(), **OURS)
    room = random(512 * 1024 + 8)
    with torch.no_grad():
        for at in (0, 1, 8, 3):
            x = room[at:at + 512 * 1024].view(512, 1024)
            torch.testing.assert_close(run(x), x @ w.t(), rtol=1.6e-2, atol=0.5)


def test_training_by_tiles():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)).cuda().bfloat16()
    x = random(256, 512)
    grads = []
    for run in (model, vitrine.compile(model, **OURS)):
        model.zero_grad()
        run(x).square().mean().backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    for ours, eager in zip(grads[1], grads[0]):
        torch.testing.assert_close(ours, eager, rtol=5e-2, atol=1e-3)
