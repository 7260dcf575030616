"""Generators, exceptions and finally, with, recursion, scoping, unpacking, strings, order of effects."""

import collections
import contextlib
import io
import itertools
import math
import sys
import threading

import torch
from tests.python.programs.registry import mat, program, vec


@program(vec())
def generator_protocol(x):
    log = []

    def g():
        try:
            got = yield x
            log.append(got)
            while True:
                got = yield x * got
        except ValueError as e:
            log.append(str(e))
            yield "caught"
        finally:
            log.append("closed")

    it = g()
    a = next(it)
    b = it.send(3)
    c = it.throw(ValueError("boom"))
    it.close()
    return a, b, c, log


@program(vec())
def generator_return_value(x):
    def inner():
        r = yield 1
        return x + (r or 0)

    def outer():
        v = yield from inner()
        yield v * 2

    return [*outer()][1], next(iter(outer()))


@program(vec())
def generator_half_consumed(x):
    def g():
        for i in range(5):
            print("make", i)
            yield x + i

    it = g()
    a = next(it)
    for b in it:
        break
    print("between", a.sum().item())
    return a, b, list(it)


@program(vec())
def generator_escapes(x):
    def g(n):
        y = x * n
        yield y
        yield y + 1

    it = g(2)
    first = next(it)
    return first, it, (k for k in [1, 2])


@program(vec())
def generator_closes_over_changes(x):
    y = x
    gen = (y + i for i in range(3))
    y = x * 100
    return list(gen)


@program(vec(), lambda: (torch.ones(2) * i for i in range(4)))
def generator_argument(x, it):
    a = next(it)
    b = next(it, None)
    return x.sum() + a.sum() + b.sum(), [t + 1 for t in it], next(it, "done")


@program(vec())
def stop_iteration_leaks(x):
    def g():
        yield x
        next(iter([]))

    return list(g())


class Custom(Exception):
    def __init__(self, tensor, code=5):
        super().__init__("custom", code)
        self.tensor = tensor


class Manager:
    def __init__(self, log, swallow):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind.__name__ if kind else None)
        return self.swallow


@program(vec())
def managers(x):
    log = []
    with Manager(log, True), Manager(log, False) as m:
        x = x + 1
        x.view(100)
        log.append("never")
    with contextlib.ExitStack() as stack:
        stack.enter_context(m)
        stack.callback(log.append, "callback")
        x = x * 2
    with contextlib.nullcontext(5) as five, contextlib.redirect_stdout(io.StringIO()) as out:
        print("hidden", five)
    return x, log, out.getvalue()


@program(vec())
def manager_does_not_swallow(x):
    log = []
    with Manager(log, False):
        x.add_(1)
        raise Custom(x)


@program(vec())
def decorator_contexts(x):
    @torch.no_grad()
    def f(t):
        return t * 2, torch.is_grad_enabled()

    @torch.inference_mode()
    def g(t):
        return (t * 3).is_inference()

    with torch.autocast("cpu", enabled=False):
        return f(x), g(x), torch.is_autocast_enabled("cpu")


@program(vec(), 6)
def mutual_recursion(x, n):
    def even(t, n):
        return t if n == 0 else odd(t + 1, n - 1)

    def odd(t, n):
        return t * 0 if n == 0 else even(t * 2, n - 1)

    return even(x, n)


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


@program(vec())
def deep_recursion(x):
    return x * ackermann(2, 3)


def endless(n):
    return endless(n + 1)


@program(vec())
def recursion_limit(x):
    try:
        endless(0)
    except RecursionError as e:
        return x + 1, type(e).__name__
    return x


def countdown(x, n):
    return x if n == 0 else countdown(x + 1, n - 1)


@program(vec())
def hundred_deep(x):
    return countdown(x, 150)


