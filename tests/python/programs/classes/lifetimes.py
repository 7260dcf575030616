"""Objects whose end is noticed, weak references, what a cache keeps, an object's own __dict__."""

import collections
import functools
import gc
import threading
import weakref

import torch
from tests.python.programs.registry import program, scenario, vec


class Plain:
    pass


@program(vec())
def weak_reference_dies(x):
    o = Plain()
    o.t = x
    seen = []
    reference = weakref.ref(o)
    weakref.finalize(o, seen.append, 1)
    alive = reference() is o
    y = x + 1
    del o
    return alive, reference() is None, seen, y


@program(vec())
def weak_reference_outlived_by_another_name(x):
    o = Plain()
    reference = weakref.ref(o)
    other = o
    o = x + 1
    first = reference() is other
    other = None
    return first, reference() is None, o


class Speaks:
    log = []

    def __del__(self):
        Speaks.log.append("gone")


@program(vec())
def finalizers_in_order(x):
    Speaks.log = log = []
    d = Speaks()
    d = None
    log.append("after")
    Speaks()
    log.append("after the second")

    def inside():
        e = Speaks()
        return x + 1

    y = inside()
    log.append("end")
    return list(log), y, d


calls = []
level = 1


@functools.lru_cache(maxsize=2)
def noting(n):
    calls.append(n)
    return n * 2


@functools.lru_cache
def leveled(n):
    return n * level


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Keeps:
    n = 3

    def __init__(self, k):
        self.k = k

    @functools.lru_cache  # noqa: B019
    def cached(self, m):
        return self.k * m


@program(vec())
def cached_function_with_effects(x):
    noting.cache_clear()
    calls.clear()
    got = noting(1), noting(2), noting(1), noting(3), noting(2)
    return got, list(calls), noting.cache_info().hits, x * fibonacci(10)


@scenario
def cached_results_stay(compile):
    global level
    leveled.cache_clear()
    keeps = Keeps(2)
    level = 1

    def f(x):
        return x * leveled(3) + keeps.cached(4)

    c = compile(f)
    out = [c(torch.ones(2))]
    level = 5
    keeps.k = 7
    out += [c(torch.ones(2)), c(torch.ones(2))]
    leveled.cache_clear()
    return out + [c(torch.ones(2))]


