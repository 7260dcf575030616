"""Programs that are captured whole: nothing in them forces a break."""

import collections
import importlib
import sys
from pathlib import Path

import pytest
import torch

import vitrine

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from odd.registry import PROGRAMS  # noqa: E402

# module of odd programs: those without a break
WHOLE = {
    "known_values": ["root_of_size", "quotient_of_sizes", "branch_on_constant", "many_dtypes", "known_under_autocast"],
    "operators": ["locals_in_callee", "locals_written", "dispatched_methods", "repr_of_dataclasses", "function_get"],
}
for module in WHOLE:
    importlib.import_module(f"odd.{module}")


@pytest.mark.parametrize("name", [name for names in WHOLE.values() for name in names])
def test_one_graph(name):
    function, make = PROGRAMS[name]
    vitrine.reset()
    with torch.no_grad():
        explained = vitrine.explain(function)(*(m() if callable(m) and not isinstance(m, type) else m for m in make))
    assert not explained.graph_break_reasons, explained


def test_a_drained_iterator_is_no_break():
    def program(x):
        out = []
        collections.deque(map(out.append, [x, x + 1]), maxlen=0)
        return out

    assert vitrine.explain(program)(torch.ones(2)).graph_break_count == 0


@pytest.mark.parametrize("name", ["written_constant", "written_later", "random_is_not_known", "empty_is_not_known"])
def test_what_is_not_known_breaks(name):
    function, make = PROGRAMS[name]
    reasons = vitrine.explain(function)(*(m() for m in make)).graph_break_reasons
    assert reasons and all(reason.kind == "scalar_read" for reason in reasons)
