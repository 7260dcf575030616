"""A compiled region inside PyTorch's autograd: the node that runs its forward and its backward plan.

Region: results = region(inputs). What backward needs of the caller's tensors is kept by save_for_backward, so that
PyTorch itself notices in-place changes and a second backward. What nobody else can see is kept beside that, so that
its memory may go while the backward plan runs.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.utils.checkpoint import CheckpointFunction
from torch.utils.hooks import RemovableHandle

from vitrine._autograd import batched as _batched
from vitrine._autograd.autograd_graph import nodes_behind, outputs_behind, outputs_sharing, points_passed
from vitrine._autograd.edges import Edges, laid
from vitrine._errors import DoubleBackwardError
from vitrine._autograd.partial_backward import failure_in_between, failure_of, assign_then_raise, versions_of
from vitrine._autograd.in_autograd import BACKWARD_TWICE, applying, as_traced, graph_is_kept, lying_as, named_node, strides_of
from vitrine._autograd.several_results import attach, attach_in_turn, stems_of
from vitrine._autograd.walked_backward import NotAsThere, hooked, run_backward


def _is_registered(node):
    """Whether it is an operator's backward by torch.library.register_autograd, which asks that it can be traced: it neither
    looks at data nor depends on anything that may change."""
    return getattr(node._forward_cls.forward, "__globals__", None) is vars(torch._library.autograd)


# Complex vectors are given up to a phase each: their backward raises where its gradients say that the loss depends on it.
_LOOK_AT_GRADIENTS = {"LinalgEigBackward0", "LinalgEighBackward0", "LinalgSvdBackward0"}


def _looks_at_gradients(node):
    return node.name() in _LOOK_AT_GRADIENTS and any(of.dtype.is_complex for of in node._input_metadata)


def _nodes_behind(outputs, read=False):
    """Autograd's nodes that a backward pass from the outputs reaches, as it is walked; a text where one is the user's own,
    or looks at values. read: but for those of the user's that were read through."""
    found = []
    for node in nodes_behind(outputs):
        own = isinstance(node, torch.autograd.function.BackwardCFunction) and not _is_registered(node)
        if own and not (read and getattr(node, "read_by_vitrine", False)):
            return "a torch.autograd.Function has a backward of the user's own"
        if _looks_at_gradients(node):
            return f"{node.name()} looks at the values of its gradients"
        found.append(node)
    return found


class Borrowed(NamedTuple):
    """What PyTorch's backward gave, by input, point, output and output."""

    gradients: list
    wholes: list  # a point's gradient, in the recording an operator's of its own
    passed: list  # the points between the output and the inputs
    sharing: list  # outputs that cannot both be gone through as far as the points, for they share an operator


def borrowed_gradients(outputs, inputs, tangents, points):
    """Gradients of fake tensors by PyTorch's own backward; a text instead says why they cannot be had. points: results that
    others may be computed from."""
    if any(output.grad_fn is None for output in outputs):
        return "a result requires grad of itself"
    if any(t._backward_hooks for t in (*outputs, *inputs, *points)):
        return "a tensor has a hook"
    nodes = _nodes_behind(outputs, read=True)
    if isinstance(nodes, str):
        return nodes
    passed = points_passed(outputs, points)
    wholes = [None] * len(points)
    if not inputs:
        return Borrowed([], wholes, passed, [])

    def named(place, grad):
        wholes[place] = torch.ops.aten.alias.default(grad)
        return wholes[place]

    between = sorted({place for places in passed for place in places})
    with torch.autocast("cpu", enabled=False), contextlib.ExitStack() as hooks:
        for place in between:
            hooks.enter_context(hooked(points[place], functools.partial(named, place)))
        try:
            found = run_backward(outputs, tangents, False, inputs)
        except NotAsThere as why:
            return str(why)
    return Borrowed(found, wholes, passed, outputs_sharing(outputs, [points[place] for place in between]))


def leaves_behind(outputs, tangents):
    """The leaves that a backward pass over fake tensors reaches; a text instead says why it must run for real."""
    for output, tangent in zip(outputs, tangents):
        if output.grad_fn is None:
            return "a tensor that requires no grad, or is a leaf"
        if tangent is None and (output.numel() != 1 or not output.is_floating_point()):
            return "no gradient is given for a tensor that is not a real scalar"
        if tangent is not None and (tangent.shape != output.shape or tangent.dtype != output.dtype or tangent.requires_grad):
            return "a gradient that does not fit, or requires grad"
    nodes = _nodes_behind(outputs)
    return nodes if isinstance(nodes, str) else [node.variable for node in nodes if hasattr(node, "variable")]


