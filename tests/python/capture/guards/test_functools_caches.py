"""Calls that a functools cache does not hold yet: they run once as eager does, and are in the graph from then on."""

import functools

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
