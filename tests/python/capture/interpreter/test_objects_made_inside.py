"""What a program makes of other objects while it runs: their ids, compiled functions, weak references."""

import weakref

import pytest
import torch
from torch import nn

import vitrine


def whole(program, *args):
    explained = vitrine.explain(program)(*args)
    assert not explained.graph_break_reasons, explained
    return explained.result


class Node:
    def __init__(self, value):
        self.value = value


def keys_of_inputs(x, y):
    d = {id(x): x + 1, id(y): y + 2}
    return d[id(x)] * d[id(y)], len(d), id(x) == id(y), id(x) != id(y), id(None) == id(x)


def doubled_once(of, memo):
    if id(of) not in memo:
        memo[id(of)] = [doubled_once(each, memo) for each in of] if isinstance(of, list) else of * 2
    return memo[id(of)]


def shared_parts(x):
    a = [x, x + 1]
    out = doubled_once([a, a, x], {})
    return out[0] is out[1], out[2] is out[0][0], out


def seen_before(x):
    a, b = Node(x), Node(x * 2)
    seen, out = set(), []
    for node in (a, b, a):
        if id(node) not in seen:
            seen.add(id(node))
            out.append(node.value + len(seen))
    return out


def same(got, expected):
    torch.utils._pytree.tree_map(lambda a, b: torch.testing.assert_close(a, b) if isinstance(a, torch.Tensor) else a == b or pytest.fail(f"{a} against {b}"), got, expected)


@pytest.mark.parametrize("program", [shared_parts, seen_before])
def test_ids_as_keys(program):
    x = torch.arange(3.0)
    same(whole(program, x), program(x))


def test_ids_of_inputs():
    x, y = torch.ones(3), torch.arange(3.0)
    same(whole(keys_of_inputs, x, y), keys_of_inputs(x, y))
    compiled = vitrine.compile(keys_of_inputs)
    for args in ((x, y), (x, x), (y, x), (y, y)):
        same(compiled(*args), keys_of_inputs(*args))


def test_ids_that_leave():
    kept = []

    @vitrine.compile
    def program(x):
        node = Node(x + 1)
        kept.append(node)
        return id(x), id(node), {id(node): node}, node.value

    x = torch.ones(2)
    for _ in range(2):
        of_x, of_node, nodes, value = program(x)
        assert (of_x, of_node) == (id(x), id(kept[-1]))
        assert nodes == {of_node: kept[-1]} and value is kept[-1].value


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: hex(id(x)) + str(id(x)) + f"{id(x):x}",
        lambda x: id(x) % 16 == 0,
        lambda x: isinstance(id(x), int) and type(id(x)) is int,
        lambda x: hash(id(x)) == hash(id(x)),
        lambda x: id(x) in {1, 2, 3},
        lambda x: id(x) in [id(x), 3],
        lambda x: id(x).bit_length() > 3,
        lambda x: sorted([id(x), 0])[0],
        lambda x: [1, 2][id(x) % 2],
        lambda x: bool(id(x)),
    ],
)
def test_ids_as_numbers(ask):
    x = torch.ones(2)
    compiled = vitrine.compile(lambda x: (x + 1, ask(x)))
    for _ in range(3):
        assert compiled(x)[1] == ask(x)


MEMO = {}


def test_ids_in_a_dict_from_before():
    def program(x):
        if id(x) in MEMO:
            return x * MEMO[id(x)]
        MEMO[id(x)] = 3
        return x

    MEMO.clear()
    x, y = torch.ones(2), torch.ones(2)
    compiled = vitrine.compile(program)
    assert [compiled(t).sum().item() for t in (x, x, y, x, y)] == [2, 6, 2, 6, 6]