def gradients(outputs, tangents, inputs, fresh, retain):
    """Gradients of the inputs by PyTorch's engine, None where nothing reaches one.

    fresh, by input: the gradient becomes a tensor's .grad. It then has the layout that AccumulateGrad gives it and
    memory of its own; a text instead says that eager would not give it its own, or that the pass raises.
    """
    outputs, inputs = tuple(outputs), tuple(inputs)
    given = tuple(torch.ones_like(o, memory_format=torch.preserve_format) if t is None else t for o, t in zip(outputs, tangents))
    try:
        found = run_backward(outputs, given, retain, inputs)
    except NotAsThere as why:
        return str(why)
    except RuntimeError as error:
        if str(error) == BACKWARD_TWICE:
            raise
        # When it runs, leaves that it comes by before that have their gradients.
        return f"it raises {str(error).splitlines()[0]!r}"
    owners = {}
    for tensor in (*found, *tangents):
        if tensor is not None:
            owners.setdefault(tensor.untyped_storage()._cdata, []).append(tensor)
    for i, (grad, leaf, is_fresh) in enumerate(zip(found, inputs, fresh)):
        if grad is None or not is_fresh:
            continue
        sharing = owners[grad.untyped_storage()._cdata]
        if any(tensor is not grad for tensor in sharing):
            return "two gradients share memory"
        if len(sharing) > 1 or not _has_layout_of(leaf, grad):
            found[i] = _in_layout_of(leaf, grad)
        elif grad._is_view():  # AccumulateGrad keeps what it gets, but no view
            found[i] = grad.detach()
    return found


