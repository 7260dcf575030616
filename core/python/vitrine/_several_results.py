"""A compiled region with several results inside PyTorch's autograd.

Each result has a node, and so has each set of inputs whose gradients depend on the same results: a backward pass from some
results reaches the leaves, hooks and operators that eager's reaches, and no others. A result's node leaves its gradient
with the call; the first node of inputs that runs has the backward plan run for all gradients that are there.
"""

import functools
import re
import warnings
import weakref

import torch
from torch.autograd import Variable

from vitrine._errors import DoubleBackwardError, VitrineWarning
from vitrine._in_autograd import BACKWARD_TWICE, graph_is_kept, named_node

_WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [%s %s]%s is at "
    "version %d; expected version %d instead. Hint: enable anomaly detection to find the operation that failed to compute "
    "its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)

_UNSEEN = (
    "vitrine: a hook or retain_grad() waits for the gradient of a result of %s that another of its results is computed from: in "
    "this backward pass it does not come. From the next call on that region runs as eager does; a hook that is registered inside "
    "the compiled function costs nothing."
)

# Whether the pass that runs comes to a node. Unknown to this PyTorch: it may.
_will_run = getattr(torch._C, "_will_engine_execute_node", lambda node: True)
_nothing = torch.empty(0)  # in the place of what nobody reads any more
_anchor = torch.empty(0, requires_grad=True)


@functools.cache
def names_are_short():
    """Whether this PyTorch's errors say "Exp" of what its node calls "ExpBackward0", as newer ones do."""
    with torch.inference_mode(False), torch.enable_grad():
        result = torch.zeros(1, requires_grad=True, device="cpu").exp()
    result.detach().add_(1)
    try:
        result.grad_fn._saved_result
    except RuntimeError as error:
        return "ExpBackward0" not in str(error)
    return True


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
        self.results = []  # these, weakly, if one is computed from another
        self.used = set()  # results that earlier passes went through
        self.task, self.using, self.fresh, self.gradients = None, set(), {}, {}

    def enter(self):
        task = torch._C._current_graph_task_id()
        if task != self.task:
            self.leave()
            self.task = task
            Variable._execution_engine.queue_callback(self.leave)

    def leave(self):
        """The pass is over: what it has used up and no other can ask for goes."""
        self.used |= self.using
        self.task, self.using, self.fresh, self.gradients = None, set(), {}, {}
        open_ = self.open_behind(self.used)
        if not self.used or not self.saved:
            return
        for k, readers in enumerate(self.region.readers):
            if self.region.saved[k][0] != "input" and open_.isdisjoint(readers):
                self.saved[k] = _nothing

    def open_behind(self, used):
        """Results from which a backward pass may still go, when passes went through these."""
        conflicts = self.region.conflicts
        return set(range(len(conflicts))).difference(*(conflicts[u] for u in used))

    def is_last(self):
        """Whether nobody asks for what was saved when this pass has computed."""
        if len(self.using) == len(self.nodes):
            return True
        if not self.using or self.open_behind(self.used | self.using):
            return False
        nodes = [node() for result, node in enumerate(self.nodes) if result not in self.using]
        return not any(node is not None and _will_run(node) for node in nodes)

    def got(self, result, tangent):
        self.enter()
        conflicts = self.region.conflicts
        if any(result in conflicts[u] for u in self.used):
            raise RuntimeError(BACKWARD_TWICE)
        for k, (tensor, version, readers) in enumerate(zip(self.saved, self.versions, self.region.readers)):
            if result in readers and tensor._version != version:
                raise RuntimeError(_WRITTEN % (tensor.type(), list(tensor.shape), self.origin(k), tensor._version, version))
        self.fresh[result] = tangent
        if not graph_is_kept():
            self.using.add(result)

    def look_at_passed(self, result):
        """Eager's pass from a result comes by those that it is computed from. A compiled pass does not: where one's gradient
        is asked for, it is missing this once, and the region is the last that was compiled."""
        for passed in self.region.passed[result]:
            tensor = self.results[passed]()
            if tensor is not None and (tensor.retains_grad or tensor._backward_hooks) and not self.region.watched:
                self.region.watched = True
                warnings.warn(_UNSEEN % self.region.name, VitrineWarning, stacklevel=2)

    def origin(self, k):
        """What made the tensor that was saved, in eager's words."""
        kind, i = self.region.saved[k]
        if kind == "result":
            name, place = self.region.nodes[i]
        else:
            tensor = self.seen[k]() if self.seen[k] else None
            name, place = (tensor.grad_fn.name(), tensor.output_nr) if tensor is not None and tensor.grad_fn else ("", 0)
        if names_are_short():
            name = re.sub("Backward[0-9]*$", "", name)
        return f", which is output {place} of {name}," if name else ""

    def gradients_of(self, inputs):
        self.enter()
        if self.fresh:
            self.compute()
        return [self.gradients.pop(i, None) for i in inputs]

    def compute(self):
        region, fresh = self.region, self.fresh
        self.fresh = {}
        last = self.is_last()  # then memory goes as it has been read
        saved = list(self.saved)
        if last:
            self.saved = []
        for index, grad in region.run_backward(saved, [fresh.get(i) for i in range(len(region.tangents))], not last):
            before = self.gradients.get(index)
            self.gradients[index] = grad if before is None else before + grad


class _Inputs(torch.autograd.Function):
    """Inputs -> an empty tensor from which results stem."""

    @staticmethod
    def forward(ctx, call, indices, like, *inputs):
        ctx.call, ctx.indices = call, indices
        ctx.set_materialize_grads(False)
        return like.new_empty(0)

    @staticmethod
    def backward(ctx, _):
        return (None, None, None, *ctx.call.gradients_of(ctx.indices))


class _Result(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, tangent, place, result, *stems):
        ctx.call, ctx.tangent, ctx.stems = call, tangent, len(stems)
        ctx.set_materialize_grads(False)
        result = result.pop()
        return (*(result.new_empty(0) for _ in range(place)), result)

    @staticmethod
    def backward(ctx, *tangents):
        tangent = tangents[-1]
        if torch.is_grad_enabled():
            raise DoubleBackwardError(ctx.call.region.name)
        if tangent is not None:
            ctx.call.got(ctx.tangent, tangent)
            ctx.call.look_at_passed(ctx.tangent)
        return (None,) * (4 + ctx.stems)


def attach(region, inputs, made):
    """The region's results, each with its node. made: what forward gave."""
    n = len(region.requires_grad)
    # A view of memory made here is the program's own tensor, to be written to like any other.
    results = [r.data if r._is_view() else r for r in made[:n]]
    call = Call(region, inputs, results, made[n:])
    wanted = [i for i, wants in enumerate(region.requires_grad) if wants]
    sets = {}
    for index, depends in region.gradients:
        sets.setdefault(tuple(depends), []).append(index)
    stems = [(depends, _Inputs.apply(call, indices, results[wanted[depends[0]]], *[inputs[i] for i in indices]))
             for depends, indices in sets.items() if depends]
    for tangent, i in enumerate(wanted):
        behind = [stem for depends, stem in stems if tangent in depends]
        name, place = region.nodes[i]
        results[i] = named_node(_Result, name).apply(call, tangent, place, [results[i]], *(behind or [_anchor]))[-1]
        call.nodes.append(weakref.ref(results[i].grad_fn))
    if any(region.passed):
        call.results = [weakref.ref(results[i]) for i in wanted]
    return tuple(results)
