"""Captured graphs as ``torch.fx.GraphModule``, for a backend of the user's own."""

import ast
import contextlib
import functools
import operator
import random

import torch
from torch import fx

from vitrine._explain import compile_reason

# What the code of a graph module can spell; any other constant becomes an attribute of the module.
_SPELT = (type(None), bool, int, float, complex, str, type(...), torch.dtype, torch.device, torch.memory_format, torch.layout)
_SET_GRAD = torch._C._set_grad_enabled
# Sizes are written in Python's syntax.
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    "min": torch.sym_min,
    "max": torch.sym_max,
}


class GraphBuilder:
    """Receives the captured program call by call. Values of the program are ``fx.Node``."""

    def __init__(self):
        from vitrine._fx_shapes import Shapes  # imports what only a backend needs

        self.root = torch.nn.Module()
        self.graph = fx.Graph()
        self.shapes = Shapes()
        self.grad_at_start = self.grad = torch.is_grad_enabled()
        self.examples = []
        self.reason, self.places = "", []
        self._inputs = []  # (node, whether its strides are open)
        self._sizes = {}  # text of an expression -> its value, an int or a node

    def symbol(self, name: str, source: str, hint: int, is_size: bool) -> None:
        """An int that may be another one in the next call."""
        value = self.shapes.add_symbol(name, hint, is_size)
        node = self._placeholder(name, source)
        node.meta["val"] = node.meta["example_value"] = value
        self.examples.append(value)
        self._sizes[name] = node

    def fixed(self, name: str, value: int) -> None:
        """A symbol that turned out to be the same in every call."""
        self._sizes[name] = self.shapes.ints[name] = value

    def placeholder(self, name: str, source: str, tensor, sizes, is_open: bool) -> fx.Node:
        """`sizes`: by dim the name of its symbol, or None. `is_open`: other calls may have other strides."""
        node = self._placeholder(name, source)
        node.meta["val"] = node.meta["example_value"] = self.shapes.fake(node.name, tensor, sizes)
        self.examples.append(tensor)
        self._inputs.append((node, is_open))
        return node

    def constant(self, name: str, source: str, tensor) -> fx.Node:
        node = self._attribute(tensor, name)
        self._describe(node, str(tensor.dtype).removeprefix("torch."), tensor.shape, tensor.stride(), tensor.device)
        return node

    def integer(self, expression: str):
        """The value of an expression over the symbols ("2*s0+1"), computed by nodes of the graph."""
        return self._integer(ast.parse(expression, mode="eval").body)

    def call(self, op: str, name: str, callable_, args, kwargs, paths, types, place) -> list[fx.Node]:
        """One torch call. ``paths`` says where the tensors are in what it returns, ``types`` what they are."""
        kwargs = {key: self._argument(value) for key, value in (kwargs or {}).items()}
        args = tuple(self._argument(value) for value in args)
        if callable_ is _SET_GRAD:
            self._set_grad(args[0])
        kind, target, args = _spelling(op, callable_, args)
        node = self.graph.create_node(kind, target, args, kwargs, name=name)
        if place[0]:
            node.meta["stack_trace"] = f'  File "{place[0]}", line {place[1]}'
        values = []
        for path, how in zip(paths, types):
            value = node
            for index in path:
                value = self.graph.create_node("call_function", operator.getitem, (value, index))
            self._describe(value, *how)
            values.append(value)
        return values

    def output(self, values) -> None:
        """The grad mode is as it was: the program's own is set behind the graph."""
        if self.grad != self.grad_at_start:
            self.graph.call_function(_SET_GRAD, (self.grad_at_start,))
        self.graph.output(tuple(values))

    def ends(self, reason: str, places: list[str]) -> None:
        """Why the graph ends: "" where the function does, else a break and its lines."""
        self.reason, self.places = reason, places

    def compile(self, backend):
        """Calls it as torch.compile does. Returns (callable, guards, strides): see _fx_shapes.Shapes.guards, and by open
        input its strides."""
        self.graph.lint()
        module = fx.GraphModule(self.root, self.graph)
        module.compile_subgraph_reason = compile_reason(self.reason, self.places)
        if any(isinstance(value, torch.SymInt) for value in self.examples):
            self._propagate(module)
        with _state_as_before(), torch._guards.tracing(self.shapes.tracing_context()):
            torch._C._set_grad_enabled(self.grad_at_start)
            compiled = backend(module, self.examples)
            guards = self.shapes.guards()
            strides = [self.shapes.strides(node.meta["val"]) if is_open else None for node, is_open in self._inputs]
        if not callable(compiled):
            raise TypeError(f"the backend {backend!r} returned {compiled!r}, which cannot be called")
        if self.grad_at_start and not torch.is_grad_enabled():
            compiled = functools.partial(_with_gradients, compiled)
        return compiled, guards, strides

    def _placeholder(self, name: str, source: str) -> fx.Node:
        node = self.graph.create_node("placeholder", name, name=name)
        node.target = node.name  # two inputs never share a name
        node.meta["source"] = source
        return node

    def _set_grad(self, on: bool) -> None:
        # A graph that begins where gradients are off, behind a break, and needs them later is one with gradients, in
        # which they are off at first. Else a backend would see no derivative to write.
        if on and not self.grad_at_start:
            self.grad_at_start = True
            first = next((node for node in self.graph.nodes if node.op != "placeholder"), None)
            with self.graph.inserting_before(first) if first else contextlib.nullcontext():
                self.graph.call_function(_SET_GRAD, (False,))
        self.grad = on

    def _integer(self, e):
        text = ast.unparse(e)
        if text not in self._sizes:
            match e:
                case ast.Constant():
                    self._sizes[text] = e.value
                case ast.UnaryOp():
                    self._sizes[text] = self._computed(type(e.op), e.operand)
                case ast.BinOp():
                    self._sizes[text] = self._computed(type(e.op), e.left, e.right)
                case ast.Call():
                    self._sizes[text] = self._computed(e.func.id, *e.args)
        return self._sizes[text]

    def _computed(self, operation, *operands):
        function, values = _ARITHMETIC[operation], tuple(map(self._integer, operands))
        if not any(isinstance(value, fx.Node) for value in values):
            return function(*values)
        node = self.graph.call_function(function, values)
        self._describe_number(node, function, values)
        return node

    def _describe_number(self, node: fx.Node, function, values) -> None:
        node.meta["val"] = node.meta["example_value"] = function(*(v.meta["val"] if isinstance(v, fx.Node) else v for v in values))

    def _attribute(self, value, name: str) -> fx.Node:
        base, count = name, 0
        while hasattr(self.root, name):
            count += 1
            name = f"{base}_{count}"
        if isinstance(value, torch.Tensor):
            self.root.register_buffer(name, value)
        else:
            setattr(self.root, name, value)
        return self.graph.create_node("get_attr", name)

    def _argument(self, value):
        if isinstance(value, fx.Node) or type(value) in _SPELT:
            return value
        if type(value) in (tuple, list, torch.Size):
            return (list if type(value) is list else tuple)(self._argument(item) for item in value)
        if type(value) is dict and all(type(key) is str for key in value):
            return {key: self._argument(item) for key, item in value.items()}
        if type(value) is slice:
            return slice(self._argument(value.start), self._argument(value.stop), self._argument(value.step))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._argument(item) for item in value))
        return self._attribute(value, "_constant")

    def _describe(self, node: fx.Node, dtype: str, sizes, strides, device) -> None:
        """Sets ``meta["val"]`` and ``meta["example_value"]``: a tensor of that type without memory."""
        with self.shapes.mode:
            value = torch.empty_strided(tuple(sizes), tuple(strides), dtype=getattr(torch, dtype), device=device)
        node.meta["val"] = node.meta["example_value"] = value

    def _propagate(self, module: fx.GraphModule) -> None:
        """Values with symbols in their sizes, where all calls can be made of fake tensors. Nothing is asked of the symbols."""
        mode = self.shapes.mode
        mode.cache_enabled = False  # what is remembered of a call were the guards that it asked for, too
        inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
        found = _Propagation(module, mode)
        with contextlib.suppress(Exception), _state_as_before(), mode, self.shapes.env.suppress_guards():
            torch._C._set_grad_enabled(self.grad_at_start)
            found.run(*inputs)
        mode.cache_enabled = True
        for node, value in found.values.items():
            node.meta["val"] = node.meta["example_value"] = value


