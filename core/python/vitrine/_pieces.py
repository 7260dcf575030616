"""A captured graph with sizes that depend on data: as one function that Vitrine compiles in pieces, around the calls that
give such sizes. It checks on its way that values are what the graph was captured for."""

import ast
import contextlib
import operator

import torch
from torch import fx

from vitrine import _engine
from vitrine._autograd import training
from vitrine._fx import _SET_GRAD, _SPELT, GraphBuilder, _spelling

# kSpeculated of core/capture/trace/trace.h: what a run raises where it is to be eager's.
_OTHERWISE = "vitrine: the program takes the way that raises"
_IN_PARTS = ("split", "chunk", "unbind", "tensor_split", "split_with_sizes", "hsplit", "vsplit", "dsplit", "unsafe_split", "unsafe_chunk")
# Compiled apart from this file, which is no user's: where the checks hold, nothing is left of them.
_CHECKS = """
def expect(value, rank, dtype):
    if value.dim() != rank or value.dtype is not dtype:
        raise RuntimeError(otherwise)

def expect_length(values, length):
    if len(values) != length:
        raise RuntimeError(otherwise)

def expect_same(value, answer):
    if value != answer:
        raise RuntimeError(otherwise)
"""
_checks = {"otherwise": _OTHERWISE, "__name__": "pieces", "__builtins__": __builtins__}
exec(compile(_CHECKS, "<pieces>", "exec"), _checks)
_DROPPED = ("observer", "fullgraph", "isolated")
_COMPARED = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.LtE: operator.le, ast.GtE: operator.ge}


def _gradients(*args):
    found = training.gradients(*args)
    if isinstance(found, str):
        raise RuntimeError(_OTHERWISE)
    return found


_gradients.__vitrine_disabled__ = True  # PyTorch's engine runs it: what it goes through lies in several pieces


