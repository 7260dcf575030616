"""A captured graph with sizes that depend on data: as one function that Vitrine compiles in pieces, around the calls that
give such sizes. It checks on its way that values are what the graph was captured for."""

import operator

import torch
from torch import fx

from vitrine import _engine
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
_DROPPED = ("observer", "fullgraph", "backend", "isolated")


class PiecesBuilder(GraphBuilder):
    """What it is given has no example values; sizes are computed by nodes of the graph."""

    def __init__(self):
        self.root = torch.nn.Module()
        self.graph = fx.Graph()
        self.grad_at_start = self.grad = torch.is_grad_enabled()
        self._sizes = {}
        self._read = []  # nodes of ints, by order of the symbols that questions define

    def symbol(self, name, source, hint, is_size):
        self._sizes[name] = self._placeholder(name, source)

    def fixed(self, name, value):
        self._sizes[name] = value

    def placeholder(self, name, source, tensor, sizes, is_open):
        return self._placeholder(name, source)

    def constant(self, name, source, tensor):
        return self._attribute(tensor, name)

    def call(self, op, name, callable_, args, kwargs, paths, types, place):
        values = super().call(op, name, callable_, args, kwargs, paths, types, place)
        if callable_ is _SET_GRAD:
            return values
        if op.rpartition(".")[2] in _IN_PARTS and values and len(paths[0]) == 1:
            self.graph.call_function(_checks["expect_length"], (values[0].args[0], len(values)))
        for value, (dtype, sizes, _, _) in zip(values, types):
            self.graph.call_function(_checks["expect"], (value, len(sizes), getattr(torch, dtype)))
        return values

    def ask(self, callable_, args, names, is_list, answer) -> None:
        """A question of the program: its answer is the value of the symbols of these names, or `answer` again."""
        args = tuple(self._argument(value) for value in args)
        name = getattr(callable_, "__name__", "call")
        of_tensor = getattr(torch.Tensor, name, None) is callable_
        kind, target, args = _spelling(f"Tensor.{name}" if of_tensor else name, callable_, args)
        node = self.graph.create_node(kind, target, args, {})
        if not names:
            known = answer if type(answer) in _SPELT else self._attribute(answer, "_answer")
            self.graph.call_function(_checks["expect_same"], (node, known))
        for i, symbol in enumerate(names):
            self._sizes[symbol] = self.graph.call_function(operator.getitem, (node, i)) if is_list else node
            self._read.append(self._sizes[symbol])

    def output(self, values):
        super().output((*values, *self._read))

    def compile_pieces(self, name, settings):
        """The compiled function. ``settings``: as _engine.CompiledFunction takes them, of the function that was captured."""
        self.graph.lint()
        forward = fx.GraphModule(self.root, self.graph).forward
        code = forward.__func__.__code__
        forward.__func__.__code__ = code.replace(co_name=f"{name.rpartition('.')[2]} (pieces)", co_qualname=f"{name} (pieces)")
        own = {key: value for key, value in settings.items() if key not in _DROPPED}
        return _engine.CompiledFunction(forward, {**own, "capture_data_sizes": False, "pieces": True})

    def _describe(self, node, dtype, sizes, strides, device):
        pass

    def _describe_number(self, node, function, values):
        pass
