"""The edges from a compiled region's nodes to what is behind its inputs, and the order in which PyTorch's engine takes them.

A leaf's gradient, with its hooks, comes in eager when the operator that reads the leaf has run. Behind a region all leaves
are ready at once and none is more urgent than another, so that the engine's queue hands them out as a binary heap does: in
an order that depends on how they were put in alone. Their edges are laid so that it becomes eager's.

Of leaves that something outside of the region reads as well, or where the engine has other nodes waiting, the order is not
known beforehand. Where a leaf has hooks when the region is called, it gets a name of the region's own instead (Region).
"""

import functools
import operator


@functools.cache
def queue_order(urgent, others, waiting):
    """Places in the order in which std::priority_queue hands out so many equals, put in behind so many that wait and before
    so many others, both less urgent. libstdc++'s: what is last takes the place of what goes, by way of the greater child."""
    heap, out = [urgent] * waiting, []
    is_less = lambda a, b: a >= urgent > b  # noqa: E731

    def rise(at, value):
        while at and is_less(heap[(at - 1) // 2], value):
            heap[at], at = heap[(at - 1) // 2], (at - 1) // 2
        heap[at] = value

    for value in range(urgent + others):
        heap.append(value)
        rise(len(heap) - 1, value)
    while len(out) < urgent:
        out.append(heap[0])
        value = heap.pop()
        size, hole, child = len(heap), 0, 0
        while child < (size - 1) // 2:
            child = 2 * (child + 1)
            child -= is_less(heap[child], heap[child - 1])
            heap[hole], hole = heap[child], child
        if size and size % 2 == 0 and child == (size - 2) // 2:
            heap[hole], hole = heap[2 * child + 1], 2 * child + 1
        if size:
            rise(hole, value)
    return tuple(out)


def laid(indices, inputs, complete, waiting=0):
    """Indices of inputs that get a gradient, as their edges are to be laid. complete: in the order in which eager's backward
    has them."""
    rank = {index: at for at, index in enumerate(complete)}
    leaves = sorted((i for i in indices if inputs[i].is_leaf), key=lambda i: rank.get(i, len(rank)))
    out = [None] * len(leaves)
    for leaf, place in zip(leaves, queue_order(len(leaves), len(indices) - len(leaves), waiting)):
        out[place] = leaf
    return out + [i for i in indices if not inputs[i].is_leaf]


def _same(inputs):
    return inputs


class Edges:
    """How the inputs of a region with one node are handed to it."""

    def __init__(self, inputs, reached, complete):
        """reached: indices of inputs that get a gradient."""
        wants = [i for i, each in enumerate(inputs) if each.requires_grad]
        # Where none gets one, the result still requires grad (a norm of order 0), and eager's engine comes by the inputs.
        reached = reached if any(i in reached for i in wants) else set(wants)
        # Eager has no way to the nodes behind what gets no gradient, which may not run again.
        self.idle = tuple(i for i in wants if i not in reached)
        first = laid([i for i in wants if i in reached], inputs, complete)
        order = first + sorted(set(range(len(inputs))) - set(first))
        self.place = sorted(range(len(order)), key=order.__getitem__)
        moved = order != sorted(order)
        self.hand = operator.itemgetter(*order) if moved else _same
        self.given = operator.itemgetter(*self.place) if moved else _same

    def handed(self, inputs):
        """The node's arguments: what given() makes the inputs again, but for those without a gradient, which are cut off."""
        if self.idle:
            inputs = [each.detach() if i in self.idle else each for i, each in enumerate(inputs)]
        return self.hand(inputs)

    def gradients(self, found):
        """By argument of the node. found: pairs of an input and its gradient."""
        out = [None] * len(self.place)
        for index, grad in found:
            out[self.place[index]] = grad
        return out
