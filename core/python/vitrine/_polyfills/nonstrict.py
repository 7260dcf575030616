"""Calls of what torch._dynamo.nonstrict_trace marks. It is given and gives trees of torch.utils._pytree; a graph has the
leaves. Capture reads flattened() and unflattened(), and calls what flat_call() makes."""

import contextlib
import functools

import torch
import torch.utils._pytree as pytree
from torch.nn.utils.stateless import _reparametrize_module


def _parts(spec, objects):
    """A tree's structure as tuples. A context that is an object of the program, of register_constant, goes to objects."""
    context, is_constant = spec._context, isinstance(spec._context, pytree.ConstantNode)
    if is_constant:
        objects.append(context.value)
        context = len(objects) - 1
    return spec.type, is_constant, context, tuple([_parts(child, objects) for child in spec._children])


def flattened(args, kwargs):
    """(leaves, the structure's parts, objects of the program). A module is an object, and its tensors are leaves."""
    given, spec = pytree.tree_flatten((args, kwargs))
    leaves, objects, places = [], [], []
    for leaf in given:
        if isinstance(leaf, torch.nn.Module):
            tensors = {**dict(leaf.named_parameters()), **dict(leaf.named_buffers())}
            _ = [each.training for each in leaf.modules()]  # guarded by being read
            places.append((len(objects), tuple(tensors)))
            objects.append(leaf)
            leaves.extend(tensors.values())
        else:
            places.append(None)
            leaves.append(leaf)
    return leaves, (_parts(spec, objects), tuple(places)), objects


def unflattened(leaves, spec):
    return pytree.tree_unflatten(leaves, spec)


def _spec(parts, objects):
    kind, is_constant, context, children = parts
    if kind is None:
        return pytree.tree_structure(0)
    return pytree.TreeSpec(kind, pytree.ConstantNode(objects[context]) if is_constant else context, [_spec(child, objects) for child in children])


def flat_call(function, parts, objects):
    """A function of leaves that gives leaves. `result` of it has the structure of what the last call gave."""
    structure, places = parts
    spec = _spec(structure, objects)

    @functools.wraps(function, updated=())
    def call(*leaves):
        rest, given = iter(leaves), []
        with contextlib.ExitStack() as stack:
            for place in places:
                if place is None:
                    given.append(next(rest))
                    continue
                module, names = objects[place[0]], place[1]
                stack.enter_context(_reparametrize_module(module, {name: next(rest) for name in names}, tie_weights=True))
                given.append(module)
            args, kwargs = pytree.tree_unflatten(given, spec)
            found, call.result = pytree.tree_flatten(function(*args, **kwargs))
        return found

    call.runs_program = True
    return call
