"""Functions of the standard library that only read what they are given."""

import bisect
import collections
import functools
import logging
import os
import re
import struct

import torch
from tests.python.programs.registry import program, scenario, vec

LAYER = re.compile(r"layer\.(\d+)\.(?P<part>\w+)")
SEEN = []


def shout(match):
    SEEN.append(match.group())
    return match.group().upper()


@program(vec())
def patterns_of_constants(x):
    found = LAYER.match("layer.12.weight")
    other = re.search(r"(\w)(\d)?", "-a-")
    return (
        x * int(found.group(1)), found["part"], found.groups(), found.groupdict(), found.span(), bool(found), other.group(2),
        re.findall(r"\d", "1a2"), re.split(",", "a,b"), re.sub("a", "b", "cat"), re.subn("a", "b", "aa"), re.fullmatch("a", "b"),
        re.compile("x+").sub("y", "axx"), re.escape("a.b"), LAYER.pattern, found.string, found.re is LAYER,
    )  # fmt: skip


@program(vec())
def patterns_that_call(x):
    SEEN.clear()
    return re.sub("a", shout, "banana"), LAYER.sub(shout, "layer.1.b"), re.sub("b", lambda m: "c", "abc"), list(SEEN), x + 1


@program(vec())
def patterns_that_are_wrong(x):
    try:
        re.compile("(")
    except re.error as error:
        return str(error), x * 2


@scenario
def patterns_of_changing_texts(compile):
    @compile
    def work(x, name):
        found = re.match(r"(\w+)_(\d+)", name)
        return x * int(found[2]) if found else x

    return [work(torch.ones(2), name) for name in ("a_1", "b_2", "none", "a_1", "c_30")]


@program(vec())
def places_in_lists(x):
    edges = [1, 3, 5]
    i, j = bisect.bisect(edges, 3), bisect.bisect_left(edges, 3)
    bisect.insort(edges, 4)
    return x[i], j, edges, bisect.bisect([1, 5], -2, key=lambda v: -v)


@program(vec())
def numbers_and_bytes(x):
    return (
        x * struct.unpack("<i", struct.pack("<i", 5))[0], struct.calcsize("<if"), int.from_bytes(b"\x01\x02", "big"),
        bytes.fromhex("ff00"), float.fromhex("0x1.8p1"), "abc".translate(str.maketrans("ab", "xy")), os.path.join("a", "b"),
        hash("a") == hash("".join(["a"])), hash(b"a") == hash(b"a"), os.fspath("a"),
    )  # fmt: skip


@program(vec(4))
def lists_of_known_tensors(x):
    sizes = torch.tensor([1, 3])
    a, b = x.split(sizes.tolist())
    return a, b * 2, torch.tensor([[1.5, 2.0], [3.0, 4.0]]).tolist(), torch.tensor(True).tolist(), (sizes * 2).tolist(), x.tolist()


@program(vec())
def known_list_is_a_new_one(x):
    sizes = torch.tensor([1, 2])
    first, second = sizes.tolist(), sizes.tolist()
    first.append(3)
    sizes[0] = 7
    return first, second, sizes.tolist(), x + 1


@program(vec())
def ends_of_ordered_dicts(x):
    d = collections.OrderedDict(a=x, b=x + 1, c=3)
    first = d.popitem(last=False)
    last = d.popitem(last=True)
    d["z"] = 1
    again = d.popitem()
    try:
        {"a": 1}.popitem(last=False)
    except TypeError as error:
        return first, last, again, d, str(error)


@program(vec())
def chained_maps(x):
    c = collections.ChainMap({"a": x}, {"b": x + 1, "a": 0})
    return c["b"], c.get("z", 1), len(c), c.new_child({"a": 1})["a"], sorted(c), dict(c.items())["a"]


@program(vec())
def unions_of_sets(x):
    d, s = {"a": x, "b": x}, {3, 1}
    return sorted(set().union(d, ["c"])), sorted(s.union([2], (5,))), s, len(set().union()), set().union([1]) == {1}


@functools.singledispatch
def kind_of(value):
    return "object"


@kind_of.register
def _(value: int):
    return "int"


@kind_of.register(torch.Tensor)
def _(value):
    return value * 3


@program(vec())
def dispatched_on_tensors(x):
    return kind_of(x), kind_of(2), kind_of("s"), kind_of(True)


@scenario
def dispatch_registered_later(compile):
    @functools.singledispatch
    def kind(value):
        return "object"

    @compile
    def work(x, value):
        return x + 1, kind(value)

    x = torch.ones(2)
    out = [work(x, 1), work(x, "a"), work(x, 1)]
    kind.register(int, lambda value: "int")
    out += [work(x, 1), work(x, "a")]
    kind.register(str, lambda value: "str")
    return [*out, work(x, "a"), work(x, 1)]


@scenario
def loggers_by_name(compile):
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())

    @compile
    def work(x):
        logger = logging.getLogger("vitrine.tests.odd")
        logger.debug("shape %s", tuple(x.shape))
        return x + 1, logger.isEnabledFor(logging.DEBUG), logger.name

    out = [work(torch.ones(2)), work(torch.ones(2))]
    logger = logging.getLogger("vitrine.tests.odd")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        out.append(work(torch.ones(2)))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    return [*out, work(torch.ones(2))], lines


@program(vec())
def plain_objects(x):
    nothing = object()
    values = [nothing, x]
    try:
        nothing.name = 1
    except AttributeError as error:
        return values.index(nothing), nothing is values[0], type(nothing), str(error), x + 1


@program(vec())
def counted(x):
    c = collections.Counter("abca")
    c.update("ab")
    c.subtract({"c": 1})
    return x * c["a"], c.most_common(1), c.most_common(), sorted((c + c).elements()), c["nothing"], sum(c.values())
