"""``vitrine.graph``: the graph of a stage of the compilation, as a ``torch.fx.GraphModule`` that takes what the model takes."""

import contextlib
import gc
import inspect
import keyword
import re

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from vitrine import _engine

# Those of the session that are graphs of operators. The halves of a training step go through the later ones each.
STAGES = ("captured", "aten", "joint", "forward", "backward", "decomposed", "optimised", "backward.decomposed", "backward.optimised")
# What the code of a module of torch.fx can spell.
_SPELT = (type(None), bool, int, float, complex, str, torch.dtype, torch.device)
DERIVED = ("joint", "forward", "backward", "backward.decomposed", "backward.optimised")


class Call:
    """One call of the model: what it was given, leaf by leaf, and what it gave."""

    def __init__(self, model, args, kwargs):
        self.model = model
        with_paths, self.spec = pytree.tree_flatten_with_path((args, kwargs))
        # Capture takes one tensor that is given twice for one input; the graph shall take two.
        self.leaves = _each_its_own([leaf for _, leaf in with_paths])
        self.args, self.kwargs = pytree.tree_unflatten(self.leaves, self.spec)
        by_place = _parameter_names(model, len(args))
        self.names = _leaf_names(by_place, [path for path, _ in with_paths])
        self.parameters = [*by_place, *kwargs]
        self.is_flat = not kwargs and all(len(path) == 2 for path, _ in with_paths)
        module = model if isinstance(model, torch.nn.Module) else getattr(model, "__self__", None)
        self.attributes = _attributes(module) if isinstance(module, torch.nn.Module) else {}

    def place_of(self, tensor) -> int | None:
        return next((i for i, leaf in enumerate(self.leaves) if leaf is tensor), None)


def _each_its_own(leaves: list) -> list:
    seen, out = set(), []
    for leaf in leaves:
        again = isinstance(leaf, torch.Tensor) and id(leaf) in seen
        out.append(leaf.detach().clone().requires_grad_(leaf.requires_grad) if again else leaf)
        seen.add(id(leaf))
    return out


def _attributes(module: torch.nn.Module) -> dict[int, str]:
    """By identity of a parameter or buffer: its name."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {id(value): name for name, value in reversed(named)}


def _parameter_names(model, count: int) -> list[str]:
    """What the first `count` positional arguments are called."""
    function = model.forward if isinstance(model, torch.nn.Module) else model
    names, rest = [], "args"
    with contextlib.suppress(TypeError, ValueError):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = name
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(name)
    return [names[i] if i < len(names) else f"{rest}_{i - len(names)}" for i in range(count)]


def _leaf_names(by_place: list[str], paths) -> list[str]:
    """A name for each leaf: the parameter's that it is given for, and where in that it is."""
    names = []
    for which, at, *inner in paths:
        name = str(at.key) if which.idx == 1 else by_place[at.idx]
        name = re.sub(r"\W+", "_", "_".join([name, *(str(key).strip("[].'") for key in inner)]))
        name = f"{name}_" if keyword.iskeyword(name) or not name.isidentifier() else name
        while name in names:
            name += "_"
        names.append(name)
    return names


class Structure:
    """How what the model returned is made of what its graph returned and of what it was given; unknown where something in it
    came from elsewhere."""

    def __init__(self, result, results: list, call: Call):
        leaves, self.spec = pytree.tree_flatten(result)
        self.is_plain = _is_plain(result)
        places = {id(value): i for i, value in reversed(list(enumerate(results)))}
        self.count, self.known, self.leaves = len(results), True, []
        for leaf in leaves:
            if id(leaf) in places:
                self.leaves.append(("result", places[id(leaf)]))
            elif isinstance(leaf, torch.Tensor):
                place = call.place_of(leaf)
                self.leaves.append(("input", place))
                self.known = self.known and place is not None
            else:
                self.leaves.append(("value", leaf))
                self.known = self.known and type(leaf) in _SPELT

    def of(self, results, inputs) -> list:
        by_kind = {"result": results, "input": inputs}
        return [by_kind[kind][what] if kind in by_kind else what for kind, what in self.leaves]


