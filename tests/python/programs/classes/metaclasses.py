"""Classes whose metaclass calls something else, singletons, classes and modules that change between calls."""

import collections
import contextvars
import functools
import types
import typing

import torch
from tests.python.programs.registry import program, scenario, vec
from torch import nn


class StaticCall(type):
    __call__ = staticmethod(lambda *args: ("made", args))


class ByStaticCall(metaclass=StaticCall):
    pass


class PartialCall(type):
    __call__ = functools.partial(tuple, "ab")


class ByPartial(metaclass=PartialCall):
    pass


class Typed(typing.TypedDict, total=False):
    a: int
    b: torch.Tensor


class Checks(type):
    def __new__(mcs, name, bases, namespace, **keywords):
        cls = super().__new__(mcs, name, bases, namespace)
        cls.keywords = keywords
        return cls

    def __init__(cls, *args, **keywords):
        super().__init__(*args)

    def __getitem__(cls, item):
        return cls.keywords, item

    def __instancecheck__(cls, o):
        return o == 5

    def __subclasscheck__(cls, o):
        return True


class Checked(metaclass=Checks, q=1):
    pass


@program(vec())
def typed_dicts_are_dicts(x):
    d = Typed(a=2, b=x)
    return type(d).__name__, d["b"] * d["a"], type(d) is dict


@program(vec())
def metaclass_calls_something_else(x):
    return ByStaticCall(1, 2), ByPartial(), Checked[3], isinstance(5, Checked), isinstance(6, Checked), issubclass(int, Checked), x + 1


class Single:
    only = None

    def __new__(cls, *args):
        if cls.only is None:
            cls.only = super().__new__(cls)
            cls.only.n = 0
        return cls.only

    def __init__(self, k=0):
        self.n += k


@scenario
def single_instance(compile):
    Single.only = None
    f = compile(lambda x, k: (x * Single(k).n, Single() is Single()))
    x = torch.ones(2)
    return f(x, 1), f(x, 2), f(x, 3), Single().n


@scenario
def properties_of_the_class_change(compile):
    class A:
        @property
        def v(self):
            return self.k * 2

    a = A()
    a.k = 1
    f = compile(lambda o, x: x * o.v)
    x = torch.ones(2)
    out = [f(a, x)]
    a.k = 3
    out.append(f(a, x))
    for value in (property(lambda self: 100), 7):
        A.v = value
        out.append(f(a, x))
    a.__dict__["v"] = 9
    out.append(f(a, x))
    del A.v
    out.append(f(a, x))
    a.__class__ = type("B", (), {"v": property(lambda self: -1)})
    return out + [f(a, x)]


LEVEL = contextvars.ContextVar("LEVEL", default=1)


@scenario
def context_variables_between_calls(compile):
    f = compile(lambda x: x * LEVEL.get())
    x = torch.ones(2)
    out = [f(x)]
    token = LEVEL.set(5)
    out.append(f(x))
    LEVEL.reset(token)
    inside = contextvars.copy_context()
    return out + [f(x), inside.run(lambda: (LEVEL.set(9), f(x))[1]), f(x)]


@scenario
def module_attributes_between_calls(compile):
    module = types.ModuleType("odd_module")
    exec("K = 1\nSEEN = []\ndef step(x):\n    global K\n    K += 1\n    SEEN.append(K)\n    print('k', K)\n    K += 1\n    return x * K\n", module.__dict__)
    f = compile(module.step)
    g = compile(lambda x: module.step(x) + module.K)
    x = torch.ones(2)
    out = [f(x), f(x), g(x), module.K, list(module.SEEN)]
    module.step = torch.sin
    module.K = x
    return out + [g(x), f(x)]


@scenario
def containers_as_state(compile):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.all, self.counter, self.last, self.seen = [], collections.Counter(), collections.deque(maxlen=2), set()
            self.lists, self.ordered = collections.defaultdict(list), collections.OrderedDict()

        def forward(self, x, k):
            self.all.append(x)
            self.counter[k] += 1
            self.last.append(k)
            self.seen.add(k)
            self.lists[k].append(x.sum())
            self.ordered[k] = x
            self.ordered.move_to_end(k, last=False)
            sizes = {a: len(b) for a, b in self.lists.items()}
            return sum(self.all) + len(self.seen), dict(self.counter), list(self.last), sorted(self.seen), sizes, list(self.ordered)

    m = M()
    c = compile(m)
    return [c(torch.ones(2), k) for k in "abacab"], len(m.all)


class Passing(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Speaking(metaclass=Passing):
    """Its instances are called, too: what an attribute of the class gives is not what its metaclass calls."""

    def __init__(self, x):
        print("made")  # a break while it is made
        self.x = x

    def __call__(self, n):
        return self.x * n


@program(vec())
def called_by_its_metaclass(x):
    return Speaking(x * 2)(3)
