"""Generators resumed by values and exceptions, managers left by exceptions, what exceptions say, iterators of the
library alive across a break."""

import collections
import contextlib
import functools
import itertools
import operator

import torch
from tests.python.programs.registry import program, vec


@program(vec())
def gen_throw_close(x):
    log = []

    def g():
        try:
            while True:
                try:
                    v = (yield x)
                    log.append(v)
                except ValueError as e:
                    log.append(('ve', str(e)))
                    yield (x * 2)
        finally:
            log.append('fin')
    it = g()
    a = next(it)
    b = it.send(1)
    c = it.throw(ValueError('m'))
    d = next(it)
    it.close()
    it.close()
    return (a, b, c, d, log, list(it))


@program(vec())
def gen_close_ignored(x):

    def g():
        try:
            yield x
        except GeneratorExit:
            yield 2
    it = g()
    next(it)
    try:
        it.close()
    except RuntimeError as e:
        return (str(e), x + 1)


@program(vec())
def gen_stop_value(x):

    def g():
        yield 1
        return x + 5
    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return e.value


@program(vec())
def gen_send_stop(x):

    def g():
        r = (yield 1)
        return r * 2
    it = g()
    next(it)
    try:
        it.send(x)
    except StopIteration as e:
        return (e.value, e.args)


@program(vec())
def gen_raises_stop(x):

    def g():
        yield x
        raise StopIteration('bad')
    it = g()
    next(it)
    try:
        next(it)
    except RuntimeError as e:
        return (str(e), x * 2)


@program(vec())
def gen_just_started(x):

    def g():
        yield x
    try:
        g().send(3)
    except TypeError as e:
        return (str(e), x)


@program(vec())
def yf_delegation(x):
    log = []

    def inner():
        try:
            a = (yield 1)
            log.append(a)
            b = (yield 2)
            log.append(b)
        except KeyError:
            log.append('key')
        return 'r'

    def outer():
        r = (yield from inner())
        log.append(r)
        r2 = (yield from [x, x + 1])
        log.append(r2)
        yield from range(2)
    it = outer()
    out = [next(it), it.send('s'), it.send('t')]
    return (out + list(it), log)


@program(vec())
def yf_throw(x):

    def inner():
        try:
            yield 1
        except KeyError:
            yield x

    def outer():
        yield from inner()
    it = outer()
    next(it)
    return it.throw(KeyError('k'))


@program(vec())
def tree_walk(x):
    tree = {'l': {'l': None, 'v': 1, 'r': None}, 'v': 2, 'r': {'l': None, 'v': 3, 'r': None}}

    def walk(t):
        if t:
            yield from walk(t['l'])
            yield t['v']
            yield from walk(t['r'])
    return [x * v for v in walk(tree)]


@program(vec())
def cm_exception_passes(x):
    log = []

    @contextlib.contextmanager
    def cm():
        log.append('in')
        try:
            yield 5
        except ValueError:
            log.append('ve')
            raise
        finally:
            log.append('out')
    try:
        with cm() as n:
            y = x * n
            raise ValueError('x')
    except ValueError as e:
        log.append(str(e))
    return (y, log)


@program(vec())
def cm_class_sees(x):
    class_log = []

    class C:

        def __enter__(s):
            return s

        def __exit__(s, t, v, tb):
            class_log.append((t.__name__ if t else None, str(v) if v else None, tb is None))
            return t is ValueError
    with C():
        x = x + 1
    with C():
        raise ValueError('a')
    try:
        with C():
            raise KeyError('b')
    except KeyError as e:
        class_log.append(e.args)
    return (x, class_log)


class CM:

    def __init__(s, log):
        s.log = log

    def __enter__(s):
        return s

    def __exit__(s, t, v, tb):
        s.log.append((t.__name__ if t else None, str(v) if v else None, tb is None))
        return t is ValueError


@program(vec())
def cm_class_outside(x):
    log = []
    with CM(log):
        x = x + 1
    with CM(log):
        raise ValueError('a')
    try:
        with CM(log):
            raise KeyError('b')
    except KeyError as e:
        log.append(e.args)
    return (x, log)


@program(vec())
def cm_torch_error(x):
    log = []
    with CM(log):
        try:
            x.view(17)
        except RuntimeError as e:
            log.append(str(e))
    return (log, x * 2)


class TB:

    def __enter__(s):
        return s

    def __exit__(s, t, v, tb):
        s.line = tb.tb_lineno if tb is not None else None
        return True


@program(vec())
def cm_traceback(x):
    c = TB()
    with c:
        raise ValueError(1)
    return (c.line is not None, x + 1)


@program(vec())
def nested_with_ret(x):
    log = []

    def f():
        for i in range(3):
            with CM(log):
                if i == 1:
                    return x * i
                continue
    return (f(), log)


@program(vec())
def wraps_attrs(x):

    def deco(f):

        @functools.wraps(f)
        def w(*a):
            return f(*a) + 1
        w.extra = 3
        return w

    @deco
    def g(y: int) -> int:
        """doc g"""
        return y * 2
    return (g(x), g.__name__, g.__doc__, g.__wrapped__(x), g.extra, g.__dict__.keys() == {'__wrapped__', 'extra'}, g.__module__ == __name__, g.__annotations__)


@program(vec())
def returns_wrapped(x):

    def deco(f):

        @functools.wraps(f)
        def w(*a):
            return f(*a)
        return w

    @deco
    def g(y):
        return y * 2
    g.k = 1
    return (g, g(x))


