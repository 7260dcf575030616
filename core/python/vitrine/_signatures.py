"""What builtin functions and classes take, as far as it can be asked of them."""

import inspect
import types

# Builtin classes, which tell no signature: how many positional arguments at most, and which keywords (None: any).
_CLASSES = {
    list: (1, ()),
    tuple: (1, ()),
    set: (1, ()),
    frozenset: (1, ()),
    bool: (1, ()),
    float: (1, ()),
    dict: (1, None),
    reversed: (1, ()),
    slice: (3, ()),
    range: (3, ()),
    dict.update: (2, None),
}
_NATIVE = types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType


def accepted_by(function):
    """(positional arguments at most, names of keywords) of a function written in C; None stands for any."""
    known = _CLASSES.get(function) if isinstance(function, (type, types.MethodDescriptorType)) else None
    if known or not isinstance(function, _NATIVE):
        return known or (None, None)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None, None
    kinds = [p.kind for p in parameters]
    positional = sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
    names = tuple(p.name for p in parameters if p.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY))
    return (
        None if inspect.Parameter.VAR_POSITIONAL in kinds else positional,
        None if inspect.Parameter.VAR_KEYWORD in kinds else names,
    )
