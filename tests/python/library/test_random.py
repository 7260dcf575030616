"""Random numbers on the CPU: the same seed gives the same numbers as eager, and the generators are where eager leaves them."""

import warnings

import pytest
import torch
import torch.distributions as D
import torch.nn.functional as F
import vitrine
from tests.python.support.same_as_eager import assert_same
from torch.utils.checkpoint import checkpoint


def run(function, make, backward):
    torch.manual_seed(7)
    args = make()
    value = function(*args)
    grads = []
    if backward:
        wanted = [v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, torch.Tensor) and v.requires_grad]
        leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        if wanted and leaves:
            torch.autograd.backward([w.sum() for w in wanted])
            grads = [leaf.grad for leaf in leaves]
    states = [a.get_state() for a in args if isinstance(a, torch.Generator)]
    return value, grads, torch.get_rng_state(), states, torch.rand(3)


def check(function, make, backward=True, calls=3):
    compiled = vitrine.compile(function)
    for call in range(calls):
        expected = run(function, make, backward)
        found = run(compiled, make, backward)
        for name, a, b in zip(("value", "gradients"), expected[:2], found[:2]):
            assert_same(a, b, f"{name} of call {call}")
        assert torch.equal(expected[2], found[2]), f"call {call}: the generator is elsewhere"
        assert all(map(torch.equal, expected[3], found[3])), f"call {call}: the given generator is elsewhere"
        assert torch.equal(expected[4], found[4])


def x(*sizes, grad=True):
    return torch.linspace(-1.5, 2, 1 if not sizes else torch.Size(sizes).numel()).reshape(sizes).clone().requires_grad_(grad)


def inputs(*sizes, grad=True):
    return lambda: (x(*sizes, grad=grad),)


FUNCTIONS = {
    "rand": lambda t: t * torch.rand(4, 6), "randn": lambda t: t + torch.randn(4, 6), "randint": lambda t: t + torch.randint(-3, 9, (4, 6)),
    "randperm": lambda t: t[:, torch.randperm(6)], "rand_like": lambda t: t * torch.rand_like(t), "randn_like": lambda t: t * torch.randn_like(t),
    "randint_like": lambda t: t * torch.randint_like(t, 2, 7), "bernoulli": lambda t: t * torch.bernoulli(t.detach().sigmoid()),
    "bernoulli p": lambda t: torch.bernoulli(t.detach(), 0.3), "multinomial": lambda t: torch.multinomial(t.detach().exp(), 3),
    "multinomial again": lambda t: torch.multinomial(t.detach().exp(), 9, replacement=True), "poisson": lambda t: torch.poisson(t.exp()),
    "normal": lambda t: torch.normal(t, t.exp()), "normal of numbers": lambda t: t + torch.normal(1.0, 2.0, (4, 6)),
    "normal of a mean": lambda t: torch.normal(t, 0.5), "normal of a spread": lambda t: torch.normal(0.5, t.exp()),
    "binomial": lambda t: torch.binomial(torch.full_like(t, 9), t.detach().sigmoid()), "half": lambda t: t * torch.rand(4, 6, dtype=torch.float16),
    "double": lambda t: t * torch.randn(4, 6, dtype=torch.float64), "gamma": lambda t: torch._standard_gamma(t.exp()),
    "dirichlet": lambda t: torch._sample_dirichlet(t.detach().exp()), "uniform_": lambda t: t * torch.empty(4, 6).uniform_(-1, 3),
    "normal_": lambda t: t * torch.empty(4, 6).normal_(1, 3), "exponential_": lambda t: t * torch.empty(4, 6).exponential_(2),
    "geometric_": lambda t: t * torch.empty(4, 6).geometric_(0.3), "cauchy_": lambda t: t * torch.empty(4, 6).cauchy_(),
    "log_normal_": lambda t: t * torch.empty(4, 6).log_normal_(), "random_": lambda t: t * torch.empty(4, 6).random_(9),
    "bernoulli_": lambda t: t * torch.empty(4, 6).bernoulli_(0.4), "bernoulli_ of": lambda t: t * torch.empty(4, 6).bernoulli_(t.detach().sigmoid()),
    "gumbel": lambda t: F.gumbel_softmax(t, 0.7), "gumbel hard": lambda t: F.gumbel_softmax(t, hard=True, dim=0), "rrelu": lambda t: F.rrelu(t, training=True),
    "rrelu_": lambda t: F.rrelu_(t * 1, training=True), "noise, many": lambda t: sum(torch.randn(3, 4, 6)[i] * t for i in range(3)),
    "trunc_normal_": lambda t: t * torch.nn.init.trunc_normal_(torch.empty(4, 6)), "kaiming": lambda t: t * torch.nn.init.kaiming_uniform_(torch.empty(4, 6)),
    "orthogonal": lambda t: t * torch.nn.init.orthogonal_(torch.empty(4, 6)), "seeded inside": lambda t: (torch.manual_seed(3), t * torch.rand(4, 6))[1],
    "nothing": lambda t: torch.rand(0, 3), "one": lambda t: t * torch.rand(()), "large": lambda t: torch.rand(3, 1000).sum() * t,
    "transposed": lambda t: t * torch.empty(6, 4).t().normal_(), "part": lambda t: t * torch.zeros(4, 12)[:, ::2].uniform_(),
    "state kept": lambda t: (torch.get_rng_state(), t * torch.rand(4, 6))[1], "forked": lambda t: forked(t),
}  # fmt: skip