@pytest.mark.parametrize("compiler", [torch.compile, vitrine.compile], ids=["torch", "vitrine"])
def test_compiled_inside(compiler):
    def helper(x, k=1):
        return x.sin() + k

    def program(x):
        @compiler
        def decorated(t):
            return t + x

        configured = compiler(dynamic=True)(lambda t: t * 2)
        return compiler(helper)(x) * compiler(helper, fullgraph=True)(x, k=2) + decorated(x) - configured(x)

    x = torch.arange(3.0)
    torch.testing.assert_close(whole(program, x), helper(x) * helper(x, 2) + 2 * x - x * 2)


@pytest.mark.parametrize("compiler", [torch.compile, vitrine.compile], ids=["torch", "vitrine"])
def test_module_compiled_inside(compiler):
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    torch.testing.assert_close(whole(lambda x: compiler(model)(x) * 2, x), model(x) * 2)


def test_compiled_functions_that_leave():
    @vitrine.compile
    def program(x):
        double = vitrine.compile(lambda t: t * 2)
        return double, double(x)

    double, y = program(torch.ones(3))
    assert type(double) is type(program)
    assert torch.equal(double(y), torch.full((3,), 4.0))


def test_more_than_a_call_of_what_is_compiled_inside():
    model = nn.Linear(3, 2)

    @vitrine.compile
    def program(x):
        compiled = vitrine.compile(model)
        return compiled(x), compiled.weight is model.weight, isinstance(compiled, nn.Module), compiled._orig_mod is model

    assert program(torch.ones(1, 3))[1:] == (True, True, True)


class Tree:
    def __init__(self, parent=None):
        self.parent = weakref.ref(parent) if parent else None
        self.children = []

    def add(self):
        self.children.append(Tree(self))
        return self.children[-1]

    def depth(self):
        n, node = 0, self
        while node.parent is not None:
            node = node.parent()
            n += 1
        return n


def test_weak_references_to_parents():
    def program(x):
        root = Tree()
        leaf = root.add().add()
        return x * leaf.depth(), leaf.parent() is root.children[0]

    y, same_parent = whole(program, torch.ones(2))
    assert same_parent and torch.equal(y, torch.full((2,), 2.0))


def test_weak_references_to_what_is_held():
    def program(x, node):
        z = x + 1
        of_node, of_input, of_made = weakref.ref(node), weakref.ref(x), weakref.ref(z)
        return of_node() is node, of_input() is x, of_made() * node.value

    x = torch.ones(2)
    assert whole(program, x, Node(x))[:2] == (True, True)


def test_weak_references_to_what_is_gone():
    def program(x):
        reference = weakref.ref(Node(x))
        node = Node(x + 1)
        other = weakref.ref(node)
        held = other().value * 2
        del node
        return reference(), other(), held

    x = torch.ones(2)
    for _ in range(3):
        gone, other, held = vitrine.compile(program)(x)
        assert gone is None and other is None and torch.equal(held, torch.full((2,), 4.0))


def test_weak_references_that_leave():
    kept = []

    @vitrine.compile
    def program(x):
        node = Node(x * 2)
        kept.append(node)
        return weakref.ref(node), weakref.ref(Node(x)), weakref.ref(x)

    x = torch.ones(2)
    for _ in range(2):
        of_node, of_nothing, of_x = program(x)
        assert of_node() is kept[-1] and of_nothing() is None and of_x() is x


def test_weak_references_are_told_apart_for_real():
    def program(x):
        node = Node(x)
        a, b = weakref.ref(node), weakref.ref(node)
        return a is b, a == b, len({a, b}), x + 1

    for _ in range(2):
        assert vitrine.compile(program)(torch.ones(2))[:3] == (True, True, 1)


@pytest.mark.parametrize("depth", [3, 22])
def test_lists_that_hold_one_list_twice(depth):
    def program(x):
        a = [x + 1]
        for _ in range(depth):
            a = [a, a]
        return a

    a = vitrine.compile(program)(torch.ones(2))
    for _ in range(depth):
        assert a[0] is a[1]
        a = a[0]
    assert torch.equal(a[0], torch.full((2,), 2.0))
