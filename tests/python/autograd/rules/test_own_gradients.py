"""Derivatives by our own rules through vitrine.compile: the cases that are about the graph and not about an operator; who
wrote a derivative, and where its nodes come from."""

import sqlite3
import subprocess

import pytest
import torch
from tests.python.autograd.steps.test_training import agree, leaf
from torch.nn import functional as F

import vitrine

OURS = "the derivative is written by our own rules"


def sentence(function, *inputs):
    (found,) = vitrine.explain(function)(*inputs).gradients
    return found


def no_grad_island(x):
    with torch.no_grad():
        scale = x.abs().amax()
    return x / scale


def added_in_place(x, w):
    total = x * 1
    for part in (w, w.sin(), w):
        total += part
    return total.relu_()


def masked_loss(x, y):
    mask = y > 0
    return torch.where(mask, (x - y) ** 2, torch.zeros(())).sum() / mask.sum()


MASK = torch.tensor([[True, False, True], [False, True, False]])


def masked_rows(x, rows):
    y = x * 2
    y[MASK] = rows * 3
    return y.sin()


def masked_sum(x, rows):
    return (x * 2).index_put_((MASK.t(),), rows * 3, accumulate=True).sin()


OWN = {
    "several uses": (lambda x: x.sin() * x + x.exp() - x, [leaf(3, 4)]),
    "broadcast": (lambda x, y: (x * y + y).tanh(), [leaf(4, 1, 3), leaf(5, 1)]),
    "chain of views": (lambda x: x.view(2, 6).t()[1:4, None].expand(3, 5, 2).permute(2, 0, 1).reshape(-1) * 2, [leaf(3, 4)]),
    "overlapping parts": (lambda x: torch.cat([x[:3], x[1:], x[::2]]).exp(), [leaf(5, 2)]),
    "in place": (added_in_place, [leaf(4), leaf(4, seed=1)]),
    "integers and bools": (lambda x, y: x * y.argmax(-1, keepdim=True) + (y > 0), [leaf(3, 4), leaf(3, 4, seed=1)]),
    "detached": (lambda x: x * x.detach() + x.exp().detach(), [leaf(3)]),
    "gradients off inside": (no_grad_island, [leaf(5)]),
    "some inputs": (lambda x, y: (x * y).tanh(), [leaf(3), torch.ones(3)]),
    "several results": (lambda x, w: (x.sin() * w, (x * 2).sum()), [leaf(3), leaf(3, seed=1)]),
    "a result without gradient": (lambda x: (x * 2, (x > 0).sum()), [leaf(3)]),
    "a result not used": (lambda x: (x.exp(), x.sum())[0], [leaf(3)]),
    "types mixed": (lambda x, h: x * h.float() + h.double().sum(), [leaf(3), leaf(3, dtype=torch.bfloat16, seed=1)]),
    "dropout": (lambda x: F.dropout(x.exp(), 0.4) * x, [leaf(40, 5)]),
    "masked loss": (masked_loss, [leaf(4, 5), leaf(4, 5, seed=1)]),
    "gather and scatter": (lambda x: x.gather(1, torch.tensor([[0, 2], [1, 1]])).sum() * torch.zeros(2, 3).scatter(
        1, torch.tensor([[0], [2]]), x[:, :1]), [leaf(2, 3)]),
    "rows at a mask": (masked_rows, [leaf(2, 3, 4), leaf(3, 4, seed=1)]),
    "one row at a mask": (masked_rows, [leaf(2, 3, 4), leaf(1, 4, seed=1)]),
    "a row without its dim at a mask": (masked_rows, [leaf(2, 3, 4), leaf(4, seed=1)]),
    "narrow rows at a mask": (masked_rows, [leaf(2, 3, 4), leaf(3, 1, seed=1)]),
    "elements at a mask": (masked_rows, [leaf(2, 3), leaf(3, seed=1)]),
    "rows added at a mask": (masked_sum, [leaf(3, 2, 4), leaf(3, 4, seed=1)]),
    "zero-sized": (lambda x: x[:0].exp().sum() + x.sum(), [leaf(3, 2)]),
}


@pytest.mark.parametrize("name", OWN)
def test_our_rules_cover_the_graph_and_give_eagers_gradients(name):
    function, inputs = OWN[name]
    assert sentence(function, *inputs) == OURS
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if name == "types mixed" else {"rtol": 1e-4, "atol": 1e-5}
    agree(function, *inputs, **tolerance)