def bind(graph: fx.Graph, tensors: list, call: Call, structure: Structure | None, name: str, root: dict) -> fx.GraphModule:
    """The graph as a module that takes what the model took. tensors: what each of its inputs was in the call, None for one that
    the call has nothing for (a gradient, a saved value): these stay inputs, behind the model's own. root: attributes that the
    graph has."""
    out, inputs = fx.Graph(), list(graph.find_nodes(op="placeholder"))
    outer = [out.placeholder(leaf) for leaf in call.names]
    by: dict[fx.Node, fx.Node] = {}
    for node, tensor in zip(inputs, tensors):
        place = None if tensor is None else call.place_of(tensor)
        if tensor is None:
            by[node] = out.placeholder(node.name)
        elif place is not None:
            by[node] = outer[place]
    for node, tensor in zip(inputs, tensors):
        if node not in by:
            by[node] = out.create_node("get_attr", _attribute(root, tensor, node, call))
        by[node].meta.update(node.meta)
    for node in graph.nodes:
        if node.op == "output":
            results = fx.map_arg(node.args[0], by.__getitem__)
        elif node not in by:
            by[node] = out.node_copy(node, by.__getitem__)
    whole = structure and structure.known and structure.count == len(results) and None not in tensors
    spec = structure.spec if whole else None
    flat = structure.of(results, outer) if whole else results
    if not whole or (call.is_flat and structure.is_plain):
        out.output(pytree.tree_unflatten(flat, spec) if whole else flat)
    else:
        out.output(flat)
        out.set_codegen(fx.graph._PyTreeCodeGen(fx.graph._PyTreeInfo(call.parameters, call.spec, spec)))
    return fx.GraphModule(root, out, class_name=name)


def _is_plain(result) -> bool:
    """Whether a graph can return it as it is: nothing but tuples, lists and dicts around what is in it."""
    if type(result) is dict:
        return all(map(_is_plain, result.values()))
    if type(result) in (tuple, list):
        return all(map(_is_plain, result))
    return pytree.tree_structure(result) == pytree.tree_structure(0)


def _attribute(root: dict, tensor, node: fx.Node, call: Call) -> str:
    """The name under which the module has a tensor that the call was not given."""
    name = call.attributes.get(id(tensor)) or re.sub(r"\W+", "_", node.name)
    while name in root and root[name] is not tensor:
        name += "_"
    root[name] = tensor
    return name


@contextlib.contextmanager
def _state_as_before(model):
    """The call is made twice: buffers and random generators are put back in between."""
    buffers = list(model.buffers()) if isinstance(model, torch.nn.Module) else []
    kept = [(buffer, buffer.detach().clone()) for buffer in buffers]
    devices = sorted({b.device.index for b in buffers if b.is_cuda} | ({torch.cuda.current_device()} if torch.cuda.is_initialized() else set()))
    with torch.random.fork_rng(devices):
        yield
    with torch.no_grad():
        for buffer, value in kept:
            if not torch.equal(buffer, value) or buffer.isnan().any():
                buffer.copy_(value)


def captured(call: Call, asked_by: str = "vitrine.graph"):
    """(graph, tensors that it was called with, structure of the result). Raises GraphBreakError where there are several graphs."""
    from vitrine._api import _explained

    seen = []

    def keep(module, inputs):
        def run(*given):
            results = module.forward(*given)
            seen.append((module, inputs, list(results)))
            return results

        return run

    explained = _explained(call.model, call.args, call.kwargs, backend=keep, dynamic=False, fullgraph=True)
    if not seen:
        raise ValueError(f"{asked_by}: the call computes nothing with tensors, so it has no graph")
    module, inputs, results = seen[-1]
    _describe_anew(module.graph)
    return module, inputs, Structure(explained.result, results, call)


