"""One thing that a guard depends on changes: the result is still eager's, and the recompilation names guard and values."""

import contextlib
import warnings

import pytest
import torch

import vitrine

from tests.python.support.recorded import recorded
from tests.python.support.same_as_eager import assert_same

SCALE = 2.0


def closure_over(value):
    def inner(x):
        return x * value

    def change(new):
        nonlocal value
        value = new

    return inner, change


def with_default(x, k=2):
    return x * k


def with_keyword_default(x, *, k=2):
    return x * k


def double(x):
    return x * 2


def triple(x):
    return x * 3


def calls_global(x):
    return helper(x) + 1


helper = double


def scaled(x):
    return x * SCALE


class Config:
    factor = 2

    def __init__(self):
        self.offset = 1.0


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.5)
        self.register_buffer("shift", torch.ones(4))
        self.gain = 1.5

    def forward(self, x):
        return self.drop(self.fc(x)) * self.gain + self.shift


def block():
    torch.manual_seed(0)
    return Block().eval()


# Each row: what changes, a function that returns (callable, args before, change) where change() -> args after;
# and what the recorded recompilation must say: the failing source, old and new value ("" = anything).
def tensor_size():
    return double, (torch.ones(2, 3),), lambda: (torch.ones(2, 5),)


def tensor_rank():
    return double, (torch.ones(2, 3),), lambda: (torch.ones(6),)


def tensor_dtype():
    return double, (torch.ones(3),), lambda: (torch.ones(3, dtype=torch.float64),)


def tensor_stride():
    return double, (torch.ones(3, 3),), lambda: (torch.arange(9.0).reshape(3, 3).t(),)


def tensor_subclass():
    return double, (torch.ones(3),), lambda: (torch.nn.Parameter(torch.ones(3), requires_grad=False),)


def tensor_conj():
    x = torch.tensor([1 + 2j, 3 - 1j])
    return double, (x,), lambda: (x.conj(),)


def requires_grad():
    x = torch.ones(3)
    return double, (x,), lambda: (x.requires_grad_(),)


def int_argument():
    return with_default, (torch.ones(3), 2), lambda: (torch.ones(3), 3)


def float_sign_of_zero():
    return with_default, (torch.ones(3), 0.0), lambda: (torch.ones(3), -0.0)


def int_to_bool():
    return with_default, (torch.ones(3), 1), lambda: (torch.ones(3), True)


def default_argument():
    def change():
        with_default.__defaults__ = (5,)
        return (torch.ones(3),)

    with_default.__defaults__ = (2,)
    return (lambda x: with_default(x)), (torch.ones(3),), change


def keyword_default():
    def change():
        with_keyword_default.__kwdefaults__ = {"k": 7}
        return (torch.ones(3),)

    with_keyword_default.__kwdefaults__ = {"k": 2}
    return (lambda x: with_keyword_default(x)), (torch.ones(3),), change


def closure_cell():
    inner, change = closure_over(2.0)

    def act():
        change(4.0)
        return (torch.ones(3),)

    return inner, (torch.ones(3),), act


def global_value():
    def change():
        globals()["SCALE"] = 6.0
        return (torch.ones(3),)

    globals()["SCALE"] = 2.0
    return scaled, (torch.ones(3),), change


def global_function():
    def change():
        globals()["helper"] = triple
        return (torch.ones(3),)

    globals()["helper"] = double
    return calls_global, (torch.ones(3),), change


def function_code():
    def f(x):
        return x + 1

    def g(x):
        return x - 1

    def change():
        f.__code__ = g.__code__
        return (torch.ones(3),)

    return (lambda x: f(x)), (torch.ones(3),), change


def list_item():
    def f(x, items):
        return x * items[0] + items[1]

    return f, (torch.ones(3), [1, 2]), lambda: (torch.ones(3), [1, 5])


def list_length():
    def f(x, items):
        for i in items:
            x = x + i
        return x

    return f, (torch.ones(3), [1, 2]), lambda: (torch.ones(3), [1, 2, 3])


def dict_item():
    def f(x, d):
        return x * d["k"]

    return f, (torch.ones(3), {"k": 2}), lambda: (torch.ones(3), {"k": 3})


def dict_keys():
    def f(x, d):
        for key in d:
            x = x + len(key)
        return x

    return f, (torch.ones(3), {"a": 1}), lambda: (torch.ones(3), {"a": 1, "bcd": 2})


def object_attribute():
    c = Config()

    def f(x):
        return x + c.offset

    def change():
        c.offset = 9.0
        return (torch.ones(3),)

    return f, (torch.ones(3),), change


def class_attribute():
    class Local:
        factor = 2

    c = Local()

    def f(x):
        return x * c.factor

    def change():
        Local.factor = 5
        return (torch.ones(3),)

    return f, (torch.ones(3),), change


