"""Python's random numbers in a graph: drawn at each call, before it runs; where a call fails, eager draws them again."""

import random

import pytest
import torch
import vitrine


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    with torch.no_grad():
        yield


def test_draws_are_no_break():
    def program(x):
        return x * random.random() + random.uniform(1, 2) - random.gauss(0, 1)

    x = torch.ones(4)
    explained = vitrine.explain(program)(x)
    assert not explained.graph_break_reasons and explained.graph_count == 1
    compiled = vitrine.compile(program, fullgraph=True)
    random.seed(1)
    expected = [program(x) for _ in range(4)]
    random.seed(1)
    found = [compiled(x) for _ in range(4)]
    torch.testing.assert_close(found, expected)
    assert len({t[0].item() for t in found}) == 4


def test_a_number_that_is_looked_at_breaks_where_it_is_drawn():
    def program(x):
        x = x * 2
        if random.random() < 0.5:
            return x + 1
        return x - 1

    (reason,) = vitrine.explain(program)(torch.ones(2)).graph_break_reasons
    assert reason.kind == "side_effect" and "random number" in reason.reason and "torch.rand" in reason.hint


def test_ints_are_drawn_for_real():
    def program(x):
        return x + random.randint(1, 6)

    assert "at random" in vitrine.explain(program)(torch.ones(2)).graph_break_reasons[0].reason


def test_a_call_that_fails_draws_once():
    def program(x, i):
        a = random.random()
        return x[i] * a

    compiled = vitrine.compile(program)
    x = torch.arange(4.0)
    random.seed(2)
    compiled(x, torch.tensor([1]))
    after_one = random.getstate()
    expected, after_two = random.random(), random.getstate()
    random.setstate(after_one)
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([9]))  # eager draws before it looks at the index
    assert random.getstate() == after_two
    random.setstate(after_one)
    torch.testing.assert_close(compiled(x, torch.tensor([1])), x[1:2] * expected)


def test_recording_and_checking_draw_nothing_more():
    def program(x):
        return x * random.random()

    random.seed(3)
    expected = [program(torch.ones(3)) for _ in range(3)]
    last = random.getstate()
    random.seed(3)
    compiled = vitrine.compile(program)
    found = [compiled(torch.ones(3)) for _ in range(3)]
    assert random.getstate() == last
    torch.testing.assert_close(found, expected)