def _describe_anew(graph: fx.Graph) -> None:
    """A backend's fake tensors watch the real ones that they were made of, which the user has still to use."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    for node in graph.nodes:
        value = node.meta.pop("example_value", node.meta.pop("val", None))
        if isinstance(value, torch.Tensor):
            with mode:
                node.meta["val"] = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    gc.collect()  # what watches them is part of circles, and capture heeds whoever watches


def compiled(call: Call, stage: str):
    """(facts of the stage's graph, tensors by source) of one call that is compiled."""
    from vitrine._api import _explained

    stages, tensors, half = {}, {}, ""

    def see(facts):
        nonlocal half
        half = "backward." if facts["stage"] == "backward" else "" if facts["stage"] in ("aten", "joint", "forward") else half
        stages.setdefault(facts["stage"] if facts["stage"] == "backward" else half + facts["stage"], facts)

    def see_inputs(plan, text, compilation, place, inputs):
        if not place.endswith(", backward"):
            from vitrine._tools.numerics import graph_text

            tensors.update((node.name, value) for node, value in zip(graph_text.read(text).inputs, inputs))

    _engine.observe_stages(see)
    _engine.observe_plans(see_inputs)
    try:
        explained = _explained(call.model, call.args, call.kwargs, dynamic=False, fullgraph=True)
        if stage.startswith("backward"):
            _go_back(explained.result, call)
    finally:
        _engine.observe_stages(None)
        _engine.observe_plans(None)
    if stage not in stages:
        why = "; ".join(explained.gradients + explained.messages)
        missing = "nothing in the call needs a gradient" if stage in DERIVED else "its graph is not compiled"
        raise ValueError(f"vitrine.graph: the call has no graph of the stage {stage}: {why or missing}")
    return stages[stage], tensors


def _go_back(result, call: Call) -> None:
    """Has the backward half compiled. No gradient is left anywhere."""
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    parameters = list(call.model.parameters()) if isinstance(call.model, torch.nn.Module) else []
    wanted = [t for t in (*parameters, *call.leaves) if isinstance(t, torch.Tensor) and t.requires_grad]
    if leaves and wanted:
        torch.autograd.grad(leaves, wanted, [torch.ones_like(leaf) for leaf in leaves], allow_unused=True)


def graph(model, *inputs, stage: str = "aten", **kwargs) -> fx.GraphModule:
    """The graph of a stage of the compilation, as a ``torch.fx.GraphModule``.

    ``vitrine.graph(model, x)`` calls the model, which has to be one graph, and gives its ATen graph. The module takes what
    the model takes and returns what it returns; parameters and buffers are the model's own. It can be printed
    (``print_tabular()``, ``.code``), run, changed, and compiled again by :func:`compile`.

    Args:
        model: a function or module; also what :func:`compile` has made of one.
        inputs, kwargs: what it is called with.
        stage: ``"captured"`` (torch-level calls), ``"aten"``, ``"decomposed"``, ``"optimised"``; of a call that is
            differentiated also ``"joint"``, ``"forward"`` and ``"backward"``, and ``"backward.decomposed"`` and
            ``"backward.optimised"``. Then ``"decomposed"`` and ``"optimised"`` are those of the forward half. Gradients of results
            and saved values are inputs of their own, and results are a tuple.

    The call is made once for the structure of its result and once compiled; buffers and random generators are as after one call.
    """
    if stage not in STAGES:
        raise ValueError(f"vitrine.graph: no stage of graphs is called {stage!r}; there are {', '.join(STAGES)}")
    from vitrine._api import _innermost, original

    target = _innermost(original(model))
    if not callable(target):
        raise TypeError(f"vitrine.graph takes a function or a module, not {model!r}")
    call = Call(target, inputs, kwargs)
    name = "".join(word.title() for word in stage.split(".")) + "Graph"
    if stage == "captured":
        module, tensors, structure = captured(call)
        root = {node.target: getattr(module, node.target) for node in module.graph.find_nodes(op="get_attr")}
        return bind(module.graph, tensors, call, structure, name, root)
    with _state_as_before(target):
        _, _, structure = captured(call)
    from vitrine._graphs.to_fx import Built

    facts, tensors = compiled(call, stage)
    built = Built(facts)
    found = [tensors.get(node.meta["vitrine"]["name"]) for node in built.inputs]
    return bind(built.graph, found, call, None if stage in DERIVED else structure, name, {})
