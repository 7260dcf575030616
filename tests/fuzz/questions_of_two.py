"""Asks what programs ask of two values at once, and of the elements of a container: whether they are the same object or equal,
share memory, are of one type, fit each other. Pairs come in random order: the same object twice, equal ones, any two.

python -m tests.fuzz.questions_of_two [--first SEED] [--count N] prints the seed with every difference.
"""

import operator
import random
import types
import warnings

import torch
import vitrine

from tests.fuzz import questions
from tests.fuzz.questions import X, shown, values
from tests.python.support.facts import texts_of

OF_TWO = """
v is w|v is not w|v == w|v != w|v < w|v <= w|(v, w) == (w, v)|[v] == [w]|(v,) == (w, 1)|{1: v} == {1: w}|v in [w]|v in (w, 1)|[v, w].index(w)
[v, w].count(v)|w in {v: 1}|len({v, w})|{v: 1, w: 2}[v]|{v: 1}.get(w)|hash(v) == hash(w)|max(v, w)|sorted([v, w])|id(v) == id(w)
type(v) is type(w)|isinstance(v, type(w))|issubclass(type(v), type(w))|type(v) == type(w)|v.__class__ is w.__class__
v + w|v - w|v * w|v / w|v // w|v % w|v ** w|v & w|operator.or_(v, w)|v @ w|v and w|v or w|w if v else v|divmod(v, w)|v[w]|w(v)|v(w)|v in w
getattr(v, "v", w)|hasattr(v, "v") and v.v is w|list(zip(v, w))|list(map(max, v, w))|{**v, **w}|[*v, *w]|(lambda *a, **k: (a, k))(*v, **w)
v.append(w)|v.update(w)|v.extend(w)|setattr(v, "k", w)|v.__setitem__(0, w)|v.get(w)|v.index(w)|v.count(w)|v.union(w)|isinstance(v, w)
v._base is w|v._base is w._base|v.data_ptr() == w.data_ptr()|v.untyped_storage()._cdata == w.untyped_storage()._cdata|v.shape == w.shape
v.dtype == w.dtype|v.dtype is w.dtype|v.shape is w.shape|v.stride() == w.stride()|torch.equal(v, w)|torch.allclose(v, w)|v.device == w.device
torch.cat([v, w])|torch.stack([v, w])|torch.maximum(v, w)|torch.where(X > 0, v, w)|torch.result_type(v, w)|v.add_(w)|v.copy_(w)|v.view_as(w)
v.add(w, alpha=2)|X.view(v, w)|X.add(v, alpha=w)|X.clamp(v, w)|X[v:w]|range(v, w)|slice(v, w)|"%s %s" % (v, w)|f"{v}{w}"
"""
OF_ELEMENTS = """
v[0] is v[1]|v[0] == v[1]|v[0] in v|v[1:] == v[:1]|v.index(v[1])|v.count(v[0])|[type(e).__name__ for e in v]|len({type(e) for e in v})
[e is v[0] for e in v]|any(isinstance(e, torch.Tensor) for e in v)|[e for e in v if e is not None]|[e + 1 for e in v]|sorted(v)|max(v)|sum(v)
{e: i for i, e in enumerate(v)}|set(v)|all(v)|any(v)|list(map(type, v))|[len(e) for e in v]|[e.shape for e in v]|[id(e) for e in v] == [id(e) for e in v]
torch.cat(v)|torch.stack(v)|torch.tensor(v)|v == list(v)|v == v[:]|v < v[::-1]|list(reversed(v))|v * 2|v + v|[*v][::-1]|v[0] or v[1]|v[-1]
dict(enumerate(v))|list(zip(v, v[1:]))|[getattr(e, "k", None) for e in v]|[callable(e) for e in v]|tuple(v) == (v[0], v[1])|isinstance(v[0], type(v[1]))
[hash(e) for e in v] == [hash(e) for e in v]|(lambda a, b: a is b)(*v)|v.pop() is v|v.append(v[0])|v.sort()|v.remove(v[1])|v.insert(0, v[1])
"""


def programs(text):
    """For each question a function that gives the answer, and one that only finds out whether there is one."""
    for question in text.replace("\n", "|").strip("|").split("|"):
        for lines in (f"return x + 1, ({question})", f"try:\n        {question}\n        return x + 2\n    except Exception:\n        return x - 2"):
            scope = {**vars(questions), "operator": operator}
            exec(f"def asks(o, x):\n    v, w = o.v, o.w\n    {lines}\n", scope)
            yield question, scope["asks"]


def pair(kind, one, other):
    """Two new values by their numbers: any, the same object, an equal one, or one that shares the other's memory."""
    v = values()[one]
    if kind == "same":
        return v, v
    if kind == "equal":
        return v, values()[one]
    if kind == "view" and isinstance(v, torch.Tensor) and v.dim():
        return v, v.detach()[:1]
    return v, values()[other]


def told(value):
    """As text; what was put into itself has none."""
    try:
        return repr(shown(value))
    except RecursionError:
        return "endless"


def outcome(f, kind, one, other, container):
    v, w = pair(kind, one, other)
    if container:
        v, w = container((v, w)), None
    o = types.SimpleNamespace(v=v, w=w)
    torch.manual_seed(0)
    try:
        answer = told(f(o, X))
    except Exception as error:
        answer = type(error).__name__, str(error).split(" at 0x")[0]
    return answer, told([list(i) if hasattr(i, "__next__") else i for i in (o.v, o.w)])


def cases(chosen, count):
    kinds = ["any", "any", "same", "equal", "view"]
    numbers = range(len(values()))
    made = [(chosen.choice(kinds), chosen.choice(numbers), chosen.choice(numbers)) for _ in range(count)]
    return made + made[: count // 4]


def differences(seed, share=1.0, count=40):
    """What is answered otherwise than in eager, as texts. share: of the questions; count: pairs for each."""
    chosen, limit = random.Random(seed), vitrine.config.recompile_limit
    vitrine.config.recompile_limit = 1000
    asked = [(*p, None) for p in programs(OF_TWO)] + [(*p, chosen.choice([list, tuple])) for p in programs(OF_ELEMENTS)]
    try:
        for question, f, container in asked:
            if chosen.random() > share:
                continue
            vitrine.reset()
            compiled = vitrine.compile(f)
            for case in cases(chosen, count):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always", vitrine.VitrineWarning)
                    warnings.simplefilter("ignore", DeprecationWarning)
                    expected, found = outcome(f, *case, container), outcome(compiled, *case, container)
                ours = texts_of(w for w in said if issubclass(w.category, vitrine.VitrineWarning))
                if expected != found or ours:
                    of = " and ".join(f"{v!r:.60}" for v in pair(*case))
                    yield f"seed {seed}: {question}, {case[0]}: {of}: eager {expected}, compiled {found} {ours}"
    finally:
        vitrine.config.recompile_limit = limit


if __name__ == "__main__":
    questions.ask(differences, __doc__)