@program(vec())
def comprehension_scopes(x):
    i = 10
    a = [i for i in range(3)]
    b = {i: j for i in range(2) for j in range(i)}
    c = [(lambda: i)() for i in range(2)]
    d = [[x[r * 3 + c] for c in range(3)] for r in range(2)]
    e = {*a, *[5]}
    total = 0
    f = [total := total + k for k in a]
    return x * i, a, b, c, d, sorted(e), f, total


@program(vec())
def star_everything(x):
    a, *b, c = range(6)
    [d, (e, *f)], g = [1, (2, 3, 4)], 5
    *h, = "xyz"
    i = [*b, *h]
    j = {**{"p": 1}, "q": x, **{"p": 2}}
    (k := [1, 2])[0] = 9
    first, second, *_ = x
    return x * a + c, b, d, e, f, g, h, i, j, k, first + second


@program(vec())
def too_many_to_unpack(x):
    a, b = x
    return a


@program(vec())
def unpack_tensor_rows(x):
    y = x.view(2, 3)
    (a, b, c), d = y
    for i, (p, *q) in enumerate(y):
        c = c + p * i + len(q)
    return a, d, c, [r.sum() for r in y], max(y[0]), sum(y), list(zip(*y))[1]


@program(vec(), True, 0)
def short_circuits(x, t, z):
    log = []

    def f(v, name):
        log.append(name)
        return v

    a = f(z, 1) or f(x, 2)
    b = f(t, 3) and f(0, 4) and f(x, 5)
    c = not f(z, 6) and (f(None, 7) or f("", 8) or f([], 9))
    d = f(1, 10) < f(2, 11) < f(0, 12) < f(5, 13)
    return a, b, c, d, log, x if z else x * 2 if t else None


@program(vec())
def evaluation_order(x):
    log = []

    def n(v):
        log.append(v)
        return v

    d = {n(1): n(2), n(3): n(4)}
    l = [0, 0]
    l[n(0)] = n(9)
    l[n(1)] += n(5)
    torch.add(n(x.numel()), x, alpha=n(2))
    (lambda *a, **k: 0)(n(1), *[n(2)], k=n(3), **{"j": n(4)})
    f"{n(7)}{n(8)!r}"
    n(1) if n(0) else n(2)
    return log, d, l


@program(vec())
def string_formats(x):
    n, f = 42, 3.14159
    return (
        f"{n:05d}|{n:x}|{n:,}|{f:8.3f}|{f:e}|{f!r:>10}|{'s':^5}|{n=}|{'a' 'b'}|{{}}", "%5.1f %s %r %%" % (f, n, "q"), "{0}-{1}-{0} {k[0]} {v.real}".format(1, 2, k=[5], v=3),
        f"{x.sum().item():.2f}", f"{x[0]:.1f}", str(x.shape), repr(x.dtype), f"{x.shape[0]:{n // 10}d}", str(x[:2]), "{:>8}".format(str(x.dim())), f"{torch.float32}", f"{x.sum()}", f"{x.device}",
        "a,b".split(","), " pad ".strip().upper(), "-".join(map(str, x.shape)), "abc"[::-1], "x" in "xyz", "%s" % (x.shape,), b"ab" + b"c", "é".encode(), ord("a"), chr(98), "abc".replace("b", str(n)),
    )  # fmt: skip


@program(vec())
def prints_in_order(x):
    print("a", x.shape, end="")
    y = x + 1
    print("b", y.sum(), sep="-")
    print(*[1, 2], [y[0]], {"k": None})
    print(f"{y.mean():.3f}", file=sys.stdout, flush=True)
    sys.stdout.write("raw\n")
    return y


@program(vec())
def itertools_everything(x):
    return (
        list(itertools.chain([1], (2,), {3: 4})), list(itertools.product([1, 2], "ab")), list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations(range(3), 2)),
        list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x], torch.add))[1], list(itertools.islice(itertools.count(3, 2), 2, 5)), list(itertools.repeat(x, 2))[1] is x,
        [k for k, g in itertools.groupby("aabb")], list(itertools.zip_longest([1], [2, 3], fillvalue=0)), list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 3, 1])),
        list(itertools.starmap(pow, [(2, 3)])), list(itertools.chain.from_iterable([[1], [2]])), next(itertools.cycle([x])) + 1, list(itertools.compress([1, 2, 3], [1, 0, 1])), list(itertools.pairwise([1, 2, 3])), [a is b for a, b in zip(*itertools.tee([x]))],
    )  # fmt: skip


