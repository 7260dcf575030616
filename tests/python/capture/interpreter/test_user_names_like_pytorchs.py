"""A class, function or module of the program that is merely called as one of PyTorch's or Python's library is its own."""

import functools
import importlib.util
import inspect
import sys

import pytest
import torch
from torch import nn

import vitrine


class Signature:
    """Its slots change, as those of inspect.Signature do not."""

    __slots__ = ("factor",)


SHARED = Signature()
SHARED.factor = 2


def by_its_slot(x, signature=SHARED):
    return x * signature.factor


class Model:
    signature = SHARED

    def run(self, x):
        return x * Model.signature.factor


@pytest.mark.parametrize("function", [by_its_slot, Model().run, lambda x: x * SHARED.factor])
def test_slots_of_a_class_called_signature_may_change(function):
    compiled, x = vitrine.compile(function, backend="eager"), torch.ones(2)
    for factor in (2, 5, 2):
        SHARED.factor = factor
        assert compiled(x).tolist() == [factor, factor]


def test_the_slots_of_inspects_signature_are_still_read():
    signature = inspect.signature(by_its_slot)
    compiled = vitrine.compile(lambda x: x * len(signature.parameters), fullgraph=True, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [2, 2]


def module_from(tmp_path, name, text):
    """A module of the program's own, imported by this name."""
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def import_as(tmp_path):
    before = dict(sys.modules)
    yield functools.partial(module_from, tmp_path)
    for name in [name for name in sys.modules if name not in before]:
        del sys.modules[name]


KEYS = """
asked = []


class Key:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        asked.append(self.number)
        return hash(self.number)

    def __eq__(self, other):
        return isinstance(other, Key) and self.number == other.number
"""


def test_a_module_called_as_one_of_the_library_has_code_of_its_own(import_as):
    """Named `antigravity`: nothing else imports that. What its classes do is noticed as in eager."""
    own = import_as("antigravity", KEYS)
    table = {own.Key(1): 3}
    own.asked.clear()

    def f(x):
        return x * table[own.Key(1)]

    assert f(torch.ones(2)).tolist() == [3, 3]
    expected = list(own.asked)
    own.asked.clear()
    assert vitrine.compile(f, backend="eager")(torch.ones(2)).tolist() == [3, 3]
    assert own.asked == expected


def test_an_abstract_class_of_such_a_module_may_get_new_members(import_as):
    own = import_as("antigravity", "import abc\n\n\nclass Shape(abc.ABC):\n    pass\n")

    class Round:
        pass

    f = vitrine.compile(lambda x, o: x + 1 if isinstance(o, own.Shape) else x - 1, backend="eager")
    assert f(torch.ones(2), Round()).tolist() == [0, 0]
    own.Shape.register(Round)
    assert f(torch.ones(2), Round()).tolist() == [2, 2]


OWN_FILES = {
    "torch/utils/checkpoint.py": ("def checkpoint(function, *args):\n    return function(*args) + 1\n", lambda own, x: own.checkpoint(torch.sin, x)),
    "torch/_dynamo/comptime.py": (
        "class _Comptime:\n    def force_static(self, x):\n        return x + 1\n", lambda own, x: own._Comptime().force_static(x)
    ),
    "random.py": ("class Random:\n    def uniform(self, a, b):\n        return a + b\n", lambda own, x: x + own.Random().uniform(0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_FILES)
def test_a_file_that_lies_as_one_of_pytorchs_has_functions_of_its_own(tmp_path, name):
    text, program = OWN_FILES[name]
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("mine", path)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    compiled = vitrine.compile(lambda x: program(own, x), fullgraph=True, backend="eager")
    assert compiled(torch.zeros(2)).tolist() == [1, 1]


class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    @functools.wraps(nn.Module.__getattr__)
    def __getattr__(self, name):
        found = super().__getattr__(name)
        return found * 2 if isinstance(found, nn.Parameter) else found

    def forward(self, x):
        return x * self.scale


def test_a_getattr_that_wraps_copied_is_the_programs():
    model = Remembering()
    model.scale = nn.Parameter(torch.full((2,), 3.0))
    with torch.no_grad():
        expected = model(torch.ones(2))
        compiled = vitrine.compile(model, backend="eager")
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(2)), expected)


def test_a_getattr_whose_name_was_copied_is_read_by_its_own_rules():
    class Doubling(nn.Module):
        def forward(self, x):
            return x * self.scale

        def __getattr__(self, name):
            return 7.0 if name == "scale" else super().__getattr__(name)

    Doubling.__getattr__.__module__ = "torch.nn.modules.module"
    Doubling.__getattr__.__qualname__ = "Module.__getattr__"
    model = Doubling()
    model._buffers["scale"] = torch.full((2,), 3.0)
    for _ in range(2):
        assert torch.equal(vitrine.compile(model, backend="eager")(torch.ones(2)), model(torch.ones(2)))


class torch_size:
    """A class with torch in its name, given to PyTorch: its number may change."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def test_an_object_whose_class_has_torch_in_its_name_may_change():
    size = torch_size(2)
    f = vitrine.compile(lambda x: torch.narrow(x, 0, 0, size), backend="eager")
    for number in (2, 3):
        size.number = number
        assert len(f(torch.arange(5.0))) == number


class _Ops(type(sys)):
    @property
    def factor(self):
        return self.__dict__["held"][0]


def test_a_module_whose_class_is_called_ops_may_change():
    ops = _Ops("ops")
    ops.__dict__["held"] = [2]
    f = vitrine.compile(lambda x: x * ops.factor, backend="eager")
    for factor in (2, 5):
        ops.held[0] = factor
        assert f(torch.ones(2)).tolist() == [factor, factor]


class HigherOrderOperator:
    def run(self, x):
        torch._dynamo.graph_break()
        return x * (2 if torch.compiler.is_compiling() else 3)


def test_a_class_called_higher_order_operator_is_told_that_it_is_compiled():
    import torch._dynamo  # noqa: F401 (graph_break)

    assert vitrine.compile(HigherOrderOperator().run, backend="eager")(torch.ones(2)).tolist() == [2, 2]


def test_a_subclass_of_an_array_is_read_anew_each_time():
    np = pytest.importorskip("numpy")

    class Counts(np.ndarray):
        pass

    counts = np.zeros(2, dtype=np.float32).view(Counts)
    f = vitrine.compile(lambda x: x + torch.as_tensor(counts), backend="eager")
    for number in (1, 2):
        counts[:] = number
        assert f(torch.zeros(2)).tolist() == [number, number]


def test_marks_that_wraps_copied_disable_nothing():
    import torch._dynamo

    told = []

    @torch.compiler.disable
    def disabled(x):
        return x

    @functools.wraps(disabled)
    def wrapper(x):
        told.append(torch.compiler.is_compiling())
        return x + 1

    assert vitrine.compile(lambda x: wrapper(x) * 2, fullgraph=True, backend="eager")(torch.ones(2)).tolist() == [4, 4]
    assert told == [True]
