"""Calls that a functools cache does not hold yet: they run once as eager does, and are in the graph from then on."""

import functools
import io
import logging

import pytest
import torch

import vitrine

WAYS = {"rows": 0, "columns": 1}


class Pattern:
    def __init__(self, text):
        self.dim = WAYS[text]  # reads what may change


@functools.lru_cache
def pattern(text):
    return Pattern(text)


def reduce(x, text):
    return (x * 2).sum(pattern(text).dim)


def both(x):
    return reduce(x, "rows").sum() + reduce(x, "columns").sum()


def many(x):
    for _ in range(3):
        x = x + both(x)
    return x


def test_fullgraph_is_no_error_while_a_cache_is_filled():
    pattern.cache_clear()
    compiled = vitrine.compile(both, fullgraph=True)
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), both(x))
    explained = vitrine.explain(both)(x)
    assert explained.graph_count == 1 and not explained.graph_breaks


def test_a_cache_that_is_never_filled_is_one():
    @functools.lru_cache(maxsize=0)
    def forgets(text):
        return Pattern(text)

    compiled = vitrine.compile(lambda x: x * forgets("columns").dim, fullgraph=True)
    compiled(torch.ones(2))
    with pytest.raises(vitrine.GraphBreakError, match="cache"):
        compiled(torch.ones(2))


def test_what_fills_a_cache_is_not_captured_for_itself():
    """Only the compiled function's own parts are, and all of it is one graph from the second call on."""
    pattern.cache_clear()
    x = torch.arange(6.0).reshape(2, 3)
    first = vitrine.explain(many)(x)
    torch.testing.assert_close(first.result, many(x))
    assert {b.stack[-1].split()[-1] for b in first.graph_breaks} == {"many"}, first.graph_breaks
    second = vitrine.explain(many)(x)
    assert second.graph_count == 1 and not second.graph_breaks


@functools.lru_cache(None)
def told_once(self, *args, **kwargs):
    """As libraries have it."""
    self.warning(*args, **kwargs)


@functools.lru_cache(None)
def told_once_briefly(self, *args, **kwargs):
    self.info(*args, **kwargs)


@functools.lru_cache(None)
def told_and_counted(self, *args, **kwargs):
    self.warning(*args, **kwargs)
    return len(args)


class Kept(logging.StreamHandler):
    """A handler of the program's own."""


@pytest.fixture
def logger():
    said = io.StringIO()
    logger = logging.Logger("a library's", logging.DEBUG)
    logger.said = said
    logger.addHandler(logging.StreamHandler(said))
    for cached in (told_once, told_once_briefly, told_and_counted):
        cached.cache_clear()
    return logger


@pytest.mark.parametrize("tell", [told_once, told_once_briefly])
def test_a_message_that_is_logged_once_breaks_nothing(logger, tell):
    def f(x):
        y = x + 1
        tell(logger, "%s is old", "f")
        return y * 2

    explained = vitrine.explain(f)(torch.ones(4))
    assert explained.graph_count == 1 and not explained.graph_breaks
    tell.cache_clear()
    compiled = vitrine.compile(f, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(4)), torch.full((4,), 4.0))
        assert logger.said.getvalue() == "f is old\n" * 2
    info = tell.cache_info()
    assert (info.misses, info.hits) == (1, 2)


def test_a_message_is_logged_again_once_the_cache_was_cleared(logger):
    def f(x):
        told_once(logger, "again")
        return x + 1

    compiled = vitrine.compile(f, fullgraph=True)
    compiled(torch.ones(4))
    told_once.cache_clear()
    compiled(torch.ones(4))
    assert logger.said.getvalue() == "again\nagain\n"


def test_a_message_comes_in_order_with_the_other_effects(logger):
    lines = []

    def f(x):
        lines.append(len(lines))
        told_once(logger, "between")
        lines.append(len(lines))
        return x + 1

    vitrine.compile(f, fullgraph=True)(torch.ones(4))
    assert lines == [0, 1]
    assert logger.said.getvalue() == "between\n"


def with_a_filter(logger):
    logger.addFilter(lambda record: True)


def with_a_handler_of_its_own(logger):
    logger.addHandler(Kept(logger.said))


def with_a_method_of_its_own(logger):
    logger.warning = lambda *args: logger.said.write("own\n")


@pytest.mark.parametrize("change", [with_a_filter, with_a_handler_of_its_own, with_a_method_of_its_own])
def test_a_logger_that_runs_the_programs_own_code_is_called_where_it_stands(logger, change):
    change(logger)

    def f(x):
        y = x + 1
        told_once(logger, "f")
        return y * 2

    assert torch.equal(vitrine.compile(f)(torch.ones(4)), torch.full((4,), 4.0))
    assert logger.said.getvalue().count("\n") == (2 if change is with_a_handler_of_its_own else 1)
    told_once.cache_clear()
    assert vitrine.explain(f)(torch.ones(4)).graph_breaks


def test_a_cached_function_that_does_more_than_log_is_called_where_it_stands(logger):
    def f(x):
        return x + told_and_counted(logger, "%s", 1)

    assert torch.equal(vitrine.compile(f)(torch.ones(4)), torch.full((4,), 3.0))
    told_and_counted.cache_clear()
    assert vitrine.explain(f)(torch.ones(4)).graph_breaks
