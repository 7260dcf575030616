"""Assertions and argument checks that ask for the value of a tensor."""

import copy

import torch
import torch.distributions as dist
from tests.python.programs.registry import mat, program, scenario, vec
from torch import nn


@program(vec())
def assertions(x):
    assert (x > -5).all(), "too small"
    assert not torch.isnan(x).any()
    return x + 1


@program(vec())
def assertions_that_fail(x):
    assert (x > 0).all(), f"too small: {x.min().item()}"
    return x + 1


@program(vec())
def raises_when_negative(x):
    if x.min() < -5:
        raise ValueError(f"negative: {x.min().item()}")
    y = x * 2
    if (y > 100).any():
        text = "large: " + str(y.max().item())
        raise OverflowError(text)
    return y.sqrt()


@program(lambda: torch.ones(1, dtype=torch.int64), lambda: torch.tensor(0.0))
def truth_of_numbers(a, b):
    assert a, "a"
    if b:
        raise ValueError(b)
    return a + b


@program(lambda: torch.ones(2))
def assertion_of_two(a):
    assert a, "a"
    return a


@program(vec())
def writes_before_it_raises(x):
    x.add_(1)
    if (x > 2).any():
        raise ValueError(f"large: {x.max().item()}")
    return x * 2


@program(vec())
def writes_around_a_check(x):
    x.add_(1)
    if (x > 20).any():
        raise ValueError(f"large: {x.max().item()}")
    x.mul_(2)
    return x * 2


@program(vec(), list, dict)
def effects_before_it_raises(x, log, named):
    log.append(1)
    named["drawn"] = torch.rand(2)
    y = torch.rand(2) + named["drawn"].sum()
    log.append(2)
    if (x > 1.5).any():
        raise KeyError("k")
    return x * 2 + y.sum(), log.append(3)


@program(vec(), list)
def raises_and_catches(x, log):
    try:
        if (x > 1.5).any():
            raise KeyError("k")
        log.append(1)
    except KeyError:
        log.append(2)
        return x - 1, log
    return x + 1, log


@program(vec(4))
def distributions(x):
    n = dist.Normal(x, x.abs() + 1)
    b = dist.Beta(x.abs() + 1, x.abs() + 2)
    each = dist.Independent(dist.Normal(x, 1.0), 1)
    squashed = dist.TransformedDistribution(dist.Normal(x, 1.0), [dist.transforms.TanhTransform()])
    return n.log_prob(x), n.rsample(), n.sample((2,)), n.entropy(), n.cdf(x), b.mean, b.log_prob(x.sigmoid()), each.log_prob(x), squashed.rsample()


@program(mat(3, 4))
def policies(x):
    c = dist.Categorical(logits=x)
    action = c.sample()
    return action, c.log_prob(action), c.entropy(), c.probs, dist.Bernoulli(logits=x).sample()


@program(lambda: torch.full((2,), float("nan")))
def no_distribution(x):
    return dist.Normal(x, 1.0).sample()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4))
        self.decoder = nn.Linear(2, 4)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        q = dist.Normal(mean, (log_variance / 2).exp())
        p = dist.Normal(torch.zeros_like(mean), torch.ones_like(mean))
        return ((self.decoder(q.rsample()) - x) ** 2).mean() + dist.kl_divergence(q, p).sum()


torch.manual_seed(0)
AUTOENCODER = Autoencoder()


@program(lambda: copy.deepcopy(AUTOENCODER), lambda: mat(3, 4)().mul(9).sin())
def variational_autoencoder(model, x):
    return model(x)


@program(lambda: copy.deepcopy(AUTOENCODER), lambda: mat(3, 4)().mul(9).sin())
def variational_autoencoder_trained(model, x):
    loss = model(x)
    if loss.requires_grad:
        loss.backward()
    return loss, [p.grad for p in model.parameters()]


@program(lambda: copy.deepcopy(AUTOENCODER), lambda: mat(3, 4)().mul(9).sin())
def variational_autoencoder_of_nothing(model, x):
    return model(x * float("nan"))


@scenario
def checks_that_fail_now_and_then(compile):
    def program(x):
        x.add_(1)
        if (x > 10).any():
            raise ValueError(f"large: {x.max().item()}")
        return x * 2

    compiled = compile(program)
    out = []
    for start in (0.0, 1.0, 20.0, 2.0, 30.0, 3.0):
        x = torch.full((3,), start)
        try:
            out.append(compiled(x))
        except ValueError as error:
            out.append(str(error))
        out.append(x)
    return out


@scenario
def checks_with_gradients(compile):
    w = torch.ones(3, requires_grad=True)

    def program(x, seen):
        seen.add_(1)
        y = (x * w).exp()
        assert torch.isfinite(y).all(), "too large"
        seen.mul_(2)
        return (y * seen).sum()

    compiled = compile(program)
    out = []
    for start in (0.0, 1.0, 1e9, 2.0):
        seen = torch.zeros(3)
        try:
            compiled(torch.full((3,), start), seen).backward()
        except AssertionError as error:
            out.append(str(error))
        out += [seen, w.grad.clone()]
    return out


@scenario
def checks_that_fail_in_one_graph(compile):
    def program(x):
        assert (x > -1).all(), "negative"
        return x * 2

    compiled = compile(program, fullgraph=True)
    out = []
    for size, less in ((3, 0), (3, 2), (3, 0), (4, 2), (4, 0)):
        try:
            out.append(compiled(torch.arange(float(size)) - less))
        except AssertionError as error:
            out.append(str(error))
    return out


@scenario
def checks_in_loops(compile):
    def program(x):
        for i in range(3):
            x = x + i
            if (x > 20).any():
                raise ValueError(f"in round {i}: {x.max().item()}")
        return [row * 2 for row in x if not_small(row)]

    def not_small(row):
        assert row >= -1, row.item()
        return True

    compiled = compile(program)
    out = []
    for x in (torch.arange(4.0), torch.arange(4.0) * 9, torch.arange(5.0), torch.arange(5.0) - 9, torch.arange(4.0)):
        try:
            out.append(compiled(x))
        except (ValueError, AssertionError) as error:
            out.append(str(error))
    return out