def _is_dense(tensor):
    """Every element at a place of its own, without gaps."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _has_layout_of(leaf, grad):
    if not _is_dense(leaf):
        return grad.is_contiguous()
    return all(g == s if n != 1 else g != 0 for g, s, n in zip(grad.stride(), leaf.stride(), leaf.shape))


def _in_layout_of(leaf, grad):
    if leaf.is_contiguous() or not _is_dense(leaf):
        return grad.clone(memory_format=torch.contiguous_format)
    return torch.empty_strided(leaf.shape, leaf.stride(), dtype=grad.dtype, device=grad.device).copy_(grad)


def is_consumed(fake_tensor):
    """Whether another backward from a fake tensor raises, because one has been there."""
    if fake_tensor.grad_fn is None:
        return False
    leaves = leaves_behind((fake_tensor,), (torch.ones_like(fake_tensor),))
    if isinstance(leaves, str):
        return False
    try:
        run_backward((fake_tensor,), (torch.ones_like(fake_tensor),), True, leaves)
    except NotAsThere:
        return False
    except RuntimeError as error:
        return "backward through the graph a second time" in str(error)
    return False


_anchor = torch.empty(0, requires_grad=True)


class _Consumed(torch.autograd.Function):
    """Gives results of a graph that had its own backward pass what eager leaves on them: a graph that is used up."""

    @staticmethod
    def forward(ctx, anchor, results, *inputs):
        return tuple(results)

    @staticmethod
    def backward(ctx, *tangents):
        raise RuntimeError(BACKWARD_TWICE)


def consumed(results, inputs):
    """inputs: of the graph. A backward pass for those of them that require grad raises as one for all leaves does."""
    with torch.enable_grad():
        # Not as views: autograd would take them for views of what it never saw.
        return _Consumed.apply(_anchor, [r.data if r._is_view() else r for r in results], *[t for t in inputs if t.requires_grad])


def _has_hook(tensor):
    return bool(tensor._backward_hooks or tensor._post_accumulate_grad_hooks)


@dataclasses.dataclass(eq=False)
class Region:
    """One compiled region."""

    forward: Callable  # (inputs) -> results, then what is saved besides
    backward: Callable  # (saved + tangents, which tangents are defined, whether the graph is kept, whether it is cut) -> gradients
    partial_backward: Callable  # see Failure.gradients
    layouts: Callable  # (strides of tangents or None, whether the graph is cut) -> strides of gradients, None: as traced
    views: Callable | None  # (inputs + constants + results) -> what the caller gets; None: the results
    # Together the same: makes the views of what is there in a list, None where it is not there yet; ends the list.
    advance: Callable | None
    finish: Callable | None
    requires_grad: tuple  # by result
    nodes: tuple  # by result: the name that its node has in eager, and which output of that it is
    saved: tuple  # ("input" | "viewed" | "result" | "saved", index)
    viewed_sizes: tuple  # by what is saved: sizes of the view that eager keeps in its place, or None
    gradients: tuple  # (input, tangents it depends on)
    tangents: tuple  # (sizes, strides, dtype, device), one a result that requires grad
    conflicts: tuple  # by tangent: those that cannot come in a later backward pass, for it has used up what they need
    readers: tuple  # by what is saved: tangents whose gradients need it
    points: tuple  # places in advance()'s list, of results that others are computed from
    before: tuple  # by point: how many of `complete` eager has when it comes by
    # By tangent: the points (by their order) between its result and the inputs. Where there are any, backward cut at the
    # points is a piece a tangent, which has gradients of the points behind those of the inputs, and conflicts and readers
    # are those of the pieces.
    behind: tuple
    pieces: tuple  # by tangent: its own, then those behind it
    made: tuple  # tangents in the order in which the program made their results
    complete: tuple  # inputs in the order in which eager's backward has their gradients
    constants: tuple  # tensors that count as inputs behind the real ones
    reentrant: bool  # it has checkpoints of eager's that only know a backward pass for all leaves
    name: str

    def __post_init__(self):
        self.layouts_found = {}
        self.hooks_seen, self.has_hooks = -1, False
        self.plain, self.edges = None, {}  # inputs that may be leaves or not; edges by which of them are
        self.apply = applying(named_node(_Node, next((name for name, _ in self.nodes if name), "")))
        self.is_cut = any(self.behind)
        self.stems = stems_of(self)
        self.gives_early = any(stem.points for stem in self.stems)
        self.behind = self.behind or ((),) * len(self.tangents)
        # Whether a backward pass uses the graph up: that of operators that save nothing may come again.
        self.once = len(self.conflicts) != 1 or bool(self.saved) or 0 in self.conflicts[0]
        # Of the one result that is differentiated: its index, and which output of its node it is to be.
        one = self.requires_grad.index(True) if len(self.tangents) == 1 else None
        self.only, self.place = (0, 0) if one is None else (one, self.nodes[one][1])

    def bare(self):
        """The same without what is of its sizes alone, which the engine puts into copies: it holds no memory, and cannot be
        called."""
        other = object.__new__(Region)
        functions = ("forward", "backward", "partial_backward", "layouts", "views", "advance", "finish")
        other.__dict__.update(self.__dict__, **dict.fromkeys((*functions, "viewed_sizes", "tangents", "layouts_found")))
        return other

    def __call__(self, *inputs):
        if any(self.requires_grad):
            # Hooks are numbered as they are registered: without a new one there is nothing to look for.
            if self.hooks_seen != RemovableHandle.next_id:
                self.hooks_seen, self.has_hooks = RemovableHandle.next_id, any(map(_has_hook, inputs))
            named = self.in_eagers_order(inputs) if self.has_hooks else inputs
            if self.is_cut:
                with torch.no_grad():
                    made = self.forward(named)
                return attach_in_turn(self, inputs, named, made)
            if len(self.tangents) > 1:
                with torch.no_grad():
                    made = self.forward(named)
                results = attach(self, named, made)
            else:
                edges = self.edges_of(inputs)
                results = self.in_order(self.apply(self, edges, *edges.handed(named)))
        else:
            with torch.no_grad():
                results = tuple(self.forward(inputs))
        return results if self.views is None else self.views((*inputs, *self.constants, *results))

    def leaves_among(self, inputs):
        """Which of the inputs are leaves, but for those that always are."""
        if self.plain is None:
            self.plain = [i for i, each in enumerate(inputs) if not isinstance(each, torch.nn.Parameter)]
        return tuple(inputs[i].is_leaf for i in self.plain)

    def edges_of(self, inputs):
        key = self.leaves_among(inputs)
        if key not in self.edges:
            self.edges[key] = Edges(inputs, {index for index, _ in self.gradients}, self.complete)
        return self.edges[key]

    def edges_of_stem(self, stem, leaves, inputs, waiting):
        """Indices of a stem's inputs. leaves: leaves_among(inputs); waiting: stems that run behind it."""
        key = (*stem.depends, None, *stem.points, None, *leaves, waiting)
        if key not in self.edges:
            self.edges[key] = laid(stem.inputs, inputs, self.complete, waiting)
        return self.edges[key]

    def as_outputs(self, results):
        """The results as outputs of one node: what is differentiated at its place in eager's, then the others."""
        if not self.only and not self.place:
            return tuple(results)
        first = results[self.only]
        return (*(first.new_empty(0) for _ in range(self.place)), first, *results[: self.only], *results[self.only + 1 :])

    def in_order(self, outputs):
        """What as_outputs() was given."""
        if not self.only and not self.place:
            return outputs
        first, *others = outputs[self.place :]
        return (*others[: self.only], first, *others[self.only :])

    def in_eagers_order(self, inputs, some=None):
        """The inputs by other names: PyTorch's engine runs what was made last first, and so each leaf's hooks in turn.
        some: indices of those that get one, None: all."""
        inputs = list(inputs)
        for i in reversed(self.complete):
            if (some is None or i in some) and inputs[i].is_leaf and inputs[i].requires_grad:
                inputs[i] = torch.ops.aten.alias.default(inputs[i])
        return inputs

    def given(self, tangents):
        """Of a node's tangents those of results that are differentiated."""
        return [t for t, wanted in zip(self.in_order(tangents), self.requires_grad) if wanted]

    def gradients_of_partial_backward(self, node, given, failure, saved):
        """Those that eager's backward has before it raises the failure's error, which is raised behind them."""
        out = node.edges.gradients(failure.gradients(self, saved, given))
        edges = [edge for (edge, _), grad in zip(node.next_functions, out) if grad is not None and edge]
        assign_then_raise(node, edges, failure.error, len(out))
        return out

    def run_backward(self, saved, given, keep, cut=False):
        """Pairs of an input and its gradient, then, of the graph that is cut, of a point (~its place) and its. given: by
        tangent, None where it is undefined."""
        if self.reentrant and not torch.autograd._is_checkpoint_valid():
            CheckpointFunction.backward(None)  # which raises before it looks at its context
        if (level := _batched.level()) and any(map(_batched.is_batched, given)):
            return _batched.each(level, lambda one, last: self.run_once(list(saved), one, keep or not last, cut), given)
        return self.run_once(saved, given, keep, cut)

    def run_once(self, saved, given, keep, cut):
        """As run_backward, of tensors that are memory."""
        saved.extend(as_traced(t, *how) for t, how in zip(given, self.tangents))
        found = self.backward(saved, tuple(t is not None for t in given), keep, cut)
        lie = tuple(strides_of(t, how[1]) for t, how in zip(given, self.tangents))
        if any(lie):
            if (lie, cut) not in self.layouts_found:
                self.layouts_found[lie, cut] = self.layouts(lie, cut)
            found = list(map(lying_as, found, self.layouts_found[lie, cut]))
        points = [(~point, grad) for point, grad in enumerate(found[len(self.gradients) :])]
        return [(index, grad) for grad, (index, depends) in zip(found, self.gradients) if any(given[i] is not None for i in depends)] + points


