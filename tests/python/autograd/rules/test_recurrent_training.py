"""Recurrent layers in training: eager's kernels, each called as often as eager calls it, and eager's gradients bit by bit."""

from collections import Counter

import pytest
import torch
import vitrine
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LAYERS = {
    "plain": {},
    "two layers": {"num_layers": 2, "batch_first": True},
    "both directions": {"bidirectional": True, "num_layers": 2},
    "no bias": {"bias": False},
    "dropout": {"num_layers": 2, "dropout": 0.3},
}


def step(run, layer, x, chosen, seed=0):
    """Results and gradients, with a gradient for the chosen results alone."""
    layer.zero_grad()
    torch.manual_seed(seed)
    x = x.clone().requires_grad_()
    output, state = run(x)
    results = [output, *(state if isinstance(state, tuple) else [state])]
    sum((results[i] * torch.linspace(-1, 1, results[i].numel()).view(results[i].shape)).sum() for i in chosen).backward()
    return [r.detach() for r in results], [x.grad, *(p.grad for p in layer.parameters())]


def calls(run, *arguments):
    """How often PyTorch's recurrent kernels run meanwhile."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        run(*arguments)
    return Counter(e.name for e in profiler.events() if "rnn_layer" in e.name)


@pytest.mark.parametrize("more", LAYERS.values(), ids=LAYERS)
def test_any_result_of_an_lstm_may_have_a_gradient(more):
    layer, x = nn.LSTM(6, 5, **more), torch.randn(3, 4, 6)
    run = vitrine.compile(layer)
    for chosen in ([0], [1], [2], [0, 1], [1, 2], [0, 1, 2]):
        expected, found = step(layer, layer, x, chosen), step(run, layer, x, chosen)
        for a, b in zip(expected[0] + expected[1], found[0] + found[1]):
            assert a.stride() == b.stride()
            assert torch.equal(a, b), chosen


def test_each_layer_runs_once_forward_and_once_backward():
    layer, x = nn.LSTM(6, 5, num_layers=2), torch.randn(3, 4, 6)
    run = vitrine.compile(layer)
    for _ in range(2):
        step(run, layer, x, [0])
    assert calls(step, run, layer, x, [0]) == calls(step, layer, layer, x, [0])
    assert "PyTorch's autograd" not in str(vitrine.explain(lambda x: layer(x.tanh())[0])(x))


def test_backward_twice_through_an_lstm():
    layer, x = nn.LSTM(6, 5), torch.randn(3, 4, 6)
    found = []
    for run in (layer, vitrine.compile(layer)):
        layer.zero_grad()
        output, (hidden, _) = run(x)
        output.sum().backward(retain_graph=True)
        hidden.sum().backward()
        found.append([p.grad for p in layer.parameters()])
        with pytest.raises(RuntimeError, match="second time"):
            output.sum().backward()
    for a, b in zip(*found):
        torch.testing.assert_close(a, b)


def test_an_lstm_under_autocast():
    layer, x = nn.LSTM(6, 5, num_layers=2), torch.randn(3, 4, 6)
    try:
        with torch.autocast("cpu", torch.bfloat16):
            layer(x)
    except RuntimeError as error:
        pytest.skip(f"eager has no bfloat16 LSTM on this CPU: {error}")
    compiled, found = vitrine.compile(layer), []
    for run in (layer, compiled):
        layer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            output, _ = run(x)
        output.float().square().sum().backward()
        found.append([output.detach(), *(p.grad for p in layer.parameters())])
    for a, b in zip(*found):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_sequences(kind):
    layer = getattr(nn, kind)(6, 5, batch_first=True, num_layers=2)
    x = torch.randn(3, 4, 6)

    def program(x):
        packed = pack_padded_sequence(x, torch.tensor([4, 2, 1]), batch_first=True)
        output, state = layer(packed)
        return pad_packed_sequence(output, batch_first=True)[0], state

    expected, found = step(program, layer, x, [0]), step(vitrine.compile(program), layer, x, [0])
    for a, b in zip(expected[0] + expected[1], found[0] + found[1]):
        torch.testing.assert_close(a, b)


def test_frozen_weights_and_a_given_state():
    layer, x = nn.LSTM(6, 5), torch.randn(3, 4, 6)
    layer.weight_hh_l0.requires_grad_(False)
    compiled, found = vitrine.compile(layer), []
    for run in (layer, compiled):
        layer.zero_grad()
        state = tuple(torch.full((1, 4, 5), v).requires_grad_() for v in (0.1, -0.2))
        _, (_, cell) = run(x, state)
        cell.sum().backward()
        found.append([s.grad for s in state] + [p.grad for p in layer.parameters()])
    assert found[0][3] is None and found[1][3] is None
    for a, b in zip(*found):
        assert a is b is None or torch.equal(a, b)
