"""Recurrent layers on the CPU: where autograd is off each is one operator, at any length of the sequence; with gradients one of few
steps is written out, and a long one, or one of changing length, is left to eager, which runs it as one call."""

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded
from torch import nn

LENGTHS = [5, 6, 7, 9, 12, 3, 2, 16]


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def layers(cls, **how):
    return nn.Sequential(nn.Linear(4, 6), cls(6, 6, **how)).eval()


def program(model):
    return lambda x: model(x.exp())[0].tanh()


def operators(session, name):
    return [row["op"] for row in session.rows("node") if name in row["op"]]


@pytest.mark.parametrize("cls", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("how", [{}, {"batch_first": True, "bidirectional": True}, {"num_layers": 2, "bias": False}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_one_operator_without_gradients(cls, how, dtype, tmp_path):
    function = program(layers(cls, **how).to(dtype))
    compiled = vitrine.compile(function, fullgraph=True)
    with recorded(tmp_path) as session, torch.no_grad():
        for n in LENGTHS:
            x = torch.randn(3, n, 4, dtype=dtype) if how.get("batch_first") else torch.randn(n, 3, 4, dtype=dtype)
            torch.testing.assert_close(compiled(x), function(x))
            assert compiled(x).stride() == function(x).stride()
    assert len(session.rows("compilation", status="ok")) == 2
    assert not operators(session, "aten.sigmoid")


def test_one_operator_of_a_hidden_state_given_and_of_no_batch():
    gru = nn.GRU(6, 5, 2)
    compiled = vitrine.compile(lambda x, h: gru(x.exp(), h), fullgraph=True)
    with torch.no_grad():
        for x, h in ((torch.randn(7, 3, 6), torch.randn(2, 3, 5)), (torch.randn(7, 6), torch.randn(2, 5))):
            torch.testing.assert_close(compiled(x, h), gru(x.exp(), h))


def test_what_draws_or_is_cast_stays_what_it_was():
    gru = nn.GRU(6, 5, 2, dropout=0.5).train()
    compiled, x = vitrine.compile(lambda x: gru(x)[0]), torch.randn(4, 3, 6)
    with torch.no_grad():
        torch.manual_seed(1)
        expected = gru(x)[0]
        torch.manual_seed(1)
        torch.testing.assert_close(compiled(x), expected)
        with torch.autocast("cpu", torch.bfloat16):
            gru.eval()
            assert compiled(x).dtype == gru(x)[0].dtype


def gradients(function, model, x):
    model.zero_grad()
    x = x.clone().requires_grad_()
    loss = function(x).square().sum()
    loss.backward()
    return loss.detach(), x.grad, [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("cls", [nn.LSTM, nn.GRU, nn.RNN])
def test_training_at_changing_lengths(cls, tmp_path):
    model = layers(cls).train()
    function = program(model)
    compiled = vitrine.compile(function)
    with recorded(tmp_path) as session:
        for n in LENGTHS:
            x = torch.randn(n, 3, 4)
            torch.testing.assert_close(gradients(compiled, model, x), gradients(function, model, x))
    breaks = session.rows("graph_break")
    assert all(b["kind"] == "limit" and "the number of steps changes" in b["reason"] for b in breaks)
    assert bool(breaks) == (cls is nn.GRU)
    with recorded(tmp_path, "others.vitrine") as session:
        for n in (14, 31, 20, 27, 18, 15, 22, 25, 24, 29):  # more than may be compiled of one function
            x = torch.randn(n, 3, 4)
            torch.testing.assert_close(gradients(compiled, model, x), gradients(function, model, x))
    assert len(session.rows("compilation", status="ok")) <= 2


def test_a_long_one_is_left_to_eager(tmp_path):
    model = layers(nn.GRU).train()
    function, x = program(model), torch.randn(400, 2, 4)
    with recorded(tmp_path) as session:
        torch.testing.assert_close(gradients(vitrine.compile(function), model, x), gradients(function, model, x))
    breaks = session.rows("graph_break")
    assert breaks and all(b["kind"] == "limit" and b["reason"].startswith("torch.gru is written out step by step") for b in breaks)
