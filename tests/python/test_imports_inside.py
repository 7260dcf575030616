"""Modules that a captured function imports."""

import sys

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
