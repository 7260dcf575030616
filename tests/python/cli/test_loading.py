"""What can be loaded: the forms of a Python file, and --input."""

import sys

import pytest
import torch
from tests.python.support.command_line import TINY, write
from vitrine._tools.loading import LoadError, UsageError, load, make_input


@pytest.fixture(autouse=True)
def own_imports():
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def result(entry):
    return entry.function(*entry.args, **entry.kwargs)


NAMED = """
import torch
def f(x, y, n):
    return (x + y) * n
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(8, 4)
    def forward(self, x):
        return self.l(x)
    def double(self, x):
        return x * 2
    @staticmethod
    def triple(x):
        return x * 3
"""


def test_model_and_inputs(tmp_path):
    assert result(load(str(write(tmp_path, "m.py", TINY)), None, [])).shape == (2, 8)


def test_get_model_and_get_inputs(tmp_path):
    text = "import torch\ndef get_model():\n    return torch.nn.ReLU()\ndef get_inputs():\n    return torch.ones(3)\n"
    assert result(load(str(write(tmp_path, "m.py", text)), None, [])).tolist() == [1, 1, 1]


def test_keyword_inputs(tmp_path):
    text = "import torch\ndef model(a, b):\n    return a - b\ninputs = {'b': torch.ones(2), 'a': torch.zeros(2)}\n"
    assert result(load(str(write(tmp_path, "m.py", text)), None, [])).tolist() == [-1, -1]


PAIR = "def model(x, *, scale=1, **more):\n    return x * scale + sum(more.values())\n"
NAMELESS = "def model(x, names=None):\n    return (x, names)\n"


@pytest.mark.parametrize(
    "text, inputs, expected",
    [
        (PAIR, "((1,), {'scale': 3})", 3),
        (PAIR, "[[1], {'scale': 3, 'shift': 4}]", 7),
        (PAIR, "__import__('collections').UserDict(x=1, scale=2)", 2),
        (NAMELESS, "((1,), {'a': 2})", ((1,), {"a": 2})),
        (NAMELESS, "{'a': 2}", ({"a": 2}, None)),
        (NAMELESS, "({'names': 2}, 5)", ({"names": 2}, 5)),
    ],
)
def test_positional_and_keyword_inputs(tmp_path, text, inputs, expected):
    """Keywords are those that the model takes by name; a mapping of other keys is an argument."""
    path = write(tmp_path, "m.py", f"{text}inputs = {inputs}\n")
    assert result(load(str(path), None, [])) == expected


def test_successive_calls(tmp_path):
    text = "import torch\ndef model(a):\n    return a\ninputs = torch.ones(2)\ncalls = [(torch.ones(2),), (torch.ones(3),)]\n"
    assert [len(c[0]) for c in load(str(write(tmp_path, "m.py", text)), None, []).calls] == [2, 3]


@pytest.mark.parametrize(
    "name, specs, shape",
    [
        ("f", ["f32[2,3]", "f32[2,3]", "3"], (2, 3)),
        ("Model", ["f32[2,8]"], (2, 4)),
        ("Model.forward", ["f32[2,8]"], (2, 4)),
        ("Model.double", ["f32[2,8]"], (2, 8)),
        ("Model.triple", ["f32[5]"], (5,)),
    ],
)
def test_named_entries(tmp_path, name, specs, shape):
    entry = load(str(write(tmp_path, "m.py", NAMED)), name, specs)
    assert result(entry).shape == shape
    owner = getattr(entry.function, "__self__", entry.function)
    assert not isinstance(owner, torch.nn.Module) or not owner.training


def test_a_script_has_no_entry(tmp_path):
    assert load(str(write(tmp_path, "m.py", "raise SystemExit('must not be imported')\n")), None, []) is None


def test_names_of_the_main_block_do_not_count(tmp_path):
    text = "import torch\nif __name__ == '__main__':\n    model, inputs = 1, 2\n"
    assert load(str(write(tmp_path, "m.py", text)), None, []) is None


@pytest.mark.parametrize("statement", ["from .layers import act", "from layers import act", "from pack.layers import act"])
def test_files_of_a_package(tmp_path, statement):
    write(tmp_path, "pack/__init__.py", "")
    write(tmp_path, "pack/layers.py", "import torch\nact = torch.relu\n")
    path = write(tmp_path, "pack/net.py", f"import torch\n{statement}\nmodel = act\ninputs = -torch.ones(2)\n")
    if "pack.layers" in statement:
        sys.path.insert(0, str(tmp_path))
    assert result(load(str(path), None, [])).tolist() == [0, 0]


