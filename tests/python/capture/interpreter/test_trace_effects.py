"""What a segment changes: objects, containers, globals and classes that existed before, and those that it makes."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import torch
import vitrine
from torch import nn
from vitrine import _engine
from tests.python.capture.interpreter.test_trace import X, agrees, whole


def test_effects_on_what_existed_before():
    def f(x, items, table):
        items.append(x + 1)
        items[0] = len(items)
        table["n"] = table.get("n", 0) + 1
        del table["old"]
        table["x"] = x * 2
        return items[-1] + table["n"]

    whole(f, X, [0], {"old": 1})
    agrees(f, (X, [0], {"old": 1}), (X, [0, 1], {"old": 1, "n": 3}))


def test_effect_then_break():
    def f(x, items):
        items.append(x + 1)
        print(end="")
        items.append(x + 2)
        return len(items)

    agrees(f, (X, []), (X, [1]))


def test_one_list_under_two_names():
    def f(x, a, b):
        a.append(x)
        return x + len(b)

    shared = []
    vitrine.reset()
    compiled = vitrine.compile(f)
    with torch.no_grad():
        for a, b in (([], []), (shared, shared), ([], [])):
            expected = X + (len(b) + 1 if a is b else len(b))
            torch.testing.assert_close(compiled(X, a, b), expected)


class Counter:
    def __init__(self, start):
        self.n = start
        self.seen = []

    @property
    def double(self):
        return self.n * 2

    def step(self, x):
        self.n += 1
        self.seen.append(self.n)
        return x * self.double

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def helper(x):
        return x + 1

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.n + i

    def __call__(self, x):
        return x + self.n


def test_user_objects():
    def f(x, c):
        y = c.step(c.helper(x)) + c[2] + len(c)
        return c(y) if c else y

    whole(f, X, Counter(1))
    agrees(f, (X, Counter(1)), (X, Counter(0)))


def test_objects_made_inside():
    def f(x):
        c = Counter.make(3)
        y = c.step(x)
        return y, c

    whole(f, X)
    agrees(f, (X,))


Point = namedtuple("Point", "a b")


@dataclass
class Pair:
    left: object
    right: object = 2

    def total(self):
        return self.left + self.right


def test_named_tuples_and_dataclasses():
    def f(x, p):
        q = Point(x, b=p.a + 1)
        d = Pair(x + 1)
        d.right = 5
        return q, q.a + q[1], d.total(), d, isinstance(q, tuple)

    whole(f, X, Point(1, 2))
    agrees(f, (X, Point(1, 2)), (X, Point(3, 4)))


def test_fields_of_a_result():
    def f(x):
        best = x.max(dim=1)
        values, indices = torch.topk(x, 2)
        return best.values + values.sum(1), best.indices, indices

    whole(f, X)
    agrees(f, (X,))


def test_backward_leaves_its_gradients():
    model = nn.Linear(4, 1)

    def f(x):
        loss = model(x).sum()
        loss.backward()
        return loss.detach() + 1

    description, _ = _engine.trace_call(f, (X,), {})
    assert description["broke"] is None
    model.zero_grad()
    expected = f(X)
    wanted, model.weight.grad = model.weight.grad, None
    vitrine.reset()
    out = vitrine.compile(f)(X)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(model.weight.grad, wanted)
    assert not out.requires_grad


def test_ordered_dict():
    def f(x):
        d = OrderedDict(a=x, b=x + 1)
        d.move_to_end("a")
        return d, list(d.keys())

    agrees(f, (X,))


class Custom:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


def test_custom_setter_is_followed():
    def f(x, c):
        c.n = 3
        return x + c.n

    agrees(f, (X, Custom()))


counter = 0


def test_globals_written():
    def f(x):
        global counter
        counter += 1
        return x + counter

    global counter
    vitrine.reset()
    compiled = vitrine.compile(f)
    counter = 0
    with torch.no_grad():
        for n in range(1, 4):
            torch.testing.assert_close(compiled(X), X + n)
    assert counter == 3


def test_patched_class_is_seen():
    class Thing:
        def size(self):
            return 1

    thing = Thing()

    def f(x):
        return x + thing.size()

    vitrine.reset()
    compiled = vitrine.compile(f)
    with torch.no_grad():
        assert torch.equal(compiled(X), X + 1)
        Thing.size = lambda self: 2
        assert torch.equal(compiled(X), X + 2)
        thing.size = lambda: 3
        assert torch.equal(compiled(X), X + 3)


def test_the_first_items_that_differ_decide():
    def f(x):
        pairs = sorted([("b", x + 1), ("a", x * 2), ("c", x)])
        return [name for name, _ in pairs], pairs[0][1], ("a", x) < ("b", x), [x, 1] < [x, 1, 2]

    whole(f, X)
    agrees(f, (X,))