def partly_written(x, w):
    m = x * 2
    m[1] = w
    return m.sum(0)


BORROWED = {
    "a part is written": (partly_written, [leaf(3, 4), leaf(4)], "writes memory that is read by another name"),
    "an operand is overwritten": (lambda x, w: (x * 1).mul_(w), [leaf(4), leaf(4, seed=1)], "what its gradient reads is written to later"),
}


@pytest.mark.parametrize("name", BORROWED)
def test_what_the_rules_do_not_cover_is_borrowed_as_a_whole(name):
    function, inputs, why = BORROWED[name]
    found = sentence(function, *inputs)
    assert found.startswith("the derivative is PyTorch's own backward: ") and why in found
    agree(function, *inputs, rtol=1e-4, atol=1e-5)


def test_gradients_are_added_in_eagers_order():
    """Sums of three terms of very different size depend on the order."""
    def f(x):
        y = x * 1
        return y * 1e8 + y * -1e8 + y * 3 + y.sin()

    x = leaf(100)
    (expected,) = torch.autograd.grad(f(x).sum(), x)
    (found,) = torch.autograd.grad(vitrine.compile(f, options={"fuse": False})(x).sum(), x)
    assert torch.equal(found, expected)


def test_an_option_chooses_whose_gradients():
    def f(x):
        return x.sin().exp()

    x, found = leaf(5), []
    for who in ("own", "borrowed"):
        found.append(torch.autograd.grad(vitrine.compile(f, options={"gradients": who})(x).sum(), x)[0])
    torch.testing.assert_close(found[0], found[1])
    with pytest.raises(ValueError, match="takes own, borrowed, not 'mine'"):
        vitrine.compile(f, options={"gradients": "mine"})


PROGRAM = """
import torch, vitrine
x, w = torch.randn(8, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)

@vitrine.compile{options}
def layer(x, w):
    y = x @ w
    return y.sin().sum()

layer(x, w).backward()
"""


def recorded(tmp_path, options):
    (tmp_path / "program.py").write_text(PROGRAM.replace("{options}", options))
    done = subprocess.run(["vitrine", "run", tmp_path / "program.py", "-o", tmp_path / "run.vitrine"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "run.vitrine"


def test_the_session_says_who_wrote_the_derivative_and_what_of(tmp_path):
    session = recorded(tmp_path, "")
    database = sqlite3.connect(session)
    (said,) = database.execute("SELECT sentence FROM graph WHERE stage = 'joint'").fetchone()
    assert OURS in said
    shown = subprocess.run(["vitrine", "show", session, "joint"], capture_output=True, text=True)
    assert OURS in shown.stdout
    # cos, the derivative of sin, comes from sin, and sin from the line that calls it
    links = database.execute(
        "SELECT forward.op, node.op FROM node JOIN graph ON graph.id = node.graph JOIN link ON link.derived = node.id "
        "JOIN node AS forward ON forward.id = link.origin WHERE graph.stage = 'joint' AND node.op = 'aten.cos.default'").fetchall()
    assert links == [("aten.sin.default", "aten.cos.default")]


def test_the_session_says_what_had_no_rule(tmp_path):
    session = recorded(tmp_path, "(options={'gradients': 'borrowed'})")
    (said,) = sqlite3.connect(session).execute("SELECT sentence FROM graph WHERE stage = 'joint'").fetchone()
    assert "PyTorch's own backward: borrowed gradients were asked for" in said


def test_equal_layers_share_the_kernels_of_their_gradients(tmp_path):
    def kernels(layers):
        def net(x, weights):
            for w in weights:
                x = F.layer_norm(x @ w, (24,), w[0]).tanh() * x
            return x.sum()

        vitrine.config.cache_dir = str(tmp_path / str(layers))
        weights = [leaf(24, 24, seed=i) for i in range(layers)]
        vitrine.compile(net)(leaf(7, 24), weights).backward()
        assert all(w.grad is not None for w in weights)
        return len(list((tmp_path / str(layers) / "kernels").iterdir()))

    before = vitrine.config.cache_dir
    try:
        assert kernels(6) == kernels(4)
    finally:
        vitrine.config.cache_dir = before


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_what_eager_keeps_without_reading_it_may_not_be_written_to(name):
    """Autograd keeps the input of a running extremum, though only its sizes count."""
    f = lambda x: getattr(x, name)(0).values  # noqa: E731
    for function in (f, vitrine.compile(f)):
        x = leaf(4, 3) * 1
        result = function(x)
        x.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.sum().backward()
