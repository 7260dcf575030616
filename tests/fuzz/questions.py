"""Asks what programs ask of a value (its type, length, truth, attributes, ...), of values of every kind in random order.

One function is compiled for each question and meets all values: an answer that was captured for one of them must not be
given for another. python -m tests.fuzz.questions [--first SEED] [--count N] prints the seed with every difference.
"""

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import math
import pathlib
import random
import types
import warnings

import torch
import vitrine

from tests.python.support.facts import texts_of

X = torch.ones(2)


class Plain:
    k = 1

    def __init__(self, v=1):
        self.v = v

    def m(self):
        return self.v


class Derived(Plain):
    k = 2


class Rich(Plain):
    def __len__(self):
        return 3

    def __bool__(self):
        return False

    def __eq__(self, other):
        return isinstance(other, Plain)

    def __hash__(self):
        return 5

    def __call__(self):
        return 7

    def __getitem__(self, i):
        return i * 2

    def __iter__(self):
        return iter([1, 2])

    def __contains__(self, i):
        return i == 1


class Colour(enum.Enum):
    RED, BLUE = 1, 2


class Number(enum.IntEnum):
    ONE, TWO = 1, 2


@dataclasses.dataclass
class Data:
    a: int = 1
    b: float = 2.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 1


Named = collections.namedtuple("Named", "a b")


def nothing():
    return 1


def something(a, b=2):
    return a


def values(shared=torch.nn.Linear(2, 2)):
    """New objects of every kind, the same each time."""
    torch.manual_seed(0)
    numbers = [0, 1, 5, -3, 10**15, True, False, 1.0, 2.5, math.nan, math.inf, -0.0, 0.0, 1 + 2j]
    texts = ["a", "bc", "", b"x", bytearray(b"ab")]
    others = [None, ..., NotImplemented, slice(1, 2), range(3), range(0, 10, 3), decimal.Decimal("1.5"), fractions.Fraction(1, 3),
              datetime.date(2020, 1, 2), pathlib.PurePosixPath("a/b"), torch.float32, torch.int64, torch.device("cpu"),
              torch.device("meta"), math, random]  # fmt: skip
    containers = [[1, 2], [], [1, 2, 3], [X], (1, 2), (), ("a",), {"a": 1}, {}, {"b": 1, "a": 2}, {1, 2}, set(), frozenset([1]),
                  torch.Size([2, 3]), collections.OrderedDict(a=1), collections.deque([1, 2]), collections.Counter("aab"),
                  collections.defaultdict(list, a=[1]), Named(1, 2), Named(3, [1]), iter([1, 2]), (i for i in [1, 2])]  # fmt: skip
    objects = [Plain(), Plain(5), Derived(), Rich(), Colour.RED, Colour.BLUE, Number.ONE, Number.TWO, Data(), Data(3), Frozen(),
               Frozen(2), types.SimpleNamespace(a=1), types.SimpleNamespace(b=1)]  # fmt: skip
    callables = [nothing, something, lambda: 3, functools.partial(something, 1), functools.partial(something, b=3), Plain, Derived, int,
                 Plain(4).m, shared, torch.nn.Linear(2, 2).eval(), torch.nn.Dropout(), torch.nn.ModuleList([shared])]  # fmt: skip
    tensors = [torch.ones(2), torch.ones(3), torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.int64),
               torch.ones(2, dtype=torch.float16), torch.tensor(2.0), torch.ones(0), torch.ones(2, 3).t(), torch.ones(2, 3),
               torch.tensor(True), torch.nn.Parameter(torch.ones(2))]  # fmt: skip
    return numbers + texts + others + containers + objects + callables + tensors


