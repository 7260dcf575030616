"""What libraries compute on a GPU: products by cuBLASLt, tuned or not, convolutions by cuDNN, against float64."""

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
import vitrine
from vitrine import config

from tests.python.support.recorded import recorded

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    vitrine.reset()


def random(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, device="cuda").to(dtype)


def error(got, exact):
    return ((got.double() - exact).norm() / exact.norm()).item()


def check(got, eager, exact, floor=1e-6):
    assert got.shape == eager.shape and got.dtype == eager.dtype and got.stride() == eager.stride()
    assert error(got, exact) <= max(2 * error(eager, exact), floor)


PRODUCTS = {
    "mm": (lambda a, b: a @ b, [(512, 1024), (1024, 256)]),
    "mm of a transpose": (lambda a, b: a @ b.t(), [(300, 512), (256, 512)]),
    "both transposed": (lambda a, b: a.t() @ b.t(), [(512, 300), (256, 512)]),
    "odd": (lambda a, b: a @ b, [(33, 77), (77, 51)]),
    "one row": (lambda a, b: a @ b, [(1, 64), (64, 64)]),
    "a slice": (lambda a, b: a[:, 1:65] @ b[3:67, :40], [(50, 80), (80, 80)]),
    "bmm": (lambda a, b: a @ b, [(64, 128, 64), (64, 64, 128)]),
    "bmm of a transpose": (lambda a, b: a @ b.mT, [(8, 77, 64), (8, 77, 64)]),
    "addmm": (torch.addmm, [(512,), (777, 256), (256, 512)]),
    "addmm of a matrix": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), [(777, 512), (777, 256), (256, 512)]),
    "addmm of a column": (torch.addmm, [(64, 1), (64, 256), (256, 512)]),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5), [(8, 77, 51), (8, 77, 256), (8, 256, 51)]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_tuned_product(name, dtype):
    torch.manual_seed(0)
    function, sizes = PRODUCTS[name]
    inputs = [random(*s, dtype=dtype) for s in sizes]
    tuned = vitrine.compile(lambda *a: function(*a), mode="max-autotune-no-cudagraphs")
    with torch.no_grad():
        for _ in range(2):
            got = tuned(*inputs)
        check(got, function(*inputs), function(*(t.double() for t in inputs)))


def test_tf32_is_used_only_where_it_is_allowed():
    torch.manual_seed(0)
    a, b = random(512, 512), random(512, 512)
    exact = a.double() @ b.double()
    tuned = vitrine.compile(lambda a, b: a @ b, mode="max-autotune-no-cudagraphs")
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for allowed in (False, True, False):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            assert (error(tuned(a, b), exact) > 5e-5) == allowed
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", [(8192, 1024, 4096), (33, 72, 40), (7, 1024, 24), (1, 64, 64), (100, 100, 100)], ids=str)
def test_gelu_behind_a_linear_layer(sizes, dtype):
    torch.manual_seed(0)
    m, k, n = sizes
    layer = nn.Linear(k, n, device="cuda", dtype=dtype).requires_grad_(False)

    def function(x, layer=layer):
        return F.gelu(layer(x), approximate="tanh")

    x = random(2, m, k, dtype=dtype)
    got = vitrine.compile(function)(x)
    check(got, function(x), function(x.double(), copy.deepcopy(layer).double()))
    x[0, 0, 0] = float("nan")
    assert torch.equal(vitrine.compile(function)(x).isnan(), function(x).isnan())


@pytest.mark.parametrize("name", ["pointwise", "softmax", "layer norm", "long rows"])
def test_a_tuned_kernel(name):
    programs = {
        "pointwise": (lambda x: torch.relu(x * 2 + 1) * 0.5, (3000, 1001)),
        "softmax": (lambda x: torch.softmax(x * 0.125, -1), (512, 1024)),
        "layer norm": (lambda x: F.layer_norm(x, x.shape[-1:]) * 2, (300, 768)),
        "long rows": (lambda x: torch.softmax(x, -1), (16, 100000)),
    }
    function, sizes = programs[name]
    x = random(*sizes)
    tuned = vitrine.compile(function, mode="max-autotune-no-cudagraphs")
    for _ in range(2):
        got = tuned(x)
    check(got, function(x), function(x.double()))


def test_choices_are_recorded_and_kept(tmp_path):
    before = config.cache_dir
    config.cache_dir = tmp_path / "cache"
    try:
        sources = []
        for run in range(2):
            vitrine.reset()
            with recorded(tmp_path, f"{run}.vitrine") as session:
                tuned = vitrine.compile(lambda a, b: torch.relu(a @ b), mode="max-autotune-no-cudagraphs")
                tuned(random(512, 512), random(512, 512))
            rows = session.rows("choice")
            assert any(r["candidate"].startswith("cuBLASLt") for r in rows) and any("threads" in r["candidate"] for r in rows)
            assert all(r["ns"] > 0 for r in rows)
            sources.append({r["source"] for r in rows})
    finally:
        config.cache_dir = before
    assert sources == [{"measured"}, {"kept"}]


def test_what_memory_does_not_suffice_to_try_is_said_and_runs_untuned():
    a, b = random(300, 700), random(700, 500)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (64 << 20)) / total)
    try:
        tuned = vitrine.compile(lambda a, b: torch.exp(a @ b * 0.1), mode="max-autotune-no-cudagraphs")
        with pytest.warns(UserWarning, match="was not tuned"):
            got = tuned(a, b)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    check(got, torch.exp(a @ b * 0.1), torch.exp(a.double() @ b.double() * 0.1))


