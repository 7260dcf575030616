"""A compiled region with several results inside PyTorch's autograd.

Each result has a node, and so has each set of inputs whose gradients depend on the same results: a backward pass from some
results reaches the leaves, hooks and operators that eager's reaches, and no others. A result's node leaves its gradient
with the call; the first node of inputs that runs has the backward plan run for all gradients that are there.

A result from which others are computed is a point: their nodes lead to its node, so that autograd's engine comes by there
last. Where nobody looks at its gradient they give none, since the backward plan has what goes on inside. Where somebody does
(a hook, retain_grad, autograd.grad), the node of a result above runs its own piece of the backward graph, cut at the points,
and gives the points' gradients to the engine, which brings them to the points' nodes.

The engine runs what was made last first. Inputs whose gradients eager has before it comes by a point lead to a node that is
made behind the point, so that their leaves and these leaves' hooks are done when the point's hooks run, or raise.
"""

import dataclasses
import functools
import weakref

import torch
from torch.autograd import Variable
from torch.utils.hooks import RemovableHandle

from vitrine._errors import DoubleBackwardError
from vitrine._autograd.partial_backward import Failure, failure_in_between, assign_then_raise, roots_of_pass
from vitrine._autograd.in_autograd import BACKWARD_TWICE, applying, graph_is_kept, name_in_errors, named_node

_WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [%s %s]%s is at "
    "version %d; expected version %d instead. Hint: enable anomaly detection to find the operation that failed to compute "
    "its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)

# Whether the pass that runs comes to a node. Unknown to this PyTorch: it may.
_will_run = getattr(torch._C, "_will_engine_execute_node", lambda node: True)
_nothing = torch.empty(0)  # in the place of what nobody reads any more
_anchor = torch.empty(0, requires_grad=True)


@dataclasses.dataclass
class Stem:
    """Inputs whose gradients depend on the same tangents, and are complete before the pass comes by the same points."""

    depends: tuple
    points: tuple
    inputs: list = dataclasses.field(default_factory=list)


def stems_of(region):
    """The region's, in the order of its gradients; without a tangent nothing comes to an input."""
    stems = {}
    rank = {index: at for at, index in enumerate(region.complete)}
    for index, depends in region.gradients:
        points = tuple(point for point, n in enumerate(region.before) if rank[index] < n)
        key = (tuple(depends), points)
        stems.setdefault(key, Stem(*key)).inputs.append(index)
    return [stem for stem in stems.values() if stem.depends]


