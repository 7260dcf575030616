"""Patterns, context managers, containers of the standard library, decorators, special methods."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import logging
import operator
import sys
import typing
import warnings

import torch
import torch.nn as nn
from tests.python.programs.registry import program, vec


class Shape:
    pass


@dataclasses.dataclass
class Circle(Shape):
    r: typing.Any
    __match_args__ = ('r',)


@dataclasses.dataclass
class Sq(Shape):
    a: typing.Any
    b: typing.Any = 2


@program(vec())
def match_classes(x):
    out = []
    for s in (Circle(x), Sq(x, 3), Sq(a=x), 5, 'k', [1, x], {'a': x, 'b': 1}, (1, 2, 3), None, True):
        match s:
            case Circle(r):
                out.append(r * 2)
            case Sq(a=a, b=3):
                out.append(a + 3)
            case Sq(a=a):
                out.append(a - 1)
            case int(n) if n is not True:
                out.append(n)
            case str() as t:
                out.append(t)
            case [1, y]:
                out.append(y)
            case {'a': y, **rest}:
                out.append((y, rest))
            case [p, *q]:
                out.append(q)
            case None:
                out.append('none')
            case _:
                out.append('?')
    return out


@program(vec())
def yield_from_chain(x):

    def a():
        r = (yield from b())
        yield (x * r)

    def b():
        yield (x + 1)
        yield (x + 2)
        return 7
    return list(a())


@program(vec())
def gen_expr_lazily(x):
    g = (x * i for i in range(4))
    first = next(g)
    print('mid')
    return (first, sum(g))


@program(vec())
def contextmanager_gen(x):
    log = []

    @contextlib.contextmanager
    def cm(n):
        log.append(('in', n))
        try:
            yield (x + n)
        finally:
            log.append(('out', n))
    with cm(1) as a, cm(2) as b:
        c = a * b
    return (c, log)


@program(vec())
def contextmanager_swallow(x):

    @contextlib.contextmanager
    def cm():
        try:
            yield
        except ValueError as e:
            print('swallowed', e)
    y = x
    with cm():
        y = x * 2
        raise ValueError('no')
    return y


@program(vec())
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as st:
        st.callback(log.append, 1)
        st.enter_context(contextlib.nullcontext())
        y = x.sin()
    return (y, log)


@program(vec())
def suppress(x):
    with contextlib.suppress(ZeroDivisionError):
        x = x + 1
        1 / 0
        x = x + 100
    return x


@program(vec())
def logging_call(x):
    logging.getLogger('r1').debug('value %s', x.shape)
    return x + 1


@program(vec())
def logging_warn(x):
    h = logging.StreamHandler(sys.stdout)
    l = logging.getLogger('r1b')
    l.addHandler(h)
    l.propagate = False
    try:
        y = x * 2
        l.warning('shape %s', tuple(y.shape))
        return y + 1
    finally:
        l.removeHandler(h)


@program(vec())
def warn(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter('always')
        y = x + 1
        warnings.warn('careful')
        y = y * 2
    return (y, [str(i.message) for i in w])


@program(vec())
def defaultdict_out(x):
    d = collections.defaultdict(list)
    for i in range(3):
        d[i % 2].append(x * i)
    print(len(d))
    d[5].append(x)
    return (d, sorted(d))


@program(vec())
def counter_ordered(x):
    c = collections.Counter('abca')
    o = collections.OrderedDict(a=x)
    o['b'] = x + 1
    o.move_to_end('a')
    print(list(o))
    return (c, o, c.most_common(1))


class MyList(list):

    def total(self):
        return sum(self)


class MyDict(dict):

    def __missing__(self, k):
        return k * 2


@program(vec())
def list_subclass(x):
    l = MyList([x, x + 1])
    l.append(x * 2)
    print(len(l))
    l.append(x)
    return (l, l.total())


@program(vec())
def dict_subclass(x):
    d = MyDict(a=x)
    y = d[3]
    print(len(d))
    d['z'] = x
    return (d, y, d['q'])


@program(vec())
def deque_use(x):
    d = collections.deque(maxlen=2)
    for i in range(4):
        d.append(x + i)
    d.rotate(1)
    d.appendleft(x)
    return (list(d), len(d))


@program(vec())
def chainmap(x):
    c = collections.ChainMap({'a': x}, {'b': x + 1})
    return (c['b'] + c['a'], list(c))


@program(vec())
def iter_alive_over_break(x):
    it = itertools.chain([x], [x + 1, x + 2])
    z = zip(range(3), it)
    e = enumerate('abc')
    a = next(z)
    next(e)
    print('break')
    b = next(z)
    return (a, b, next(e), list(z))


@program(vec())
def itertools_many(x):
    acc = list(itertools.accumulate([x, x, x]))
    isl = list(itertools.islice(itertools.count(2), 3))
    pr = list(itertools.product((1, 2), (x,)))
    gb = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2])]
    zl = list(itertools.zip_longest((1, 2), (x,)))
    tw = list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1]))
    sm = list(itertools.starmap(operator.mul, [(x, 2)]))
    pm = list(itertools.permutations((1, 2)))
    cb = list(itertools.combinations((1, 2, 3), 2))
    cy = [v for v, _ in zip(itertools.cycle((1, 2)), range(3))]
    return (acc, isl, pr, gb, zl, tw, sm, pm, cb, cy, list(itertools.pairwise((1, 2, 3))), list(itertools.repeat(x, 2)))


@program(vec())
def sorted_sets(x):
    s = sorted({3, 1, 2})
    u = {1, 2} | {3}
    return (x * s[0], len(u), sorted(set('abca')), frozenset((1, 2)) & {2}, x + max({1, 5}))


class Mod(nn.Module):

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4, bias=False)
        with torch.no_grad():
            self.l.weight.fill_(0.5)

    def forward(self, x):
        return self.l(x)


@program(vec(4))
def module_in_forward(x):
    m = Mod()
    return m(x).sum()


@program(vec(4))
def module_plain_in_forward(x):
    return nn.ReLU()(x) + nn.Softmax(-1)(x) + nn.Flatten(0)(x) + nn.Identity()(x)


def deco(f):

    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1
    return w


@program(vec())
def decorators(x):

    @deco
    def g(y, *, k=2):
        return y * k
    return (g(x), g(x, k=3), g.__name__)


@functools.lru_cache(None)
def cached(n):
    return n * 2


@program(vec())
def lru(x):
    return x * cached(3) + cached(3)


@functools.singledispatch
def sd(v):
    return 'obj'


@sd.register
def _(v: int):
    return v + 1


@sd.register(list)
def _(v):
    return len(v)


@program(vec())
def single_dispatch_again(x):
    return (x * sd(3), sd([1]), sd('s'))


class CP:

    def __init__(self, x):
        self.x = x
        self.n = 0

    @functools.cached_property
    def twice(self):
        self.n += 1
        return self.x * 2

    @property
    def v(self):
        return self.x + 1

    @v.setter
    def v(self, val):
        self.x = val

    @staticmethod
    def st(a):
        return a * 3

    @classmethod
    def mk(cls, x):
        return cls(x)

    def __call__(self, y):
        return self.x + y

    def __getitem__(self, i):
        return self.x * i

    def __len__(self):
        return 3

    def __contains__(self, i):
        return i == 1

    def __iter__(self):
        return iter([self.x, 1])

    def __add__(self, o):
        return self.x + o

    def __radd__(self, o):
        return self.x - o

    def __matmul__(self, o):
        return 'mm'

    def __bool__(self):
        return False

    def __eq__(self, o):
        return True

    def __hash__(self):
        return 5

    def __enter__(self):
        print('enter')
        return self

    def __exit__(self, *a):
        print('exit', a[0])
        return True

    def __getattr__(self, n):
        if n.startswith('dyn'):
            return n
        raise AttributeError(n)


@program(vec())
def dunder(x):
    c = CP.mk(x)
    c.v = x * 5
    with c as d:
        y = d.twice + d.twice
    with c:
        raise KeyError('q')
    return (y, c.n, c(2), c[3], len(c), 1 in c, list(c), c + 1, 2 + c, c @ c, bool(c), c == 4, c.dyn_x, CP.st(x), hash(c), getattr(c, 'zz', None))


@program(vec())
def patterns_that_python_refuses(x):
    class Twice:
        __match_args__ = ("a", "a")
        a = 1

    class Listed:
        __match_args__ = ["a"]  # noqa: RUF012
        a = 1

    y = x * 2
    out = []
    for subject in (Twice(), Listed()):
        try:
            match subject:
                case Twice(1, 1):
                    out.append("twice")
                case Listed(1):
                    out.append("listed")
        except TypeError as error:
            out.append(str(error))
    return y, out