def test_what_time_does_not_suffice_to_try_is_said_and_runs_untuned(tmp_path):
    a, b, before = random(300, 701), random(701, 500), (config.autotune_seconds, config.cache_dir)
    config.autotune_seconds, config.cache_dir = 0, tmp_path / "cache"
    try:
        with recorded(tmp_path) as session, pytest.warns(UserWarning, match="not tuned: the 0 s of vitrine.config.autotune_seconds"):
            got = vitrine.compile(lambda a, b: torch.softmax(a @ b, -1), mode="max-autotune-no-cudagraphs")(a, b)
    finally:
        config.autotune_seconds, config.cache_dir = before
    assert not session.rows("choice") and any("not tuned" in r["text"] for r in session.rows("message"))
    check(got, torch.softmax(a @ b, -1), torch.softmax(a.double() @ b.double(), -1))


class Block(nn.Module):
    def __init__(self, inputs, outputs, window, stride, dilation, bias):
        super().__init__()
        pad = dilation * (window // 2)
        self.a = nn.Conv2d(inputs, outputs, window, stride, pad, dilation, bias=bias)
        self.b = nn.Conv2d(outputs, outputs, 3, padding=1, bias=bias)
        self.na, self.nb = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)))
        return F.relu(self.nb(self.b(y)) + y)


CONVOLUTIONS = [
    (3, 64, 7, 2, 1, False), (5, 17, 3, 1, 1, True), (17, 5, 1, 1, 1, False), (64, 64, 3, 1, 2, True), (32, 128, 1, 2, 1, False),
    (13, 13, 3, 1, 3, True),
]  # fmt: skip


@pytest.mark.parametrize("how", CONVOLUTIONS, ids=str)
def test_convolutions_with_norm_residual_and_relu(how):
    torch.manual_seed(0)
    block = Block(*how).cuda().eval().requires_grad_(False)
    for norm in (block.na, block.nb):
        norm.weight.normal_(), norm.bias.normal_(), norm.running_mean.normal_(), norm.running_var.uniform_(0.1, 2)
    compiled = vitrine.compile(block)
    x = random(16, how[0], 33, 33)
    # Eager chooses for some sizes a kernel that does without TF32, though it is allowed.
    check(compiled(x), block(x), copy.deepcopy(block).double()(x.double()), floor=5e-4)
    block.nb.running_var.mul_(4)  # nothing of the weights is kept
    check(compiled(x), block(x), copy.deepcopy(block).double()(x.double()), floor=5e-4)
    x[0, 0, 5, 5] = float("nan")
    assert torch.equal(compiled(x).isnan(), block(x).isnan())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_mask_of_truth_values_is_made_to_numbers_once(dtype):
    """Eager's attention makes them in every layer; in halves they are the library's, which may differ from one to the next."""

    def layers(x, keep):
        for mask in (keep, keep, keep[:, :1].expand(-1, 77, -1), keep[0]):
            x = x + F.scaled_dot_product_attention(x, x, x, attn_mask=mask.unsqueeze(-3))
        return x

    torch.manual_seed(0)
    x = random(3, 4, 77, 64, dtype=dtype)
    keep = (torch.rand(3, 77, 77, device="cuda") > 0.3) | torch.eye(77, device="cuda", dtype=torch.bool)
    keep[1, 5] = False  # a row that sees nothing
    with torch.no_grad():
        compiled = vitrine.compile(layers, fullgraph=True)
        eager, exact = layers(x, keep), layers(x.double(), keep)
        got = compiled(x, keep)
        if dtype == torch.float32:
            check(got, eager, exact)
        else:
            assert torch.equal(got, eager)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            compiled(x, keep)
    made = [e.key for e in profile.key_averages() if "where_kernel" in e.key]
    assert bool(made) == (dtype != torch.float32)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32)
        self.a, self.b = Block(32, 64, 3, 2, 1, False), Block(64, 64, 1, 1, 1, True)
        self.last = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x)), inplace=True), 3, 2, 1)
        return self.last(self.b(self.a(x)).mean((2, 3)))


@pytest.mark.parametrize("half", [None, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("whole", [False, True], ids=["two halves", "whole step"])
def test_training_of_images(half, whole):
    """Gradients, running statistics and their layouts after two steps, against float64."""

    def step(model, x, y):
        with torch.autocast("cuda", half or torch.float16, enabled=half is not None and x.dtype == torch.float32):
            loss = F.cross_entropy(model(x), y)
        if whole:
            loss.backward()
        return loss

    def run(model, function, x):
        for _ in range(2):
            loss = function(model, x, y)
            if not whole:
                loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters()), *(b for b in model.buffers() if b.is_floating_point())]

    torch.manual_seed(0)
    model, x, y = Images().cuda(), random(32, 3, 64, 64), torch.randint(0, 10, (32,), device="cuda")
    exact = run(copy.deepcopy(model).double(), step, x.double())
    eager = run(copy.deepcopy(model), step, x)
    got = run(copy.deepcopy(model), vitrine.compile(step), x)
    floor = 2e-3 if half is None else 3e-2
    for g, e, r in zip(got, eager, exact, strict=True):
        check(g, e, r, floor)


def test_a_batch_of_large_mean():
    """The spread is what is left of large squares: no less exact than eager's."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(8, device="cuda")
    x = (random(64, 8, 33, 33) + 1000).requires_grad_()
    conv = nn.Conv2d(8, 8, 1, device="cuda")

    def function(x):
        return norm(x).square().sum() + conv(x).sum() * 0

    exact = copy.deepcopy(norm).double()(x.detach().double()).square().sum()
    assert error(vitrine.compile(function)(x).detach(), exact) < 1e-3
