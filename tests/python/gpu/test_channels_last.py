"""Convolutions for a GPU are computed with their channels innermost: the graph that would run there, run here operator by
operator, gives what eager gives, with the same strides, the same sharing and the same writes."""

import re

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.python.support.graph_run import run
from tests.python.support.recorded_program import Program
from tests.python.kernels.graphs.test_passes import recorded
from vitrine import _engine

TYPE = re.compile(r"\b((?:u8|i\d+|f\d+|bf16|b1)\[[\d,]*\](?:\{[\d,]*\})?)(@\d+)?")


def on_gpu(text):
    """The graph as if its tensors were on a GPU."""
    lines = [(head.replace("device=cpu", "device=cuda:0"), types) for head, _, types in (line.rpartition(" : ") for line in text.splitlines())]
    return "\n".join(f"{head} : {TYPE.sub(lambda m: m[1] + (m[2] or '') + 'cuda:0', types)}" if head else types
                     for head, types in lines) + "\n"


def check(function, *args):
    """The last graph, and how many convolutions have their channels innermost."""
    record, results = recorded(function, *args)
    after = dict(_engine.run_passes(on_gpu(record.graph.text(results))))["dce"].replace("device=cuda:0", "device=cpu").replace("cuda:0", "")
    fresh = [t.clone() for t in record.before]
    torch.manual_seed(0)
    found = run(after, fresh)
    for a, b in zip(found, results, strict=True):
        assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride()), after
        torch.testing.assert_close(a, b, msg=lambda m: f"{m}\n{after}")
    for a, b in zip(fresh, record.inputs):
        torch.testing.assert_close(a, b, msg=lambda m: f"an input: {m}\n{after}")
    pairs = [(a, b) for a in range(len(results)) for b in range(a)]
    for a, b in pairs:
        same = results[a].untyped_storage().data_ptr() == results[b].untyped_storage().data_ptr()
        assert same == (found[a].untyped_storage().data_ptr() == found[b].untyped_storage().data_ptr()), after
    types = [line for line in after.splitlines() if "convolution" in line and " = aten." in line]
    return after, sum("{" in line.rpartition(" : ")[2] for line in types)


class Block(nn.Module):
    def __init__(self, channels, stride=1):
        super().__init__()
        self.a, self.b = nn.Conv2d(channels, 16, 3, stride, 1, bias=False), nn.Conv2d(16, 24, 1)
        self.down = nn.Conv2d(channels, 24, 1, stride, bias=False)
        self.na, self.nb = nn.BatchNorm2d(16), nn.BatchNorm2d(24)

    def forward(self, x):
        y = self.nb(self.b(F.relu(self.na(self.a(x)))))
        return F.relu(y.add_(self.down(x)))


def images(*sizes):
    torch.manual_seed(0)
    return torch.randn(*sizes)


def test_a_residual_network():
    model = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), Block(16), Block(24, 2),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10)).eval()
    after, convolutions = check(model, images(2, 3, 32, 32))
    assert convolutions == 7 and after.count("channels_last") > 0
    assert after.count("aten.cudnn_convolution_relu") == 3 and after.count("aten.cudnn_convolution_add_relu") == 2