def forked(t):
    with torch.random.fork_rng():
        t = t * torch.rand(4, 6)
    return t + torch.rand(4, 6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(FUNCTIONS[name], inputs(4, 6))


DROPOUTS = {
    "dropout": F.dropout, "alpha": F.alpha_dropout, "feature_alpha": F.feature_alpha_dropout, "dropout1d": F.dropout1d, "dropout2d": F.dropout2d,
    "dropout3d": F.dropout3d, "native": lambda t, p, training: torch.native_dropout(t, p, training)[0], "twice": lambda t, p, training:
    F.dropout(F.dropout(t, p, training), p, training), "feature": lambda t, p, training: torch.feature_dropout(t, p, training),
    "in place": lambda t, p, training: F.dropout(t * 1, p, training, inplace=True), "alpha in place": lambda t, p, training:
    F.alpha_dropout(t * 1, p, training, inplace=True),
}  # fmt: skip


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropouts(name, p, training):
    shape = {"dropout1d": (3, 4, 5), "dropout3d": (2, 3, 2, 2, 3)}.get(name, (2, 3, 4, 5))
    check(lambda t: DROPOUTS[name](t, p, training), inputs(*shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_dropouts_of_other_types(dtype):
    check(lambda t: [F.dropout(t, 0.3), F.alpha_dropout(t, 0.3), torch.rand_like(t), torch.randn_like(t)],
          lambda: (x(4, 6).detach().to(dtype).requires_grad_(),))  # fmt: skip


def pos(t):
    return t.exp() + 0.1


DISTRIBUTIONS = {
    "Normal": lambda t: D.Normal(t, pos(t)), "LogNormal": lambda t: D.LogNormal(t, pos(t)), "Laplace": lambda t: D.Laplace(t, pos(t)),
    "Cauchy": lambda t: D.Cauchy(t, pos(t)), "Exponential": lambda t: D.Exponential(pos(t)), "Gamma": lambda t: D.Gamma(pos(t), pos(t)),
    "Beta": lambda t: D.Beta(pos(t), pos(-t)), "Dirichlet": lambda t: D.Dirichlet(pos(t)), "Uniform": lambda t: D.Uniform(t - 1, t + 2),
    "StudentT": lambda t: D.StudentT(pos(t) + 2, t, pos(t)), "Chi2": lambda t: D.Chi2(pos(t)), "Gumbel": lambda t: D.Gumbel(t, pos(t)),
    "HalfNormal": lambda t: D.HalfNormal(pos(t)), "HalfCauchy": lambda t: D.HalfCauchy(pos(t)), "Pareto": lambda t: D.Pareto(pos(t), pos(t)),
    "Weibull": lambda t: D.Weibull(pos(t), pos(t)), "Kumaraswamy": lambda t: D.Kumaraswamy(pos(t), pos(t)), "FisherSnedecor": lambda t:
    D.FisherSnedecor(pos(t), pos(t) + 2), "InverseGamma": lambda t: D.InverseGamma(pos(t) + 1, pos(t)), "Bernoulli": lambda t:
    D.Bernoulli(logits=t), "Bernoulli p": lambda t: D.Bernoulli(t.sigmoid()), "Categorical": lambda t: D.Categorical(logits=t), "Categorical p":
    lambda t: D.Categorical(t.softmax(-1)), "OneHotCategorical": lambda t: D.OneHotCategorical(logits=t), "OneHotStraight": lambda t:
    D.OneHotCategoricalStraightThrough(logits=t), "RelaxedOneHot": lambda t: D.RelaxedOneHotCategorical(torch.tensor(0.7), logits=t),
    "RelaxedBernoulli": lambda t: D.RelaxedBernoulli(torch.tensor(0.7), logits=t), "Binomial": lambda t: D.Binomial(8, logits=t), "Geometric":
    lambda t: D.Geometric(logits=t), "NegativeBinomial": lambda t: D.NegativeBinomial(5, logits=t), "Poisson": lambda t: D.Poisson(pos(t)),
    "Multinomial": lambda t: D.Multinomial(7, logits=t), "ContinuousBernoulli": lambda t: D.ContinuousBernoulli(logits=t), "VonMises": lambda t:
    D.VonMises(t, pos(t)), "MultivariateNormal": lambda t: D.MultivariateNormal(t[0], covariance_matrix=torch.eye(6) + t[1:2].T @ t[1:2]),
    "LowRank": lambda t: D.LowRankMultivariateNormal(t[0], t[1:3].T, pos(t[3])), "Independent": lambda t: D.Independent(D.Normal(t, pos(t)), 1),
    "Mixture": lambda t: D.MixtureSameFamily(D.Categorical(logits=t), D.Normal(t, pos(t))), "Transformed": lambda t: D.TransformedDistribution(
    D.Normal(t, pos(t)), [D.SigmoidTransform(), D.AffineTransform(1.0, 2.0)]), "LogisticNormal": lambda t: D.LogisticNormal(t, pos(t)),
    "LKJ": lambda t: D.LKJCholesky(3, pos(t[0, 0])), "Wishart": lambda t: D.Wishart(torch.tensor(7.0) + pos(t[0, 0]), torch.eye(3)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    """What is drawn, with its gradient where it has one, and its log probability; validated and not."""
    def draws(t, validate):
        D.Distribution.set_default_validate_args(validate)
        d = DISTRIBUTIONS[name](t)
        drawn = d.rsample() if d.has_rsample else d.sample()
        return drawn, d.sample((3,)), d.log_prob(drawn)

    try:
        for validate in (True, False):
            check(lambda t, v=validate: draws(t, v), inputs(4, 6))
    finally:
        D.Distribution.set_default_validate_args(__debug__)


GENERATORS = {
    "rand": lambda t, g: t * torch.rand(4, 6, generator=g), "randn": lambda t, g: t + torch.randn(4, 6, generator=g),
    "randint": lambda t, g: t + torch.randint(9, (4, 6), generator=g), "randperm": lambda t, g: t[:, torch.randperm(6, generator=g)],
    "bernoulli": lambda t, g: t * torch.bernoulli(t.detach().sigmoid(), generator=g), "multinomial": lambda t, g:
    torch.multinomial(t.detach().exp(), 2, generator=g), "normal": lambda t, g: t + torch.normal(0.0, 1.0, (4, 6), generator=g),
    "normal_": lambda t, g: t * torch.empty(4, 6).normal_(generator=g), "poisson": lambda t, g: torch.poisson(t.detach().exp(), generator=g),
    "both": lambda t, g: t * torch.rand(4, 6, generator=g) + torch.rand(4, 6), "rand_like": lambda t, g: t + torch.rand(4, 6) * torch.rand(4, 6, generator=g),
    "seeded": lambda t, g: t * torch.rand(4, 6, generator=g.manual_seed(9)), "state": lambda t, g: (g.set_state(g.get_state()), t * torch.rand(4, 6, generator=g))[1],
    "loop": lambda t, g: [t * torch.rand(4, 6, generator=g) for _ in range(3)],
}  # fmt: skip


@pytest.mark.parametrize("name", GENERATORS)
def test_given_generators(name):
    check(GENERATORS[name], lambda: (x(4, 6), torch.Generator().manual_seed(11)))


def test_generator_made_inside():
    check(lambda t: t * torch.rand(4, 6, generator=torch.Generator().manual_seed(4)) + torch.rand(4, 6), inputs(4, 6))


def test_loop_that_draws_until():
    def f(t):
        n = 0
        while torch.rand(()) < 0.7:
            t, n = t * torch.rand(4, 6), n + 1
        return t * n

    check(f, inputs(4, 6), calls=4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("preserve", [True, False])
def test_checkpoint(reentrant, preserve):
    layer = torch.nn.Linear(6, 6)

    def f(t):
        part = lambda t: F.dropout(layer(t), 0.5) * torch.rand(4, 6)  # noqa: E731
        for _ in range(2):
            t = checkpoint(part, t, use_reentrant=reentrant, preserve_rng_state=preserve)
        return F.dropout(t, 0.5)

    check(f, inputs(4, 6))


def test_whole_step():
    """Forward, backward and update in one compiled function, dropout and noise in it."""
    def trained(compiled):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.AlphaDropout(0.2), torch.nn.Linear(32, 6))
        optimizer = torch.optim.Adam(model.parameters(), 0.01)

        def step(t):
            optimizer.zero_grad()
            loss = (model(t + torch.randn_like(t)) - t).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = vitrine.compile(step) if compiled else step
        losses = [step(x(4, 6, grad=False)) for _ in range(6)]
        return losses, [p.detach() for p in model.parameters()], torch.get_rng_state()

    expected, found = trained(False), trained(True)
    assert_same(expected[:2], found[:2])
    assert torch.equal(expected[2], found[2])


def test_a_checked_call_draws_as_eager():
    vitrine.reset()
    vitrine.config.check = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", vitrine.VitrineWarning)
            check(lambda a: (F.dropout(a, 0.4) * 2, torch.rand_like(a)), lambda: (x(4, 5, grad=False),))
    finally:
        vitrine.config.check = False
        vitrine.reset()