class Stores:
    """Keeps its value in the object's __dict__, under its own name."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return self if instance is None else instance.__dict__.get(self.name, "none")

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value * 2

    def __delete__(self, instance):
        del instance.__dict__[self.name]


class Holds:
    a = Stores()
    b = Stores()


@program(vec())
def descriptor_deletes(x):
    h = Holds()
    h.a = x
    before = h.a, h.b
    del h.a
    return before, h.a, h.__dict__


class Deleter:
    @property
    def a(self):
        return self._a

    @a.setter
    def a(self, value):
        self._a = value

    @a.deleter
    def a(self):
        del self._a


@program(vec())
def property_deleted(x):
    w = Deleter()
    w.a = x
    del w.a
    return hasattr(w, "a"), x + 1, list(vars(w))


@program(vec())
def own_dict_is_one_object(x):
    o = Plain()
    d = o.__dict__
    o.a = x
    d["b"] = x + 1
    print("break", sorted(d))
    d["c"] = 3
    o.d = 4
    del d["a"]
    o.a = 5
    same = o.__dict__ is d, vars(o) is d
    return same, d, hasattr(o, "a"), o.b, o.c, list(d.items()), o


@program(vec())
def entry_of_own_dict_removed_after_a_break(x):
    w = Plain()
    w.__dict__["q"] = x
    y = w.q
    print("break")
    del w.__dict__["q"]
    w.__dict__.update(r=1, s=y)
    w.__dict__.pop("r")
    return getattr(w, "q", 5), y + 1, vars(w)


@program(vec())
def own_dict_emptied(x):
    w = Plain()
    w.a = x
    w.__dict__.clear()
    return hasattr(w, "a"), x + 1


def some_object():
    o = Plain()
    o.a, o.b = 1, 2
    return o


@program(vec(), some_object)
def argument_changed_through_its_dict(x, o):
    d = vars(o)
    d["a"] = x + d["b"]
    del d["b"]
    d["c"] = x
    return d is o.__dict__, o.a, hasattr(o, "b")


@program(vec())
def dict_changes_before_a_break_in_the_handler(x):
    d = {"a": x}
    out = []
    try:
        for k in d:
            d[k + "z"] = 1
    except RuntimeError as e:
        out.append(str(e))
    seen = {1, 2}
    try:
        for k in seen:
            seen.add(k + 10)
    except RuntimeError as e:
        out.append(str(e))
    return out, x + 1, list(d)


@program(vec())
def ordered_dicts_compare_in_order(x):
    o = collections.OrderedDict(a=1, b=2)
    p = collections.OrderedDict(b=2, a=1)
    return o == p, o != p, o == dict(b=2, a=1), o == collections.OrderedDict(a=1, b=2), x + 1


class Counts:
    def __init__(self, n):
        self.i, self.n = 0, n

    def __iter__(self):
        return self

    def __next__(self):
        self.i += 1
        if self.i > self.n:
            raise StopIteration(self.i)
        return self.i


@program(vec())
def value_of_an_object_yielded_from(x):
    def g():
        got = yield from Counts(2)
        return x + got

    it = g()
    out = []
    try:
        while True:
            out.append(next(it))
    except StopIteration as e:
        out.append(e.value)
    return out


class Meta(type):
    made = []

    def __call__(cls, *args):
        o = super().__call__(*args)
        cls.made.append(len(args))
        return o


class Made(metaclass=Meta):
    def __init__(self, v):
        self.v = v


@program(vec())
def metaclass_calls_super(x):
    Made.made.clear()
    return Made(x).v + 1, Made(2).v, list(Made.made)


@program(vec())
def super_of_something_else(x):
    class Other:
        def f(self):
            return super(Deleter, self).a

    try:
        Other().f()
    except TypeError as e:
        return str(e), x + 1


@program(vec())
def own_dict_held_over_a_break(x):
    o = Plain()
    o.a = 1
    d = o.__dict__
    print("break")
    d["c"] = x
    first = o.c, o.a
    print("break")
    o.b = 7
    second = d["b"], len(d)
    del o.a
    print("break")
    third = "a" in d, o.__dict__ is d
    del d["c"]
    return first, second, third, hasattr(o, "c"), d


@scenario
def own_dict_passed_beside_its_object(compile):
    def f(x, o, d):
        d["k"] = x
        y = o.k + 1
        o.m = y
        return y, d["m"], sorted(d)

    c = compile(f)
    out = []
    for _ in range(3):
        o = Plain()
        o.k = 3
        out.append(c(torch.ones(2), o, o.__dict__))
        out.append(vars(o))
    return out


@scenario
def watched_objects_in_a_list(compile):
    ends = []
    first, second = Plain(), Plain()
    first.k, second.k = 2, 3
    watches = [weakref.ref(o, lambda _: ends.append("end")) for o in (first, second)]

    def f(x, objects):
        for o in objects:
            x = x * o.k
        o = None
        objects.pop()
        x = x + len(ends)
        objects = None
        return x, len(ends), [w() is None for w in watches]

    c = compile(f)
    out = [c(torch.ones(2), [first, second])]
    held = [first, second]
    del first, second
    out.append(c(torch.ones(2), held))
    return out, len(ends)


@scenario
def finalizers_in_a_container(compile):
    log = []

    class Speaks:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            log.append(self.name)

    @compile
    def program(x):
        pair = Speaks("in a tuple"), x
        y = pair[1] * 2
        del pair
        log.append("behind the tuple")
        z = [Speaks("in a list"), y]
        z = x * 2
        log.append("behind the list")
        return y + z

    return [program(torch.ones(2)) for _ in range(3)], log


@scenario
def attributes_of_a_thread(compile):
    own, found = threading.local(), {}

    @compile
    def program(x):
        own.calls = getattr(own, "calls", 0) + 1
        return x * own.calls, hasattr(own, "other")

    def calls(name):
        found[name] = [program(torch.ones(2)) for _ in range(3)]

    for name in ("one", "other"):
        thread = threading.Thread(target=calls, args=(name,))
        thread.start()
        thread.join()
    calls("main")
    return found


@program(vec())
def nested_deeper_than_the_stack(x):
    listed, chained = [], None
    for _ in range(12000):
        listed = [listed]
        chained = Link(chained)
    gc.collect()
    return x + 1, len(listed), chained.next is None


class Link:
    def __init__(self, following):
        self.next = following


@scenario
def models_whose_parameters_are_walked_are_let_go(compile):
    ended = []

    def penalty(model):
        @compile
        def program(x):
            for p in model.parameters():
                x = x + p.square().sum()
            return x, len({id(p) for p in model.parameters()}), model.weight in list(model.parameters())[:1]

        return program

    def one():
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 3).requires_grad_(False)
        weakref.finalize(model.weight, ended.append, 1)
        return [penalty(model)(torch.ones(2)) for _ in range(2)]

    seen = [one() for _ in range(3)]
    gc.collect()
    return seen, len(ended)
