"""What people write every day with deques, groups, formats, keys of their own, caches and errors."""

import collections
import functools
import itertools
import types

import torch
from tests.python.programs.registry import mat, program, scenario, vec


@program(vec())
def deques_of_limited_length(x):
    q = collections.deque(maxlen=3)
    for i in range(5):
        q.append(x * i)
    q.appendleft(x)
    q.extend([x + 1])
    q.extendleft([x - 1, x - 2])
    q += [x * 9]
    q.rotate(-1)
    a, b = q.pop(), q.popleft()
    q.insert(0, x)
    full = collections.deque("abcd", 2)
    try:
        full.insert(0, "z")
    except IndexError as e:
        text = str(e)
    return list(q), a, b, q.maxlen, full, full.copy().maxlen, text, collections.deque([1]) == [1], q[0], [t.sum() for t in q]


@scenario
def deques_between_calls(compile):
    seen, last = collections.deque(maxlen=2), collections.deque()

    @compile
    def program(x):
        seen.append(x * 2)
        last.appendleft(x.shape[0])
        if len(last) > 2:
            last.pop()
        return sum(seen), list(last), seen.maxlen

    out = [program(torch.ones(n)) for n in (3, 3, 3, 3)]
    return out, list(seen), list(last)


@scenario
def deques_over_a_break(compile):
    seen = collections.deque(maxlen=3)

    @compile
    def program(x):
        seen.append(x)
        total = 0
        for each in seen:
            print("between")
            total = total + each
        return total

    return [program(torch.ones(2) * i) for i in range(3)], list(seen)