@program(vec())
def builtins_everything(x):
    return (
        abs(-3), all([]), any([x.sum() > 100]), bin(5), bool([]), callable(len), chr(65), divmod(7, -2), list(enumerate("ab", 1)), list(filter(None, [0, 1, ""])), float("inf"), frozenset([1]), hash(1), hex(255),
        isinstance(x, (int, torch.Tensor)), issubclass(bool, int), len({1: 2}), list(map(lambda a, b: a + b, [1, 2], [3, 4])), max([x[0], x[1]]), max(1, 2.5), max([3, 1], key=lambda v: -v), min([], default=7), oct(8), pow(2, 5, 3),
        list(reversed(range(3))), round(2.5), round(2.567, 2), sorted([3, 1, 2], reverse=True), str(1.0), sum([x, x], x), sum([[1], [2]], []), tuple("ab"), type(x).__name__, list(zip([1, 2], "ab", strict=True)), slice(1, 3).indices(5), complex(1, 2),
        int("ff", 16), int.from_bytes(b"\x01\x02", "big"), (5).bit_length(), (0.5).as_integer_ratio(), float.fromhex("0x1p3"), "a".join(["b", "c"]), math.gcd(12, 18), math.prod([1, 2, 3]), math.isclose(0.1 + 0.2, 0.3), math.comb(5, 2), id(x) == id(x), vars(type("Q", (), {"z": 1}))["z"],
    )  # fmt: skip


@program(vec())
def zip_strict_mismatch(x):
    return [a * b for a, b in zip(x, [1, 2], strict=True)]


@program(vec())
def dict_order_and_mutation(x):
    d = {"b": x, "a": x + 1}
    d["c"] = d.pop("b")
    d["a"] = d["a"] * 2
    e = d | {"z": 0, "a": None}
    d |= {"q": 1}
    k, v = d.popitem()
    del d["c"]
    return d, e, k, v, list(reversed(e)), list(e.items())[0], dict.fromkeys("ab", 0), {1: "int", True: "bool", 1.0: "float"}, dict(zip("ab", [1, 2])), e.keys() - {"z"}, "a" in d, e == dict(e) if False else 0


@program(vec())
def dict_changed_while_iterating(x):
    d = {"a": 1, "b": 2}
    for k in d:
        d[k + "x"] = x
    return d


@program(vec())
def list_changed_while_iterating(x):
    l = [1, 2, 3, 4]
    for v in l:
        if v % 2 == 0:
            l.remove(v)
        if len(l) < 6:
            l.append(v + 10)
    return x * len(l), l


@program(vec())
def tensor_keys(x):
    d = {x: 1}
    s = {x, x}
    y = x + 1
    return d[x], y in d, len(s), d.get(y, 5), x in s, len({x, y})


@program(vec())
def tensor_in_list_of_tensors(x):
    y = x + 1
    return (x[0] in [y[0], x[0]]), [y, x].index(y)


@program(vec())
def ambiguous_truth(x):
    return x if x > 0 else -x


@program(vec())
def sets_of_everything(x):
    s = {1, 2} | {3}
    s.add(x.dim())
    s ^= {2, 9}
    s.discard(100)
    f = frozenset(s)
    return sorted(s), f & {1}, s - f, s <= f, {1, 2}.isdisjoint({3}), sorted({"a", "b"} & {"b"}), len(s) * x


@program(vec())
def slices_everywhere(x):
    s = slice(None, None, 2)
    l = list(range(8))
    l[1:3] = [9, 9, 9]
    del l[::3]
    l[s] = [0] * len(l[s])
    return x[s], x[slice(1, -1)], l, x[1:][::2][:1], x[[1, 2]][0], x[None, s, None].shape, x.view(2, 3)[..., s], x[6:], x[-2:], x[True].shape, "abcdef"[s], (1, 2, 3)[s], x[...], x[()] is x