NETS = {
    "two results that share memory": lambda c, d, x: (lambda y: (y, y.view(-1)))(d(c(x))),
    "a view of the channels": lambda c, d, x: d(c(x)).flatten(2).transpose(1, 2) * 2,
    "patches": lambda c, d, x: torch.cat((x.new_ones(2, 1, 16), d(c(x)).flatten(2).transpose(1, 2)), 1),
    "a view of a view that leaves": lambda c, d, x: d(c(x)).flatten(2).transpose(1, 2),
    "a view that is read as rows": lambda c, d, x: torch.addmm(x.new_ones(5), d(c(x)).flatten(2)[0].t(), x.new_ones(16, 5)),
    "a view that PyTorch reads": lambda c, d, x: d(c(x)).flatten(2).transpose(1, 2).cumsum(1).sort(-1)[0],
    "turned between": lambda c, d, x: d(c(x).transpose(2, 3)),
    "turned into an image": lambda c, d, x: d(c(x).permute(0, 3, 2, 1)[:, :, :, :12].reshape(2, 12, 12, 12).repeat(1, 2, 1, 1)[:, :16]),
    "channels cut in two": lambda c, d, x: torch.cat(d(c(x)).chunk(2, 1), 0) + 1,
    "random numbers": lambda c, d, x: d(F.dropout(c(x), 0.5)),
    "random numbers of its own": lambda c, d, x: d(c(x) + torch.rand_like(x).repeat(1, 2, 1, 1)),
    "a mask": lambda c, d, x: d(c(x).masked_fill(c(x) > 0, 1)),
    "a number by channel": lambda c, d, x: d(c(x) * c.weight[:, 0, 0, 0].view(-1, 1, 1)),
    "statistics": lambda c, d, x: F.group_norm(d(c(x)), 4),
    "softmax over channels": lambda c, d, x: d(c(x)).softmax(1),
    "the place of the largest": lambda c, d, x: F.max_pool2d(d(c(x)), 2, return_indices=True),
    "resized": lambda c, d, x: F.interpolate(d(c(x)), scale_factor=2),
    "an input that is written": lambda c, d, x: d(c(x.add_(1))),
    "written between": lambda c, d, x: (lambda y: (y, x.mul_(2), d(c(x))))(d(c(x))),
    "a result that is written": lambda c, d, x: d(c(x)).add_(1).relu_(),
    "rows of it written": lambda c, d, x: (lambda y: (y[:, 0].zero_(), y)[1])(d(c(x))),
    "laid out by the user": lambda c, d, x: d(c(x.contiguous(memory_format=torch.channels_last))),
    "transposed by the user": lambda c, d, x: d(c(x.transpose(2, 3))),
    "copied by the user": lambda c, d, x: d(c(x)).permute(0, 2, 3, 1).contiguous(),
}


@pytest.mark.parametrize("name", NETS)
def test_what_stands_beside_convolutions(name):
    torch.manual_seed(1)
    c, d = nn.Conv2d(8, 16, 3, padding=1).eval(), nn.Conv2d(16, 16, 3, padding=1).eval()
    check(lambda x: NETS[name](c, d, x), images(2, 8, 12, 12))


def test_sizes_of_one():
    squeeze = nn.Sequential(nn.Conv2d(8, 16, 3), nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1)).eval()
    check(squeeze, images(2, 8, 9, 9))
    check(squeeze, images(1, 8, 3, 3))
    check(nn.Sequential(nn.Conv2d(8, 10, 3), nn.Conv2d(10, 8, 3)).eval(), images(2, 8, 9, 9))
    check(nn.Sequential(nn.Conv2d(1, 8, 3), nn.Conv2d(8, 1, 3), nn.Conv2d(1, 1, 1)).eval(), images(2, 1, 9, 9))


NORMS = {
    "norm and relu": lambda c, d, n, x: F.relu(n(d(c(x)))),
    "a norm without relu": lambda c, d, n, x: n(d(c(x))) + 1,
    "relu twice": lambda c, d, n, x: F.relu(n(d(c(x)))) + F.relu(n(d(c(x)))),
    "a residual": lambda c, d, n, x: F.relu(n(d(c(x))) + c(x)),
    "two residuals": lambda c, d, n, x: F.relu(n(d(c(x))) + c(x) + c(x).sin()),
    "two convolutions and a tensor": lambda c, d, n, x: F.relu(n(d(c(x))) + n(c(x)) + c(x).sin()),
    "two normed convolutions": lambda c, d, n, x: F.relu(n(d(c(x))) + n(c(x))),
    "the norm is seen": lambda c, d, n, x: (lambda y: (y, F.relu(y)))(n(d(c(x)))),
    "the convolution is seen": lambda c, d, n, x: (lambda y: (y, F.relu(n(y))))(d(c(x))),
    "a weight that is written": lambda c, d, n, x: (lambda y: (d.weight.mul_(1.5), F.relu(n(y))))(d(c(x))),
    "a scale": lambda c, d, n, x: F.relu(d(c(x)) * 2 + 1),
    "training": lambda c, d, n, x: F.relu(F.batch_norm(d(c(x)), None, None, training=True)),
    "of no weight": lambda c, d, n, x: F.relu(F.batch_norm(d(c(x)), n.running_mean, n.running_var)),
}


@pytest.mark.parametrize("name", NORMS)
def test_what_follows_a_convolution(name):
    torch.manual_seed(1)
    c, d, n = nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)
    with torch.no_grad():
        for p in (n.weight, n.bias, n.running_mean):
            p.normal_()
        n.running_var.uniform_(0.1, 2)
    for part in (c, d, n.eval()):
        part.requires_grad_(False)
    after, _ = check(lambda x: NORMS[name](c, d, n, x), images(2, 8, 12, 12))
    assert ("cudnn_convolution" in after) == (name in JOINED)


