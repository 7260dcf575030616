"""Hooks, iterators, globals, code and arguments that are others at the next call."""

import collections
import functools
import itertools
import random

import torch
import torch.nn.functional as F
from tests.python.programs.modules.module_life import Counting, ramp
from tests.python.programs.registry import scenario


@scenario
def tensor_hooks_once_more(compile):
    log = []

    @compile
    def f(x):
        y = x * 2
        y.register_hook(lambda g: (log.append("h"), g * 3)[1])
        return (y * y).sum()
    out = []
    for i in range(3):
        x = ramp(2, 3).requires_grad_()
        f(x).backward()
        out.append(x.grad.clone())
    return (out, log)


@scenario
def grads_inside(compile):

    @compile
    def f(x):
        x = x.detach().requires_grad_()
        y = (x ** 3).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        return (torch.autograd.grad(g.sum(), x)[0], g.detach())
    return [f(ramp(2, 3)) for _ in range(2)]


@scenario
def retain(compile):

    @compile
    def f(w, x):
        y = w * x
        y.retain_grad()
        z = (y * y).sum()
        return (y, z)
    out = []
    for _ in range(2):
        w = torch.ones(3, requires_grad=True)
        y, z = f(w, ramp(2, 3))
        z.backward()
        out.append((w.grad, y.grad, y.is_leaf))
    return out


@scenario
def grad_accum(compile):
    m = Counting()
    g = compile(m)
    out = []
    for i in range(3):
        g(ramp(2, 3)).sum().backward()
        out.append(m.l.weight.grad.clone())
    m.l.weight.grad = None
    g(ramp(2, 3)).sum().backward()
    out.append(m.l.weight.grad.clone())
    return out


@scenario
def detach_stop(compile):

    @compile
    def f(x):
        y = x * 2
        z = y.detach()
        z2 = z * 3
        return (y, z, z2, (y * z2).sum(), y.detach_() if False else 0)
    x = ramp(2, 3).requires_grad_()
    r = f(x)
    r[3].backward()
    return ([t.detach() if isinstance(t, torch.Tensor) else t for t in r], x.grad, r[1].requires_grad)


@scenario
def saved_hooks(compile):
    log = []
    f = compile(lambda x: (x * x).sum())
    x = ramp(2, 3).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("p"), t)[1], lambda t: (log.append("u"), t)[1]):
        f(x).backward()
    with torch.autograd.graph.save_on_cpu():
        f(x).backward()
    return (x.grad, log)


@scenario
def iter_state(compile):
    it = iter([1, 2, 3, 4])
    gen = (i * i for i in range(9))
    q = collections.deque([1, 2, 3])
    cnt = itertools.count(3)

    @compile
    def f(x):
        return x * next(it) + next(gen) + q.popleft() + next(cnt)
    return ([f(ramp(2, 3)) for _ in range(3)], list(it), next(gen), list(q), next(cnt))


@scenario
def global_state(compile):
    ns = {"k": 1, "__name__": "zz", "torch": torch}
    exec('def f(x):\n    global k\n    k += 1\n    return x*k\ndef g(x):\n    del globals()["k"]\n    return x\n', ns)
    f = compile(ns["f"])
    r = [f(ramp(2, 3)), f(ramp(2, 3))]
    ns["k"] = 10
    r.append(f(ramp(2, 3)))
    return (r, ns["k"])


@scenario
def code_changes(compile):

    def f(x):
        return x + 1

    def h(x):
        return x * 10
    g = compile(lambda x: f(x))
    r = [g(ramp(2, 3))]
    f.__code__ = h.__code__
    r.append(g(ramp(2, 3)))

    def d(x, k=2):
        return x * k
    g = compile(lambda x: d(x))
    r.append(g(ramp(2, 3)))
    d.__defaults__ = (5,)
    r.append(g(ramp(2, 3)))
    d.__kwdefaults__ = None
    d.z = 3
    return r


@scenario
def closure_cells(compile):
    n = 1

    def f(x):
        return x * n
    g = compile(f)
    r = [g(ramp(2, 3))]
    n = 7
    r.append(g(ramp(2, 3)))
    f.__closure__[0].cell_contents = 9
    r.append(g(ramp(2, 3)))
    return (r, n)


@scenario
def monkeypatch_torch(compile):
    g = compile(lambda x: torch.sin(x) + F.relu(x))
    r = [g(ramp(2, 3))]
    o = torch.sin
    p = F.relu
    try:
        torch.sin = lambda x: x * 100
        F.relu = lambda x: x * 0
        r.append(g(ramp(2, 3)))
    finally:
        torch.sin = o
        F.relu = p
    r.append(g(ramp(2, 3)))
    return r


@scenario
def dict_order_state(compile):
    d = {"b": 1, "a": 2}
    g = compile(lambda x: [x * v for v in d.values()] + [list(d)])
    r = [g(ramp(1, 2))]
    d["c"] = 3
    r.append(g(ramp(1, 2)))
    d["b"] = 5
    r.append(g(ramp(1, 2)))
    del d["a"]
    d["a"] = 1
    r.append(g(ramp(1, 2)))
    return r


@scenario
def default_dtype_changes(compile):
    g = compile(lambda x: (torch.ones(2) + x.sum(), torch.tensor(1.5), x.shape[0] / 3 * torch.ones(1)))
    r = [g(ramp(2, 3))]
    torch.set_default_dtype(torch.float64)
    try:
        r.append(g(ramp(2, 3)))
    finally:
        torch.set_default_dtype(torch.float32)
    return (r, g(ramp(2, 3)))


