"""Training graphs that write what has no gradient: running statistics, counters, averages. They have a joint graph; each write
happens in forward, once, and is counted as eager counts it."""

import copy

import pytest
import torch
from tests.python.support.recorded import recorded
from tests.python.autograd.rules.test_own_gradients import OURS, sentence
from torch import nn
from torch.nn import functional as F

import vitrine


class Network(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8, **options) for _ in range(2))
        self.last, self.norm = nn.Linear(8, 4), nn.BatchNorm1d(4, **options)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)), inplace=True)
        y = F.relu(self.norms[1](self.second(y)) + y)
        return self.norm(self.last(y.mean((2, 3))))


class Averages(nn.Module):
    """Keeps averages of what it sees by hand."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)
        self.register_buffer("mean", torch.zeros(5))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        y = self.linear(x)
        with torch.no_grad():
            self.mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
        self.seen += len(x)
        return (y * y).tanh() * 2


def twins(make):
    """Two equal models; a copy's buffers have been written to as often as another copy's."""
    model = make()
    return copy.deepcopy(model), copy.deepcopy(model)


def state(model):
    return [(name, b.clone(), b._version) for name, b in model.named_buffers()]


def same_state(ours, eager, versions=True):
    for (name, a, version), (_, b, counted) in zip(state(ours), state(eager)):
        torch.testing.assert_close(a, b, msg=lambda text: f"{name}: {text}")
        assert version == counted or not versions, f"{name} was written {version} times, in eager {counted} times"


def close(ours, eager, exact, what):
    """As far from float64 as eager is, or nearly."""
    allowed = 4 * (eager - exact).abs().max() + 1e-5 * max(1, exact.abs().max())
    assert (ours - exact).abs().max() <= allowed, f"{what}: {(ours - exact).abs().max()} against {allowed}"


def step(model, x, mode=True):
    out = model.train(mode)(x)
    model.zero_grad()
    (out * torch.linspace(-1, 1, out.numel(), dtype=x.dtype).view_as(out).cos()).sum().backward()
    return [out.detach(), *(p.grad for p in model.parameters())]


MODELS = {
    "plain": (Network, (6, 3, 8, 8), [True] * 3),
    "own momentum": (lambda: Network(momentum=0.3), (6, 3, 8, 8), [True] * 2),
    "cumulative": (lambda: Network(momentum=None), (6, 3, 8, 8), [True] * 3),
    "no statistics": (lambda: Network(track_running_stats=False), (6, 3, 8, 8), [True, False]),
    "no weights": (lambda: Network(affine=False), (6, 3, 8, 8), [True] * 2),
    "switched": (Network, (6, 3, 8, 8), [True, False, True, True, False]),
    "by hand": (Averages, (7, 5), [True] * 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_writes_its_buffers(name):
    vitrine.reset()
    make, shape, modes = MODELS[name]
    torch.manual_seed(0)
    ours, eager = twins(make)
    exact = copy.deepcopy(eager).double()
    compiled = vitrine.compile(ours)
    for mode in modes:
        x = torch.randn(shape)
        found = [step(m, v, mode) for m, v in ((compiled, x), (eager, x), (exact, x.double()))]
        for i, triple in enumerate(zip(*found)):
            close(*triple, f"{'output' if not i else f'gradient {i}'}, {'training' if mode else 'evaluation'}")
        same_state(ours, eager)


@pytest.mark.parametrize("make", [Network, lambda: Network(track_running_stats=False), Averages])
def test_its_gradients_are_our_own(make):
    model = make()
    assert sentence(model, torch.randn((6, 3, 8, 8) if isinstance(model, Network) else (7, 5))) == OURS


def test_two_calls_before_one_backward():
    """In training nothing reads the statistics again: writing them a second time is no error."""
    ours, eager = twins(Network)
    x, y = torch.randn(6, 3, 8, 8), torch.randn(6, 3, 8, 8)
    for model, run in ((eager, eager), (ours, vitrine.compile(ours))):
        (run(x) * run(y)).sum().backward()
    same_state(ours, eager)
    for p, q in zip(ours.parameters(), eager.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-3)


def test_a_forward_that_fails_writes_once():
    """Eager updates the statistics and then finds the wrong class."""
    ours, eager = twins(Network)
    x = torch.randn(6, 3, 8, 8)

    def loss(model, wanted):
        return F.cross_entropy(model(x), wanted)

    for model, run in ((eager, loss), (ours, vitrine.compile(loss))):
        run(model, torch.arange(6) % 4).backward()
        with pytest.raises(IndexError, match="out of bounds"):
            run(model, torch.arange(6))
    same_state(ours, eager, versions=False)  # what was taken back counts as a write


class Codebook(nn.Module):
    """What backward reads is written to behind its back."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("codes", torch.randn(3, 4))

    def forward(self, x):
        y = self.linear(x) @ self.codes.t()
        self.codes.mul_(0.5)
        return y