def class_attribute_shadowed():
    c = Config()

    def f(x):
        return x * c.factor

    def change():
        c.factor = 8
        return (torch.ones(3),)

    return f, (torch.ones(3),), change


def same_tensor_twice():
    def f(x, y):
        return x.add_(1) + y

    return f, (torch.ones(3), torch.ones(3)), lambda: (lambda t: (t, t))(torch.ones(3))


def grad_mode():
    x = torch.ones(3)

    def f(t):
        return t * 2 if torch.is_grad_enabled() else t * 3

    def change():
        torch.set_grad_enabled(not torch.is_grad_enabled())
        return (x,)

    return f, (x,), change


def default_dtype():
    def f(x):
        return x + torch.ones(3)

    def change():
        torch.set_default_dtype(torch.float64)
        return (torch.ones(3, dtype=torch.float32),)

    return f, (torch.ones(3, dtype=torch.float32),), change


def module_half():
    m = block()
    x = torch.ones(2, 4)

    def change():
        m.to(torch.bfloat16)
        return (x.to(torch.bfloat16),)

    return m, (x,), change


def parameter_data():
    m = block()

    def change():
        m.fc.weight.data = torch.full((4, 4), 0.5, dtype=torch.float32).t()
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def parameter_data_of_other_dtype():
    m = block()

    def change():
        for p in m.parameters():
            p.data = p.data.double()
        m.shift.data = m.shift.data.double()
        return (torch.ones(2, 4, dtype=torch.float64),)

    return m, (torch.ones(2, 4),), change


def buffer_replaced():
    m = block()

    def change():
        m.shift = torch.full((4,), 7.0)
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def buffer_none():
    class Maybe(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))

        def forward(self, x):
            return x if self.b is None else x + self.b

    m = Maybe()

    def change():
        m.b = None
        return (torch.ones(3),)

    return m, (torch.ones(3),), change


def train_mode():
    m = block()
    m.drop.p = 0.0

    def change():
        m.train()
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def module_attribute():
    m = block()

    def change():
        m.gain = -2.0
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def module_swapped():
    m = block()

    def change():
        m.fc = torch.nn.Linear(4, 4, bias=False)
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def module_for_function():
    m = block()

    def change():
        m.drop = torch.nn.Tanh()
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def hook_added():
    m = block()

    def change():
        m.fc.register_forward_hook(lambda mod, args, out: out * 10)
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def global_hook_added():
    m = block()

    def change():
        handle = torch.nn.modules.module.register_module_forward_hook(
            lambda mod, args, out: out * 2 if isinstance(mod, torch.nn.Linear) else None
        )
        CLEAN_UP.append(handle.remove)
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def forward_patched():
    m = block()

    def change():
        m.fc.forward = lambda x: x + 100
        return (torch.ones(2, 4),)

    return m, (torch.ones(2, 4),), change


def builtin_shadowed():
    def f(x, items):
        return x * len(items)

    def change():
        globals()["len"] = lambda items: 42
        CLEAN_UP.append(lambda: globals().pop("len", None))
        return (torch.ones(3), [1, 2])

    return f, (torch.ones(3), [1, 2]), change


CLEAN_UP: list = []

# change -> (part of the failing source, old value, new value) that the session must show; None: any.
CHANGES = {
    tensor_size: ("L['x'].size(1)", "3", "5"),
    tensor_rank: ("L['x'].dim()", "2", "1"),
    tensor_dtype: ("L['x'].dtype", "torch.float32", "torch.float64"),
    tensor_stride: ("L['x'].stride(0)", "3", "1"),
    tensor_subclass: ("type(L['x'])", None, None),
    tensor_conj: ("L['x']", None, None),
    requires_grad: ("L['x'].requires_grad", "False", "True"),
    int_argument: ("L['k']", "2", "3"),
    float_sign_of_zero: ("L['k']", "0.0", "-0.0"),
    int_to_bool: ("L['k']", None, None),
    default_argument: None,
    keyword_default: None,
    closure_cell: None,
    global_value: ("G['SCALE']", "2.0", "6.0"),
    global_function: ("G['helper']", None, None),
    function_code: None,
    list_item: ("L['items'][1]", "2", "5"),
    list_length: ("L['items']", "2", "3"),
    dict_item: ("L['d']['k']", "2", "3"),
    dict_keys: ("L['d']", None, None),
    object_attribute: ("offset", "1.0", "9.0"),
    class_attribute: None,
    class_attribute_shadowed: None,
    same_tensor_twice: None,
    grad_mode: None,
    default_dtype: None,
    module_half: ("dtype", None, None),
    parameter_data: ("stride", None, None),
    parameter_data_of_other_dtype: ("dtype", None, None),
    buffer_replaced: "no recompilation",
    buffer_none: None,
    train_mode: ("training", "False", "True"),
    module_attribute: ("gain", "1.5", "-2.0"),
    module_swapped: None,
    module_for_function: None,
    hook_added: None,
    global_hook_added: None,
    forward_patched: None,
    builtin_shadowed: None,
}


