"""Backward passes over fake tensors: by PyTorch's engine or, of a GPU that is not there, for which it has no thread and no
stream, node by node in its order."""

import collections
import contextlib
import heapq
import itertools

import torch
from torch.autograd.graph import _engine_run_backward
from torch.utils._python_dispatch import TorchDispatchMode

from vitrine._autograd.in_autograd import BACKWARD_TWICE

_HOOKS, _USED_UP = "vitrine's hooks", "used up for vitrine"  # in the metadata of autograd's nodes


class NotAsThere(Exception):
    """What the engine would do where the GPU is cannot be told here."""


def run_backward(outputs, tangents, retain, inputs):
    """The gradients of the inputs, a list; None where nothing reaches one. Raises what the engine raises, and NotAsThere."""
    outputs, tangents, inputs = tuple(outputs), tuple(tangents), tuple(inputs)
    if _has_no_engine(outputs):
        return _Walk(inputs, retain).run(outputs, tangents)
    # torch.autograd.grad would import sympy first, which takes a second: only to compare sizes that are equal here.
    return list(_engine_run_backward(outputs, tangents, retain, False, inputs, True, accumulate_grad=False))


def _has_no_engine(outputs):
    return any(o.is_cuda for o in outputs) and not torch.cuda.is_available()


def note_hook(tensor, hook):
    """Tells run_backward of a hook on a result: what PyTorch keeps of it cannot be read."""
    tensor.grad_fn.metadata.setdefault(_HOOKS, {}).setdefault(tensor.output_nr, []).append(hook)


@contextlib.contextmanager
def hooked(tensor, hook):
    """A result with a hook, meanwhile. Without a handle: the program sees how many of these were made."""
    if tensor._backward_hooks is None:
        tensor._backward_hooks = collections.OrderedDict()
        tensor.grad_fn._register_hook_dict(tensor)
    own = object()
    tensor._backward_hooks[own] = hook
    note_hook(tensor, hook)
    try:
        yield
    finally:
        del tensor._backward_hooks[own]
        tensor.grad_fn.metadata[_HOOKS][tensor.output_nr].remove(hook)


class _Walk:
    """One backward pass without create_graph and without writing any .grad."""

    def __init__(self, inputs, retain):
        self.retain = retain
        self.found = [None] * len(inputs)
        self.captured = {}  # node: [(which of its inputs, place in found)]
        self.leaves = {tensor: place for place, tensor in enumerate(inputs) if tensor.grad_fn is None}
        for place, tensor in enumerate(inputs):
            if tensor.grad_fn is not None:
                self.captured.setdefault(tensor.grad_fn, []).append((tensor.output_nr, place))
        self.needed = {}  # node: whether it leads to one of the inputs
        self.waits = {}  # node: how many edges have still to bring it something
        self.buffers = {}
        self.ready, self.counter = [], itertools.count()

    def run(self, outputs, tangents):
        roots = [(o.grad_fn, o.output_nr) for o in outputs]
        for node, _ in roots:
            self._explore(node)
        for node in [n for n, needed in self.needed.items() if needed]:
            self._expect(node.next_functions)
        self._expect(roots)
        with torch.no_grad():
            self._hand_on(roots, tangents)
            while self.ready:
                self._visit(heapq.heappop(self.ready)[-1])
        return self.found

    def _leads_on(self, node):
        return node is not None and (self.needed.get(node) or node in self.captured)

    def _explore(self, root):
        todo = [(root, False)]
        while todo:
            node, seen = todo.pop()
            following = [n for n, _ in node.next_functions if n is not None]
            if seen:
                self.needed[node] = any(self._leads_on(n) for n in following)
            elif node not in self.needed:
                self.needed[node] = False
                if (leaf := getattr(node, "variable", None)) in self.leaves:
                    self.captured[node] = [(0, self.leaves[leaf])]
                todo.append((node, True))
                todo.extend((n, False) for n in following if n not in self.needed)

    def _expect(self, edges):
        for node, _ in edges:
            if self._leads_on(node):
                self.waits[node] = self.waits.get(node, 0) + 1

    def _hand_on(self, edges, gradients):
        for (node, at), gradient in zip(edges, gradients):
            if not self._leads_on(node):
                continue
            buffer = self.buffers.setdefault(node, [None] * len(node._input_metadata))
            gradient = _fitting(gradient, node._input_metadata[at])
            if gradient is not None:
                buffer[at] = gradient if buffer[at] is None else buffer[at] + gradient
            self.waits[node] -= 1
            if not self.waits[node]:  # as the engine: the node that was made last comes first
                heapq.heappush(self.ready, (-node._sequence_nr(), next(self.counter), node))

    def _visit(self, node):
        given = self.buffers.pop(node)
        for at, hooks in node.metadata.get(_HOOKS, {}).items():
            for hook in hooks:
                changed = hook(given[at]) if given[at] is not None else None
                given[at] = given[at] if changed is None else changed
        for at, place in self.captured.get(node, ()):
            self.found[place] = given[at]
        if not self.needed[node]:
            return
        if node.metadata.get(_USED_UP) and _keeps_tensors(node):
            raise RuntimeError(BACKWARD_TWICE)
        edges = node.next_functions
        if all(n is None or self._leads_on(n) for n, _ in edges):
            made = _apply(node, given)
        else:  # the engine has a node compute only what is needed
            with _NoMasks():
                made = _apply(node, given)
        if not self.retain:
            node.metadata[_USED_UP] = True
        self._hand_on(edges, made)


class _NoMasks(TorchDispatchMode):
    """For a node that computes more than is needed: what is computed by itself nobody reads, but an operator that is told
    which of its results to compute would be told something else."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for each in (*args, *(kwargs or {}).values()):
            if isinstance(each, (list, tuple)) and each and all(isinstance(e, bool) for e in each):
                raise NotAsThere(f"which gradients {func} computes is decided by PyTorch's engine, which needs the GPU")
        return func(*args, **(kwargs or {}))


def _fitting(gradient, metadata):
    if gradient is None:
        return None
    if gradient.shape != tuple(metadata.shape):
        gradient = gradient.sum_to_size(metadata.shape)
    return gradient if gradient.dtype == metadata.dtype else gradient.to(metadata.dtype)


def _apply(node, given):
    """What the node's backward gives, by edge."""
    if not isinstance(node, torch.autograd.function.BackwardCFunction):
        made = node(*given)
        return made if isinstance(made, tuple) else (made,)
    if any(g is None for g in given):  # zeros or None: what it chose cannot be read
        raise NotAsThere("a torch.autograd.Function one of whose results has no gradient needs PyTorch's engine, and so the GPU")
    made = node.apply(*given)
    made = made if isinstance(made, tuple) else (made,)
    asked = iter([m for m, needs in zip(made, node.needs_input_grad) if needs])
    return [None if following is None else next(asked) for following, _ in node.next_functions]


def _keeps_tensors(node):
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return bool(node.saved_tensors)
    saved = (getattr(node, name) for name in dir(node) if name.startswith("_saved_"))
    return any(isinstance(s, torch.Tensor) or (isinstance(s, (list, tuple)) and any(isinstance(e, torch.Tensor) for e in s)) for s in saved)