@scenario
def threads_rng(compile):
    g = compile(lambda x: x + torch.rand(3))
    torch.manual_seed(0)
    a = [g(ramp(2, 3)) for _ in range(3)]
    gen = torch.Generator().manual_seed(5)
    h = compile(lambda x: x + torch.rand(3, generator=gen))
    return (a, [h(ramp(2, 3)) for _ in range(2)], torch.rand(1))


@scenario
def random_python(compile):
    random.seed(3)
    g = compile(lambda x: x * random.random() + random.randint(0, 9) + random.choice([1, 2, 3]))
    a = [g(ramp(2, 3)) for _ in range(4)]
    r = random.Random(4)
    h = compile(lambda x: x * r.uniform(0, 1) + r.gauss(0, 1))
    return (a, [h(ramp(1, 2)) for _ in range(3)], random.random(), r.random())


@scenario
def exceptions_state(compile):
    log = []

    @compile
    def f(x, k):
        log.append(k)
        x.add_(1)
        if k == 2:
            raise KeyError(k)
        x.mul_(2)
        log.append(-k)
        return x.sum()
    out = []
    x = ramp(2, 3)
    for k in (1, 2, 3, 2):
        try:
            out.append(f(x, k))
        except KeyError as e:
            out.append(repr(e))
    return (out, x, log)


@scenario
def lru_method(compile):

    class A:
        @functools.lru_cache(maxsize=None)
        def t(s, n):
            s.log.append(n)
            return n * 2
        log = []
    a = A()
    g = compile(lambda x, n: x * a.t(n))
    r = [g(ramp(1, 2), 1), g(ramp(1, 2), 1), g(ramp(1, 2), 2)]
    i = A.t.cache_info()
    A.t.cache_clear()
    r.append(g(ramp(1, 2), 1))
    return (r, A.log, tuple(i))


@scenario
def cached_prop(compile):

    class A:
        def __init__(s):
            s.n = 0

        @functools.cached_property
        def v(s):
            s.n += 1
            return torch.ones(2) * s.n
    a = A()
    g = compile(lambda x: x + a.v)
    r = [g(ramp(1, 2)), g(ramp(1, 2))]
    del a.v
    r.append(g(ramp(1, 2)))
    return (r, a.n)


@scenario
def weird_returns(compile):

    class O:
        pass

    @compile
    def f(x):
        o = O()
        o.t = x + 1
        o.me = o
        o.l = [o]
        g = (t for t in [x, x * 2])
        return (o, g, lambda: x * 3, {1: {2: {x.shape[0]}}}, slice(x.shape[0]), range(x.shape[0]), type(x), torch.float32, x.device, x.dtype, x.shape, Ellipsis, NotImplemented, b"a", 1j, O, len, map(str, [1]))
    o, g, l, *r = f(ramp(2, 3))
    return (o.t, o.me is o, o.l[0] is o, list(g), l(), [repr(q) if not isinstance(q, (map, type)) else 0 for q in r], list(r[-1]))


@scenario
def views_in_out(compile):
    b = torch.zeros(4, 3)

    @compile
    def f(x):
        b[1:3] = x
        v = b[2]
        v += 1
        b.t()[0] *= 2
        return (v, b[0], b.sum())
    r = [f(ramp(2, 3)), f(ramp(2, 3) * 2)]
    r[0][0].add_(100)
    return (r, b)


@scenario
def in_place_ops_args(compile):

    @compile
    def f(x, y):
        x += y
        y = y.clone()
        y -= x
        x.sub_(1).mul_(y).clamp_(-1, 1)
        x.t_()
        return (x, y)
    a, b = (ramp(2, 3), ramp(2, 3) + 1)
    r = f(a, b)
    c, d = (ramp(2, 3), ramp(2, 3) + 1)
    r2 = f(c, d)
    return (r, r2, a.shape, a.stride(), a is r[0])


@scenario
def same_arg_twice(compile):
    f = compile(lambda a, b: (a.add_(1), b * 2, a is b))
    x = ramp(2, 3)
    r = f(x, x)
    y = ramp(2, 3)
    return (r, f(y, y.clone()), f(y, y), f(y, y.view(2, 3)), f(y[:1], y))


@scenario
def overlapping(compile):
    f = compile(lambda a, b: (a.mul_(2), b + 1))
    y = ramp(6)
    return (f(y[:4], y[2:]), f(y[0:2], y[3:5]), y)


@scenario
def nan_inf_args(compile):
    f = compile(lambda x, k: x * k)
    return [f(ramp(1, 2), k) for k in (1.0, float("nan"), float("inf"), -0.0, 0.0, 1, True, 2 ** 40, 1e+300, 1j)]


@scenario
def str_args(compile):
    f = compile(lambda x, m, **k: (x * len(m), m.upper(), k))
    return [f(ramp(1, 2), m, z=m) for m in ("a", "bc", "", "é")]


@scenario
def none_and_flags(compile):
    f = compile(lambda x, m=None, *, c=False: x if m is None and (not c) else x * 2 if c else x + m)
    return (f(ramp(1, 2)), f(ramp(1, 2), ramp(1, 2)), f(ramp(1, 2), c=True), f(ramp(1, 2), None, c=0), f(ramp(1, 2), 3))
