"""PyTorch's recurrent layers of sizes that are expressions: the operators that PyTorch chooses for a size, which its own
function only takes apart for numbers. What is recorded here is compared with what PyTorch recorded for the first sizes.

And what autograd is told of such a layer of a packed sequence, which is recorded as one operator."""

import torch

aten = torch.ops.aten
LSTM = 2  # oneDNN's number


def lstm(input, states, weights, biases, layers, dropout, train, both_ways, batch_first):
    """torch.lstm of a padded sequence as oneDNN computes it, layer by layer and direction by direction (ATen's mkldnn_rnn)."""
    x = (input.transpose(0, 1) if batch_first else input).contiguous()
    hidden, cell = (state.contiguous() for state in states)
    each, ways = 4 if biases else 2, 2 if both_ways else 1
    last, cells = [], []
    for layer in range(layers):
        outputs = []
        for way in range(ways):
            i = layer * ways + way
            w, u, *rest = weights[i * each : (i + 1) * each]
            h, c = hidden.select(0, i), cell.select(0, i)
            v, b = rest[::-1] or [aten.zeros(t.shape, dtype=t.dtype, layout=t.layout, device=t.device) for t in (u, w)]
            y, h, c, _ = aten.mkldnn_rnn_layer(x, w, u, b, v, h, c, way == 1, [], LSTM, h.shape[1], layers, biases, both_ways, batch_first, train)
            outputs.append(y)
            last.append(h)
            cells.append(c)
        x = torch.cat(outputs, -1) if both_ways else outputs[0]
        if dropout and train and layer < layers - 1:
            x = torch.dropout(x, dropout, True)
    hidden, cell = torch.stack(last), torch.stack(cells)
    return x.transpose(0, 1) if batch_first else x, hidden, cell


class _Stemming(torch.autograd.Function):
    @staticmethod
    def forward(ctx, results, *given):
        return tuple(results) if isinstance(results, (tuple, list)) else results

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError("vitrine: a fake tensor has no gradients")


def stemming_from(results, given):
    """Fake results that require grad because of what they are computed from. A backward pass from them is left to a run."""
    return _Stemming.apply(results, *given)
