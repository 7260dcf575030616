"""Every sample: each of its calls gives eager's result, prints and exceptions; models are captured without a break."""

import importlib.util
import subprocess
import sys

import pytest
import torch

import vitrine

from tests.python.support.places import ROOT
from tests.python.support.same_as_eager import assert_same, run

SAMPLES = ROOT / "samples"
FILES = {p.stem: p for p in SAMPLES.rglob("*.py") if p.parent.name != "training"}
NAMES = sorted(FILES)
# How many breaks Python forces; every other sample is one graph.
BREAKS = {
    "tour_1": 1, "print_in_middle": 1, "broken_three": 3, "branch_select": 1, "disabled_preprocessing": 1, "numpy_island": 1,
    "print_in_layer_loop": 1,
}  # fmt: skip


def load(name):
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FILES[name])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.get_model() if hasattr(module, "get_model") else module.model
    inputs = module.get_inputs() if hasattr(module, "get_inputs") else module.inputs
    return model, getattr(module, "calls", [inputs])


@pytest.mark.parametrize("name", NAMES)
def test_sample_equals_eager(name):
    vitrine.reset()
    model, calls = load(name)
    compiled = vitrine.compile(model)
    with torch.no_grad():
        for args in calls * 2:
            expected, expected_error, expected_text = run(model, args)
            got, error, text = run(compiled, args)
            assert repr(error) == repr(expected_error)
            assert text == expected_text
            assert_same(expected, got)


@pytest.mark.parametrize("name", NAMES)
def test_sample_breaks_only_where_python_forces_it(name):
    vitrine.reset()
    model, calls = load(name)
    with torch.no_grad():
        explanation = vitrine.explain(model)(*calls[0])
    assert len(explanation.graph_breaks) <= BREAKS.get(name, 0), str(explanation)
    if name in BREAKS:
        assert explanation.graph_breaks, "a break was expected and none was recorded"


@pytest.mark.parametrize("name", NAMES)
def test_sample_runs_on_its_own(name):
    result = subprocess.run([sys.executable, FILES[name]], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
