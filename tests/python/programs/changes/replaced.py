"""What a program calls, imports and names with something else in its place: before the first call, after it, put back, and
again. What stands in for PyTorch's own functions prints, so that it must run at each call."""

import builtins
import functools
import operator
import sys
import types

import torch
import torch.nn.functional as F
from tests.python.programs.registry import scenario
from torch import nn

linear, norm = nn.Linear(3, 3), nn.LayerNorm(3)
for p in linear.parameters():
    p.data.fill_(0.5)


def plus_one(old):
    @functools.wraps(old)
    def new(*args, **kwargs):
        print("new")
        return old(*args, **kwargs) + 1

    return new


def length(old):
    return lambda x: 1


USES = {
    "operator": (torch.Tensor, "__mul__", plus_one, lambda x: x * 2),
    "reflected": (torch.Tensor, "__rsub__", plus_one, lambda x: 1 - x),
    "unary": (torch.Tensor, "__neg__", plus_one, lambda x: -x),
    "comparison": (torch.Tensor, "__lt__", plus_one, lambda x: x < 1),
    "len": (torch.Tensor, "__len__", length, lambda x: (len(x), x + 1)),
    "of_parameter": (nn.Parameter, "__mul__", plus_one, lambda x: linear.weight * x),
    "method": (torch.Tensor, "relu", plus_one, lambda x: x.relu()),
    "size": (torch.Tensor, "size", lambda old: lambda x, d=None: torch.Size([7]), lambda x: (x.size(), x + 1)),
    "property": (torch.Tensor, "T", lambda old: property(lambda x: x.t() + 1), lambda x: x.T),
    "function": (torch, "relu", plus_one, lambda x: torch.relu(x)),
    "inside": (torch, "relu", plus_one, lambda x: F.relu(x)),
    "inside_of_inside": (torch, "layer_norm", plus_one, lambda x: norm(x)),
    "method_inside": (torch.Tensor, "softmax", plus_one, lambda x: F.softmax(x, -1)),
    "wrapped": (F, "relu", plus_one, lambda x: F.relu(x)),
    "call_of_modules": (nn.Module, "_call_impl", plus_one, lambda x: linear(x)),
}


def scenario_of(owner, name, make, use):
    def run(compile):
        f = compile(use)
        x = torch.arange(6.0).reshape(2, 3) - 2
        out = [f(x)]
        had = name in vars(owner)
        old = getattr(owner, name)
        for _ in range(2):
            setattr(owner, name, make(old))
            try:
                out += [f(x), f(x)]
            finally:
                if had:
                    setattr(owner, name, old)
                else:
                    delattr(owner, name)
            out.append(f(x))
        return out

    return run


for title, row in USES.items():
    made = scenario_of(*row)
    made.__name__ = f"replaced_{title}"
    scenario(made)


@scenario
def a_global_that_comes_and_goes(compile):
    @compile
    def f(x):
        try:
            return x + COMES_LATER
        except NameError:
            return x - 1

    x = torch.ones(2)
    seen = [f(x)]
    globals()["COMES_LATER"] = 5
    seen.append(f(x))
    del globals()["COMES_LATER"]
    seen.append(f(x))
    builtins.COMES_LATER = 6
    seen.append(f(x))
    del builtins.COMES_LATER
    return seen + [f(x)]


@scenario
def an_imported_module_is_replaced(compile):
    @compile
    def f(x):
        import replaced_package.part
        from replaced_package import part

        return x + part.k, x * replaced_package.k

    x = torch.ones(2)
    seen = []
    try:
        for k in (1, 2, 3):
            package, part = types.ModuleType("replaced_package"), types.ModuleType("replaced_package.part")
            package.k, part.k = k, 10 * k
            sys.modules["replaced_package.part"] = part
            seen.append(f(x)) if k == 2 else None  # one of them alone
            package.part = part
            sys.modules["replaced_package"] = package
            seen.append(f(x))
    finally:
        del sys.modules["replaced_package"], sys.modules["replaced_package.part"]
    return seen


@scenario
def functions_of_operator_are_replaced(compile):
    @compile
    def f(x):
        return x * 2 + operator.add(1, 2)

    x = torch.ones(2)
    seen = [f(x)]
    add = operator.add
    try:
        operator.add = lambda a, b: 70
        seen.append(f(x))
    finally:
        operator.add = add
    return seen + [f(x)]


@scenario
def a_module_is_asked_only_what_the_program_asks(compile):
    library = types.ModuleType("library")
    library.asked = []

    def answer(name):
        library.asked.append(name)
        if name == "scale":
            return 3
        raise AttributeError(name)

    library.__getattr__ = answer

    def f(x):
        return x * library.scale, hasattr(library, "nothing"), getattr(library, "neither", 4)

    g = compile(f)
    out = [g(torch.ones(3)) for _ in range(2)]
    library.scale = 5
    out.append(g(torch.ones(3)))
    del library.scale
    return out, g(torch.ones(3)), library.asked
