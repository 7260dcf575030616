"""Recording for a GPU on a machine that has none: the graph of the CPU, with every tensor elsewhere."""

import pytest
from recorded_program import Program
from test_lowering import PROGRAMS

# What PyTorch itself does differently on a GPU, and what it cannot do without one.
DIFFERS = {"attention", "attention with mask", "attention, grouped", "dropout"}
NEEDS_A_GPU = {"index by list", "written slices"}


def text_of(name, **how):
    fn, args = PROGRAMS[name]
    return Program(fn, args, **how).recorded.aten()["text"]


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - DIFFERS - NEEDS_A_GPU))
def test_the_graph_is_the_cpus_but_for_the_device(name):
    there = text_of(name, as_if="cuda:0")
    values = [line for line in there.splitlines() if "] : " in line or ") : " in line]
    assert values and all("cuda:0" in line for line in values), there
    assert there.replace("device=cuda:0", "device=cpu").replace("cuda:0", "") == text_of(name)


@pytest.mark.parametrize("name", sorted(DIFFERS))
def test_what_pytorch_chooses_by_device_is_chosen_for_the_gpu(name):
    assert "for_cpu" not in text_of(name, as_if="cuda:0")
    assert "bernoulli_" not in text_of(name, as_if="cuda:0")
