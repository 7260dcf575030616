"""Functions with a backward of their own, regular expressions."""

import re

import torch
from tests.python.programs.registry import program, vec


class Double(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        print('fw')
        return x * k

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.k, None)


class New(torch.autograd.Function):

    @staticmethod
    def forward(x):
        return (x.exp(), x.sum())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[0])

    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.saved_tensors[0] + h


class Same(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Dirty(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


@program(vec())
def custom_function(x):
    return Double.apply(x, 3)


@program(vec())
def custom_function_new(x):
    return New.apply(x)


@program(vec())
def custom_function_same(x):
    y = Same.apply(x)
    return (y is x, y)


@program(vec())
def custom_function_dirty(x):
    z = x * 1
    y = Dirty.apply(z)
    return (y is z, y, z)


P = re.compile('(\\d+)')


@program(vec())
def regexes(x):
    return (P.sub('n', 'a1b22'), P.findall('a1b22'), bool(P.search('zz')), P.split('a1b'), re.match('a', 'abc') is not None, re.sub('b', 'c', 'abc'), x + 1)


@program(vec())
def from_keys(x):
    return (dict.fromkeys('ab', 0), dict.fromkeys([1, 2]), x)