class Call:
    """What the nodes of one call share: what was saved, and the gradients of the backward pass that runs."""

    def __init__(self, region, inputs, results, beside):
        given = (*inputs, *region.constants)
        where = {"input": given, "viewed": given, "result": results, "saved": beside}
        # A tensor of the graph itself would keep that alive; a leaf may get other memory, and is read where it is then.
        plain = lambda kind, t: t if kind == "saved" or kind == "input" and t.is_leaf else t.detach()  # noqa: E731
        self.region, self.n_inputs = region, len(inputs)
        self.saved = [plain(kind, where[kind][i]) for kind, i in region.saved]
        self.versions = [t._version for t in self.saved]
        self.seen = [weakref.ref(where[kind][i]) if kind in ("input", "viewed") else None for kind, i in region.saved]
        self.nodes = []  # by result with a gradient, weakly; attach() knows them
        self.points, self.hooks_seen = [], RemovableHandle.next_id  # by point, the tensor, weakly
        self.used = set()  # pieces that earlier passes went through
        self.forget_pass()

    def forget_pass(self):
        """Of a backward pass: its number, the results it came by, the pieces it uses up, their tangents, gradients, its error;
        the pieces that it ran alone, whether it goes piece by piece, unknown before the first."""
        self.task, self.came, self.using, self.fresh, self.gradients, self.failed = None, set(), set(), {}, {}, None
        self.ran, self.in_turn = set(), None

    def enter(self):
        task = torch._C._current_graph_task_id()
        if task != self.task:
            self.leave()
            self.task = task
            Variable._execution_engine.queue_callback(self.over)

    def over(self):
        failed = self.failed
        self.leave()
        if failed:
            raise failed

    def leave(self):
        """The pass is over: what it has used up and no other can ask for goes."""
        self.used |= self.using
        self.forget_pass()
        if self.used:
            self.release(self.open_behind(self.used))

    def release(self, open_):
        """What is read by none of these pieces goes."""
        if not self.saved:
            return
        for k, readers in enumerate(self.region.readers):
            if self.region.saved[k][0] != "input" and open_.isdisjoint(readers):
                self.saved[k] = _nothing

    def open_behind(self, used):
        """Pieces through which a backward pass may still go, when passes went through these."""
        conflicts = self.region.conflicts
        return set(range(len(conflicts))).difference(*(conflicts[u] for u in used))

    def is_last(self):
        """Whether nobody asks for what was saved when this pass has computed."""
        open_ = self.open_behind(self.used | self.using)
        if not self.using or any(piece in readers for readers in self.region.readers for piece in open_):
            return False
        if self.in_turn is False:  # the others get no gradient
            return True
        nodes = [node() for result, node in enumerate(self.nodes) if result not in self.came]
        return not any(node is not None and _will_run(node) for node in nodes)

    def got(self, result, tangent, nodes):
        """Gradients of the points behind a result. nodes: of these."""
        self.enter()
        self.came.add(result)
        region, is_cut = self.region, self.goes_in_turn() and bool(nodes) or self.is_looked_at(result, nodes)
        if region.gives_early:
            self.in_turn = self.in_turn or is_cut
        # A pass for some tensors only that comes by no point leaves what is behind them as it is.
        pieces = region.pieces[result][:1] if is_cut or not torch.autograd._is_checkpoint_valid() else region.pieces[result]
        if why := self.why_not(pieces):
            if is_cut:
                raise why
            self.failed = self.failed or why
        elif not graph_is_kept():
            self.using.update(pieces)
        if is_cut:
            return self.run_piece(result, tangent)
        self.fresh[result] = tangent
        return (None,) * len(nodes)

    def why_not(self, pieces):
        """The error of a backward pass through these."""
        if any(not self.used.isdisjoint(self.region.conflicts[piece]) for piece in pieces):
            return RuntimeError(BACKWARD_TWICE)
        for k, (tensor, version, readers) in enumerate(zip(self.saved, self.versions, self.region.readers)):
            if tensor._version != version and any(piece in readers for piece in pieces):
                sizes = list(self.region.viewed_sizes[k] or tensor.shape)
                return RuntimeError(_WRITTEN % (tensor.type(), sizes, self.origin(k), tensor._version, version))
        return None

    def goes_in_turn(self):
        """Whether the pass goes piece by piece: a stem that runs before a result's node does not know of its gradient."""
        if self.in_turn is None and self.region.gives_early:
            self.in_turn = self.others_come()
        return bool(self.in_turn)

    def others_come(self):
        """Whether results that the pass has not come by may get gradients from elsewhere than this call."""
        own = {node() for node in self.nodes}
        came = {node() for result, node in enumerate(self.nodes) if result in self.came}
        todo, seen = roots_of_pass(), set()
        if not todo:  # it is not known where the pass began
            return True
        while todo:
            one = todo.pop()
            if one in own and one not in came:
                return True
            if one in seen or one in own:
                continue
            seen.add(one)
            todo.extend(node for node, _ in one.next_functions if node is not None)
        return False

    def is_looked_at(self, result, nodes):
        """Whether the pass that runs shows anybody the gradient of a point behind the result. That it is to give one is
        not told apart from its going further."""
        some = not torch.autograd._is_checkpoint_valid()  # the pass is for some tensors only
        return any(some and _will_run(node) or self.is_hooked(point) for point, node in zip(self.region.behind[result], nodes))

    def is_hooked(self, point):
        tensor = self.points[point]()
        if tensor is None:  # its hooks live on; they are numbered as they are registered
            return self.hooks_seen != RemovableHandle.next_id
        return tensor.retains_grad or bool(tensor._backward_hooks) or getattr(tensor.grad_fn, "has_hook", False)

    def run_piece(self, result, tangent):
        given = [None] * len(self.region.tangents)
        given[result] = tangent
        found = dict(self.add_gradients(self.region.run_backward(list(self.saved), given, True, cut=True)))
        if not graph_is_kept():  # the same pass may still go through what conflicts with it
            self.ran.add(result)
            self.release(set(range(len(given))) - self.ran)
        return tuple(found[~point] for point in self.region.behind[result])

    def origin(self, k):
        """What made the tensor that was saved, in eager's words."""
        kind, i = self.region.saved[k]
        if kind == "result":
            name, place = self.region.nodes[i]
        elif kind == "viewed":
            tensor = self.seen[k]()
            name, place = "AsStridedBackward0" if tensor is not None and tensor.requires_grad else "", 0
        else:
            tensor = self.seen[k]() if self.seen[k] else None
            name, place = (tensor.grad_fn.name(), tensor.output_nr) if tensor is not None and tensor.grad_fn else ("", 0)
        return f", which is output {place} of {name_in_errors(name)}," if name else ""

    def passed(self, result):
        """The pass comes by a result, and has no gradient of it."""
        self.enter()
        self.came.add(result)

    def gradients_of(self, inputs):
        self.enter()
        if self.fresh:
            self.compute()
        return [self.gradients.pop(i, None) for i in inputs]

    def compute(self):
        region, fresh = self.region, self.fresh
        self.fresh = {}
        given = [fresh.get(i) for i in range(len(region.tangents))]
        if self.failed:
            self.gradients = dict(self.gradients_of_partial_backward(given))
            return
        last = self.is_last()  # then memory goes as it has been read
        saved = list(self.saved)
        if last and self.open_behind(self.used | self.using):  # who comes again reads nothing of it
            self.saved = [t if kind == "input" else _nothing for t, (kind, _) in zip(saved, region.saved)]
        elif last:
            self.saved = []
        try:
            self.add_gradients(region.run_backward(saved, given, not last))
        except RuntimeError as error:
            failure, saved = failure_in_between(error, saved, region, len(given))
            self.failed, self.gradients = error, dict(failure.gradients(region, saved, given))

    def gradients_of_partial_backward(self, given):
        """Those that eager's backward has before it raises the error."""
        region = self.region
        saved = self.saved or [_nothing] * len(region.saved)
        used = [piece in self.used for piece in range(len(given))]
        changed = [t is not _nothing and t._version != version for t, version in zip(saved, self.versions)]
        missing = [t is _nothing for t in saved]
        return Failure(self.failed, used, changed, missing).gradients(region, saved, given)

    def raise_behind(self, node, found):
        """The error of a pass that fails, behind the last node of inputs that gives gradients. found: by input of the node."""
        if self.failed and not self.gradients:
            edges = [edge for edge, _ in node.next_functions[-len(found) :]]
            gives = [edge for edge, grad in zip(edges, found) if grad is not None and edge]
            assign_then_raise(node, gives, self.failed, self.n_inputs + len(self.region.gradients))

    def add_gradients(self, found):
        """Those of inputs; what else is found is handed back."""
        for index, grad in found:
            if index >= 0 and grad is not None:
                before = self.gradients.get(index)
                self.gradients[index] = grad if before is None else before + grad
        return [(index, grad) for index, grad in found if index < 0]


