"""Attention whose mask leaves nothing out, or only what is to come, is computed without one, forward and backward; masks
that hold anything else, and eager's errors, stay."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.command_line import vitrine as command
from tests.python.support.recorded import recorded
from tests.python.support.same_as_eager import assert_same


def places(n):
    return torch.arange(n)


def one_sequence(n):
    """As Hugging Face's decoders ask whether several sequences lie in one row."""
    at = places(n)[None].expand(2, -1)
    number = (torch.diff(at, prepend=at[:, :1] - 1) != 1).cumsum(-1)
    batch, row, column = torch.arange(2)[:, None, None, None], places(n)[None, None, :, None], places(n)[None, None, None]
    return (column <= row) & (number[batch, row] == number[batch, column])


def in_place(n):
    mask = torch.full((n, n), float("-inf"))
    mask.triu_(1)
    return mask


def with_a_hole(n):
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[0, 1] = False
    return mask


NOTHING = {
    "ones": lambda n: torch.ones(n, n, dtype=torch.bool),
    "places": lambda n: (places(n)[None, None, :, None] >= 0).expand(2, -1, n, n),
    "zeros": lambda n: torch.zeros(2, 1, n, n),
    "one row": lambda n: torch.ones(n, dtype=torch.long).bool()[None],
    "filled": lambda n: torch.zeros(n, n).masked_fill(~torch.ones(n, n, dtype=torch.bool), float("-inf")),
    "both sides": lambda n: (places(n)[:, None] - places(n)).ge(-n) & (places(n)[:, None] < places(n) + n),
}
CAUSAL = {
    "comparison": lambda n: places(n) <= places(n)[:, None],
    "negated": lambda n: ~(places(n) > places(n)[:, None]),
    "tril": lambda n: torch.ones(n, n, dtype=torch.bool).tril(),
    "triu of -inf": lambda n: torch.full((n, n), float("-inf")).triu(1),
    "in place": in_place,
    "one sequence": one_sequence,
    "filled": lambda n: torch.zeros(n, n).masked_fill(torch.ones(n, n, dtype=torch.bool).tril() == 0, float("-inf")),
    "later places": lambda n: (places(n) + 5 <= (places(n) + 5)[:, None]).expand(2, 1, -1, -1),
}
STAY = {
    "diagonal": lambda n: torch.ones(n, n, dtype=torch.bool).tril(1),
    "columns": lambda n: places(n)[None] < n - 1,
    "a hole": with_a_hole,
    "least number": lambda n: torch.full((n, n), torch.finfo(torch.float32).min).triu(1),
    "ones that are added": lambda n: torch.ones(n, n).tril(),
    "rounded": lambda n: torch.full((n, n), 0.1) - 0.1,
}


def attention(mask):
    def f(q):
        return F.scaled_dot_product_attention(q, q * 2, q + 1, attn_mask=mask(q.shape[-2]))

    return f


def forward_attention(f, q, tmp_path):
    """Runs it forward and backward beside eager. The calls of attention in its forward graph."""
    vitrine.reset()
    with recorded(tmp_path) as session:
        compiled = vitrine.compile(f)
        found, given = [], []
        for one, results in ((f, given), (compiled, found)):
            leaf = q.clone().requires_grad_()
            y = one(leaf)
            y.square().sum().backward()
            results.extend((y.detach(), leaf.grad))
    assert_same(given, found)
    graphs = command("show", session.path, "optimised").stdout.splitlines()
    return [line for line in graphs if " = aten._scaled_dot_product" in line and "_backward.default" not in line]


def query(n=8):
    torch.manual_seed(0)
    return torch.randn(2, 3, n, 16)


@pytest.mark.parametrize("mask", NOTHING)
def test_a_mask_that_leaves_nothing_out_is_none(mask, tmp_path):
    (call,) = forward_attention(attention(NOTHING[mask]), query(), tmp_path)
    assert "attn_mask=" not in call and "True" not in call, call


@pytest.mark.parametrize("mask", CAUSAL)
def test_a_mask_of_what_is_to_come_is_causal(mask, tmp_path):
    (call,) = forward_attention(attention(CAUSAL[mask]), query(), tmp_path)
    assert "attn_mask=" not in call and "True" in call, call


@pytest.mark.parametrize("mask", STAY)
def test_other_masks_stay(mask, tmp_path):
    (call,) = forward_attention(attention(STAY[mask]), query(), tmp_path)
    assert "attn_mask=" in call, call


def test_it_is_asked_anew_for_other_sizes():
    """A window is all that has been while it is longer than the rows."""
    f = attention(lambda n: (places(n) <= places(n)[:, None]) & (places(n) > places(n)[:, None] - 12))
    compiled = vitrine.compile(f, dynamic=True)
    for n in (5, 8, 12, 13, 20, 7, 20):
        assert_same(f(query(n)), compiled(query(n)))


def test_more_columns_than_rows_are_not_causal():
    def f(q, k):
        return F.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())

    compiled = vitrine.compile(f)
    for n in (8, 9, 7):
        assert_same(f(query(), query(n)), compiled(query(), query(n)))


@pytest.mark.parametrize("wrong", [(3, 8), (7, 7), (5, 1, 8, 8), (1, 1, 1, 8, 8)], ids=str)
def test_a_mask_that_does_not_fit_is_eagers(wrong):
    f = attention(lambda n: torch.ones(wrong, dtype=torch.bool))

    def outcome(one):
        try:
            return one(query())
        except RuntimeError as e:
            return str(e)

    assert_same(outcome(f), outcome(vitrine.compile(f)))


def test_a_written_mask_of_several_layers_is_read_as_it_is_then():
    def f(q):
        mask = torch.ones(8, 8, dtype=torch.bool)
        y = F.scaled_dot_product_attention(q, q, q, mask)
        mask[:, 5:] = False
        return y, F.scaled_dot_product_attention(q, q, q, mask)

    assert_same(f(query()), vitrine.compile(f)(query()))