class PiecesBuilder(GraphBuilder):
    """What it is given has no example values; sizes are computed by nodes of the graph."""

    def __init__(self):
        self.root = torch.nn.Module()
        self.graph = fx.Graph()
        self.grad_at_start = self.grad = torch.is_grad_enabled()
        self._sizes = {}
        self._read = []  # nodes of ints, by order of the symbols that questions define
        self._known = {}  # value of each symbol by its name
        self._of_data = set()  # nodes whose sizes, or whose value as an int, follow from data
        self._inputs = []  # nodes of tensors that are given
        self._writes = []  # (node of a call, the inputs that it writes to)
        self._guards = []
        self._checked = None  # the node of the last check so far
        self._effects = ((), False, False)
        self._calls = {}  # what such calls gave

    def symbol(self, name, source, hint, is_size):
        self._sizes[name] = self._known[name] = self._placeholder(name, source)

    def fixed(self, name, value):
        self._sizes[name] = self._known[name] = value

    def placeholder(self, name, source, tensor, sizes, is_open):
        self._inputs.append(self._placeholder(name, source))
        return self._inputs[-1]

    def constant(self, name, source, tensor):
        return self._attribute(tensor, name)

    def effects(self, written, gives_sizes, repeats):
        """Of the next call: which inputs it writes to, by position; whether its results have sizes of data; whether the same
        call gives the same again."""
        self._effects = (tuple(written), gives_sizes, repeats)

    def guard(self, text):
        self._guards.append(text)

    def call(self, op, name, callable_, args, kwargs, paths, types, place):
        """Two pieces round otherwise: what the program computes twice is computed once, so that it is the same."""
        key = _key((op, id(callable_), args, kwargs, paths)) if self._effects[2] else None
        if key is None or key not in self._calls:
            values = self._call(op, name, callable_, args, kwargs, paths, types, place)
            if not types:  # the state may be another one
                self._calls.clear()
            if key is not None:
                self._calls[key] = values
            return values
        return self._calls[key]

    def _call(self, op, name, callable_, args, kwargs, paths, types, place):
        written, gives_sizes, _ = self._effects
        if callable_ is training.gradients:
            op, callable_ = "gradients", _gradients
        values = super().call(op, name, callable_, args, kwargs, paths, types, place)
        node = values[0] if values else next(reversed(self.graph.nodes))
        for _ in paths[0] if values else ():
            node = node.args[0]
        if written:
            self._writes.append((node, [self._inputs[i] for i in written if i < len(self._inputs)]))
        of_data = gives_sizes or self._of_data.intersection(node.all_input_nodes)
        may_differ = of_data or any(isinstance(size, fx.Node) for size in self._known.values())
        if may_differ and op.rpartition(".")[2] in _IN_PARTS and values and len(paths[0]) == 1:
            self._check("expect_length", values[0].args[0], len(values))
        if callable_ is _SET_GRAD or not of_data:
            return values
        for i, (value, (dtype, sizes, _, _)) in enumerate(zip(values, types)):
            if self._is_as_given(op, callable_, node, paths[i]):
                continue
            self._check("expect", value, len(sizes), getattr(torch, dtype))
            if sizes:
                self._of_data.add(value)
        return values

    def _is_as_given(self, op, callable_, node, path):
        """Whether a result has the sizes of an argument whose sizes are no data's."""
        if callable_ is _gradients:  # those of a leaf
            return node.args[2][path[0]] not in self._of_data
        method = op.rpartition(".")[2]
        in_place = method.endswith("_") and not method.endswith("__")
        return in_place and bool(node.args) and isinstance(node.args[0], fx.Node) and node.args[0] not in self._of_data

    def _check(self, name, *args):
        self._checked = self.graph.call_function(_checks[name], args)

    def _computed(self, operation, *operands):
        value = super()._computed(operation, *operands)
        if isinstance(value, fx.Node) and self._of_data.intersection(value.all_input_nodes):
            self._of_data.add(value)
        return value

    def ask(self, callable_, args, names, is_list, answer) -> None:
        """A question of the program: its answer is the value of the symbols of these names, or `answer` again."""
        args = tuple(self._argument(value) for value in args)
        name = getattr(callable_, "__name__", "call")
        of_tensor = getattr(torch.Tensor, name, None) is callable_
        kind, target, args = _spelling(f"Tensor.{name}" if of_tensor else name, callable_, args)
        node = self.graph.create_node(kind, target, args, {})
        if not names:
            known = answer if type(answer) in _SPELT else self._attribute(answer, "_answer")
            self._check("expect_same", node, known)
        for i, symbol in enumerate(names):
            value = self.graph.call_function(operator.getitem, (node, i)) if is_list else node
            self._sizes[symbol] = self._known[symbol] = self._checked = value
            self._of_data.add(value)
            self._read.append(value)

    def output(self, values):
        place = {node: i for i, node in enumerate(self.graph.nodes)}
        last = place.get(self._checked, -1)
        # Behind the last check nothing is taken back: what was concluded from sizes is asked in front of it.
        self._late = [(node, inputs) for node, inputs in self._writes if place[node] > last]
        self._early = {each for node, inputs in self._writes if place[node] <= last for each in inputs}
        if self._writes:
            with self.graph.inserting_after(self.graph.find_nodes(op="placeholder")[-1]):
                begun = self._placeholder("begun", "")
            with self.graph.inserting_before(self._late[0][0]) if self._late else contextlib.nullcontext():
                self._ask_guards()
                if self._late:
                    self.graph.call_method("append", (begun, True))
        super().output((*values, *self._read))

    def _ask_guards(self):
        self._sizes = dict(self._known)
        for text in self._guards:
            compared = ast.parse(text, mode="eval").body
            sides = [self._integer(side) for side in (compared.left, compared.comparators[0])]
            if any(isinstance(side, fx.Node) for side in sides):
                answer = self.graph.call_function(_COMPARED[type(compared.ops[0])], tuple(sides))
                self.graph.call_function(_checks["expect_same"], (answer, True))

    def compile_pieces(self, name, settings):
        """The compiled function. ``settings``: as _engine.CompiledFunction takes them, of the function that was captured."""
        self.graph.lint()
        forward = fx.GraphModule(self.root, self.graph).forward
        code = forward.__func__.__code__
        forward.__func__.__code__ = code.replace(co_name=f"{name.rpartition('.')[2]} (pieces)", co_qualname=f"{name} (pieces)")
        own = {key: value for key, value in settings.items() if key not in _DROPPED}
        compiled = _engine.CompiledFunction(forward, {**own, "capture_data_sizes": False, "pieces": True})
        if not self._writes:
            return compiled
        placeholders = self.graph.find_nodes(op="placeholder")
        return Writing(compiled, [i for i, each in enumerate(placeholders) if each in self._early])

    def _describe(self, node, dtype, sizes, strides, device):
        pass

    def _describe_number(self, node, function, values):
        pass


def _key(value):
    """A text that tells calls apart; None: it has no such."""
    if isinstance(value, fx.Node) or type(value) in _SPELT:
        return f"{type(value).__name__} {value!r}"
    if type(value) in (tuple, list, torch.Size):
        keys = [_key(each) for each in value]
        return None if None in keys else f"{type(value).__name__}({','.join(keys)})"
    if type(value) is slice:
        return _key((slice.__name__, value.start, value.stop, value.step))
    if type(value) is dict:
        return _key(("dict", *value.items()))
    return None


class Writing:
    """Pieces that write to their inputs. Where a run fails, what was written in front of the last check is taken back. What
    is written behind it stays, as eager's does, and the error says so."""

    def __init__(self, compiled, early):
        self.compiled, self.early = compiled, early

    def __call__(self, *inputs):
        storages = {inputs[i].untyped_storage()._cdata: inputs[i] for i in self.early}
        kept = [(each, each.untyped_storage().clone(), each._version) for each in storages.values()]
        begun = []
        try:
            return self.compiled(*inputs, begun)
        except BaseException as error:
            if begun:
                error.vitrine_has_written = True
                raise
            for each, data, version in kept:
                each.untyped_storage().copy_(data)
                torch._C._autograd._unsafe_set_version_counter((each,), (version,))
            raise
