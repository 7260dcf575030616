"""Checked calls on a GPU: what TF32 rounds, and what is drawn at random, is no difference from eager; what is wrong is one."""

import warnings

import pytest
import torch
import vitrine
from torch import nn
from vitrine import config

pytestmark = pytest.mark.gpu


class Stage(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())

    def forward(self, x):
        return torch.relu(self.body(x) + x)


@pytest.fixture(autouse=True)
def checked():
    vitrine.reset()
    torch.manual_seed(0)
    config.check = True
    with warnings.catch_warnings():
        warnings.simplefilter("error", vitrine.VitrineWarning)
        yield
    config.check = False
    vitrine.reset()


@pytest.mark.parametrize("training", [False, True])
def test_convolutions_that_round_to_tf32(training):
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), *[Stage(64) for _ in range(6)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    model.train(training)
    run = vitrine.compile(model)
    for _ in range(3):
        with torch.set_grad_enabled(training):
            out = run(torch.randn(8, 3, 64, 64, device="cuda"))
        if training:
            out.square().mean().backward()


def test_products_that_round_to_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        w = torch.randn(512, 512, device="cuda")
        run = vitrine.compile(lambda x: torch.relu(x @ w) @ w)
        for n in (300, 300, 77):
            run(torch.randn(n, 512, device="cuda"))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def test_numbers_that_are_drawn():
    program = lambda x: (torch.dropout(x, 0.4, True) * 2, torch.rand_like(x))  # noqa: E731
    run, x = vitrine.compile(program), torch.randn(40, 50, device="cuda")
    for _ in range(3):
        state = torch.cuda.get_rng_state()
        got = run(x)
        after = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(state)
        torch.testing.assert_close(got, program(x))
        assert torch.equal(torch.cuda.get_rng_state(), after)
