"""Exceptions."""

import torch
from tests.python.programs.registry import mat, program, vec


@program(vec())
def raises_value_error(x):
    y = x + 1
    raise ValueError(f"bad shape {tuple(y.shape)}")


@program(vec(), mat(3, 4))
def shape_mismatch(x, y):
    print("before")
    return x + y


@program(vec())
def catches_shape_error(x):
    try:
        x @ torch.ones(9, 9)
    except RuntimeError as error:
        return x * 2, type(error).__name__
    finally:
        x = x + 100
    return x


@program(vec())
def finally_order(x):
    order = []
    try:
        order.append("try")
        y = x + 1
        if y.sum() > -1000:
            raise KeyError("k")
    except KeyError as e:
        order.append(str(e))
    finally:
        order.append("finally")
    return y, order


@program(vec())
def assert_fails(x):
    assert x.shape[0] == 7, "need seven"
    return x


@program(vec())
def index_out_of_range(x):
    return x[17]


@program(vec())
def exception_after_mutation(x):
    x.add_(5)
    return x[100]


@program(vec())
def attribute_error(x):
    return x.no_such_attribute


@program(vec())
def raise_in_callee(x):
    def inner(t):
        if t.sum() > -100:
            raise ArithmeticError("inner")
        return t

    try:
        return inner(x * 2)
    except ArithmeticError:
        return x - 1


@program(vec())
def zero_division(x):
    return x * (1 // (x.shape[0] - 6))


@program(vec())
def unbound_local(x):
    if x.shape[0] > 100:
        y = 1
    return x + y