@pytest.fixture(autouse=True)
def leave_no_trace():
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    torch.set_grad_enabled(False)
    vitrine.reset()
    yield
    while CLEAN_UP:
        CLEAN_UP.pop()()
    torch.set_grad_enabled(grad)
    torch.set_default_dtype(dtype)
    globals().update(SCALE=2.0, helper=double)


def test_long_names_are_shortened_between_characters(tmp_path):
    """Whatever stands before them, letters of three bytes are not cut in the middle."""
    for before in range(3):
        module = torch.nn.Module()
        name = "a" * before + "層" * 60
        setattr(module, name, 2.0)
        with recorded(tmp_path, f"{before}.vitrine") as session:
            vitrine.compile(lambda m, x, name=name: x * getattr(m, name))(module, torch.ones(2))
        texts = [row[column] for row in session.rows("guard") for column in ("source", "expected")]
        assert any("..." in text and "層" in text for text in texts), "no name was shortened"
        assert not any("\ufffd" in text for text in texts)


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_a_change_is_noticed(change, tmp_path):
    said = CHANGES[change]
    function, args, act = change()
    compiled = vitrine.compile(function)
    with recorded(tmp_path) as session:
        first = compiled(*args)
        compiled(*args)
        after = act()
        expected = function(*copied(after))
        got = compiled(*copied(after))
    assert_same(expected, got)
    assert session.rows("compilation", status="ok"), "nothing was compiled"
    assert first is not None
    recompilations = session.rows("recompilation")
    if said == "no recompilation":
        assert not recompilations
        return
    assert recompilations, "the change was not seen by a guard"
    row = recompilations[0]
    assert row["failed"] and row["old_value"] != row["new_value"]
    assert row["previous"] and row["compilation"] != row["previous"]
    if said:
        source, old, new = said
        assert source in row["failed"], row
        assert old is None or row["old_value"] == old, row
        assert new is None or row["new_value"] == new, row


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_a_change_is_noticed_after_many_calls(change):
    """By then a check looks only at what may have changed."""
    function, args, act = change()
    compiled = vitrine.compile(function)
    for _ in range(10):
        compiled(*copied(args))
    after = act()
    for _ in range(4):
        assert_same(function(*copied(after)), compiled(*copied(after)))


def copied(args):
    if len(args) == 2 and args[0] is args[1]:
        both = args[0].clone()
        return both, both
    return args


class Asks(torch.nn.Module):
    def forward(self, x):
        return x + self.extra if hasattr(self, "extra") else x * 2


def test_an_attribute_that_a_module_did_not_have():
    module, x = Asks(), torch.ones(2)
    compiled = vitrine.compile(module)
    assert compiled(x).tolist() == [2, 2]
    module.extra = 5.0
    assert compiled(x).tolist() == [6, 6]
    del module.extra
    assert compiled(x).tolist() == [2, 2]


def test_a_default_device_is_part_of_a_compilation():
    def program(x):
        here = torch.arange(3.0) + torch.tensor([1.0, 2.0, 3.0])
        return x * 2 + torch.ones(3), here, torch.get_default_device()

    compiled = vitrine.compile(program)
    x = torch.randn(3)
    for device in (None, torch.device("cpu"), None):
        with device or contextlib.nullcontext():
            assert_same(compiled(x), program(x))
            assert not vitrine.explain(program)(x).graph_breaks
    with torch.device("meta"):
        assert compiled(torch.ones(3))[1].device.type == "meta"
    assert_same(compiled(x), program(x))


def test_modules_go_the_way_that_a_default_device_leaves_them():
    # Attention's own shortcut is closed to calls that a function mode may see; its results lie differently.
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False)
    x = torch.randn(2, 3, 8)
    compiled = vitrine.compile(lambda x: attention(x, x, x))
    for device in (None, torch.device("cpu"), None):
        with device or contextlib.nullcontext():
            assert_same(compiled(x), attention(x, x, x))


def test_a_replaced_method_under_a_default_device(monkeypatch):
    calls, own = [], torch.Tensor.relu
    monkeypatch.setattr(torch.Tensor, "relu", lambda x: calls.append(1) or own(x))
    compiled = vitrine.compile(lambda x: x.relu() + 1)
    with torch.device("cpu"):
        torch.ones(3).relu()
        expected = len(calls)
        for _ in range(2):
            calls.clear()
            compiled(torch.ones(3))
            assert len(calls) == expected


def test_a_method_of_a_modules_class(monkeypatch):
    """torch.backends.mkldnn is an object whose class has methods, and a __getattr__ for the rest."""

    def asks(x):
        return torch.backends.mkldnn.is_available(), x + 1

    compiled = vitrine.compile(asks, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(torch.ones(2))[0] is asks(torch.ones(2))[0]
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: "its own", raising=False)
        assert compiled(torch.ones(2))[0] == "its own"
