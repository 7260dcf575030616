"""Random numbers in generated kernels: the same seed gives eager's mask, bit by bit, and leaves the generator where eager leaves it."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.gpu.kernels.test_cuda_kernels import compiled
from torch import nn
from vitrine import _engine

pytestmark = pytest.mark.gpu

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
# Odd ones, few threads, a whole grid and several turns of it, ends that no neighbours divide.
SIZES = [1, 2, 3, 5, 8, 255, 256, 1000, 4098, 65_538, 270_336, 1_081_344, 1_081_350, 2_162_692, 4_325_377, 10_000_000]


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    yield
    vitrine.reset()


def same(program, *inputs, generated=True):
    """Values and what is drawn afterwards, twice: the second call goes on where the first stopped."""
    plan, constants = compiled(program, *inputs)
    facts = _engine.plan_facts(plan)
    assert not facts["problems"], facts["problems"]
    if generated:
        assert facts["kernels"] >= 1 and facts["python_calls"] == 0, facts
    torch.manual_seed(11)
    expected = [*as_tuple(program(*inputs)), *as_tuple(program(*inputs)), torch.rand(9, device="cuda")]
    torch.manual_seed(11)
    got = [*_engine.plan_run(plan, [*inputs, *constants]), *_engine.plan_run(plan, [*inputs, *constants]), torch.rand(9, device="cuda")]
    for g, e in zip(got, expected, strict=True):
        assert g.dtype == e.dtype and g.stride() == e.stride()
        assert torch.equal(g, e), (g != e).sum()


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_masks_over_sizes(dtype):
    for n in SIZES:
        same(lambda x: torch.native_dropout(x.neg(), 0.3, True), torch.ones(n, dtype=dtype, device="cuda"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_an_input_that_begins_anywhere(dtype):
    whole = torch.randn(4096 + 16, device="cuda").to(dtype)
    for offset in (0, 1, 2, 3, 4, 6, 8):
        for n in (4096, 4092, 4090, 77):
            same(lambda x: F.dropout(x, 0.5), whole[offset : offset + n])


LAYOUTS = {
    "transposed": lambda x: F.dropout(x.t() * 2, 0.2),
    "transposed input": lambda x: F.dropout(x.t(), 0.2),
    "every other": lambda x: F.dropout(x.neg()[:, ::2], 0.2),
    "a part": lambda x: F.dropout(x.neg()[:, 3:17], 0.2),
    "broadcast": lambda x: F.dropout(x.neg()[:1].expand(64, -1), 0.2),
    "a row further on": lambda x: F.dropout(x.neg()[1:], 0.2),
    "one element further on": lambda x: F.dropout(x.neg().view(-1)[1:-3], 0.2),
    "images": lambda x: F.dropout(x.view(4, 16, 8, -1).contiguous(memory_format=torch.channels_last), 0.2),
    "two in a row": lambda x: F.dropout(F.dropout(x * 2, 0.2).neg(), 0.7),
    "in the midst of rows": lambda x: torch.softmax(F.dropout(x * 2, 0.1), -1),
    "of rows": lambda x: F.dropout(torch.softmax(x, -1), 0.1).sum(-1),
    "none is dropped": lambda x: torch.native_dropout(x * 2, 0.0, True),
    "uniform": lambda x: torch.rand_like(x) * x,
    "uniform numbers of a size": lambda x: torch.rand(64, 48, device="cuda") < 0.5,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    same_values = name not in ("in the midst of rows", "of rows")
    for width in (48, 96):
        x = torch.randn(64, width, device="cuda")
        if same_values:
            same(LAYOUTS[name], x, generated=name not in ("transposed input",))
        else:
            plan, constants = compiled(LAYOUTS[name], x)
            torch.manual_seed(3)
            expected = LAYOUTS[name](x)
            torch.manual_seed(3)
            torch.testing.assert_close(_engine.plan_run(plan, [x, *constants])[0], expected)


def test_draws_through_pytorch_stand_in_between():
    def program(x):
        a = F.dropout(x * 2, 0.5)
        b = torch.randn(64, device="cuda")
        c = F.dropout(a + b, 0.25)
        return c, torch.randperm(9, device="cuda"), F.dropout(c * x, 0.1)

    same(program, torch.randn(64, 64, device="cuda"), generated=False)


def test_a_dropout_that_nobody_reads_draws_all_the_same():
    def program(x):
        F.dropout(x * 2, 0.5)
        return F.dropout(x + 1, 0.5)

    same(program, torch.randn(64, 64, device="cuda"))


@pytest.mark.parametrize("dtype", FLOATS[:3], ids=str)
def test_normal_numbers(dtype):
    for n in SIZES:
        same(lambda x: torch.randn_like(x), torch.ones(n, dtype=dtype, device="cuda"))


def test_the_sign_of_a_normal_zero():
    """Of a uniform number that is 1, which is as rare as that, the logarithm is 0."""
    x = torch.ones(11_000_000, device="cuda")
    plan, constants = compiled(lambda x: torch.randn_like(x), x)
    torch.manual_seed(1)
    expected = torch.randn_like(x)
    torch.manual_seed(1)
    (got,) = _engine.plan_run(plan, [x, *constants])
    assert torch.equal(got.view(torch.int32), expected.view(torch.int32))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(64, 256), nn.Linear(256, 64), nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(x + F.dropout(self.down(F.dropout(F.relu(self.up(x)), 0.1)), 0.2))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_training_draws_what_eager_draws(mode):
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block()).cuda()
    step = vitrine.compile(model, mode=mode)
    torch.manual_seed(5)
    state = torch.cuda.get_rng_state()
    for _ in range(7):
        x = torch.randn(32, 64, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
        results = []
        for run in (model, step):
            torch.cuda.set_rng_state(state)
            model.zero_grad()
            y = run(x)
            y.square().sum().backward()
            results.append([y.detach(), *(p.grad for p in model.parameters()), torch.rand(3, device="cuda")])
        after = torch.cuda.get_rng_state()
        torch.testing.assert_close(results[1], results[0], atol=2e-4, rtol=1e-4)
        assert torch.equal(results[1][-1], results[0][-1])
        state = after
