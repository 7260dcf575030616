"""What builtin functions and classes take, as far as it can be asked of them, and whether a name still means its own."""

import inspect
import os
import sys
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


# Where wrappers come from that Python and PyTorch put around functions of their own.
_WRAPPERS = "contextlib.py", "functools.py", "typing_extensions.py", "warnings.py"


def _is_of_the_standard_library(file):
    below = file.removeprefix(os.path.dirname(os.__file__) + os.sep)
    return file.startswith("<frozen ") or (below != file and below.split(os.sep)[0] not in ("site-packages", "dist-packages", "unittest"))


def is_in_its_place(path, found):
    """Whether ``found``, read at ``path`` (``"torch.nn.Module.__call__"``), is what that package has put there, and no function
    or callable object that a program has put in its place (``mock.patch``, a wrapper of its own)."""
    called = found if isinstance(found, types.FunctionType) else None if isinstance(found, type) else getattr(type(found), "__call__", None)  # noqa: B004 (which function it is)
    if not isinstance(called, types.FunctionType):
        return True
    file = called.__code__.co_filename
    package = sys.modules.get(path.partition(".")[0])
    if getattr(package, "__path__", None) and file.startswith(os.path.dirname(package.__file__) + os.sep):
        return True
    return os.path.basename(file) in _WRAPPERS or _is_of_the_standard_library(file) or file.startswith("<__array_function__")
