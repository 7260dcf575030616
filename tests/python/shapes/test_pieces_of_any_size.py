"""Between the calls whose results have sizes of data the program runs in pieces: each serves every size, though it only asks of tensors."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import vitrine
from tests.python.support.segments import compiled


@pytest.fixture(autouse=True)
def nothing_compiled():
    vitrine.reset()


@pytest.mark.parametrize("as_list", [False, True])
def test_packed_sequences_of_other_lengths(as_list):
    layer = nn.LSTM(8, 8)

    def padded(x, lengths):
        packed, _ = layer(pack_padded_sequence(x, lengths))
        return pad_packed_sequence(packed)[0]

    ours = vitrine.compile(padded)
    for n in range(4, 24):
        x, lengths = torch.randn(n, 3, 8), [n, n - 1, 1 + n // 2]
        lengths = lengths if as_list else torch.tensor(lengths)
        torch.testing.assert_close(ours(x, lengths), padded(x, lengths))
    pieces = [c for c in compiled() if "pieces" in c.name]
    assert pieces and len(pieces) <= 20


def test_a_question_of_an_input_fixes_no_size():
    def asked(x):
        if x.dim() == 2 and x.device.type == "cpu" and x.is_floating_point():
            vitrine.graph_break()
        return x.shape[0]

    ours = vitrine.compile(asked)
    for n in range(3, 20):
        assert ours(torch.randn(n, 2)) == n
    assert len(compiled()) <= 6
