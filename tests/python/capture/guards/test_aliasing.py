"""Arguments and parameters that share memory in some calls and not in others, while the program writes to them."""

import itertools
import warnings

import pytest
import torch
import vitrine
from torch import nn


def base():
    return torch.arange(8.0)


def apart():
    return base()[:6].clone(), base()[2:].clone()


def overlapping():
    b = base()
    return b[:6], b[2:]


def overlapping_otherwise():
    b = base()
    return b[1:7], b[2:]


def same_elements():
    b = base()
    return b[:6], b[:6]


def same_object():
    b = base()[:6]
    return b, b


def writes_first(x, y):
    x.add_(1)
    return y * 2


def writes_second(x, y):
    y.mul_(2)
    return x + y


def reads_then_writes(x, y):
    z = y * 3
    x.copy_(y.clone())
    return z + y


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
        self.register_buffer("c", torch.zeros(3, 3))
        with torch.no_grad():
            self.a.weight.fill_(0.5)
            self.b.weight.fill_(0.25)

    def forward(self, x):
        self.a.weight.mul_(2)
        self.c.add_(1)
        return self.b(x) + self.a(x) + self.c.sum()


def untied():
    return Pair(), torch.ones(2, 3)


def tied():
    m = Pair()
    m.b.weight = m.a.weight
    return m, torch.ones(2, 3)


def tied_data():
    m = Pair()
    m.b.weight.data = m.a.weight.data
    return m, torch.ones(2, 3)


def tied_buffer():
    m = Pair()
    m.c = m.a.weight.data
    return m, torch.ones(2, 3)


def run(m, x):
    return m(x)


def state(values):
    return [list(v.state_dict().values()) if isinstance(v, nn.Module) else v for v in values]


def check(function, makers):
    vitrine.reset()
    compiled = vitrine.compile(function)
    for make in makers * 2:
        eager, ours = make(), make()
        with torch.no_grad():
            expected, got = function(*eager), compiled(*ours)
        torch.testing.assert_close(got, expected, msg=lambda m: f"{make.__name__}: {m}")
        torch.testing.assert_close(state(ours), state(eager), msg=lambda m: f"{make.__name__}, arguments: {m}")


VIEWS = [apart, overlapping, overlapping_otherwise, same_elements, same_object]


@pytest.mark.parametrize("function", [writes_first, writes_second, reads_then_writes])
@pytest.mark.parametrize("first", VIEWS)
def test_views(function, first):
    for second in VIEWS:
        check(function, [first, second, apart])


@pytest.mark.parametrize("order", itertools.permutations([untied, tied, tied_data, tied_buffer], 2))
def test_tied_weights(order):
    check(run, list(order))


def test_shared_memory_that_is_written_is_a_break():
    vitrine.reset()
    with torch.no_grad():
        breaks = vitrine.explain(writes_first)(*overlapping()).graph_breaks
    assert breaks and "share memory" in breaks[0].reason
    assert breaks[0].kind == "unsupported_value"


@pytest.mark.parametrize("again", [lambda x: x.detach(), lambda x: x[:], lambda x: x.view(x.shape)], ids=["detach", "slice", "view"])
def test_a_written_alias_is_as_its_operator_makes_it(again):
    def program(x):
        y = again(x)
        y.mul_(2)
        return y, x

    x = torch.arange(12.0).view(1, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    found, expected = (f(x.clone(memory_format=torch.preserve_format)) for f in (vitrine.compile(program), program))
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b)
        assert (a.stride(), a._is_view(), a._version) == (b.stride(), b._is_view(), b._version)
    assert found[0] is not found[1] and found[0].data_ptr() == found[1].data_ptr()


def test_parts_of_one_tensor_are_told_apart_in_silence():
    def program(a, b):
        a.add_(1)
        return b * 2, a is b

    def another_order(a, b):
        c = b * 2
        a.add_(1)
        return c, b + 1

    for function in (program, another_order):
        vitrine.reset()
        compiled = vitrine.compile(function)
        for _ in range(2):
            ours, eager = torch.arange(8.0).view(2, 4), torch.arange(8.0).view(2, 4)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = compiled(ours[0], ours[1])
            torch.testing.assert_close(found, function(eager[0], eager[1]))
            torch.testing.assert_close(ours, eager)
