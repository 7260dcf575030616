"""Descriptors, enumerations, data classes, exceptions, and the standard library at large."""

import bisect
import collections
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import heapq
import inspect
import json
import math
import numbers
import operator
import random
import re
import statistics
import string
import sys
import textwrap
import time
import types
import typing
import weakref

import numpy as np
import torch
from tests.python.programs.registry import program, vec


class Desc:

    def __get__(self, o, t):
        return o.x * 10 if o is not None else 'cls'

    def __set__(self, o, v):
        o.x = v


class Meta(type):

    def __call__(cls, *a):
        o = super().__call__(*a)
        o.tag = 'meta'
        return o


class HasD(metaclass=Meta):
    d = Desc()
    __slots__ = ('x', 'tag')

    def __init__(self, x):
        self.x = x


@program(vec())
def descriptors_again(x):
    h = HasD(x)
    h.d = x + 1
    return (h.d, HasD.d, h.tag)


class Color(enum.Enum):
    R = 1
    G = 2


class Fl(enum.IntFlag):
    A = 1
    B = 2


@program(vec())
def enums_again(x):
    c = Color.R
    y = x if c is Color.R else -x
    return (y * Color.G.value, c.name, Fl.A | Fl.B, Color(2), [m.name for m in Color], Color['R'])


class NT(typing.NamedTuple):
    a: typing.Any
    b: int = 2


P = collections.namedtuple('P', 'x y', defaults=(0,))


@program(vec())
def named(x):
    n = NT(x)
    m = n._replace(b=3)
    p = P(x)
    return (n.a * m.b, m, p._asdict(), p, n._fields)


@dataclasses.dataclass(frozen=True)
class FZ:
    a: typing.Any
    l: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        object.__setattr__(self, 'c', self.a)


@dataclasses.dataclass(slots=True, order=True)
class SL:
    a: int
    b: int = dataclasses.field(default=3, compare=False)


@program(vec())
def dcs(x):
    f = FZ(x)
    g = dataclasses.replace(f, l=[1])
    s = SL(1)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as e:
        print(type(e).__name__)
    return (f.c + 1, g.l, s < SL(2), dataclasses.asdict(s), [q.name for q in dataclasses.fields(s)])


@program(vec())
def walrus_star(x):
    if (n := x.shape[0]) > 2:
        y = x[:n - 1]
    a, *b, c = [x, 1, 2, 3]

    def f(*args, k=1, **kw):
        return (sum(args) * k, kw)
    return (y, b, c, f(*[x, x], **{'k': 2, 'z': 3}), [*b, *(1,)], {**{'a': 1}, 'b': 2})


@program(vec())
def fmt(x):
    return (f"{x.shape[0]:>5}|{tuple(x.shape)!r}|{x.dtype}|{3.14159:.2f}|{'a':^5}", '%d %s' % (x.size(0), 'z'), '{} {a}'.format(1, a=2), str(x.shape), repr(x.size()), x.sum())


G_STATE = {'n': 0}


G_LIST = []


G_NUM = 1


@program(vec())
def global_writes(x):
    global G_NUM
    G_STATE['n'] = G_STATE['n'] + 0
    G_NUM = G_NUM
    G_LIST.clear()
    G_LIST.append(x.shape[0])
    return (x * G_NUM, list(G_LIST))


@program(vec())
def del_things(x):
    y = x + 1
    d = {'a': 1, 'b': 2}
    l = [1, 2, 3, 4]
    del y
    del d['a']
    del l[1:3]
    try:
        y
    except UnboundLocalError as e:
        print(e)
    return (x, d, l)


@program(vec())
def recursion_again(x):

    def f(n):
        return x if n == 0 else f(n - 1) * 2
    return f(5)


@program(vec())
def finally_order_again(x):
    log = []

    def f():
        try:
            log.append(1)
            return x * 2
        finally:
            log.append(2)

    def g():
        for i in range(3):
            try:
                if i == 1:
                    continue
                if i == 2:
                    break
                log.append(i)
            finally:
                log.append('f')
        else:
            log.append('else')
    r = f()
    g()
    return (r, log)


