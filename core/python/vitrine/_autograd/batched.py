"""Gradients by the batch: ``torch.autograd.grad(..., is_grads_batched=True)``, ``jacobian(..., vectorize=True)``.

PyTorch's engine then brings tensors of which each stands for one element of all batches, and has no memory of its own.
A compiled backward pass takes the elements in turn.
"""

import torch


def level():
    """The innermost of the batches under way, counted from 1; 0: there is none."""
    innermost = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    return innermost


def is_batched(tensor):
    return tensor is not None and "Batched" in str(torch._C._dispatch_keys(tensor))


def each(level, run, given):
    """Of all elements what `run(tangents, last)` gives of one: pairs of an index and a gradient. given: tangents, None where
    undefined, of which one is batched at least."""
    size = next(torch._remove_batch_dim(t, level, 1, 0).shape[0] for t in given if is_batched(t))
    whole = [t if t is None else torch._remove_batch_dim(t, level, size, 0) for t in given]
    found = [run([t if t is None else t[i] for t in whole], i == size - 1) for i in range(size)]
    return [(pairs[0][0], _joined([grad for _, grad in pairs], level)) for pairs in zip(*found)]


def _joined(grads, level):
    return None if grads[0] is None else torch._add_batch_dim(torch.stack(grads), 0, level)
