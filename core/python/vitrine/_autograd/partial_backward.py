"""A backward pass that fails in a compiled region: leaves that eager's pass comes by before it fails have their gradients.

The region's node gives the gradients that are complete by then, and the error is raised once they have been accumulated,
before the engine goes on to any other node. Where the operators behind the error cannot be told apart (a derivative that is
PyTorch's own, a piece of a region cut at results, memory that ran out), the error is raised at once.
"""

import itertools
import re
import sys

import torch
from torch.autograd import Variable

from vitrine._autograd import batched as _batched
from vitrine._autograd.in_autograd import as_traced, name_in_errors

_ENGINE = torch.autograd.graph._engine_run_backward.__code__
_UNPACKS = hasattr(torch._C._autograd.SavedTensor, "unpack")  # newer than PyTorch 2.11


class Failure:
    """used: by tangent, whether an earlier pass used up what was saved for it. changed, missing: by what is saved."""

    def __init__(self, error, used, changed, missing):
        self.error, self.used, self.changed, self.missing = error, used, changed, missing

    def gradients(self, region, saved, given):
        """Pairs of an input and its gradient, of those that are complete and can be had. given: tangents, None where undefined."""
        if any(map(_batched.is_batched, given)):
            return []
        here = [torch.empty(0) if gone else t for t, gone in zip(saved, self.missing)]
        here += [as_traced(t, *how) for t, how in zip(given, region.tangents)]
        defined = tuple(t is not None for t in given)
        try:
            with torch.no_grad():
                found = region.partial_backward(here, defined, tuple(self.used), tuple(self.changed), tuple(self.missing))
        except Exception:  # that of the pass is the one that counts
            return []
        return [(index, grad) for (index, _), grad in zip(region.gradients, found) if grad is not None]


def failure_in_between(error, saved, region, n_tangents):
    """(The failure of a backward that was given what was saved; what is left of that): it may lie otherwise than it did."""
    no, here = [False] * len(region.saved), saved[: len(region.saved)]
    return Failure(error, [False] * n_tangents, no, [t is None for t in here]), here


def versions_of(tensors):
    """What _unpacked() has to know of tensors that are saved."""
    return itertools.repeat(None) if _UNPACKS else [t._version for t in tensors]


def _unpacked(raw, version):
    """(One of a node's saved tensors, None if it cannot be had; whether it has been written to.)"""
    if not _UNPACKS:
        one = raw.data
        return (one, False) if isinstance(one, torch.Tensor) and one._version == version else (None, True)
    try:
        return raw.unpack(), False
    except RuntimeError:
        return None, True


def _worded(error, node, changed):
    """The error, naming the view that eager keeps where an input was written to of which views only are read."""
    k = changed.index(True) if True in changed else 0
    sizes = node.region.viewed_sizes[k] if changed and changed[k] else None
    if sizes is None:
        return error
    index = node.region.saved[k][1]
    place = node.edges.place
    has_graph = index < len(place) and node.next_functions[place[index]][0] is not None
    made = f", which is output 0 of {name_in_errors('AsStridedBackward0')}," if has_graph else ""
    text = re.sub(r"(\[\S+) \[[^]]*\]\] is at", lambda found: f"{found[1]} {list(sizes)}]{made} is at", str(error), count=1)
    error.args = (text,)
    return error


def failure_of(error, node, n_tangents):
    """(The failure of a node whose saved tensors could not be had; those that are there, in the region's order.)"""
    try:
        raw, used = zip(node._raw_saved_tensors, node.versions), False
    except RuntimeError:  # an earlier pass has used them up
        raw, used = iter(()), True
    kept, saved, changed = iter(node.kept), [], []
    for kind, _ in node.region.saved:
        if kind == "saved":
            one, is_changed = next(kept, None), False
        else:
            pair = next(raw, None)
            one, is_changed = _unpacked(*pair) if pair else (None, False)
        saved.append(one)
        changed.append(is_changed)
    return Failure(_worded(error, node, changed), [used] * n_tangents, changed, [t is None for t in saved]), saved


def roots_of_pass():
    """Autograd's nodes from which the pass that runs began, empty if that is not known."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _ENGINE:
            outputs = frame.f_locals.get("t_outputs", ())
            return [t.grad_fn for t in outputs if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        frame = frame.f_back
    return []


def _runs(leaf):
    """Whether the pass adds to the leaf's gradient."""
    try:
        return torch._C._will_engine_execute_node(leaf)
    except RuntimeError:  # it is autograd.grad
        return False


def _accumulated_now(node, targets):
    """Those of the targets (nodes of leaves) that run when the node gives its gradients: nothing older leads to them."""
    older, seen, todo = set(), set(), roots_of_pass()
    if not todo:
        return []
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        following = [n for n, _ in one.next_functions if n is not None]
        if one is not node and one._sequence_nr() < node._sequence_nr() and one not in targets.values():
            older.update(following)
        todo.extend(following)
    return [leaf for leaf in targets if leaf in seen and leaf not in older and _runs(leaf)]


class _RaiseBehind:
    """Raises the error when the last of some nodes has run, or the pass is over without."""

    def __init__(self, error, nodes):
        self.error, self.left, self.task = error, len(nodes), torch._C._current_graph_task_id()
        self.handles = [node.register_hook(self.one_ran) for node in nodes]
        Variable._execution_engine.queue_callback(self.over)

    def one_ran(self, *_):
        if torch._C._current_graph_task_id() != self.task:  # the pass ended in another error
            self.forget()
            return
        self.left -= 1
        if not self.left:
            self.over()

    def over(self):
        if self.error is not None:
            error = self.error
            self.forget()
            raise error

    def forget(self):
        self.error = None
        for handle in self.handles:
            handle.remove()


def assign_then_raise(node, edges, error, between):
    """Has the error raised as soon as gradients that the node is about to give have been accumulated; at once, if none is.
    edges: of the inputs that get one. between: at most so many nodes were made after a leaf's name of the region's own."""
    targets = {}  # by a leaf's node, the name that leads there, or itself
    for edge in edges:
        if hasattr(edge, "variable"):
            targets[edge] = edge
        elif edge.name() == "AliasBackward0" and node._sequence_nr() - edge._sequence_nr() <= between:
            targets.update({leaf: edge for leaf, _ in edge.next_functions if hasattr(leaf, "variable")})
    leaves = _accumulated_now(node, targets)
    if not leaves:
        raise error
    _RaiseBehind(error, leaves)