JOINED = {"norm and relu", "relu twice", "a residual", "two normed convolutions", "of no weight"}


def derived(function, *args):
    """The joint graph that a GPU would have, as text; its results and gradients, run here."""
    program = Program(function, args, as_if="cuda:0", joints=("own",))
    joint = program.joints["own"]
    assert not isinstance(joint, str), joint
    text = joint["graph"]["text"].replace("device=cuda:0", "device=cpu").replace("cuda:0", "")
    torch.manual_seed(5)
    tangents = [torch.randn(sizes, dtype=getattr(torch, dtype)) for dtype, sizes, _, _ in joint["tangents"]]
    inputs = [real.detach().clone() for real, _ in program.inputs]
    values = run(text, inputs + joint["constants"] + tangents)
    return text, inputs, values, joint["inputs"], tangents


TRAINED = {
    "a norm and relu in place": lambda c, d, n, x: F.relu(n(d(F.relu(n(c(x)), inplace=True))), inplace=True).sum((2, 3)),
    "a pool and a residual": lambda c, d, n, x: (lambda y: F.max_pool2d(F.relu(d(y) + y), 2).mean((2, 3)))(c(x)),
    "an image that leaves": lambda c, d, n, x: n(d(c(x))),
    "an image that is read as rows": lambda c, d, n, x: d(c(x)).flatten(2).transpose(1, 2).softmax(-1),
}


@pytest.mark.parametrize("name", TRAINED)
def test_both_halves_of_training_lie_alike(name):
    torch.manual_seed(1)
    c, d, n = nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
    names = [*("c." + k for k, _ in c.named_parameters()), "d.weight", "n.weight", "n.bias"]
    leaves = [t.detach().clone().requires_grad_() for t in (*c.parameters(), *d.parameters(), n.weight, n.bias)]
    x = images(2, 8, 12, 12)

    def function(x, *leaves):
        given = dict(zip(names, leaves))
        conv = lambda x: F.conv2d(x, given["c.weight"], given["c.bias"], padding=1)  # noqa: E731
        mixed = lambda x: F.conv2d(x, given["d.weight"], padding=1)  # noqa: E731
        norm = lambda x: F.batch_norm(x, None, None, given["n.weight"], given["n.bias"], training=True)  # noqa: E731
        return TRAINED[name](conv, mixed, norm, x)

    text, _, values, which, tangents = derived(function, x, *leaves)
    result = function(x, *leaves)
    expected = torch.autograd.grad(result, [([x] + leaves)[i] for i in which], tangents[0].reshape(result.shape))
    backward = [line for line in text.splitlines() if "= aten.convolution_backward" in line]
    assert len(backward) == 2 and all("{" in line.rpartition(" : ")[2] for line in backward), text
    for found, exact in zip(values, [result.detach(), *expected], strict=True):
        assert (found.shape, found.dtype, found.stride()) == (exact.shape, exact.dtype, exact.stride()), text
        torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-3)


def beside_autograd(name, x, w):
    y = F.conv2d(x, w)
    if name == "written under no_grad":
        with torch.no_grad():
            y.mul_(2)
    elif name == "written through detach":
        y.detach().mul_(2)
    elif name == "read under no_grad":
        with torch.no_grad():
            y = y + 3 * y
    elif name == "copied":
        return torch.empty_like(y).copy_(y).square()
    return y * x[:, :4]


@pytest.mark.parametrize("name", ["written under no_grad", "written through detach", "read under no_grad", "copied"])
def test_what_autograd_does_not_follow_gets_no_gradient(name):
    torch.manual_seed(1)
    x, w = images(2, 8, 12, 12).requires_grad_(), torch.randn(4, 8, 1, 1, requires_grad=True)
    joint = Program(lambda x, w: beside_autograd(name, x, w), (x, w), as_if="cuda:0", joints=("own",)).joints["own"]
    if isinstance(joint, str):
        assert name != "copied", joint  # PyTorch's own backward is taken
        return
    _, _, values, which, tangents = derived(lambda x, w: beside_autograd(name, x, w), x, w)
    result = beside_autograd(name, x, w)
    expected = torch.autograd.grad(result, [(x, w)[i] for i in which], tangents[0].reshape(result.shape), allow_unused=True)
    for found, exact in zip(values, [result.detach(), *(e for e in expected if e is not None)], strict=True):
        torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-3)
