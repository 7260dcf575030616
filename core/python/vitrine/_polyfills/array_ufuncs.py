"""NumPy's ufuncs over the tensors of arrays: by name, what computes it and whether NumPy may warn of what the elements are."""

import torch

from vitrine._polyfills.array_making import as_array, made_of
from vitrine._polyfills.array_types import loop_types, numpy_type, plain
from vitrine._polyfills.array_words import is_array, refuse


def told(result, operands):
    """The result; the graph fails where NumPy warns of it: what is not finite comes from what was not."""
    if not (result.is_floating_point() or result.is_complex()):
        return result
    fine = torch.isfinite(result)
    for operand in operands:
        if operand.is_floating_point() or operand.is_complex():
            fine = fine | torch.isnan(operand) | (torch.isinf(operand) & torch.isinf(result))
    torch._assert_async(fine.all())
    return result


def _listed(value):
    return as_array(value) if isinstance(value, (list, tuple)) else value


def apply(name, function, warns, operands):
    kinds = []
    for o in operands:
        if is_array(o):
            kinds.append(numpy_type(o.tensor.dtype))
        elif isinstance(o, (list, tuple)):
            return apply(name, function, warns, [each if is_array(each) else _listed(each) for each in operands])
        elif isinstance(o, torch.Tensor):
            refuse("a tensor and an array are operands of one operator")
        else:
            kinds.append(o)
    types = loop_types(name, tuple(kinds))
    if types is None:
        refuse("numpy." + name + " of such operands")
    given = []
    for o, dtype in zip(operands, types):
        given.append(o.tensor.to(dtype) if is_array(o) else torch.full((), plain(o), dtype=dtype))
    result = function(*given).to(types[len(operands)])
    return made_of(told(result, given) if warns else result)


def _divide_integers(function):
    def divided(a, b):
        if not (b.is_floating_point() or b.is_complex()):
            torch._assert_async((b != 0).all())
        return function(a, b)

    return divided


def _square(a):
    return a * a


def _power(a, b):
    if not (a.is_floating_point() or a.is_complex()):
        torch._assert_async((b >= 0).all())
    return torch.pow(a, b)


# By ufunc: what computes it, and whether NumPy may warn of what the elements are.
UFUNCS = {
    "add": (torch.add, True),
    "subtract": (torch.sub, True),
    "multiply": (torch.mul, True),
    "divide": (torch.true_divide, True),
    "floor_divide": (_divide_integers(torch.floor_divide), True),
    "remainder": (_divide_integers(torch.remainder), True),
    "power": (_power, True),
    "negative": (torch.neg, False),
    "absolute": (torch.abs, False),
    "exp": (torch.exp, True),
    "exp2": (torch.exp2, True),
    "expm1": (torch.expm1, True),
    "log": (torch.log, True),
    "log2": (torch.log2, True),
    "log10": (torch.log10, True),
    "log1p": (torch.log1p, True),
    "sqrt": (torch.sqrt, True),
    "square": (_square, True),
    "reciprocal": (torch.reciprocal, True),
    "sin": (torch.sin, True),
    "cos": (torch.cos, True),
    "tan": (torch.tan, True),
    "arcsin": (torch.asin, True),
    "arccos": (torch.acos, True),
    "arctan": (torch.atan, False),
    "arctan2": (torch.atan2, False),
    "hypot": (torch.hypot, True),
    "sinh": (torch.sinh, True),
    "cosh": (torch.cosh, True),
    "tanh": (torch.tanh, False),
    "maximum": (torch.maximum, False),
    "minimum": (torch.minimum, False),
    "equal": (torch.eq, False),
    "not_equal": (torch.ne, False),
    "less": (torch.lt, False),
    "less_equal": (torch.le, False),
    "greater": (torch.gt, False),
    "greater_equal": (torch.ge, False),
    "logical_and": (torch.logical_and, False),
    "logical_or": (torch.logical_or, False),
    "logical_xor": (torch.logical_xor, False),
    "logical_not": (torch.logical_not, False),
    "bitwise_and": (torch.bitwise_and, False),
    "bitwise_or": (torch.bitwise_or, False),
    "bitwise_xor": (torch.bitwise_xor, False),
    "invert": (torch.bitwise_not, False),
    "isnan": (torch.isnan, False),
    "isinf": (torch.isinf, False),
    "isfinite": (torch.isfinite, False),
    "floor": (torch.floor, False),
    "ceil": (torch.ceil, False),
    "trunc": (torch.trunc, False),
    "rint": (torch.round, False),
}


def made_ufunc(name):
    function, warns = UFUNCS[name]

    def ufunc(*operands):
        return apply(name, function, warns, operands)

    return ufunc