@program(vec())
def negative_step(x):
    return x[::-1]


@program(vec())
def globals_dict_and_locals(x):
    globals()["MADE_HERE"] = 5
    y = x + MADE_HERE  # noqa: F821
    del globals()["MADE_HERE"]
    return y, "MADE_HERE" in globals(), eval("x + 1"), [k for k in vars() if k in "xy"]


@program(vec())
def exec_inside(x):
    ns = {"x": x}
    exec("y = x * 2\nz = [y]", ns)
    return ns["y"] + 1, len(ns["z"])


@program(vec())
def function_attributes(x):
    def f(t, k=2, *, j: int = 3):
        """Doc."""
        f.calls = getattr(f, "calls", 0) + 1
        return t * k * f.calls + j

    f(x)
    f.__defaults__ = (7,)
    return f(x), f.calls, f.__name__, f.__doc__, f.__kwdefaults__, f.__code__.co_argcount, f.__annotations__["j"].__name__


@program(vec())
def nested_nonlocal(x):
    a = 1

    def f():
        nonlocal a
        b = a + 1

        def g():
            nonlocal a, b
            a, b = b, a + x.sum()
            return lambda: (a, b)

        return g()

    first = f()()
    a = 5
    return first, a, f()()


@program(vec())
def deleted_cell(x):
    y = x + 1

    def f():
        return y

    z = f()
    del y
    try:
        f()
    except NameError as e:
        return z, type(e).__name__, str(e)


@program(vec())
def missing_arguments(x):
    def f(a, b, *, c):
        return a

    return f(x)


@program(vec())
def unexpected_keyword(x):
    return (lambda a: a)(a=x, b=1)


@program(vec())
def wrong_torch_argument(x):
    return torch.add(x, x, beta=2)


@program(vec())
def wrong_torch_type(x):
    return torch.sin("x")


@program(vec())
def threads_inside(x):
    out = [None, None]

    def work(i):
        out[i] = x * i + torch.is_grad_enabled()

    ts = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    return out


@program(vec())
def sys_and_frames(x):
    f = sys._getframe()
    y = x + 1
    return y, f.f_code.co_name, f.f_locals["x"] is x, sys.exc_info()[0], sys.version_info >= (3, 11)


@program(vec(), lambda: collections.OrderedDict(b=torch.ones(6), a=torch.zeros(6)), lambda: collections.defaultdict(int), lambda: collections.deque([1, 2], maxlen=2))
def containers_as_arguments(x, o, d, q):
    o.move_to_end("b")
    d["new"] += 3
    q.append(5)
    return x * o["b"] + d["new"] + d["absent"] + q[0], list(o), dict(d), list(q), q.maxlen


@program(vec(), lambda: {1, 2}, lambda: frozenset("a"), range(3), b"bytes", slice(1, 3), ..., NotImplemented, lambda: bytearray(b"xy"), 2 + 1j)
def odd_arguments(x, s, f, r, b, sl, e, n, ba, c):
    s.add(7)
    ba.append(1)
    return x[sl] * len(s) + r[1] + len(b), "a" in f, e is ..., n is NotImplemented, bytes(ba), c.imag, x[e]


@program(mat(2, 3))
def while_true_with_breaks(x):
    n = 0
    while True:
        n += 1
        x = x * 1.5
        if n % 2:
            continue
        if x.abs().max() > 5:
            break
    else:
        n = -1
    return x, n


@program(vec(), 1000)
def long_loop(x, n):
    for i in range(n):
        x = x + 1 if i % 2 else x - 1
    return x


@program(vec())
def loop_variable_survives(x):
    for i in range(3):
        for j, y in enumerate(x):
            if j > i:
                break
    while i:
        i -= 1
    return i, j, y, x * j
