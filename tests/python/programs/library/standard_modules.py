"""Modules of the standard library over tensors and sizes."""

import array
import bisect
import collections
import contextlib
import contextvars
import copy
import decimal
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import operator
import pickle
import re
import string
import struct
import textwrap

import torch
from tests.python.programs.registry import mat, program


SETTING = contextvars.ContextVar("cv", default=2)


@program(mat(2, 3))
def ctxvars(x):
    t = SETTING.set(5)
    y = x * SETTING.get()
    SETTING.reset(t)
    ctx = contextvars.copy_context()
    z = ctx.run(lambda: (SETTING.set(9), x + SETTING.get())[1])
    return (y, z, SETTING.get())


@program(mat(2, 3))
def deepcopies(x):
    l = [x, {"a": x}, (x, [1])]
    m = copy.deepcopy(l)
    m[0].add_(1)
    c = copy.copy(x)
    c.mul_(2)
    return (m, m[0] is m[1]["a"], l, c is x)


@program(mat(2, 3))
def pickling(x):
    b = pickle.dumps([1, {"k": (2, 3)}])
    l = pickle.loads(b)
    t = pickle.loads(pickle.dumps(x.detach() + 1))
    return (t, l, x * l[0])


@program(mat(2, 3))
def save_load(x):
    b = io.BytesIO()
    torch.save(x.detach() * 2, b)
    b.seek(0)
    return torch.load(b) + x


@program(mat(2, 3))
def tensor_dict_keys(x):
    a, b = (x + 1, x + 1)
    d = {a: 1, b: 2, x: 3}
    return (d[a], d[b], d[x], len(d), a in d, x + 1 in d, list(d) == [a, b, x] if False else len(list(d)))


@program(mat(2, 3))
def tensor_set(x):
    s = {x, x, x + 1}
    t = frozenset([x])
    return (len(s), x in s, len(s | t), len(s & t))


@program(mat(2, 3))
def fmt_bad(x):
    return f"{x:.2f}"


@program(mat(2, 3))
def sums(x):
    l = [x, x * 2, x - 1]
    return (sum(l), sum(l, torch.zeros(())), sum(x.view(-1)), math.fsum([1, 2]), sum((t.sum() for t in l)), functools.reduce(operator.mul, l), list(itertools.accumulate(l)), list(itertools.accumulate([1, 2, 3], lambda a, b: a * b, initial=x.sum())))


@program(mat(2, 3))
def min_max(x):
    a = x.view(-1)
    return (max(a[0], a[1]), min(a), max(a, key=lambda t: -t), sorted(a)[0], sorted(a, reverse=True)[:2], max([x.sum(), 3.0]), min(1, x.sum()))


@program(mat(2, 3))
def zips(x):
    return ([a * b for a, b in zip(x, x.flip(0), strict=True)], list(map(torch.add, x, x)), list(filter(lambda t: t.sum() > 0, x)), list(itertools.starmap(torch.mul, [(x, 2), (x, x)])), [i + t for i, t in enumerate(x, 1)], dict(zip("ab", x)), list(itertools.zip_longest(x, [1], fillvalue=0)), list(itertools.pairwise(x)), list(itertools.batched(x, 2)) if hasattr(itertools, "batched") else 0)


@program(mat(2, 3))
def iters2(x):
    return (list(itertools.islice(itertools.cycle([x, x + 1]), 3)), list(itertools.chain(x, [1])), list(itertools.chain.from_iterable([[x], [2]])), list(itertools.takewhile(lambda i: i < 3, itertools.count())), list(itertools.compress([x, 1, 2], [1, 0, 1])), list(itertools.product([x], "ab")), list(itertools.permutations([x, 1])), list(itertools.combinations([x, 1, 2], 2)), list(itertools.repeat(x, 2)), list(itertools.dropwhile(lambda i: i < 2, range(4))), list(itertools.filterfalse(lambda i: i % 2, range(4))))


@program(mat(2, 3))
def modes(x):
    a = torch.is_grad_enabled()
    with torch.no_grad():
        b = torch.is_grad_enabled()
        y = x * 2
    with torch.enable_grad():
        c = torch.is_grad_enabled()
        z = x * 2
    with torch.inference_mode():
        d = torch.is_inference_mode_enabled()
        w = x * 2
    with torch.set_grad_enabled(False):
        e = torch.is_grad_enabled()
    return (a, b, c, d, e, y.requires_grad, z.requires_grad, w.is_inference(), y, z)


@torch.no_grad()
def without_gradients(x):
    return x * 3


@torch.inference_mode()
def in_inference(x):
    return x * 3


@program(mat(2, 3))
def grad_decos(x):
    return (without_gradients(x), without_gradients(x).requires_grad, in_inference(x).is_inference())


@program(mat(2, 3))
def jit_q(x):
    return (torch.jit.is_tracing(), torch.jit.is_scripting(), torch.onnx.is_in_onnx_export(), x + 1)


@program(mat(2, 3))
def redirect(x):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        print("shape", tuple(x.shape), end="!")
    with contextlib.closing(b):
        v = b.getvalue()
    return (v, x + len(v))


@program(mat(2, 3))
def heap_bisect(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    i = bisect.bisect([1, 3, 5], 4)
    return (x * heapq.heappop(h) + i, h, heapq.nlargest(2, h), heapq.merge([1], [0]) is not None)


@program(mat(2, 3))
def counter_chainmap(x):
    c = collections.Counter("abca")
    c.update("b")
    m = collections.ChainMap({"a": x}, {"a": 1, "b": 2})
    dd = collections.defaultdict(lambda: x * 0)
    dd["q"] += 1
    od = collections.OrderedDict(a=1, b=x)
    od.move_to_end("a")
    return (c.most_common(1), m["a"], m["b"], dd["q"], list(od), c["zz"], dict(c))


@program(mat(2, 3))
def decimals(x):
    return (x * float(decimal.Decimal("1.5") * 2), x * float(fractions.Fraction(1, 4)), x + int("0b11", 0), x + round(2.5), x + 7 // -2, x * (7 % -3), x + (1 if 0.1 + 0.2 == 0.3 else 2), x + bool([]), x * divmod(7, 3)[0])


@program(mat(2, 3))
def regex_str(x):
    m = re.match('(?P<a>\\d+)-(\\w+)', "12-ab")
    return (x * int(m["a"]), m.group(2), re.sub("a", "b", "aa"), string.Template("$q").substitute(q=x.shape[0]), textwrap.dedent("  z"), "a,b".split(","), "abc"[::-1], "%05d" % 3, "x".center(5, "*"))


@program(mat(2, 3))
def jsons(x):
    return (json.loads(json.dumps({"a": [1, 2.5, None, x.shape[0]]})), json.dumps(x.tolist()))


@program(mat(2, 3))
def structs(x):
    return (struct.unpack("<if", struct.pack("<if", 3, 1.5)), array.array("i", [1, 2]).tolist(), x * struct.calcsize("q"), bytes(3), bytearray(b"ab")[0], memoryview(b"abc")[1])