@program(vec())
def lib_iters(x):
    return [list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x], operator.mul, initial=x)), list(itertools.accumulate([])), list(itertools.zip_longest((1, 2), (x,), fillvalue=0)), list(itertools.starmap(pow, [(2, 3)])), list(itertools.pairwise([1])), list(itertools.takewhile(lambda v: v < 2, [1, 2, 1])), list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])), list(itertools.filterfalse(None, [0, 1])), list(itertools.compress('abc', [1, 0, 1])), [v for v, _ in zip(itertools.cycle('ab'), range(5))], list(itertools.permutations('abc', 2)), list(itertools.combinations('abcd', 2)), list(itertools.combinations_with_replacement('ab', 2)), list(itertools.permutations([1, 2, 3], 0)), list(itertools.combinations('a', 3))]


@program(vec())
def getters(x):
    a = operator.itemgetter(1, 2)
    m = operator.methodcaller('clamp', min=0)
    b = operator.itemgetter('k')
    return (a([1, 2, 3]), m(x), b({'k': x}), sorted([(2, 'a'), (1, 'b')], key=operator.itemgetter(0)))


GET = operator.itemgetter(0)


MC = operator.methodcaller('sum')


AG = operator.attrgetter('shape', 'dtype')


@program(vec())
def getters_global(x):
    return (GET([x]), MC(x), AG(x))


@program(vec())
def counters(x):
    c = collections.Counter('hello')
    c.update('lo')
    d = collections.Counter(a=2)
    return (c['l'], c['zz'], sum(c.values()), d + collections.Counter(a=1, b=2), x * c['l'], c.most_common(2), list(c.elements())[:3])


@program(vec())
def dd_nested(x):
    d = collections.defaultdict(lambda: collections.defaultdict(int))
    d['a']['b'] += 1
    d['a']['c'] += 2
    return ({k: dict(v) for k, v in d.items()}, x + d['a']['b'], d)


@program(vec())
def dd_kw(x):
    d = collections.defaultdict(int, {'a': 1}, b=2)
    d['c']
    return (d, d.default_factory, x * 1)


@program(vec())
def set_ops(x):
    s = {3, 1, 2}
    return (sorted(s), min(s), max(s), sum(sorted(s)), len(s | {9}), 3 in s, sorted(s, reverse=True), x * max(s), sorted(s, key=lambda v: -v), s == {1, 2, 3}, s <= {1, 2, 3, 4})


@program(vec())
def iter_chain_break(x):
    it = itertools.chain([1, 2], [3, 4])
    c = itertools.count(5)
    r = itertools.repeat('z', 3)
    s = itertools.islice(range(10), 2, 8, 2)
    a = (next(it), next(c), next(r), next(s))
    print('x')
    return (a, list(it), next(c), list(r), list(s), x + 1)


@program(vec())
def match_more(x):
    out = []
    for v in ((1, (2, 3)), {'k': [x, 2]}, 3.5, 's', b'b', [1], (), {}, {1, 2}, -1, complex(1, 2)):
        match v:
            case [a, [b, c]]:
                out.append(a + b + c)
            case {'k': [t, *_]}:
                out.append(t)
            case float(f) if f > 3:
                out.append(f)
            case str() | bytes() as q:
                out.append(q)
            case [int(n)]:
                out.append(n)
            case [] | {}:
                out.append('empty')
            case int(real=r):
                out.append(r)
            case complex(real=r, imag=i):
                out.append((r, i))
            case _:
                out.append('other')
    return (out, x)


class Pt:
    __match_args__ = ('x', 'y')

    def __init__(s, x, y):
        s.x = x
        s.y = y


@program(vec())
def match_tensor(x):
    match Pt(x, 3):
        case Pt(x=torch.Tensor() as t, y=3):
            return t * 2


@program(vec())
def match_missing(x):
    match Pt(x, 3):
        case Pt(z=1):
            return 1
        case Pt(a, b):
            return a * b


@program(vec())
def slice_indices(x):
    return (slice(None, None, 2).indices(5), slice(-3, None).indices(7), x)


@program(vec())
def suppress2(x):
    with contextlib.suppress(ValueError, KeyError):
        raise KeyError('a')
    with contextlib.redirect_stdout(None):
        pass
    return x + 1


@program(vec())
def closing(x):

    class R:
        closed = False

        def close(self):
            self.closed = True
    r = R()
    with contextlib.closing(r) as q:
        y = x + 1
    return (y, r.closed)


@program(vec())
def exitstack2(x):
    with contextlib.ExitStack() as s:
        a = s.enter_context(contextlib.nullcontext(x))
        y = a + 1
    return y


class MyL(list):

    def __init__(s, *a):
        super().__init__(a)
        s.tag = 7

    def append(s, v):
        super().append(('w', v))


@program(vec())
def list_sub2(x):
    l = MyL(1, x)
    l.append(2)
    print('b')
    return (l, l.tag)


@program(vec())
def list_sub_same(x):
    l = MyL(x)
    d = {'a': l, 'b': l}
    print('b')
    return d


@program(vec())
def deques(x):
    d = collections.deque([x])
    d.append(x + 1)
    d.appendleft(1)
    d.extend([2])
    d.extendleft([3, 4])
    d.rotate(2)
    y = d.popleft()
    z = d.pop()
    q = collections.deque()
    q.append((x, 0))
    out = []
    while q:
        t, n = q.popleft()
        out.append(t * n)
        if n < 3:
            q.append((t, n + 1))
    try:
        q.pop()
    except IndexError as e:
        out.append(str(e))
    return (list(d), len(d), y, z, out, d, d[0], x in [1] if False else None)


@program(vec())
def deque_break(x):
    d = collections.deque([1, x])
    print('b')
    d.append(2)
    return (list(d), type(d))


@program(vec())
def annotated_function_leaves(x):

    def f(a: int, b: 'str'='z') -> float:
        return x
    print('b')
    return (f.__annotations__, f(1), f)