QUESTIONS = """
v is None|v is ...|v is True|v is v|isinstance(v, (int, float))|isinstance(v, int)|isinstance(v, torch.Tensor)
isinstance(v, torch.nn.Module)|isinstance(v, (list, tuple))|isinstance(v, Plain)|isinstance(v, str)
isinstance(v, collections.abc.Mapping)|callable(v)|type(v).__name__|type(v) is int|issubclass(v, Plain)|len(v)|bool(v)|not v
v == 1|v == "a"|v != 2.5|v != v|v < 3|0 < v < 3|v + 1|v * 2|-v|~v|v % 2|v // 2|v << 1|v & 1|v @ X|abs(v)|round(v)|int(v)|float(v)
v[0]|v[-1]|v["a"]|1 in v|"a" in v|[1, 2, 3][v]|X[v]|hash(v) == hash(1)
v.a|v.k|v.v|v.m()|v.value|v.name|v.training|hasattr(v, "k")|hasattr(v, "shape")|hasattr(v, "__len__")|hasattr(v, "__call__")
hasattr(v, "__getitem__")|hasattr(v, "__iter__")|getattr(v, "shape", None)|getattr(v, "k", 3)|getattr(v, "dtype", None)
getattr(v, "training", None)|getattr(v, "__name__", "?")|getattr(v, "requires_grad", None)
list(v)|tuple(v)|sorted(v)|max(v)|sum(v)|all(v)|any(v)|list(enumerate(v))|list(zip(v, [1, 2, 3]))|list(reversed(v))
v or 3|v and 3|1 if v else 2|v()|(lambda a, b: (a, b))(*v)|(lambda **k: k)(**v)|{**v}|{v: 1}|len({v})|",".join(v)
list(v.keys())|list(v.items())|v.get("a")|v.count(1)|v.index(1)|v.startswith("a")|dataclasses.replace(v, a=9)
[f.name for f in dataclasses.fields(v)]|v.dim()|v.size(0)|v.shape[0]|v.is_contiguous()|v.is_floating_point()
X + v|torch.where(X > 0, X, v)|torch.cat([X, v])|torch.stack(v)|torch.as_tensor(v) * 2|X ** v|X.to(v)|X.sum(v)|v(X)
[p.shape for p in v.parameters()]|[n for n, _ in v.named_modules()]|list(v.state_dict())|len(list(v.children()))
f"{v}" if isinstance(v, (int, float, str, enum.Enum)) else 0|"%s" % v if isinstance(v, (int, float, str)) else 0
"""


def programs():
    """For each question a function that gives the answer, and one that only finds out whether there is one."""
    for question in QUESTIONS.replace("\n", "|").strip("|").split("|"):
        for lines in (f"return x + 1, ({question})", f"try:\n        {question}\n        return x + 2\n    except Exception:\n        return x - 2"):
            scope = dict(globals())
            exec(f"def asks(o, x):\n    v = o.v\n    {lines}\n", scope)
            yield question, scope["asks"]


def shown(v, depth=0):
    if isinstance(v, torch.Tensor):
        return type(v).__name__, str(v.dtype), tuple(v.shape), v.stride(), v.requires_grad, v.tolist() if v.device.type == "cpu" else ""
    if isinstance(v, (list, tuple)) and depth < 4:
        return type(v).__name__, [shown(item, depth + 1) for item in v]
    if isinstance(v, dict) and depth < 4:
        return type(v).__name__, [(shown(k, depth + 1), shown(item, depth + 1)) for k, item in v.items()]
    if isinstance(v, (Plain, Data)):
        return type(v).__name__, shown(vars(v), depth + 1)
    text = repr(v)
    return type(v).__name__, getattr(v, "__qualname__", "") if " at 0x" in text or isinstance(v, torch.nn.Module) else text


def outcome(f, v):
    o = types.SimpleNamespace(v=v)
    torch.manual_seed(0)
    try:
        answer = repr(shown(f(o, X)))
    except Exception as error:
        answer = type(error).__name__, str(error).split(" at 0x")[0]
    return answer, repr(shown(list(v) if hasattr(v, "__next__") else v))


def differences(seed, share=1.0):
    """What is answered otherwise than in eager, as texts. share: of the questions."""
    chosen, limit = random.Random(seed), vitrine.config.recompile_limit
    vitrine.config.recompile_limit = 1000
    try:
        for question, f in programs():
            if chosen.random() > share:
                continue
            vitrine.reset()
            compiled, order = vitrine.compile(f), list(range(len(values())))
            chosen.shuffle(order)
            for k in order + order[:10]:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always", vitrine.VitrineWarning)
                    warnings.simplefilter("ignore", DeprecationWarning)
                    expected, found = outcome(f, values()[k]), outcome(compiled, values()[k])
                ours = texts_of(w for w in said if issubclass(w.category, vitrine.VitrineWarning))
                if expected != found or ours:
                    yield f"seed {seed}: {question}, v = {values()[k]!r:.60}: eager {expected}, compiled {found} {ours}"
    finally:
        vitrine.config.recompile_limit = limit


def ask(differences, about):
    """Prints where answers differ, by the command line's --first SEED, --count N and --share PART of the questions; exits
    with 1 if any does. differences: what gives the texts of a seed and a share; about: the text of --help."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    wrong = [text for seed in range(given.first, given.first + given.count) for text in differences(seed, given.share)]
    print("\n".join(wrong) or "every answer is eager's")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    ask(differences, __doc__)
