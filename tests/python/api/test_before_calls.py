"""_engine.before_calls: whoever asks is told of outermost calls of what was compiled, which may run as eager does."""

import pytest
import torch
import vitrine
from vitrine import _engine


@pytest.fixture
def told():
    """Starts to tell: told(eager) gives the list of numbers."""

    def start(eager=False):
        numbers = []
        _engine.before_calls(numbers.append, eager)
        return numbers

    yield start
    _engine.before_calls(None, False)


def test_a_call_inside_of_another_one_is_not_told(told):
    inner = vitrine.compile(lambda x: x + 1)

    @vitrine.disable
    def between(x):
        return inner(x)

    outer = vitrine.compile(lambda x: between(x) * 2)
    numbers = told()
    outer(torch.ones(2))
    inner(torch.ones(2))
    outer(torch.ones(2))
    first, second, third = numbers
    assert first == third != second


def test_what_runs_eagerly_is_not_compiled(told):
    vitrine.reset()
    compiled = vitrine.compile(lambda x: x.sin() + 1)
    numbers = told(eager=True)
    x = torch.randn(4)
    assert torch.equal(compiled(x), x.sin() + 1) and len(numbers) == 1
    assert not _engine.segments()
    _engine.before_calls(None, False)
    compiled(x)
    assert len(numbers) == 1 and _engine.segments()


def test_an_exception_of_who_is_told_is_the_calls(told):
    compiled = vitrine.compile(lambda x: x + 1)

    def refuse(number):
        raise KeyError(number)

    _engine.before_calls(refuse, False)
    with pytest.raises(KeyError):
        compiled(torch.ones(2))
    numbers = told()
    compiled(torch.ones(2))
    assert len(numbers) == 1
