"""Copies of a program with what it changes, so that eager's run and the compiled one begin alike.

To copy.deepcopy functions are constants; a training step, though, has its model and its optimizer in its closure or in the
globals of its file.
"""

import copy
import types

import torch

# What is copied of a file's globals, where a function names it; so are objects of the file's own classes.
_STATE = (torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.Tensor, dict, list, set)


def apart(values):
    """A deep copy of a tuple in which functions have closures and globals of their own. Raises what copy.deepcopy raises."""
    memo, files = {}, {}
    return tuple(_copied(value, memo, files) for value in values)


def _copied(value, memo, files):
    return _function(value, memo, files) if type(value) is types.FunctionType else copy.deepcopy(value, memo)


def _function(function, memo, files):
    """The function itself where nothing that it names is copied."""
    if id(function) in memo:
        return memo[id(function)]
    memo[id(function)] = function  # while it is copied, for those that call it as it calls them
    names = files.setdefault(id(function.__globals__), dict(function.__globals__))
    found = False
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        helper = type(value) is types.FunctionType and value.__globals__ is function.__globals__
        own = type(value).__module__ == function.__module__
        if helper or own or isinstance(value, _STATE):
            names[name] = _copied(value, memo, files)
            found = found or names[name] is not value
    closure = function.__closure__ and tuple(_cell(cell, memo, files) for cell in function.__closure__)
    if not found and not closure:
        return function
    made = types.FunctionType(function.__code__, names, function.__name__, copy.deepcopy(function.__defaults__, memo), closure)
    made.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__, memo)
    made.__dict__.update(function.__dict__)
    memo[id(function)] = made
    return made


def _cell(cell, memo, files):
    try:
        return types.CellType(_copied(cell.cell_contents, memo, files))
    except ValueError:  # it is empty
        return cell


def _names(code):
    """Of globals that the code, or that of functions made in it, may read."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names(each)