class _Inputs(torch.autograd.Function):
    """Inputs -> an empty tensor from which results stem."""

    @staticmethod
    def forward(ctx, call, indices, like, *inputs):
        ctx.call, ctx.indices = call, indices
        ctx.set_materialize_grads(False)
        return like.new_empty(0)

    @staticmethod
    def backward(ctx, _):
        found = ctx.call.gradients_of(ctx.indices)
        ctx.call.raise_behind(ctx, found)
        return (None, None, None, *found)


class _Result(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, tangent, place, result, n_stems, *behind):
        """behind: stems, then points."""
        ctx.call, ctx.tangent, ctx.stems = call, tangent, n_stems
        ctx.set_materialize_grads(False)
        result = result.pop()
        return (*(result.new_empty(0) for _ in range(place)), result)

    @staticmethod
    def backward(ctx, *tangents):
        tangent = tangents[-1]
        if torch.is_grad_enabled():
            raise DoubleBackwardError(ctx.call.region.name)
        if tangent is None:
            ctx.call.passed(ctx.tangent)
            return (None,) * (5 + len(ctx.next_functions))
        points = ctx.call.got(ctx.tangent, tangent, [node for node, _ in ctx.next_functions[ctx.stems :]])
        return (None,) * (5 + ctx.stems) + points


