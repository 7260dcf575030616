"""What is called, and with what, changes between the calls; threads, recursion, nested compiled functions."""

import functools
import threading

import torch
from tests.python.programs.registry import scenario


@scenario
def iterators_between_calls(compile):
    @compile
    def f(it, x):
        return [x * k for k in it], next(it, "end")

    x = torch.ones(2)
    partly = iter([1, 2, 3])
    next(partly)
    return [f(iter([1, 2]), x), f(partly, x), f(iter(()), x), f(iter(range(3)), x), f(map(abs, [-1, 2]), x), f(zip([1], [2]), x), f(iter({4: 5}), x), f((k for k in (1, 2)), x), f(enumerate([3]), x) if False else 0, f(partly, x)]


@scenario
def threads_share_one_compiled_function(compile):
    @compile
    def f(x, k):
        y = x * k
        for i in range(3):
            y = y + i
        return y.sum() * k

    results = {}

    def work(i):
        results[i] = [f(torch.arange(float(n + 1)), i % 3) for n in range(6)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [results[i] for i in range(6)]


@scenario
def closures_change_between_calls(compile):
    k, helper = 2, torch.sin

    def inner(x, d=[1]):  # noqa: B006
        nonlocal k
        k += 1
        d.append(k)
        return helper(x) * k + len(d)

    f = compile(inner)
    x = torch.ones(2)
    out = [f(x), f(x), k]
    k = 10
    out.append(f(x))
    helper = lambda t: t + 1  # noqa: E731
    out.append(f(x))
    helper = functools.partial(torch.mul, 3)
    out.append(f(x))
    inner.__defaults__ = ([],)
    out += [f(x), f(x), k]
    k = torch.ones(2)
    out += [f(x), k]
    del helper
    try:
        f(x)
    except NameError as e:
        out.append(str(e))
    return out + [k]


@scenario
def argument_kinds_between_calls(compile):
    @compile
    def f(*args, k=1, **kw):
        out = 0
        for a in args:
            out = out + a if not isinstance(a, (list, str, dict, type(None))) else out
        return out * k, len(args), sorted(kw), [v * 2 for v in kw.values()]

    x = torch.ones(2)
    return [
        f(x), f(x, 2), f(x, x), f(x, torch.ones(2, 2)), f(x, [1], k=x), f(x, "s", None, z=1, y=x), f(x, y=x, z=1), f(), f(2, 3), f(x, {"a": 1}), f(x, 2.5), f(x, True), f(x, k=0), f(x, z=torch.zeros(0)), f(x.double(), x),
    ]  # fmt: skip


@scenario
def bound_methods_and_callables(compile):
    class M:
        def __init__(self, k):
            self.k = k

        def go(self, x):
            self.k += 1
            return x * self.k

        __call__ = go

        @classmethod
        def make(cls, x):
            return cls(3).go(x)

        @staticmethod
        def stat(x):
            return x - 1

    a, b = M(1), M(10)
    x = torch.ones(2)
    out = []
    for f in (a.go, b.go, a.go, M.make, M.stat, functools.partial(a.go), lambda t: a(t)):
        g = compile(f)
        out += [g(x), g(x)]
    return out, a.k, b.k


@scenario
def nested_compiled(compile):
    @compile
    def inner(x, k):
        return x * k + 1

    @compile
    def outer(x, k):
        y = inner(x, k)
        print(k)
        return inner(y, k + 1) - inner(x, 2)

    x = torch.arange(3.0)
    return [outer(x, k) for k in (1, 2, 1)] + [inner(x, 5), outer(torch.ones(2, 2), 1)]


@scenario
def recursion_into_itself(compile):
    def f(x, n):
        if n == 0:
            return x
        if n == 2:
            print("two")
        return g(x + n, n - 1) * 2

    g = compile(f)
    return [g(torch.ones(2), n) for n in (0, 1, 3, 2)]


@scenario
def compiled_passed_as_value(compile):
    f = compile(lambda t: t * 2)

    @compile
    def apply(h, x):
        return h(x) + 1

    x = torch.ones(3)
    return [apply(f, x), apply(torch.sin, x), apply(lambda t: t, x), apply(f, x), list(map(f, [x, x + 1])), sorted([x + 1, x], key=compile(lambda t: t.sum().item()))]
