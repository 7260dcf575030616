"""nn.TransformerEncoder of padded sequences: eager's values, and its zeros behind a sequence's end, in one graph."""

import pytest
import torch
from torch import nn

import vitrine

WHOLE, BEHIND, BETWEEN = [0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 1, 1]
GONE = [1, 1, 1, 1, 1]


def encoder(norm=None, batch_first=True, **how):
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first, **how)
    return nn.TransformerEncoder(layer, 2, norm).eval()


def masks(*rows):
    return torch.tensor(rows, dtype=torch.bool)


def same(model, *args, **kwargs):
    expected = model(*args, **kwargs)
    explained = vitrine.explain(model)(*args, **kwargs)
    assert not explained.graph_break_reasons, explained
    torch.testing.assert_close(explained.result, expected, equal_nan=True)


@pytest.mark.parametrize("rows", [(WHOLE, BEHIND), (WHOLE, BETWEEN), (WHOLE, GONE), (GONE, BETWEEN), (WHOLE, WHOLE)])
@pytest.mark.parametrize("normed", [False, True], ids=["plain", "normed"])
def test_values_and_zeros(rows, normed):
    torch.manual_seed(0)
    model, x = encoder(nn.LayerNorm(8) if normed else None), torch.randn(2, 5, 8)
    with torch.no_grad():
        same(model, x, src_key_padding_mask=masks(*rows))
        for factor in (1.0, -2.5):  # which is added to the scores, unless what it marks is left out
            same(model, x, src_key_padding_mask=masks(*rows).float() * factor)
    same(model, x, src_key_padding_mask=masks(*rows))


def test_one_graph_for_all_masks():
    torch.manual_seed(0)
    model, x = encoder(activation="gelu"), torch.randn(2, 5, 8)
    compiled = vitrine.compile(model, fullgraph=True, recompile_limit=1)
    with torch.no_grad():
        for rows in ((WHOLE, BEHIND), (BETWEEN, WHOLE), (GONE, BEHIND)):
            mask = masks(*rows)
            torch.testing.assert_close(compiled(x, None, mask), model(x, None, mask), equal_nan=True)


def test_nothing_left_raises():
    model, x = encoder(), torch.randn(2, 5, 8)
    compiled = vitrine.compile(model)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, None, masks(WHOLE, BEHIND)), model(x, None, masks(WHOLE, BEHIND)))
        for _ in range(3):
            with pytest.raises(RuntimeError, match="at least one constituent tensor"):
                compiled(x, None, masks(GONE, GONE))
            torch.testing.assert_close(compiled(x, None, masks(GONE, BEHIND)), model(x, None, masks(GONE, BEHIND)))


def test_what_is_not_checked_is_left_to_pytorch():
    model, x = encoder(), torch.randn(2, 5, 8)
    model.mask_check = False  # takes as many as are left of each sequence, wherever they stand
    with torch.no_grad():
        mask = masks(WHOLE, BETWEEN)
        torch.testing.assert_close(vitrine.compile(model)(x, None, mask), model(x, None, mask))


@pytest.mark.parametrize("size", [5, 4])
def test_masks_that_may_be_causal(size):
    model, x = encoder(), torch.randn(2, 5, 8)[:, :size]
    causal = nn.Transformer.generate_square_subsequent_mask(size)
    other = torch.zeros(size, size).masked_fill_(torch.eye(size, dtype=torch.bool).flip(0), float("-inf"))
    with torch.no_grad():
        for mask in (causal, other, other.isinf()):
            same(model, x, mask)
    same(model.train().requires_grad_(False).eval(), x, causal)


class Hinted(nn.TransformerEncoderLayer):
    """Goes by the hint alone."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        return src * 2 if is_causal else src


def test_layers_of_the_program_get_the_hint():
    x = torch.randn(2, 5, 8)
    model = nn.TransformerEncoder(Hinted(8, 2, 16, batch_first=True), 2).eval()
    compiled = vitrine.compile(model)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    for mask in (causal, torch.zeros(5, 5), causal):
        torch.testing.assert_close(compiled(x, mask), model(x, mask))