@program(vec())
def except_chain(x):
    try:
        try:
            raise KeyError('a')
        except KeyError as e:
            raise ValueError('b') from e
    except ValueError as e:
        return (x, str(e.__cause__), type(e.__context__).__name__, e.args)


@program(vec())
def except_tensor(x):

    class E(Exception):
        pass
    try:
        raise E(x * 2, 'm')
    except (E, OSError) as e:
        y = e.args[0]
    return y


@program(vec())
def raises_shape(x):
    return x.view(7, 9)


@program(vec())
def raises_index(x):
    return x[100]


@program(vec())
def raises_in_callee(x):

    def g(y):
        return y @ torch.ones(17, 2)
    try:
        return g(x)
    except RuntimeError as e:
        return str(e)


@program(vec())
def exception_group_again(x):
    try:
        raise ExceptionGroup('g', [ValueError(1), TypeError(2)])
    except* ValueError as e:
        print('v', e.exceptions)
    except* TypeError as e:
        print('t')
    return x + 1


@program(vec())
def assert_msg(x):
    try:
        assert x.shape[0] > 100, f'too small {x.shape[0]}'
    except AssertionError as e:
        return (x, str(e))


@program(vec())
def type3(x):
    T = type('T', (), {'f': lambda s, y: y * 2, 'k': 3})
    t = T()
    return (t.f(x) * T.k, isinstance(t, T), issubclass(T, object), T.__name__)


@program(vec())
def class_in_fn(x):

    class A:
        k = x.shape[0]

        def __init__(s):
            s.y = x

        def m(s):
            return s.y * s.k

    class B(A):

        def m(s):
            return super().m() + 1
    return B().m()


@program(vec())
def abc_protocol(x):
    return (isinstance(x, torch.Tensor), isinstance(3, numbers.Number), isinstance([], collections.abc.Sequence), callable(x), hasattr(x, 'foo'), x + 1, isinstance(x, (int, torch.Tensor)))


@program(vec())
def copies_again(x):
    d = {'a': x, 'l': [1, [2]]}
    c = copy.copy(d)
    e = copy.deepcopy(d['l'])
    y = copy.copy(x)
    z = copy.deepcopy(x)
    e[1].append(3)
    return (c['a'] is x, e, d['l'], y + 1, z * 2)


@program(vec())
def locals_globals(x):
    y = x + 1
    l = locals()
    return (sorted(l), 'G_NUM' in globals(), y)


@program(vec())
def frames(x):
    return (sys._getframe().f_code.co_name, inspect.currentframe().f_code.co_name, x + 1)


@program(vec())
def rnd(x):
    random.seed(3)
    np.random.seed(4)
    return (x * random.random() + float(np.random.rand()), random.choice([1, 2, 3]), random.sample(range(5), 2))


@program(vec())
def time_calls(x):
    t = time.perf_counter()
    y = x + 1
    return (y, time.perf_counter() >= t)


@program(vec())
def ids(x):
    y = x
    z = x.view(-1)
    return (y is x, z is x, id(x) == id(y), x is not None)


@program(vec())
def tensor_keys_again(x):
    d = {x: 1}
    s = {x}
    return (d[x], x in s, len(s), x + 1)


@program(vec())
def sort_by_item(x):
    l = [x[i] for i in range(3)]
    return (sorted(l, key=lambda t: t.item()), max(l, key=float), min([3, 1], key=lambda v: -v))


@program(vec())
def lambda_defaults(x):
    fs = [lambda y, i=i: y * i for i in range(3)]
    gs = [lambda y: y * i for i in range(3)]
    return ([f(x) for f in fs], [g(x) for g in gs])


def mut(y, acc=[]):
    acc.append(1)
    return y * len(acc)


@program(vec())
def mutable_default_again(x):
    mut.__defaults__[0].clear()
    return (mut(x), mut(x))


