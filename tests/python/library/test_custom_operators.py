"""Operators of the user's own (torch.library): every kind of argument and result that a schema can name."""

import itertools

import pytest
import torch

import vitrine
from tests.python.support.same_as_eager import assert_same

LIBRARY = torch.library.Library("vitrine_test_schemas", "DEF")
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def number_of(value) -> float:
    """Some number that tells values apart."""
    if isinstance(value, (list, tuple)):
        return sum(number_of(item) * (i + 2) for i, item in enumerate(value))
    if isinstance(value, complex):
        return value.real + 2 * value.imag
    return float(value) if isinstance(value, (bool, int, float)) else float(len(str(value)))


def operator(parameter: str, returns: str, result):
    """x.sin() and what `result` makes of that, having added 1 to every tensor that it may write to."""
    name = f"op{next(_numbers)}"
    LIBRARY.define(f"{name}(Tensor x, {parameter}) -> {returns}")

    def kernel(x, v):
        y = x.sin() + number_of(v if not tensors_in(v) else 0)
        for t in tensors_in(v):
            y = y + t.sum()
            if "!" in parameter:
                t.add_(1)
        return result(y, v)

    LIBRARY.impl(name, kernel, "CPU")
    torch.library.register_fake(f"{LIBRARY.ns}::{name}", lambda x, v: result(torch.empty_like(x), v), lib=LIBRARY)
    return getattr(getattr(torch.ops, LIBRARY.ns), name)


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(copied, value)) if isinstance(value, (list, tuple)) else value


def assert_as_eager(op, value, **settings):
    def program(x, v):
        w = copied(v)  # tensors that the program makes
        return op(x * 2, v), op(x * 3, w), w, x + 1

    compiled = vitrine.compile(program, **settings)
    for size in (3, 3, 4, 5):
        x, ours, eagers = torch.arange(float(size)), copied(value), copied(value)
        want, got = program(x, eagers), compiled(x, ours)
        assert_same(want, got)
        assert_same(eagers, ours, "argument")


ONE = torch.arange(3.0)
WRITTEN = [
    ("Tensor(a!)", ONE),
    ("Tensor(a!)?", ONE),
    ("Tensor(a!)?", None),
    ("Tensor(a!)[]", [ONE]),
    ("Tensor(a!)[]", [ONE, ONE + 2]),
    ("Tensor(a!)[]", []),
    ("Tensor(a!)[]?", [ONE]),
    ("Tensor(a!)[]?", [ONE, ONE]),
    ("Tensor(a!)[]?", None),
    ("Tensor(a!)?[]", [ONE, None]),
    ("Tensor(a!)?[]?", [None, ONE]),
]
READ = [
    ("Tensor?", ONE),
    ("Tensor?", None),
    ("Tensor[]", (ONE,)),
    ("Tensor[]?", [ONE, ONE]),
    ("Tensor[]?", None),
    ("Tensor?[]", [ONE, None]),
    ("Tensor?[]?", [None]),
    ("Generator?", None),
    ("Generator?", torch.Generator()),
    ("Storage", ONE.untyped_storage()),
    ("Scalar", 2.5),
    ("Scalar", 1 + 2j),
    ("Scalar[]", [1, 2.5, True]),
    ("Scalar[]", [1j, 2]),
    ("complex[]", [1j, 2 + 1j]),
    ("str", "hello"),
    ("str?", None),
    ("str[]", ["a", "bc"]),
    ("int", 2**62),
    ("int[]?", None),
    ("int[]?", [4]),
    ("int[2]", 3),
    ("SymInt", 5),
    ("SymInt[]", [1, 2]),
    ("float", float("inf")),
    ("float[]?", [1.0, 2]),
    ("bool[3]", [True, False, True]),
    ("Device?", torch.device("cpu")),
    ("Device[]", [torch.device("cpu")]),
    ("Layout?", torch.strided),
    ("MemoryFormat", torch.channels_last),
    ("ScalarType", torch.complex64),
    ("ScalarType[]", [torch.int8, torch.float16]),
]


@pytest.mark.parametrize("type_, value", READ + WRITTEN, ids=[type_ for type_, _ in READ + WRITTEN])
def test_an_argument_of_any_type_is_passed_on(type_, value):
    assert_as_eager(operator(f"{type_} v", "Tensor", lambda y, v: y), value)


@pytest.mark.parametrize("type_, value", WRITTEN, ids=[type_ for type_, _ in WRITTEN])
@pytest.mark.parametrize("returns, result", [("()", lambda y, v: None), ("(Tensor, Tensor[])", lambda y, v: (y, [y * 2, y + 1]))], ids=["nothing", "list"])
def test_written_arguments_with_other_results(type_, value, returns, result):
    assert_as_eager(operator(f"{type_} v", returns, result), value)


@pytest.mark.parametrize("value", [[ONE], [ONE, ONE + 1]], ids=["one", "two"])
def test_a_list_that_is_written_and_returned(value):
    assert_as_eager(operator("Tensor(a!)[] v", "Tensor(a!)[]", lambda y, v: v), value)


RESULTS = {
    "Tensor?": lambda y, v: y,
    "(Tensor, Tensor?)": lambda y, v: (y, None),
    "Tensor[]": lambda y, v: [y, y * 2],
    "Tensor?[]": lambda y, v: [y, None],
    "(Tensor, int)": lambda y, v: (y, 3),
    "(Tensor, str)": lambda y, v: (y, "text"),
    "float": lambda y, v: 2.5,
    "bool": lambda y, v: True,
}


@pytest.mark.parametrize("returns", RESULTS)
def test_a_result_of_any_type_is_eagers(returns):
    assert_as_eager(operator("Tensor[]? v", returns, RESULTS[returns]), [ONE])


def test_a_number_that_an_operator_returns_is_asked_in_every_call():
    counted = itertools.count(1)
    op = operator("int v", "int", lambda y, v: v if y.device.type == "meta" else next(counted))
    compiled = vitrine.compile(lambda x: op(x, 0) + x)
    x = torch.zeros(2)
    assert [compiled(x)[0].item() for _ in range(3)] == [1.0, 2.0, 3.0]


def test_sizes_that_change_are_written_lists_sizes_too():
    assert_as_eager(operator("Tensor(a!)[]? v", "Tensor", lambda y, v: y), [ONE], dynamic=True)
