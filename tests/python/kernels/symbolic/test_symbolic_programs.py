"""One compilation for all sizes: a program of symbolic sizes, made plain for each, against eager."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.python.kernels.symbolic.graph_text import Writer
from vitrine import _engine

SIZES = [(2, 3), (3, 2), (7, 5), (16, 16), (17, 31), (64, 48), (2, 70)]
TRACED = (101, 103)  # unlike all other sizes: these dims are symbols


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


def block(x, wq, bq, wo, bo, w1, b1, w2, b2, g1, c1, g2, c2):
    b, t, c = x.shape
    h = F.layer_norm(x, (c,), g1, c1)
    q, k, v = (y.view(b, t, 4, c // 4).transpose(1, 2) for y in F.linear(h, wq, bq).split(c, 2))
    a = ((q @ k.transpose(-2, -1)) / math.sqrt(c // 4)).softmax(-1)
    x = x + F.linear((a @ v).transpose(1, 2).contiguous().view(b, t, c), wo, bo)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (c,), g2, c2), w1, b1)), w2, b2)


def block_weights(c=32):
    shapes = [(3 * c, c), (3 * c,), (c, c), (c,), (4 * c, c), (4 * c,), (c, 4 * c), (c,)]
    return [torch.randn(*s) * 0.2 for s in shapes] + [torch.randn(c) for _ in range(4)]


def language_model(i, t, e, p, *weights):
    x = block(F.embedding(i, e) + p[: i.shape[1]], *weights)
    return F.cross_entropy(F.linear(x, e).view(-1, e.shape[0]), t.view(-1))


def convolutions(x, w, b, g, c, w2, out):
    h = F.batch_norm(F.conv2d(x, w, b, padding=1), None, None, g, c, True).relu()
    h = F.conv2d(F.max_pool2d(h, 2), w2, padding=1).relu()
    return F.linear(F.adaptive_avg_pool2d(h, 1).flatten(1), out)


def adamw(p, g, m, v, step):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.99).addcmul_(g, g, value=0.01)
    step += 1
    return p.mul_(1 - 1e-3).addcdiv_(m, (v / (1 - 0.99**step)).sqrt().add_(1e-8), value=-1e-3)


def with_gradients(f):
    def run(*inputs):
        with torch.enable_grad():
            own = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
            loss = f(*own)
            loss = (loss * loss).mean() if loss.dim() else loss
            return [loss.detach(), *torch.autograd.grad(loss, [x for x in own if x.requires_grad])]

    return run


def r(*sizes):
    return torch.randn(*sizes)


def llama(x, wq, wk, wv, wo, cos, sin, g):
    b, t, c = x.shape
    h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g

    def heads(w, n):
        return F.linear(h, w).view(b, t, n, 8).transpose(1, 2)

    def turned(z):
        left, right = z.chunk(2, -1)
        return z * cos[:t] + torch.cat([-right, left], -1) * sin[:t]

    def shared(z):
        return z[:, :, None].expand(b, 2, 2, t, 8).reshape(b, 4, t, 8)

    q, k, v = turned(heads(wq, 4)), shared(turned(heads(wk, 2))), shared(heads(wv, 2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return x + F.linear(y.transpose(1, 2).reshape(b, t, c), wo)


def lstm(x, h, c, w, u, b):
    outs = []
    for t in range(3):
        i, f, g, o = (F.linear(x[:, t], w, b) + F.linear(h, u)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        outs.append(h)
    return torch.stack(outs, 1)


def vision(x, w, b, first, *weights):
    h = F.conv2d(x, w, b, stride=4).flatten(2).transpose(1, 2)
    return block(torch.cat([first.expand(x.shape[0], -1, -1), h], 1), *weights)[:, 0]


def words(*sizes):
    return torch.randint(0, 50, sizes)


def images(a, b):
    return [r(a, 3, 8, 8), r(8, 3, 3, 3), r(8), r(8), r(8), r(8, 8, 3, 3), r(10, 8)]


def text(a, b):
    return [words(a, b), words(a, b), r(50, 32), r(110, 32), *block_weights()]


def llama_inputs(a, b):
    weights = [r(n, 32) * 0.2 for n in (32, 16, 16, 32)]
    return [r(a, b, 32), *weights, r(110, 8), r(110, 8), r(32)]


def lstm_inputs(a, b):
    return [r(a, 3, 16), r(a, 16), r(a, 16), r(64, 16) * 0.3, r(64, 16) * 0.3, r(64)]


# name: function, its inputs by the two sizes
CASES = {
    "pointwise": (lambda x, b: torch.relu(x + b) * 2, lambda a, b: [r(a, 64), r(64)]),
    "broadcast": (lambda x, y: torch.sigmoid(x + y), lambda a, b: [r(a, b, 4), r(a, 1, 4)]),
    "sum of fixed rows": (lambda x: x.exp().sum(-1), lambda a, b: [r(a, b, 33)]),
    "sum of rows": (lambda x: x.exp().sum(-1), lambda a, b: [r(3, a, b)]),
    "sum of columns": (lambda x: x.sum(0), lambda a, b: [r(a, b)]),
    "mean": (lambda x: x.mean(), lambda a, b: [r(a, b)]),
    "variance": (lambda x: x.var(-1), lambda a, b: [r(a, b)]),
    "softmax": (lambda x: x.softmax(-1), lambda a, b: [r(3, a, b)]),
    "softmax of columns": (lambda x: x.softmax(0), lambda a, b: [r(a, b)]),
    "layer norm": (lambda x, w, c: F.layer_norm(x, (64,), w, c), lambda a, b: [r(a, b, 64), r(64), r(64)]),
    "layer norm of any length": (lambda x: F.layer_norm(x, (x.shape[1],)), lambda a, b: [r(a, b)]),
    "cat": (lambda x, y: torch.cat([x, y[:, :2], x.exp()], 1) * 2, lambda a, b: [r(4, a), r(4, b)]),
    "slices": (lambda x: x[:, 1:].relu() + x[:, :-1], lambda a, b: [r(a, b)]),
    "transposed": (lambda x, y: x.t() + y, lambda a, b: [r(a, b), r(b, a)]),
    "permuted": (
        lambda x: x.permute(0, 2, 1, 3).contiguous().view(x.shape[0], x.shape[2], -1).relu(),
        lambda a, b: [r(a, b, 4, 8)],
    ),
    "padded": (lambda x: F.pad(x, (1, 2)) * 2, lambda a, b: [r(a, b)]),
    "rolled": (lambda x: torch.roll(x, 2, 1).flip(0) * 2, lambda a, b: [r(a, b)]),
    "embedding": (lambda i, w: F.embedding(i, w) * 2, lambda a, b: [words(a, b), r(50, 16)]),
    "gather": (lambda x, i: x.gather(1, i) * 2, lambda a, b: [r(a, b), torch.randint(0, b, (a, 3))]),
    "running sum": (lambda x: x.cumsum(1) + 1, lambda a, b: [r(a, b)]),
    "linear": (lambda x, w, c: F.gelu(F.linear(x, w, c)), lambda a, b: [r(a, b, 32), r(64, 32), r(64)]),
    "batch of products": (lambda x, y: torch.bmm(x, y).relu(), lambda a, b: [r(a, b, 16), r(a, 16, b)]),
    "convolutions": (convolutions, images),
    "backward of convolutions": (with_gradients(convolutions), images),
    "block": (block, lambda a, b: [r(a, b, 32), *block_weights()]),
    "backward of a block": (with_gradients(block), lambda a, b: [r(a, b, 32), *block_weights()]),
    "language model": (language_model, text),
    "backward of a language model": (with_gradients(language_model), text),
    "rotary attention": (llama, llama_inputs),
    "backward of rotary attention": (with_gradients(llama), llama_inputs),
    "recurrent": (with_gradients(lstm), lstm_inputs),
    "vision": (
        with_gradients(vision),
        lambda a, b: [r(a, 3, 8, 8), r(32, 3, 4, 4), r(32), r(1, 1, 32), *block_weights()],
    ),
    "the same on other tensors": (
        lambda x, w: F.linear(x.bfloat16(), w.bfloat16()).float(),
        lambda a, b: [r(a, b, 16), r(32, 16)],
    ),
    "losses": (
        with_gradients(lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y)),
        lambda a, b: [r(a, b), r(a, b)],
    ),
    "optimizer": (adamw, lambda a, b: [r(a, b), r(a, b), r(a, b), r(a, b).abs(), torch.tensor(3.0)]),
}
OWN_PRODUCTS = ["linear", "batch of products", "convolutions", "backward of a block"]


def check(name, hints, tmp_path, own):
    f, inputs = CASES[name]
    torch.manual_seed(0)
    program = _engine.symbolic_compile(
        Writer(list(TRACED)).record(f, inputs(*TRACED)), list(hints), str(tmp_path), "generated" if own else "library"
    )
    for sizes in SIZES:
        plan = _engine.symbolic_plan(program, list(sizes))
        if name == "slices" and sizes[1] == 2:  # what is left has one element, which broadcasts
            assert plan is None
            continue
        assert plan is not None, f"{sizes} is forbidden by {_engine.symbolic_guards(program)}"
        given = inputs(*sizes)
        expected_given = [x.clone() for x in given]
        got, expected = _engine.plan_run(plan, given), f(*expected_given)
        expected = [expected] if isinstance(expected, torch.Tensor) else expected
        for x, y in zip([*got, *given], [*expected, *expected_given], strict=True):
            assert x.stride() == y.stride()
            torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-4, msg=lambda m: f"{sizes}: {m}")


@pytest.mark.parametrize("name", CASES)
def test_one_compilation_serves_all_sizes(name, tmp_path):
    check(name, (5, 7), tmp_path, False)


@pytest.mark.parametrize("name", ["block", "softmax", "cat", "backward of a language model"])
def test_sizes_that_are_like_others_by_chance_are_not_taken_for_these(name, tmp_path):
    check(name, (64, 32), tmp_path, False)


@pytest.mark.parametrize("name", OWN_PRODUCTS)
def test_products_of_our_own_serve_all_sizes(name, tmp_path):
    check(name, (5, 7), tmp_path, True)


def looked_up(name, hints, tmp_path, own):
    before = _engine.kept_programs()
    check(name, hints, tmp_path, own)
    after = _engine.kept_programs()
    return {k: after[k] - before[k] for k in ("found", "missed", "refused", "left_out") if after[k] != before[k]}


@pytest.mark.parametrize("name", CASES)
def test_a_program_that_was_kept_serves_all_sizes(name, tmp_path):
    """It is found by a graph of other first sizes."""
    own = name in OWN_PRODUCTS
    assert looked_up(name, (5, 7), tmp_path, own) == {"missed": 1}
    assert looked_up(name, (64, 33), tmp_path, own) == {"found": 1}
