"""Assertions and argument checks on a GPU's tensors: checks of the graph, which wait where eager waits, and raise what eager raises
with nothing done that eager had not done."""

import pytest
import torch
import vitrine
from torch import distributions as dist
from torch import nn

pytestmark = pytest.mark.gpu
MODES = ["default", "reduce-overhead"]


def outcome(function, *args):
    torch.manual_seed(1)
    try:
        return "ran", function(*args), torch.cuda.get_rng_state()
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]  # pytest adds where the tensors lie
        return type(error).__name__, first_line, torch.cuda.get_rng_state()


def asserts(x, log):
    log.append(torch.rand(2, device="cuda"))
    assert (x > -1).all(), f"too small: {x.min().item()}"
    y = x.sqrt() if x.dim() else x
    if torch.isnan(y).any():
        raise ValueError("a root of " + str(x.min().item()))
    return y * 2 + log[-1].sum()


def writes_before(x, log):
    x.add_(1)
    if (x > 20).any():
        raise OverflowError(x.max().item())
    x.mul_(2)
    return x.sum()


def gradients(x, log):
    y = (x * 3).sin()
    assert not torch.isnan(y).any()
    return y.square().sum()


def distributions(x, log):
    normal = dist.Normal(x, x.abs() + 0.1)
    sample = normal.rsample()
    return normal.log_prob(sample).sum() + dist.Categorical(logits=x).entropy().mean() + dist.Bernoulli(probs=x.sigmoid()).log_prob((x > 0).float()).sum()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", [asserts, writes_before, gradients, distributions])
def test_values_errors_and_effects_are_eagers(program, mode):
    run = vitrine.compile(program, mode=mode)
    good, bad = torch.rand(4, 8).cuda() + 0.5, torch.full((4, 8), -0.5).cuda()
    worse, large, nan = -2 * good, good * 100, good * torch.nan
    for x in (good, good, good, bad, good, worse, large, nan, good, good):
        found = []
        for function in (program, run):
            given, log = x.clone().requires_grad_(program is gradients), []
            kind, value, state = outcome(function, given, log)
            if program is gradients and kind == "ran":
                value.backward()
            raised = value if isinstance(value, str) else None
            tensors = [t for t in (None if raised else value, state, given.detach(), given.grad, *log) if t is not None]
            found.append((kind, raised, tensors))
        assert found[1][:2] == found[0][:2]
        torch.testing.assert_close(found[1][2], found[0][2], rtol=1e-4, atol=1e-5, equal_nan=True)


def test_a_model_with_checked_distributions_is_one_graph_and_trains_as_eager():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.out = nn.Linear(16, 8), nn.Linear(4, 16)

        def forward(self, x):
            mean, scale = self.into(x).chunk(2, -1)
            q = dist.Normal(mean, scale.exp())
            p = dist.Bernoulli(logits=self.out(mean + scale.exp()))
            return dist.kl_divergence(q, dist.Normal(torch.zeros_like(mean), torch.ones_like(scale))).mean() - p.log_prob((x > 0).float()).mean()

    torch.manual_seed(0)
    eager = Model().cuda()
    ours = Model().cuda()
    ours.load_state_dict(eager.state_dict())
    compiled = vitrine.compile(ours)
    x = torch.randn(32, 16, device="cuda")
    assert "0 graph breaks" in str(vitrine.explain(eager)(x))
    for _ in range(3):
        expected, found = eager(x), compiled(x)
        expected.backward(), found.backward()
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for a, b in zip(ours.parameters(), eager.parameters()):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)