def test_a_file_named_as_a_library_does_not_replace_it(tmp_path):
    import json

    load(str(write(tmp_path, "json.py", TINY)), None, [])
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    "spec, dtype, shape",
    [("f32[8,128]", torch.float32, (8, 128)), ("bf16[ 2 , 3 ]", torch.bfloat16, (2, 3)), ("b1[4]", torch.bool, (4,)),
     ("f64[]", torch.float64, ()), ("c64[2]", torch.complex64, (2,)), ("u8[3]<200", torch.uint8, (3,))],
)  # fmt: skip
def test_input_tensors(spec, dtype, shape):
    value = make_input(spec, torch.Generator().manual_seed(0))
    assert value.dtype == dtype and value.shape == shape


def test_input_values():
    g = torch.Generator().manual_seed(0)
    assert make_input("i64[1000]<50", g).max() > 10 and make_input("i64[1000]<50", g).max() < 50
    assert [make_input(s, g) for s in ("3", "-2.5", "'text'", "(1, 2)", "None", "[1, 2]")] == [3, -2.5, "text", (1, 2), None, [1, 2]]


@pytest.mark.parametrize("spec", ["f32[8", "q7[3]", "f32[-1]", "open('x')", ""])
def test_wrong_input(spec):
    with pytest.raises(UsageError) as caught:
        make_input(spec, torch.Generator())
    assert repr(spec) in caught.value.what and caught.value.hint


BAD = [
    ("x = (\n", None, "is not valid Python", "m.py"),
    ("import no_such_library_here\nmodel = inputs = 1\n", None, "does not import: ModuleNotFoundError", "line 1"),
    ("def g():\n    return {}['k']\nmodel = g()\ninputs = 1\n", None, "KeyError: 'k'", "in g"),
    ("import sys\nsys.exit(3)\nmodel = inputs = 1\n", None, "calls sys.exit()", ""),
    ("model = 5\ninputs = 1\n", None, "cannot be called", ""),
    ("def get_inputs():\n    return 1\ndef get_model():\n    raise ValueError('no weights')\n", None, "get_model() raised ValueError: no weights", "in get_model"),
    (NAMED, "absent", "has no absent", ""),
    (NAMED, "torch.float32", "cannot be called", ""),
    ("class C:\n    def __init__(self, n):\n        pass\n", "C", "C cannot be made without arguments: it needs n.", ""),
    ("class C:\n    def __init__(self):\n        raise TypeError('no')\n", "C", "C() raised TypeError: no", "in __init__"),
]


@pytest.mark.parametrize("text, entry, what, detail", BAD)
def test_files_that_cannot_be_used(tmp_path, text, entry, what, detail):
    with pytest.raises(LoadError) as caught:
        load(str(write(tmp_path, "m.py", text)), entry, [])
    error = caught.value
    assert what in error.what and error.hint and detail in error.detail
    assert "vitrine/_tools/loading.py" not in error.detail and "<frozen" not in error.detail


@pytest.mark.parametrize(
    "text, name, line",
    [
        ("inputs = ()\nif not inputs:\n    pass\nelse:\n    model = len\n", "model", 5),
        ("model = len\nif not model:\n    inputs = ()\n", "inputs", 3),
        ("def get_inputs():\n    return ()\nif not get_inputs:\n    def get_model():\n        return len\n", "get_model", 4),
        ("inputs = ()\nif inputs:\n    from math import sin as model\n", "model", 3),
    ],
)
def test_what_a_branch_that_is_not_taken_defines(tmp_path, text, name, line):
    file = str(write(tmp_path, "m.py", text))
    with pytest.raises(LoadError) as caught:
        load(file, None, [])
    assert f"has no {name} once it is imported: line {line} " in caught.value.what
    assert f"Define {name} in every case" in caught.value.hint


def test_the_cause_of_an_error_is_told_too(tmp_path):
    text = "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('second') from e\nmodel = inputs = 1\n"
    with pytest.raises(LoadError) as caught:
        load(str(write(tmp_path, "m.py", text)), None, [])
    assert "KeyError: 'k'" in caught.value.detail and "direct cause" in caught.value.detail


@pytest.mark.parametrize("make", [lambda p: p / "absent.py", lambda p: p, lambda p: write(p, "x.py", "") and p / "y.py"])
def test_paths_that_are_no_file(tmp_path, make):
    with pytest.raises(LoadError) as caught:
        load(str(make(tmp_path)), None, [])
    assert caught.value.hint


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "m.py").write_bytes(bytes(range(256)))
    with pytest.raises(LoadError):
        load(str(tmp_path / "m.py"), None, [])


def test_input_without_entry_is_a_usage_error(tmp_path):
    for text in (TINY, "print()\n"):
        with pytest.raises(UsageError, match="--input"):
            load(str(write(tmp_path, "m.py", text)), None, ["f32[2]"])
