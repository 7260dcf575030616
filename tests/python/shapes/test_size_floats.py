"""Floats that come of sizes: one compilation serves every size, with Python's own numbers."""

import math

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded
from tests.python.support.same_as_eager import assert_same

w = torch.nn.Parameter(torch.linspace(-1, 1, 3))


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def scaled_attention(q):
    scores = q @ q.transpose(-1, -2) / math.sqrt(q.shape[0])
    return scores.softmax(-1) @ q


def cut(x):
    n = x.shape[0]
    return x[: int(n * 0.5)], x[math.floor(n / 3) :], x[: math.ceil(n / 4)], x[: math.trunc((n + 1) / 2)], x[: int((n - 1) * 0.25 + 1)]


def training(x):
    loss = (x * w).pow(2).sum() / float(x.shape[0]) + w.sum() * (0.5 + 1 / x.shape[0])
    loss.backward()
    return loss.detach(), w.grad


OPEN = [
    lambda x: x * x.shape[0] ** 0.5,
    lambda x: (1.0 / x.shape[0]) * x - x.shape[0] ** -0.5,
    lambda x: x * -(x.shape[0] / 7) + math.log(x.shape[0]),
    lambda x: (x.double() / math.sqrt(len(x)), len(x) / 3),
    lambda x: x.sum(0).add(x.shape[0] ** 0.5).mul(x.shape[0] / 3),
    lambda x: x * round(x.shape[0] / 3, 2),
    lambda x: (x[: int(x.shape[0] * 1.3) - x.shape[0] + 1], int(x.shape[0] * 1.3)),
    lambda x: x.repeat(round(x.shape[0] ** 0.5 + 1), 1)[: math.floor(x.shape[0] * 1.7)],
    lambda x: (x[: x.shape[0] & ~1] * (x.shape[0] | 32), (x.shape[0] ^ 64) + ~x.shape[0]),
    lambda x: x[: math.isqrt(x.shape[0] + 3)].sum(0) * math.gcd(x.shape[0] * 6, 4),
    lambda x: x * min(0.99, (1 + x.shape[0]) / (10 + x.shape[0])),
    scaled_attention,
    cut,
]
FIXED = [  # by what they do with the float: these may compile anew, and are right
    lambda x: x.repeat(2 ** (x.shape[0] & 1 | 2), 1)[:: 1 << (x.shape[0] & 1 | 2)],
    lambda x: x * 2 if x.shape[0] / 2 > 3.1 else x - 1,
    lambda x: x * max(x.shape[0] / 2, 2.5),
    lambda x: x.half() * x.shape[0] ** 0.5,
    lambda x: torch.full((2,), x.shape[0] ** 0.5) + x[0, 0],
    lambda x: x[: int(x.shape[0] * 0.3)],
    lambda x: (x * 2, f"{x.shape[0] / 3:.2f}"),
    lambda x: x * round(x.shape[0] / 3),
]


def inputs(size):
    return torch.linspace(0.1, 1, size * 3).reshape(size, 3)


@pytest.mark.parametrize("function", OPEN)
def test_one_compilation_serves_all_sizes(tmp_path, function):
    compiled = vitrine.compile(function)
    with recorded(tmp_path) as session, torch.no_grad():
        for size in (4, 5, 6, 7, 9, 12, 31, 2, 100):
            assert_same(function(inputs(size)), compiled(inputs(size)))
    assert len(session.rows("compilation")) == 2 and not session.rows("graph_break"), session.rows("recompilation")


@pytest.mark.parametrize("function", FIXED)
@pytest.mark.parametrize("dynamic", [None, True])
def test_what_looks_at_the_number_is_right(function, dynamic):
    compiled = vitrine.compile(function, dynamic=dynamic)
    with torch.no_grad():
        for size in (4, 5, 6, 10, 7):
            assert_same(function(inputs(size)), compiled(inputs(size)))


def test_floats_that_are_given_back_are_pythons(tmp_path):
    def program(x):
        n = x.shape[0]
        return x + n / 3, n / 3, n**-1, [math.exp(-n / 10)], float(n)

    compiled = vitrine.compile(program, dynamic=True)
    with torch.no_grad():
        for size in (3, 5, 11):
            found, expected = compiled(inputs(size)), program(inputs(size))
            assert found[1:] == expected[1:] and [type(v) for v in found[1:]] == [type(v) for v in expected[1:]]


def test_a_training_step(tmp_path):
    compiled, found = vitrine.compile(training), []
    with recorded(tmp_path) as session:
        for size in (4, 6, 9, 13):
            for run in (training, compiled):
                w.grad = None
                found.append([t.clone() for t in run(inputs(size))])
            torch.testing.assert_close(found[-1], found[-2])
    assert len(session.rows("compilation", status="ok")) <= 4  # forward and backward, each for one size and for all


def test_numbers_that_python_does_not_give():
    """At another size the computation raises, or gives another type: as eager."""

    def inverse(x):
        return x * (1 / (x.shape[0] - 5))

    def logarithm(x):
        return x + math.log(x.shape[0] - 4)

    def power(x, n):
        return x * n**0.5

    for function, error in ((inverse, ZeroDivisionError), (logarithm, ValueError)):
        compiled = vitrine.compile(function, dynamic=True)
        for size in (7, 8, 9):
            torch.testing.assert_close(compiled(inputs(size)), function(inputs(size)))
        for size in (5, 4):
            try:
                expected = function(inputs(size))
            except error as raised:
                with pytest.raises(error, match=str(raised)):
                    compiled(inputs(size))
            else:
                torch.testing.assert_close(compiled(inputs(size)), expected)
    compiled = vitrine.compile(power)
    for n in (2, 3, 4, -4, 5):
        torch.testing.assert_close(compiled(torch.ones(3), n), power(torch.ones(3), n))


def test_ints_that_are_no_sizes():
    def program(x, n):
        return x[: int(n / 2)] * math.sqrt(n * n + 1), int(-n / 2)

    compiled = vitrine.compile(program)
    for n in (4, 5, 7, 9, 2, -3, 2**60, 0):
        assert_same(program(torch.ones(8), n), compiled(torch.ones(8), n))


def test_an_int_of_an_int_that_no_call_uses():
    """It is asked for again when the int is another one, though nothing else is."""

    def program(x, n):
        return x * 2, int(n * 0.3), math.floor(n * 0.7), round(n * 0.3)

    compiled = vitrine.compile(program, dynamic=True)
    for n in (10, 20, 30, 10, 7, 40, 41, 20, 3, -7):
        assert_same(program(torch.ones(3), n), compiled(torch.ones(3), n))


def test_beside_a_learning_rate(tmp_path):
    def program(x, rate):
        return x * (rate / x.shape[0]) - rate * x.shape[0] ** 0.5

    compiled = vitrine.compile(program)
    with recorded(tmp_path) as session, torch.no_grad():
        for size, rate in ((4, 0.1), (5, 0.2), (6, 0.3), (7, 0.25), (9, 0.0)):
            torch.testing.assert_close(compiled(inputs(size), rate), program(inputs(size), rate))
    assert len(session.rows("compilation")) <= 3