@program(vec())
def groups(x):
    kinds = [(k, len(list(g))) for k, g in itertools.groupby("aabcc")]
    for k, g in itertools.groupby([1, 1, 2, 2, 3], key=lambda n: n // 2):
        x = x + sum(g) * k
    pairs = list(itertools.groupby([5, 5, 6]))  # their groups are over by now
    return x, kinds, [(k, list(g)) for k, g in pairs]


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        if i >= len(self.rows):
            raise IndexError(i)
        return self.rows[i]


@program(mat(3, 2))
def sequences_without_iter(x):
    rows = Rows([x, x + 1])
    return [row.sum() for row in rows], list(zip(rows, "ab")), max(Rows([3, 1])), sum(Rows([1, 2])), 2 in Rows([1, 2])


@program(vec())
def text_formats(x):
    return (
        "{0:{w}}|{k[a]}|{x.ndim}|{0!r}".format(x.shape[0], w=6, k={"a": 1}, x=x),
        "{} {}".format(x.dtype, tuple(x.shape)),
        "{{}}{.shape[0]:>4}".format(x),
        x + 1,
    )


def two(a, b):
    return a


def many(a, /, b, c=1, *, d, e=2):
    return a


class Bare:
    pass


class Slotted:
    __slots__ = ("q",)

    def __getattr__(self, name):
        raise AttributeError("mine: " + name)


@program(vec())
def texts_of_errors(x):
    calls = [
        lambda: two(1),
        lambda: two(),
        lambda: two(1, 2, 3),
        lambda: two(1, c=2),
        lambda: two(1, a=2),
        lambda: many(a=1, b=2, d=3),
        lambda: many(1, 2, 3, 4, d=1),
        lambda: many(1, 2),
        lambda: many(),
        lambda: list(zip([1], [], strict=True)),
        lambda: list(zip([1], [2], [3, 4], strict=True)),
        lambda: (1).foo,
        lambda: None.x,
        lambda: x.nope,
        lambda: Bare().a,
        lambda: Slotted().a,
    ]
    out = []
    for call in calls:
        try:
            call()
        except Exception as e:
            out.append(f"{type(e).__name__}: {e}")
    return out, x * 2


@program(vec())
def throws_through_yield_from(x):
    log = []

    def inner():
        try:
            yield x
        except KeyError:
            log.append("inner")
            yield x + 1
        finally:
            log.append("left")
        return "r"

    def outer():
        try:
            log.append((yield from inner()))
        except ValueError as e:
            log.append(str(e))
        yield x + 2

    a = outer()
    out = [next(a), a.throw(KeyError("k")), next(a)]
    b = outer()
    out += [next(b), b.throw(ValueError("v"))]
    c = outer()
    next(c)
    c.close()
    return out, log


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return self.n == getattr(other, "n", other)


Pair = collections.namedtuple("Pair", "a b")


@program(vec())
def keys_of_their_own(x):
    d = {Key(1): x, Key(2): x + 1}
    d[Key(1)] = x * 2
    pairs = {Pair(1, 2): x, (3, 4): 5}
    return list(d.values()), d[Key(2)], Key(3) in d, len({Key(1), Key(1), Key(2)}), pairs[1, 2], pairs[Pair(3, 4)]


@program(vec())
def keys_of_their_own_among_others(x):
    d = {1: x}
    d[Key(1)] = x + 1
    return d, Key(1) in {1, 2}, d[1]


@program(vec())
def keys_of_their_own_leave(x):
    return {Key(1): x, Key(2): x + 1}


@functools.lru_cache(None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@scenario
def caches_count(compile):
    fibonacci.cache_clear()

    @compile
    def program(x):
        return x * fibonacci(6) + fibonacci(3)

    out = []
    for _ in range(3):
        out.append(program(torch.ones(2)))
        out.append(fibonacci.cache_info())
    fibonacci.cache_clear()
    return [*out, program(torch.ones(2)), fibonacci.cache_info()]


@program(lambda: torch.tensor([[0, 2], [1, 1]]))
def one_hot_rows(i):
    return torch.nn.functional.one_hot(i, 3), torch.nn.functional.one_hot(i, num_classes=4).float().mean(0)


@program(lambda: torch.tensor([0, 5]))
def one_hot_of_another_class(i):
    return torch.nn.functional.one_hot(i, 3)


class Watching:
    def __init__(self, x):
        self.x, self.gone = x, []

    def __delattr__(self, name):
        self.gone.append(name)
        super().__delattr__(name)


@program(vec())
def deletes_by_the_base(x):
    w = Watching(x)
    del w.x
    return w.gone, hasattr(w, "x"), x + 1


@program(vec())
def namespaces(x):
    c = types.SimpleNamespace(a=1, b=x)
    c.a += 1
    nested = types.SimpleNamespace(inner=c, **{"with space": 2})
    del nested.inner.a
    return c, nested, vars(c), hasattr(c, "a"), getattr(nested, "with space"), x * 2


def kept(a, k=None):
    return a if k is None else k(a)


@program(vec())
def partials_that_leave(x):
    p = functools.partial(torch.add, x, alpha=2)
    q = functools.partial(kept, k=p)
    return p, [q, q], p.keywords, q(x)


@program(vec())
def hashes_of_tuples(x):
    by_place = {(1, (2, "b")): x}
    return hash((1, "a", (2.5, True))) == hash((1, "a", (2.5, 1))), by_place[1, (2, "b")], hash(("a",)) == hash("a")


@program(vec())
def sorted_by_a_comparison(x):
    return sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), max([x, x + 1], key=functools.cmp_to_key(lambda a, b: 1)), x


TIED = torch.nn.Linear(3, 3)


@program(vec())
def parameters_once(x):
    seen = {}
    for p in list(TIED.parameters()) * 2:
        seen.setdefault(id(p), p)
    return x + len(seen), id(TIED.weight) in seen, id(TIED.weight) == id(TIED.bias)


ALIKE = [types.SimpleNamespace(a=1) for _ in range(2)]


@program(vec())
def equal_by_their_class(x):
    return x + 1, ALIKE[0].__eq__(ALIKE[1]), ALIKE[0] == ALIKE[1], ALIKE[0] != ALIKE[1]


@program(vec())
def partials_with_attributes(x):
    p = functools.partial(torch.add, x, alpha=2)
    p.tag = 3
    return p, p.tag