def _noting(name):
    register = getattr(torch.autograd.function.BackwardCFunction, name)

    def note(self, hook):
        self.has_hook = True
        return register(self, hook)

    return note


@functools.cache
def _result_node(name):
    node = named_node(_Result, name)
    for registers in ("register_hook", "register_prehook"):
        setattr(node._backward_cls, registers, _noting(registers))
    return applying(node)


_apply_inputs = applying(_Inputs)


class _Making:
    """A call's results as they get their nodes. own: the inputs by the caller's names."""

    def __init__(self, region, own, inputs, made):
        n = len(region.requires_grad)
        # A view of memory made here is the program's own tensor, to be written to like any other.
        self.results = [r.data if r._is_view() else r for r in made[:n]]
        self.region, self.call = region, Call(region, inputs, self.results, made[n:])
        self.wanted = [i for i, wants in enumerate(region.requires_grad) if wants]
        self.call.nodes = [None] * len(self.wanted)
        self.own, self.inputs = own, inputs
        self.waiting, self.stems = list(region.stems), []  # the latter in pairs with their outputs
        self.leaves = region.leaves_among(own)
        self.grow(lambda stem: not stem.points)

    def grow(self, is_time):
        """Makes the stems of which this holds."""
        for stem in [stem for stem in self.waiting if is_time(stem)]:
            self.waiting.remove(stem)
            like, inputs = self.results[self.wanted[stem.depends[0]]], self.inputs
            if stem.points and self.region.has_hooks:  # the names as well are made behind the points
                inputs = self.region.in_eagers_order(self.own, stem.inputs)
            indices = self.region.edges_of_stem(stem, self.leaves, self.own, len(self.stems))
            self.stems.append((stem, _apply_inputs(self.call, indices, like, *[inputs[i] for i in indices])))

    def attach(self, tangent, points=()):
        """The result with its node. points: behind it."""
        i = self.wanted[tangent]
        self.grow(lambda stem: tangent in stem.depends)
        stems = [made for stem, made in self.stems if tangent in stem.depends] or [_anchor]
        name, place = self.region.nodes[i]
        made = _result_node(name)(self.call, tangent, place, [self.results[i]], len(stems), *stems, *points)[-1]
        self.results[i] = made
        self.call.nodes[tangent] = weakref.ref(made.grad_fn)
        return made


def attach(region, inputs, made):
    """The region's results, each with its node. made: what forward gave."""
    making = _Making(region, inputs, inputs, made)
    for tangent in region.made:
        making.attach(tangent)
    return tuple(making.results)


def attach_in_turn(region, inputs, named, made):
    """The program's results, where some are computed from others. named: the inputs by names of the region's own."""
    making = _Making(region, inputs, named, made)
    before = (*inputs, *region.constants)
    slots = [*before, *[None if wants else r for r, wants in zip(making.results, region.requires_grad)]]
    for tangent in region.made:
        if region.advance:
            region.advance(slots)
        making.grow(lambda stem: all(slots[region.points[point]] is not None for point in stem.points))
        points = [slots[region.points[point]] for point in region.behind[tangent]]
        slots[len(before) + making.wanted[tangent]] = making.attach(tangent, points)
    if region.advance:
        region.advance(slots)
    making.call.points = [weakref.ref(slots[slot]) for slot in region.points]
    return region.finish(slots) if region.finish else tuple(slots[len(before) :])