class _Propagation(fx.Interpreter):
    def __init__(self, module, mode):
        super().__init__(module)
        self.mode, self.values = mode, {}

    def run_node(self, node):
        value = super().run_node(node)
        if node.op == "get_attr" and isinstance(value, torch.Tensor):
            value = self.mode.from_tensor(value, static_shapes=True)
        if node.op != "output" and isinstance(value, (torch.Tensor, torch.SymInt)):
            self.values[node] = value
        return value


def _with_gradients(compiled, *inputs):
    with torch.enable_grad():
        return compiled(*inputs)


@contextlib.contextmanager
def _state_as_before():
    """Undoes what the code of a backend leaves behind, as torch.compile does. It runs outside of inference mode."""
    grad, drawn = torch.is_grad_enabled(), random.getstate()
    casts = [(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in ("cpu", "cuda")]
    cached = torch.is_autocast_cache_enabled()
    inference = torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext()
    generators = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    try:
        with inference, torch.random.fork_rng(generators):
            torch._C._set_grad_enabled(grad)
            yield
    finally:
        for device, enabled, dtype in casts:
            torch.set_autocast_enabled(device, enabled)
            torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(cached)
        random.setstate(drawn)
        torch._C._set_grad_enabled(grad)


def _spelling(op: str, callable_, args):
    """How a call is written in a torch.fx graph: (kind of node, target, arguments)."""
    name = op.removeprefix("Tensor.")
    if name == op or not args:
        return "call_function", _named(callable_), args
    if callable(getattr(torch.Tensor, name, None)):
        is_ours = getattr(callable_, "__module__", "").startswith("vitrine.")  # register_hook, which gives the tensor
        return ("call_function", _named(callable_), args) if is_ours else ("call_method", name, args)
    return "call_function", getattr, (args[0], name)  # x.T


def _named(callable_):
    """The code of a graph module calls functions by their names."""
    if isinstance(callable_, torch._library.custom_ops.CustomOpDef):
        return callable_._opoverload
    if hasattr(callable_, "__name__"):
        return callable_

    def call(*args, **kwargs):
        return callable_(*args, **kwargs)

    return call