class _Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, region, edges, *handed):
        inputs = edges.given(handed)
        made = region.forward(inputs)
        n = len(region.requires_grad)
        # A view of memory made here is the program's own tensor, to be written to like any other.
        results = [r.data if r._is_view() else r for r in made[:n]]
        given = (*inputs, *region.constants)
        where = {"input": given, "viewed": given, "result": results, "saved": made[n:]}
        ctx.region, ctx.edges = region, edges
        # detach(): the memory of now, with the version counter of the input.
        seen = [where[k][i].detach() if k == "viewed" else where[k][i] for k, i in region.saved if k != "saved"]
        ctx.save_for_backward(*seen)
        ctx.versions = versions_of(seen)
        ctx.kept = [where[k][i] for k, i in region.saved if k == "saved"]
        ctx.mark_non_differentiable(*[r for r, wanted in zip(results, region.requires_grad) if not wanted])
        ctx.set_materialize_grads(False)
        return region.as_outputs(results)

    @staticmethod
    def backward(ctx, *tangents):
        if torch.is_grad_enabled():
            raise DoubleBackwardError(ctx.region.name)
        region, keep, given = ctx.region, graph_is_kept(), ctx.region.given(tangents)
        try:
            others, kept = iter(ctx.saved_tensors if region.once else ()), iter(ctx.kept)
        except RuntimeError as error:
            return (None, None, *region.gradients_of_partial_backward(ctx, given, *failure_of(error, ctx, len(given))))
        saved = [next(kept if kind == "saved" else others) for kind, _ in region.saved]
        if not keep:
            ctx.kept = ()
        del kept, others
        try:  # saved is empty afterwards
            return (None, None, *ctx.edges.gradients(region.run_backward(saved, given, keep)))
        except RuntimeError as error:
            return (None, None, *region.gradients_of_partial_backward(ctx, given, *failure_in_between(error, saved, region, len(given))))
