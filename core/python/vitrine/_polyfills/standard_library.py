"""Functions of the standard library that CPython has in C, written in Python, so that capture reads them like any
other code. Each does what its C namesake does: https://docs.python.org/3/library/itertools.html, operator.html."""

import importlib.util
import sys

_NOTHING = object()


def leave_exit_stack(stack):
    """contextlib.ExitStack.__exit__ after a body that raised nothing."""
    while stack._exit_callbacks:
        _, leave = stack._exit_callbacks.pop()
        try:
            leave(None, None, None)
        except BaseException:
            sys.exc_info()  # is not traced: the others see the exception, each with its own context
            raise
    return False


def is_enabled_for(logger, level):
    """logging.Logger.isEnabledFor, which remembers its answers under a lock."""
    if logger.disabled:
        return False
    if level in logger._cache:
        return logger._cache[level]
    return False if logger.manager.disable >= level else level >= logger.getEffectiveLevel()


def _add(a, b):
    return a + b


def accumulate(iterable, func=None, *, initial=None):
    """itertools.accumulate."""
    step = _add if func is None else func
    source = iter(iterable)
    total = initial
    if initial is None:
        for total in source:
            break
        else:
            return
    yield total
    for item in source:
        total = step(total, item)
        yield total


def starmap(function, iterable):
    """itertools.starmap."""
    for arguments in iterable:
        yield function(*arguments)


def pairwise(iterable):
    """itertools.pairwise."""
    source = iter(iterable)
    last = _NOTHING
    for item in source:
        if last is not _NOTHING:
            yield last, item
        last = item


def zip_longest(*iterables, fillvalue=None):
    """itertools.zip_longest."""
    sources = [iter(each) for each in iterables]
    left = len(sources)
    while left:
        row = []
        for i, source in enumerate(sources):
            item = fillvalue if source is None else next(source, _NOTHING)
            if item is _NOTHING:
                left -= 1
                if not left:
                    return
                sources[i] = None
                item = fillvalue
            row.append(item)
        yield tuple(row)


def takewhile(predicate, iterable):
    """itertools.takewhile."""
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate, iterable):
    """itertools.dropwhile."""
    source = iter(iterable)
    for item in source:
        if not predicate(item):
            yield item
            break
    for item in source:
        yield item


def filterfalse(predicate, iterable):
    """itertools.filterfalse."""
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data, selectors):
    """itertools.compress."""
    for item, chosen in zip(data, selectors):
        if chosen:
            yield item


def cycle(iterable):
    """itertools.cycle."""
    seen = []
    for item in iterable:
        yield item
        seen.append(item)
    while seen:
        for item in seen:
            yield item


def permutations(iterable, r=None):
    """itertools.permutations."""
    pool = tuple(iterable)
    yield from _arranged(pool, len(pool) if r is None else r, ())


def _arranged(pool, r, used):
    if len(used) == r:
        yield tuple(pool[i] for i in used)
        return
    for i in range(len(pool)):
        if i not in used:
            yield from _arranged(pool, r, used + (i,))


def combinations(iterable, r):
    """itertools.combinations."""
    pool = tuple(iterable)
    yield from _chosen(pool, r, (), 0, 1)


def combinations_with_replacement(iterable, r):
    """itertools.combinations_with_replacement."""
    pool = tuple(iterable)
    yield from _chosen(pool, r, (), 0, 0)


def _chosen(pool, r, used, first, step):
    if len(used) == r:
        yield tuple(pool[i] for i in used)
        return
    for i in range(first, len(pool)):
        yield from _chosen(pool, r, used + (i,), i + step, step)


def tee(iterable, n=2):
    """itertools.tee."""
    if n < 0:
        raise ValueError("n must be >= 0")
    source, seen = iter(iterable), []
    return tuple(_branch(source, seen) for _ in range(n))


def _branch(source, seen):
    at = 0
    while True:
        if at == len(seen):
            try:
                seen.append(next(source))
            except StopIteration:
                return
        yield seen[at]
        at += 1


def groupby(iterable, key=None):
    """itertools.groupby: the groups take from one source, each only until the next one is asked for."""
    source = iter(iterable)
    now = [_NOTHING, _NOTHING, 0]  # an item that no group has taken, its key, which group may take it
    target = _NOTHING
    while True:
        now[2] += 1  # the group before is over, even if there is none after it
        while now[1] is _NOTHING or (target is not _NOTHING and target == now[1]):
            for item in source:
                now[0], now[1] = item, item if key is None else key(item)
                break
            else:
                return
        target = now[1]
        yield target, _group(source, key, now, target, now[2])


def _group(source, key, now, target, number):
    while now[2] == number:
        if now[1] is _NOTHING:
            for item in source:
                now[0], now[1] = item, item if key is None else key(item)
                break
            else:
                return
        if not target == now[1]:
            return
        item = now[0]
        now[0] = now[1] = _NOTHING
        yield item


def _written_in_python(name, accelerator):
    """A module of the standard library as it is where its C half is missing."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    there = sys.modules.get(accelerator)
    sys.modules[accelerator] = None
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules[accelerator] = there
        if there is None:
            del sys.modules[accelerator]
    return module


_heap = _written_in_python("heapq", "_heapq")
heapify, heappush, heappop = _heap.heapify, _heap.heappush, _heap.heappop
heapreplace, heappushpop = _heap.heapreplace, _heap.heappushpop


def items_of(sequence):
    """What iter() walks through where a class has no __iter__: sequence[0], sequence[1], ..."""
    i = 0
    while True:
        try:
            item = sequence[i]
        except (IndexError, StopIteration):
            return
        yield item
        i += 1


def itemgetter(item, *items):
    """operator.itemgetter."""
    if not items:
        return lambda of: of[item]
    return lambda of: tuple([of[each] for each in (item, *items)])


def attrgetter(attr, *attrs):
    """operator.attrgetter."""
    if not attrs:
        return lambda of: _attribute(of, attr)
    return lambda of: tuple([_attribute(of, each) for each in (attr, *attrs)])


def _attribute(of, path):
    for name in path.split("."):
        of = getattr(of, name)
    return of


def methodcaller(name, /, *args, **kwargs):
    """operator.methodcaller."""
    return lambda of: getattr(of, name)(*args, **kwargs)


class _Key:
    """What functools.cmp_to_key makes of an item."""

    __slots__ = ("function", "obj")
    __hash__ = None

    def __init__(self, function, obj):
        self.function = function
        self.obj = obj

    def __lt__(self, other):
        return self.function(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.function(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.function(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.function(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.function(self.obj, other.obj) >= 0


def cmp_to_key(mycmp):
    """functools.cmp_to_key."""
    return lambda obj: _Key(mycmp, obj)


def count_elements(mapping, iterable):
    """collections._count_elements."""
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1