class Warmed(Codebook):
    """What backward reads was written to before."""

    def forward(self, x):
        self.codes.mul_(0.5)
        return self.linear(x) @ self.codes.t()


def test_a_buffer_that_backward_reads():
    for make, raises in ((Codebook, True), (Warmed, False)):
        ours, eager = twins(make)
        x = torch.randn(5, 4)
        for model, run in ((eager, eager), (ours, vitrine.compile(ours))):
            out = run(x)
            if raises:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    out.sum().backward()
                continue
            out.sum().backward()
            out = run(x)
            model.codes.zero_()
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                out.sum().backward()
        same_state(ours, eager)


@pytest.mark.parametrize("grad", [False, True])
def test_a_call_that_fails_counts_no_more_writes_than_eager(grad):
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x, target):
            return nn.functional.cross_entropy(self.norm(x), target)

    seen = []
    for compiled in (False, True):
        model = Classifier()
        call = vitrine.compile(model) if compiled else model
        with torch.set_grad_enabled(grad):
            call(torch.ones(4, 4), torch.arange(4))
            with pytest.raises(IndexError):
                call(torch.ones(4, 4), torch.arange(4) + 9)
        seen.append([b._version for b in model.buffers()])
    assert seen[0] == seen[1]


def test_an_average_over_all_batches_is_compiled_twice(tmp_path):
    torch.manual_seed(0)
    batches = [torch.randn(8, 4, 5) for _ in range(12)]
    model = nn.BatchNorm1d(4, momentum=None)
    same = copy.deepcopy(model)
    compiled = vitrine.compile(model)
    with recorded(tmp_path) as session, torch.no_grad():
        for x in batches:
            torch.testing.assert_close(compiled(x), same(x))
    torch.testing.assert_close(dict(model.state_dict()), dict(same.state_dict()))
    assert len(session.rows("compilation", status="ok")) <= 3


LAYOUTS = {
    "images": (lambda: nn.BatchNorm2d(6), (4, 6, 9, 7), None), "channels last": (lambda: nn.BatchNorm2d(6), (8, 6, 20, 20), torch.channels_last),
    "rows": (lambda: nn.BatchNorm1d(40), (70, 40), None), "sequences": (lambda: nn.BatchNorm1d(6, momentum=0.3), (4, 6, 33), None),
    "volumes": (lambda: nn.BatchNorm3d(6, affine=False), (2, 6, 5, 7, 4), None), "one channel": (lambda: nn.BatchNorm2d(1, eps=1e-3), (2, 1, 6, 7), None),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYOUTS)
def test_statistics_are_as_accurate_as_eagers(kind):
    """Also of numbers that vary little and are large; sums of images are those of float64."""
    vitrine.reset()
    make, shape, layout = LAYOUTS[kind]
    torch.manual_seed(0)
    ours, eager = twins(make)
    exact = copy.deepcopy(eager).double()
    compiled = vitrine.compile(ours)
    for scale, shift in ((1, 0), (1, 1000.0), (1e-3, 1)):
        x = (torch.randn(shape) * scale + shift).contiguous(memory_format=layout or torch.contiguous_format)
        found = []
        for model, run, v in ((ours, compiled, x), (eager, eager, x), (exact, exact, x.double())):
            v = v.detach().requires_grad_()
            out = run(v)
            model.zero_grad()
            (out * torch.linspace(-1, 1, out.numel(), dtype=v.dtype).view_as(out).cos()).sum().backward()
            assert out.stride() == x.stride() == v.grad.stride()
            found.append([out.detach(), v.grad, *(p.grad for p in model.parameters()), *(b.clone() for b in model.buffers())])
        for i, (a, b, c) in enumerate(zip(*found)):
            allowed = 2 * (b - c).abs().max() + 2e-6 * c.abs().max()
            assert (a - c).abs().max() <= allowed, f"{i} with {scale}, {shift}: {(a - c).abs().max()} against {allowed}"
        same_state(ours, eager)


def test_statistics_that_are_part_of_the_input():
    """Eager normalises what it has written by then."""
    x = torch.randn(6, 4)

    def f(x):
        return nn.functional.batch_norm(x, x[0], x[1], training=True)

    ours, eager = x.clone(), x.clone()
    with torch.no_grad():
        torch.testing.assert_close(vitrine.compile(f)(ours), f(eager))
    torch.testing.assert_close(ours, eager)


def test_training_calls_no_operator_of_pytorch(tmp_path):
    vitrine.reset()
    model = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.BatchNorm2d(8))
    compiled = vitrine.compile(model)
    with recorded(tmp_path) as session:
        compiled(torch.randn(4, 8, 6, 6)).sum().backward()
    assert {row["kind"] for row in session.rows("launch")} <= {"kernel", "view"}
