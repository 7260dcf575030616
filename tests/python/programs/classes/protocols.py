"""A class that notes whatever is asked of it. Each question asks as often, and in the order, that it does in eager."""

import bisect
import collections
import functools
import heapq
import math
import operator

from tests.python.programs.registry import program, vec


class Noted:
    log: list = []

    def __init__(self, v):
        self.v = v

    def note(self, *what):
        self.log.append((self.v, *what))

    def __eq__(self, other):
        self.note("==")
        return isinstance(other, Noted) and self.v == other.v

    def __hash__(self):
        self.note("hash")
        return hash(self.v)

    def __bool__(self):
        self.note("bool")
        return bool(self.v)

    def __lt__(self, other):
        self.note("<", other.v)
        return self.v < other.v

    def __index__(self):
        self.note("index")
        return self.v

    def __int__(self):
        self.note("int")
        return self.v

    def __float__(self):
        self.note("float")
        return float(self.v)

    def __len__(self):
        self.note("len")
        return self.v

    def __iter__(self):
        self.note("iter")
        return iter(range(self.v))

    def __contains__(self, other):
        self.note("in", other)
        return other == self.v

    def __getitem__(self, i):
        self.note("item", i)
        return i

    def __format__(self, form):
        self.note("format", form)
        return f"<{self.v}{form}>"

    def __repr__(self):
        self.note("repr")
        return "R"

    def __add__(self, other):
        self.note("+")
        return self.v + other

    def __radd__(self, other):
        self.note("+ reflected")
        return other + self.v

    def __reversed__(self):
        self.note("reversed")
        return [9]

    def __round__(self, n=None):
        self.note("round", n)
        return self.v


QUESTIONS = {
    "equality": """a == b|a != b|a == a|a in [b, a]|a in (a, b)|[b, a].index(a)|[a, b, a].count(a)|(a, b, a).count(b)|[a] == [b]|[a].remove(a)
(a, b) == (a, b)|(a, b) == (a,)|(b,) == (a, b)|[a, b] == [a]|{1: a} == {1: b}|a is b|a == None|3 == a|[a, 3] == [3, a]|(1, a) < (1, b)""",
    "keys": """{a: 1}[a]|{a: 1, b: 2}.get(b)|{a, b} & {b}|a in {a}|{a: 1} == {b: 1}|len({a, b, a})|{**{a: 1}, b: 2}|dict([(a, 1), (a, 2)])
next(iter({a: 1})) is a|list({a: 1})[0] is a|a in {a: 1}.keys()|(a, 1) in {a: 1}.items()|1 in {a: 1}.values()|{a: 1}.pop(a)|{a} <= {a, b}""",
    "truth": "bool(a)|not a|a and b|a or b|1 if a else 2|all([a, b])|any([a, b])|list(filter(None, [a, b]))|[1 for _ in [a] if a]",
    "order": """a < b|sorted([b, a])|max(a, b)|min([a, b])|heapq.heapify([b, a])|bisect.bisect([a], b)|max([a, b], key=lambda q: q)
sorted([b, a, b, a], reverse=True)|sorted([a, b, b, a, a])""",
    "numbers": """range(a)|[1, 2, 3, 4][a]|x[a]|"abcd"[a]|(1, 2, 3)[a:b]|[1] * a|operator.index(a)|x[a:b]|bin(a)|int(a)|float(a)|round(a)|round(a, 2)
math.sqrt(a)|sum([1, a])|1 + a""",
    "lengths": """len(a)|list(a)|tuple(a)|set(a)|sum(a)|sorted(a)|list(zip(a, b))|list(map(abs, a))|[*a]|(lambda *q: q)(*a)|[*a, *b]|max(a)|[].extend(a)
list(reversed(a))|dict(zip(a, b))|next(iter(a))|(a.v, *a)""",
    "text": """f"{a}"|f"{a:>3}"|f"{a!r}"|str(a)|repr(a)|"%s" % a|"{}".format(a)|str([a])""",
    "library": """3 in a|a[5]|a[1:2]|hash(a)|id(a) == id(a)|isinstance(a, collections.abc.Iterable)|functools.reduce(operator.add, [1, a])|callable(a)
collections.Counter([a, a])|collections.deque([a]).count(a)|frozenset([a, b]) == frozenset([b, a])|operator.contains([a], b)""",
}


def asking(name, questions):
    """Asks all, of objects made inside and of those in a list that was there before."""
    lines = [f"    lambda a, b, x: ({question}),\n" for question in questions.replace("\n", "|").split("|")]
    scope = dict(globals())
    exec(f"ASKED = [\n{''.join(lines)}]\n", scope)
    asked = scope["ASKED"]

    def asks(x, given):
        out = []
        for question in asked:
            for a, b in ((Noted(2), Noted(3)), given):
                Noted.log.clear()
                try:
                    answer = question(a, b, x)
                except Exception as error:
                    answer = type(error).__name__, str(error)
                out.append((repr(answer) if not hasattr(answer, "shape") else answer, list(Noted.log)))
        return x + 1, out

    asks.__name__ = f"asked_for_{name}"
    return asks


for name, questions in QUESTIONS.items():
    program(vec(), lambda: [Noted(2), Noted(3)])(asking(name, questions))
