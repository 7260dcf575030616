"""The attempts at a trace: what each program is interpreted once more for, in order. `core/capture/interpreter/commit/attempts.cpp`
lists the reasons."""

import itertools

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from vitrine import _engine

ONES = torch.ones(3)


def straight(x):
    return x * 2


def printing(x):
    y = x * 2
    print(end="")
    return y + 1


def printing_in_a_handler(x):
    try:
        raise ValueError
    except ValueError:
        print(end="")
    return x


def local_that_cannot_be_rebuilt(x):
    y = x * 2
    walk = (y + i for i in range(3))
    next(walk)
    print(end="")
    return next(walk)


def raising_where_compiled(x):
    if torch.compiler.is_compiling():
        raise RuntimeError
    return x * 2


def checked_behind_a_write(weight, buffer):
    buffer.add_(1)
    if weight.sum() > 100:
        raise ValueError
    return (weight * buffer).tolist()


def backward_of_what_leaves(weight):
    loss = (weight * 2).sum()
    loss.backward()
    return (weight * 3).sum()


def updating_first(weight):
    with torch.no_grad():
        weight.mul_(2)
    return (weight * 3).sum()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def with_a_checkpoint(weight):
    return Doubled.apply(checkpoint(torch.sin, weight, use_reentrant=False))


class PrintingLayer(nn.TransformerEncoderLayer):
    def forward(self, *args, **kwargs):
        print(end="")
        return super().forward(*args, **kwargs)


def padded(layer):
    encoder = nn.TransformerEncoder(layer, 1).eval()
    return nn.TransformerEncoder.forward, (encoder, torch.ones(1, 2, 4), None, torch.tensor([[False, True]]))


@pytest.mark.parametrize(
    "program,arguments,reasons",
    [
        (straight, (ONES,), []),
        (printing, (ONES,), ["before_break"]),
        (printing_in_a_handler, (ONES,), ["before_break", "before_handler"]),
        (local_that_cannot_be_rebuilt, (ONES,), ["before_break", "before_value"]),
        (raising_where_compiled, (ONES,), ["as_eager"]),
        (checked_behind_a_write, (nn.Parameter(torch.ones(3)), torch.ones(3)), ["before_break", "no_checks_behind_writes", "before_break"]),
        (backward_of_what_leaves, (nn.Parameter(torch.ones(3)),), ["backward_for_real", "before_break"]),
        (updating_first, (nn.Parameter(torch.ones(3)),), ["before_gradients"]),
        (with_a_checkpoint, (nn.Parameter(torch.ones(3)),), ["checkpoints_for_real", "before_break"]),
        (*padded(nn.TransformerEncoderLayer(4, 2, 4, batch_first=True)), []),
        (*padded(PrintingLayer(4, 2, 4, batch_first=True)), ["by_instructions", "before_break"]),
    ],
)
def test_each_attempt_has_its_reason(program, arguments, reasons):
    description, _ = _engine.trace_call(program, arguments, {})
    assert [reason for reason, _ in itertools.groupby(description["retries"])] == reasons
