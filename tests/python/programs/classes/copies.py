"""Copies of what holds tensors, and functions that change what they are given."""

import collections
import copy
import dataclasses
import heapq
import inspect
import itertools
import operator

import torch
from tests.python.programs.registry import program, vec


@dataclasses.dataclass
class Batch:
    data: torch.Tensor
    sizes: list
    name: str = "batch"


@program(vec())
def deep_copies(x):
    one = {"a": [x, x, 1], "b": (x + 1, 2)}
    two = copy.deepcopy(one)
    two["a"][0].add_(1)
    return one, two, two["a"][0] is two["a"][1], copy.deepcopy(x) + 1


@program(vec())
def deep_copies_that_are_eagers(x):
    y = x.view(2, 3)
    z = copy.deepcopy([y, y[0], y.t(), y[:, 1]])
    z[0].zero_()
    y.note = "kept"
    return z, copy.deepcopy(y).note, copy.deepcopy(torch.nn.Parameter(x)) * 2


@program(vec())
def data_classes_as_dicts(x):
    batch = Batch(x * 2, [x, 3])
    return dataclasses.asdict(batch), dataclasses.astuple(batch), dataclasses.replace(batch, name="other")


@program(lambda: [1, 2], vec())
def operators_that_change(numbers, x):
    operator.iconcat(numbers, [3])
    operator.delitem(numbers, 0)
    grown = operator.iadd(numbers, [4, 5])
    more = operator.concat(numbers, [x])
    y = operator.imul(x.clone(), 2)
    flags = operator.ior({1}, {2}), operator.iand(6, 3), operator.ixor(6, 3), operator.ilshift(1, 3), operator.irshift(8, 1)
    found = operator.countOf([1, 2, 1], 1), operator.indexOf([3, 4], 4), operator.abs(x), operator.inv(5), operator.length_hint([1])
    return grown is numbers, more, y, flags, found


@program(lambda: [5, 1, 4], vec())
def heaps(numbers, x):
    heapq.heapify(numbers)
    heapq.heappush(numbers, 0)
    taken = heapq.heappop(numbers), heapq.heapreplace(numbers, 9), heapq.heappushpop(numbers, 2)
    most = collections.Counter("abracadabra").most_common(2)
    return taken, most, heapq.nlargest(2, numbers), heapq.nsmallest(1, numbers, key=lambda n: -n), x * numbers[0]


@program(vec())
def texts_of_numbers(x):
    table = str.maketrans("ab", "xy")
    return oct(8), ascii("é"), "cab".translate(table), torch.__version__ >= "2.0", torch.__version__ > (1, 9), x + 1


@program(vec())
def iterators_in_closures(x):
    pairs = itertools.cycle([x, x + 1])
    first = [next(pairs) for _ in range(3)]
    rows = (row * 2 for row in (x, x - 1))
    return first, [next(rows) for _ in range(1)], lambda: first


@program(vec())
def cells_that_stay(x):
    count, kept = 0, [x]

    def add(n):
        nonlocal count
        count += n
        kept.append(count)
        return x * count

    return add(2), add(3), (lambda: (count, kept))


@program(vec())
def signatures_of_local_functions(x):
    def scaled(a, by=2, *, plus: int = 1):
        return a * by + plus

    bound = inspect.signature(scaled).bind(x, plus=5)
    bound.apply_defaults()
    return scaled(*bound.args, **bound.kwargs), list(inspect.signature(scaled).parameters), str(inspect.signature(scaled))


@program(vec())
def settings_of_backends(x):
    cudnn = torch.backends.cudnn
    return x + cudnn.enabled, getattr(cudnn, "benchmark", None), hasattr(cudnn, "nothing"), callable(cudnn.is_available)
