"""The typed stub of the extension module names what the built module has, with as many parameters."""

import ast
import re

import pytest
import torch  # noqa: F401  (the engine needs its libraries)

from vitrine import _engine

from tests.python.support.places import ROOT

STUB = ast.parse((ROOT / "core/python/vitrine/_engine.pyi").read_text())
WORDS = {"no": 0, "one": 1}


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def named(body) -> dict:
    return {n.target.id if isinstance(n, ast.AnnAssign) else n.name: n for n in body if isinstance(n, (ast.AnnAssign, ast.FunctionDef, ast.ClassDef))}


def functions():
    """(name, function of the module, its row of the stub): of classes their methods and making them, too."""
    for name, node in named(STUB.body).items():
        if isinstance(node, ast.FunctionDef):
            yield name, getattr(_engine, name), node
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            rows = named(node.body)
            yield name, getattr(_engine, name), rows["__new__"]
            for method in sorted(public(rows)) if name == "Lowering" else ():
                yield f"{name}.{method}", getattr(_engine.Lowering(), method), rows[method]


def test_the_stub_names_what_the_module_has():
    assert public(named(STUB.body)) == public(dir(_engine))
    for name, node in named(STUB.body).items():
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            assert public(named(node.body)) == public(vars(getattr(_engine, name))), name
    assert isinstance(_engine.__version__, str)


@pytest.mark.parametrize("name, function, row", [pytest.param(*f, id=f[0]) for f in functions()])
def test_the_stub_has_as_many_parameters(name, function, row):
    wanted = [a for a in row.args.posonlyargs if a.arg not in ("self", "cls")]
    if row.args.vararg:
        pytest.skip("takes what another function takes")
    assert {a.arg for a in row.args.args} <= {"self"} and not row.args.kwonlyargs, "arguments go by place"
    with pytest.raises(TypeError, match=rf"\({len(wanted) + 1} given\)") as raised:
        function(*[object()] * (len(wanted) + 1))
    assert limit(raised.value) == len(wanted)
    if needed := len(wanted) - len(row.args.defaults):
        with pytest.raises(TypeError, match=rf"\({needed - 1} given\)") as raised:
            function(*[object()] * (needed - 1))
        assert limit(raised.value) == needed


def limit(error: TypeError) -> int:
    word = re.search(r"(?:takes|exactly|most|least) (no|one|\d+) argument", str(error)).group(1)
    return WORDS.get(word) if word in WORDS else int(word)
