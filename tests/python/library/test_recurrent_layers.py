"""Recurrent layers on the CPU: where autograd is off each is one operator, at any length of the sequence, and so is an LSTM's layer
with gradients. Of others with gradients one of few steps is written out, and a long one, or one of changing length, is left to
eager, which runs it as one call."""

import pytest
import torch
import vitrine
from tests.python.support import segments
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
@pytest.mark.parametrize("how", [{}, {"batch_first": True}, {"batch_first": True, "bidirectional": True}, {"num_layers": 2, "bias": False}], ids=str)
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
    assert all(i.how != "recorded" for c in segments.compiled() for i in c.instances)


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


def compilations(session):
    return len(session.rows("compilation", status="ok"))


@pytest.mark.parametrize("how", [{}, {"batch_first": True, "num_layers": 2}, {"bidirectional": True}, {"bias": False}], ids=str)
def test_an_lstm_of_any_length_is_compiled_for_two(how, tmp_path):
    model = layers(nn.LSTM, **how).train()
    function = program(model)
    compiled = vitrine.compile(function, fullgraph=True)
    with recorded(tmp_path) as session:
        for n in LENGTHS + [33, 17, 40]:
            x = torch.randn(3, n, 4) if how.get("batch_first") else torch.randn(n, 3, 4)
            expected, found = gradients(function, model, x), gradients(compiled, model, x)
            torch.testing.assert_close(found, expected)
            assert found[1].stride() == expected[1].stride()
    assert compilations(session) == 4  # forward and backward: for the first length, and for all others
    graphs = session.rows("graph")
    assert graphs and not operators(session, "aten.sigmoid")


def test_a_changing_batch_and_a_state_that_is_given():
    lstm = nn.LSTM(6, 5)
    compiled = vitrine.compile(lambda x, h, c: lstm(x.exp(), (h, c)), fullgraph=True)
    for n, batch in ((5, 3), (7, 4), (9, 2), (4, 6)):
        state = [torch.randn(1, batch, 5, requires_grad=True) for _ in range(2)]
        x = torch.randn(n, batch, 6)
        found = []
        for run in (compiled, lambda x, h, c: lstm(x.exp(), (h, c))):
            output, (hidden, cell) = run(x, *state)
            found.append([output, hidden, cell, *torch.autograd.grad((output * output).sum() + cell.sum(), [*state, *lstm.parameters()])])
        torch.testing.assert_close(*found)


def test_projections_at_changing_lengths():
    lstm = nn.LSTM(6, 5, proj_size=3).eval()
    compiled = vitrine.compile(lambda x: lstm(x)[0].tanh())
    with torch.no_grad():
        for n in LENGTHS:
            x = torch.randn(n, 3, 6)
            torch.testing.assert_close(compiled(x), lstm(x)[0].tanh())


def test_dropout_between_layers_draws_as_eager_does_at_changing_lengths():
    lstm = nn.LSTM(6, 5, 2, dropout=0.5).train()
    compiled = vitrine.compile(lambda x: lstm(x)[0].tanh())
    for n in LENGTHS:
        x, found = torch.randn(n, 3, 6), []
        for run in (compiled, lambda x: lstm(x)[0].tanh()):
            lstm.zero_grad()
            torch.manual_seed(n)
            y = run(x)
            y.sum().backward()
            found.append([y.detach(), *(p.grad for p in lstm.parameters())])
        torch.testing.assert_close(*found)


def test_an_empty_sequence_is_eagers_error():
    lstm = nn.LSTM(6, 5)
    compiled = vitrine.compile(lambda x: lstm(x.exp())[0])
    for n in LENGTHS:
        compiled(torch.randn(n, 3, 6))
    with pytest.raises(RuntimeError) as expected:
        lstm(torch.randn(0, 3, 6))
    with pytest.raises(RuntimeError) as found:
        compiled(torch.randn(0, 3, 6))
    assert str(found.value) == str(expected.value)


class Loop(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        state, out = x.new_zeros(x.shape[1], 5), []
        cell = state
        for step in x:
            if isinstance(self.cell, nn.LSTMCell):
                state, cell = self.cell(step, (state, cell))
            else:
                state = self.cell(step, state)
            out.append(state * step.mean())
        return torch.stack(out)


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
@pytest.mark.parametrize("steps", [3, 40])
def test_a_loop_of_cells(cell, steps, tmp_path):
    model, x = Loop(cell(6, 5)).train(), torch.randn(steps, 4, 6)
    compiled = vitrine.compile(model, fullgraph=True)
    with recorded(tmp_path) as session:
        torch.testing.assert_close(gradients(compiled, model, x), gradients(model, model, x), atol=2e-5, rtol=2e-4)
    texts = {row["source"] for row in session.rows("kernel") if row["kind"] == "generated"}
    assert len(texts) <= 30  # however many steps there are


def test_a_loop_of_other_lengths(tmp_path):
    """Each length is compiled, for the program goes round as often; a step's kernels are one text for all steps."""
    layer = nn.Linear(6 + 5, 5)

    def loop(x):
        state = x.new_zeros(x.shape[0], 5)
        for step in x.unbind(1):
            state = torch.tanh(layer(torch.cat([step, state], 1)))
        return state

    compiled = vitrine.compile(loop, fullgraph=True)
    with recorded(tmp_path) as session:
        for n in (40, 33, 26):
            x = torch.randn(4, n, 6)
            torch.testing.assert_close(compiled(x), loop(x))
    texts = {row["source"] for row in session.rows("kernel") if row["kind"] == "generated"}
    assert len(texts) <= 30


def test_an_lstm_alone_keeps_pytorchs_node(tmp_path):
    lstm = nn.LSTM(6, 5)
    compiled = vitrine.compile(lstm)
    with recorded(tmp_path) as session:
        for n in (4, 7, 9, 5, 12):
            x = torch.randn(n, 3, 6)
            found = gradients(lambda x: compiled(x)[0], lstm, x)
            torch.testing.assert_close(found, gradients(lambda x: lstm(x)[0], lstm, x))
            assert compiled(x)[0].grad_fn.name() == lstm(x)[0].grad_fn.name()
    assert not session.rows("graph_break")
