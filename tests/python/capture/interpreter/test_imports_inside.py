"""Modules that a captured function imports."""

import sys

import pytest
import torch

import vitrine


def test_what_a_module_does_while_it_loads_is_not_captured(tmp_path, monkeypatch):
    (tmp_path / "loaded_inside.py").write_text(
        "import torch\n\n\ndef make(n):\n    return torch.arange(n) * 2\n\n\nTABLE = make(4)\n\n\ndef use(x):\n    return x + TABLE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded_inside", raising=False)

    def program(x):
        import loaded_inside

        return loaded_inside.use(x * 3)

    x = torch.ones(4)
    explained = vitrine.explain(program)(x)
    torch.testing.assert_close(explained.result, x * 3 + torch.arange(4) * 2)
    assert not any("torch.arange" in graph for graph in explained.graphs), explained
    torch.testing.assert_close(vitrine.compile(program)(x), explained.result)
    monkeypatch.delitem(sys.modules, "loaded_inside")


@pytest.mark.parametrize("how", ["from . import inner", "from package_inside import inner", "from package_inside import (inner, KEPT)"])
def test_a_module_of_a_package_is_loaded_inside(tmp_path, monkeypatch, how):
    """The package is there already; what is imported from it is not."""
    package = tmp_path / "package_inside"
    package.mkdir()
    (package / "__init__.py").write_text("KEPT = 1\n")
    (package / "inner.py").write_text("VALUE = 3\n")
    (package / "user.py").write_text(f"def use(x):\n    {how}\n    return x * inner.VALUE\n")
    monkeypatch.syspath_prepend(tmp_path)
    import package_inside.user

    compiled = vitrine.compile(lambda x: package_inside.user.use(x + 1))
    for _ in range(2):
        torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 6.0))
    for name in [name for name in sys.modules if name.startswith("package_inside")]:
        monkeypatch.delitem(sys.modules, name)