@program(vec())
def str_methods(x):
    return ('a,b'.split(','), ' q '.strip(), 'x'.join(['1', '2']), 'abc'.upper(), 'abc'[::-1], re.sub('b', 'z', 'abc'), x.sum(), json.dumps({'a': [1, 2]}), string.ascii_lowercase[:3], textwrap.dedent('  a'))


@program(vec())
def math_things(x):
    return (x * math.sqrt(2) + math.pi, math.prod([1, 2, 3]), math.inf, math.floor(2.5), divmod(7, 3), pow(2, 5, 7), abs(-3), round(2.567, 1), sum([1, 2]), any([0, 1]), all([]), fractions.Fraction(1, 3), decimal.Decimal('1.5'), statistics.mean([1, 2]), bisect.bisect([1, 3], 2), heapq.nsmallest(1, [3, 1]), 5 .bit_length(), 0.5.as_integer_ratio(), int('12'), float('1e3'), complex(1, 2), bin(5), chr(65), ord('a'), hex(255))


@program(vec())
def partials(x):
    p = functools.partial(torch.add, x, alpha=2)
    r = functools.reduce(operator.add, [x, x, 1])
    m = operator.methodcaller('sum')
    g = operator.itemgetter(1)
    a = operator.attrgetter('shape')
    return (p(x), r, m(x), g([1, 2]), a(x), list(map(lambda q: q + 1, [x])), list(filter(None, [0, 1])), list(zip((1,), (x,))), list(reversed([1, x])))


@program(vec())
def asyncs(x):

    async def f():
        return x + 1
    c = f()
    try:
        c.send(None)
    except StopIteration as e:
        return e.value


@program(vec())
def wref(x):

    class A:
        pass
    a = A()
    r = weakref.ref(a)
    w = weakref.WeakValueDictionary()
    w['k'] = a
    return (r() is a, len(w), x + 1)


@program(vec())
def big_loop(x):
    for i in range(300):
        x = x + i
        if i % 100 == 50:
            x = x * 0.5
    return x


@program(vec())
def nested_nonlocal_again(x):
    n = 0

    def f():
        nonlocal n, x
        n += 1
        x = x * 2

        def g():
            nonlocal n
            n += 10
        g()
    f()
    f()
    return (x, n)


@program(vec())
def while_tensor(x):
    n = 0
    while x.abs().sum() < 100:
        x = x * 2
        n += 1
    return (x, n)


@program(vec())
def comprehension_scopes_again(x):
    return ([i * x for i in range(2) if i], {k: x + k for k in (1, 2)}, {i % 2 for i in range(3)}, [[a + b for a in (1, 2)] for b in (3, 4)], [y for y in [x] for _ in range(2)])


@program(vec())
def unpack_tensor(x):
    a, b, c = x[:3]
    (d, e), f = ((1, 2), 3)
    return (a + b * c, d, e, f, [*x[:2]])


@program(vec())
def slices(x):
    s = slice(1, 3)
    l = [1, 2, 3, 4]
    l[1:2] = [9, 9]
    t = (1, 2, 3)[::-1]
    return (x[s], x[..., None], x[-1:], l, t, l[s], s.indices(5))


@program(vec())
def chained_compare(x):
    n = x.shape[0]
    return (1 < n < 100, not n, n and 3, 0 or x, x if n else None, n in (1, 2), n not in [n], n is None)


@program(vec())
def augmented(x):
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 2
    l = [1]
    l += [2]
    l *= 2
    d = {}
    d['k'] = 1
    d['k'] += 1
    d |= {'z': 3}
    return (y, l, d)


@program(vec())
def attr_on_function(x):

    def f():
        f.calls += 1
        return x
    f.calls = 0
    f()
    f()
    return (f.calls, f())


@program(vec())
def simple_namespace(x):
    n = types.SimpleNamespace(a=x, b=2)
    n.c = n.a * n.b
    return (n.c, vars(n).keys() == {'a', 'b', 'c'}, n)
