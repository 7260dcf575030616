"""Inputs and results that are changed between forward and backward: an error only where eager's backward reads them, and gradients
of the values that eager kept."""

import pytest
import torch
import vitrine
from torch.nn import functional as F


def of_input(x):
    return x.sin() * x.relu(), F.relu(x) + x


def one_loss_of_input(x):
    return (x, (x.sin() + F.relu(x * 1).exp()).sum() + F.relu(x).sum())


def of_result(x):
    h = x * 2
    return h, h.sin() * 2, F.relu(h) + 1


def in_place(x):
    return x.add_(1)


CHANGES = {"counted": lambda t: in_place(t.detach()), "not counted": lambda t: in_place(t.data)}


@pytest.mark.parametrize("program, changed", [(of_input, "x"), (one_loss_of_input, "x"), (of_result, "x"), (of_result, 0)])
@pytest.mark.parametrize("how", CHANGES)
def test_gradients_are_of_what_eager_kept(program, changed, how):
    def outcome(function, which):
        x = torch.linspace(-2, 2, 12).reshape(3, 4).requires_grad_()
        results = function(x)
        CHANGES[how](x if changed == "x" else results[changed])
        try:
            results[which].sum().backward()
        except RuntimeError as error:
            return str(error)[:60]
        return x.grad

    compiled = vitrine.compile(program)
    for which in range(1, len(program(torch.zeros(3, 4)))):
        expected, found = outcome(program, which), outcome(compiled, which)
        assert type(found) is type(expected)
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("make", [lambda x: F.pad(x, (1, 0)), lambda x: F.linear(x, x), lambda x: F.pad(x, (1, 1), mode="reflect")])
def test_a_write_in_inference_mode_to_what_an_operator_made_is_no_write_to_its_input(make):
    def program(x):
        made = make(x)
        made[0] = 5.0
        return made

    x = torch.arange(16.0).reshape(4, 4)
    with torch.inference_mode():
        assert torch.equal(vitrine.compile(program)(x), program(x.clone()))
    assert x._version == 0 and torch.equal(x, torch.arange(16.0).reshape(4, 4))
