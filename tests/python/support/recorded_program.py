"""Records torch code through `_engine.Lowering` and runs what comes out, for tests."""

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import _pytree as pytree
from vitrine import _engine


SEED = 42  # what the samples of PyTorch's operator list use themselves


class Unsupported(Exception):
    """A call that cannot become part of a graph."""


class _Calls(TorchFunctionMode):
    """Sends each torch function to the recording, as the interpreter of bytecode does."""

    def __init__(self, recorded):
        super().__init__()
        self.recorded = recorded

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.recorded.call(resolve_name(func) or getattr(func, "__name__", "?"), func, args, kwargs or {})


class Program:
    """fn(*args, **kwargs) recorded once, with fake tensors for the tensors inside the arguments."""

    def __init__(self, fn, args=(), kwargs=None, each_call=True, as_if=None, architecture="", joints=()):
        assert _engine.bridge_init()["ready"]
        self.lowering = _engine.Lowering(as_if, architecture) if as_if else _engine.Lowering()
        self.inputs = []
        tree = pytree.tree_map_only(torch.Tensor, self._input, (tuple(args), kwargs or {}))
        if each_call:
            with _Calls(self):
                out = fn(*tree[0], **tree[1])
        else:
            out = self.call(getattr(fn, "__name__", "fn"), fn, *tree)
        leaves, self.out_spec = pytree.tree_flatten(out)
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self.constants_out = [None if t else leaf for leaf, t in zip(leaves, self.is_tensor)]
        self.results = [leaf for leaf, t in zip(leaves, self.is_tensor) if t]
        self.effects = self.lowering.effects()
        self.joints = {who: self.lowering.joint(self.results, who) for who in joints}
        self.recorded = self.lowering.finish(self.results)

    def _input(self, tensor):
        fake_tensor = self.lowering.input(tensor, "placeholder", f"L['x{len(self.inputs)}']")
        if all(fake_tensor is not known for _, known in self.inputs):
            self.inputs.append((tensor, fake_tensor))
        return fake_tensor

    def call(self, name, func, args, kwargs):
        out = self.lowering.call(name, func, tuple(args), kwargs or None)
        if len(out) == 3:
            raise Unsupported(*out)
        return out[0]

    def _rebuild(self, tensors):
        tensors = iter(tensors)
        leaves = [next(tensors) if t else c for t, c in zip(self.is_tensor, self.constants_out)]
        return pytree.tree_unflatten(leaves, self.out_spec)

    def replay(self, inputs=None):
        return self._rebuild(self.recorded.replay(inputs or [real for real, _ in self.inputs]))

    def run_aten(self, inputs=None):
        inputs = inputs or [real for real, _ in self.inputs]
        return self._rebuild(run_aten(self.recorded.aten(), inputs + self.recorded.constants()))


def kind_of(tensor):
    """What a fake tensor promises about a tensor."""
    if tensor is None:  # an undefined tensor takes an output's place
        return ("float32", (0,), (1,), 0)
    return (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def _value(arg, env):
    if isinstance(arg, list):
        return [_value(a, env) for a in arg]
    if not isinstance(arg, tuple):
        return arg
    if arg[0] == "ref":
        return env[arg[1:]]
    if arg[0] == "dtype":
        return getattr(torch, arg[1])
    return getattr(torch, arg[1].removeprefix("torch.")) if arg[1].startswith("torch.") else torch.device(arg[1])


def run_aten(graph, inputs):
    """Every node through PyTorch, in order; each output must be of the recorded type."""
    env = {}
    inputs = iter(inputs)
    for node in graph["nodes"]:
        if node["kind"] != "op":
            env[node["id"], 0] = next(inputs)
            continue
        overload = torch.ops
        for part in node["op"].split("."):
            overload = getattr(overload, part)
        out = overload(*_value(node["args"], env), **{k: _value(v, env) for k, v in node["kwargs"].items()})
        leaves = pytree.tree_leaves(out) if overload._schema.returns else []
        outputs = [o for o in leaves if isinstance(o, torch.Tensor) or o is None]
        assert [kind_of(o) for o in outputs] == node["types"], f"{node['op']}: {node}"
        for i, tensor in enumerate(outputs):
            env[node["id"], i] = tensor
    return [_value(r, env) for r in graph["results"]]


def same(a, b, tolerance=0):
    """Same structure, types, strides and (without a tolerance) bits."""
    a_leaves, a_spec = pytree.tree_flatten(a)
    b_leaves, b_spec = pytree.tree_flatten(b)
    assert a_spec == b_spec, (a_spec, b_spec)
    for x, y in zip(a_leaves, b_leaves):
        if isinstance(x, torch.Tensor):
            assert kind_of(x) == kind_of(y), (kind_of(x), kind_of(y))
            torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            assert x == y or (x != x and y != y)


def copies(tree):
    """The same tensors on copied memory: offsets, strides and sharing stay."""
    storages, made = {}, {}

    def copy(t):
        key = t.untyped_storage()._cdata
        if key not in storages:
            storages[key] = t.untyped_storage().clone()
        if t not in made:
            new = torch.empty(0, dtype=t.dtype).set_(storages[key], t.storage_offset(), t.shape, t.stride())
            made[t] = new
        return made[t]

    return pytree.tree_map_only(torch.Tensor, copy, tree)


def tensors_of(tree):
    return list(dict.fromkeys(leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)))


def check(fn, args=(), kwargs=None, each_call=True, tolerance=0):
    """Records fn; the fake tensors' types, the replay and the ATen graph must agree with eager."""
    tree = (tuple(args), kwargs or {})
    with torch.no_grad():
        program = Program(fn, args, kwargs, each_call)
        torch.manual_seed(SEED)
        args_now = copies(tree)
        expected = fn(*args_now[0], **args_now[1])
        tensors = [leaf for leaf in pytree.tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
        assert [kind_of(t) for t in program.results] == [kind_of(t) for t in tensors]
        for run in (program.replay, program.run_aten):
            torch.manual_seed(SEED)
            inputs = tensors_of(copies(tree))
            same(run(inputs), expected, tolerance)
            same(inputs, tensors_of(args_now), tolerance)
    return program
