"""What a program can see of tensors besides their values, as texts that can be compared between two runs."""

import torch

NAMES = ("dtype", "device", "layout", "requires_grad", "is_leaf", "retains_grad", "output_nr", "grad_fn", "_backward_hooks")
ASKED = ("size", "stride", "storage_offset", "is_inference", "is_conj", "is_neg", "_is_view", "_is_zerotensor")


def tensors_in(value):
    """The tensors in a nest, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)


def texts_of(warned):
    """What was warned of, without what is said of this machine: that it has no kernel compiler."""
    return [text for w in warned if "the kernel compiler, is missing" not in (text := str(w.message))]


def form(value):
    """The nest without its tensors: types of containers, and everything else as text."""
    if isinstance(value, torch.Tensor):
        return type(value).__name__
    if isinstance(value, dict):
        return type(value).__name__, [(key, form(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return f"{type(value).__module__}.{type(value).__qualname__}", [form(item) for item in value]
    return type(value).__name__, str(value)


def asked(tensor, name):
    """The attribute as text, or the error that asking for it raises."""
    try:
        value = getattr(tensor, name)
        value = value() if name in ASKED else value
    except RuntimeError as error:
        return str(error)
    return value.name() if name == "grad_fn" and value is not None else str(value)


def names_of(tensor, others):
    return [name for name, other in others.items() if other is tensor]


def memory_of(tensor, others):
    """Which of the others lie in the same storage."""
    place = tensor.untyped_storage()._cdata
    return [name for name, other in others.items() if other.untyped_storage()._cdata == place]


def facts(tensor, others, with_base=True):
    """By name. others: the tensors of the same run, by name."""
    found = {name: asked(tensor, name) for name in (*NAMES, *ASKED)}
    found["version"] = None if tensor.is_inference() else tensor._version
    if found["is_leaf"] == "True" and tensor.grad is not None:
        found["grad"] = names_of(tensor.grad, others) or "a tensor"
    found["type of shape"] = type(tensor.shape).__name__
    found["is"] = names_of(tensor, others)
    found["in the memory of"] = memory_of(tensor, others)
    found["storage's bytes"] = tensor.untyped_storage().nbytes()
    found["can be resized"] = tensor.untyped_storage().resizable()
    found["attributes"] = sorted(vars(tensor))
    if tensor._is_view() and found["requires_grad"] == "True":
        found["made as a view"] = str(torch._C._autograd._get_creation_meta(tensor))
    if with_base:
        base = facts(tensor._base, others, with_base=False) if tensor._base is not None else {}
        found["base"] = {name: value for name, value in base.items()}
    return found


def differences(expected, found):
    """Of two lists of named tensors: texts."""
    out = []
    for name in expected:
        one, other = facts(expected[name], expected), facts(found[name], found)
        bases = one.pop("base"), other.pop("base")
        if bool(bases[0]) != bool(bases[1]):
            out.append(f"{name}: {'a view' if bases[0] else 'no view'} against {'a view' if bases[1] else 'no view'}")
        else:
            one.update({f"base's {key}": value for key, value in bases[0].items()})
            other.update({f"base's {key}": value for key, value in bases[1].items()})
        out += [f"{name}: {key}: {one[key]} against {other.get(key)}" for key in one if one[key] != other.get(key)]
    return out
