"""Programs whose tensors are on a GPU give eager's values, whatever part of them is compiled."""

import pytest
import torch
import vitrine

pytestmark = pytest.mark.gpu


def pointwise(x):
    return torch.relu(x * 2 + 1) * 0.5


def rows(x):
    return torch.softmax(x * 0.125, dim=-1) + torch.nn.functional.layer_norm(x, x.shape[-1:])


def product(x):
    return torch.nn.functional.gelu(x @ x.transpose(-1, -2), approximate="tanh")


def mixed(x):
    y = x.sum(0)
    return y.cpu() + 1, x.to(torch.float16).mean(), torch.arange(3, device=x.device) * 2


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


PROGRAMS = [pointwise, rows, product, mixed, branch]


def same(got, expected):
    torch.testing.assert_close(got, expected, check_device=True, check_stride=True)


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    yield
    vitrine.reset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program, dtype):
    compiled = vitrine.compile(program)
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(64, 96, device="cuda").to(dtype)
        same(compiled(x), program(x))


def test_a_program_seen_on_both_devices():
    compiled = vitrine.compile(rows)
    for device in ("cpu", "cuda", "cpu", "cuda"):
        x = torch.randn(8, 32, device=device)
        same(compiled(x), rows(x))


@pytest.mark.parametrize("program", [pointwise, rows, product], ids=lambda p: p.__name__)
def test_gradients_that_are_laid_out_otherwise(program):
    x = torch.randn(64, 96, device="cuda").t().requires_grad_()
    weights = torch.randn_like(program(x), memory_format=torch.contiguous_format)
    compiled = vitrine.compile(program)
    for loss in (lambda r: r.sum(), lambda r: (r * weights).sum()):
        got, expected = (torch.autograd.grad(loss(run(x)), x)[0] for run in (compiled, program))
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_a_training_step():
    def steps(model, run):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for seed in range(4):
            torch.manual_seed(seed)
            x, y = torch.randn(16, 8, device="cuda"), torch.randn(16, 4, device="cuda")
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(run(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [p.detach().clone() for p in model.parameters()]

    def model():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).cuda()

    eager, ours = model(), model()
    same(steps(ours, vitrine.compile(ours)), steps(eager, eager))


def test_autocast():
    layer = torch.nn.Linear(32, 16).cuda()
    compiled = vitrine.compile(lambda x: torch.relu(layer(x)))
    x = torch.randn(4, 32, device="cuda")
    for enabled in (True, False):
        with torch.autocast("cuda", torch.float16, enabled=enabled):
            got, expected = compiled(x), torch.relu(layer(x))
        assert got.dtype == expected.dtype
        same(got, expected)


def test_an_error_of_the_device_is_eagers():
    def wrong(x):
        return x @ torch.ones(3, 3, device="cpu")

    x = torch.randn(3, 3, device="cuda")
    with pytest.raises(RuntimeError) as expected:
        wrong(x)
    with pytest.raises(RuntimeError) as got:
        vitrine.compile(wrong)(x)
    assert str(got.value) == str(expected.value)
