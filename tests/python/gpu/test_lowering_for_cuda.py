"""Recording for a GPU on a machine that has none: the graph of the CPU, with every tensor elsewhere."""

import pytest
import torch
from tests.python.support.recorded_program import Program
from tests.python.kernels.graphs.test_lowering import PROGRAMS

# What PyTorch itself does differently on a GPU, and what it cannot do without one.
DIFFERS = {"attention", "attention with mask", "attention, grouped", "dropout"}
NEEDS_A_GPU = {"index by list", "written slices"}


def text_of(name, **how):
    fn, args = PROGRAMS[name]
    return Program(fn, args, **how).recorded.aten()["text"]


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - DIFFERS - NEEDS_A_GPU))
def test_the_graph_is_the_cpus_but_for_the_device(name):
    there = text_of(name, as_if="cuda:0")
    if "_fused_rms_norm" in there:
        pytest.skip("this PyTorch has an operator of its own for it on a GPU")
    values = [line for line in there.splitlines() if "] : " in line or ") : " in line]
    assert values and all("cuda:0" in line for line in values), there
    assert there.replace("device=cuda:0", "device=cpu").replace("cuda:0", "") == text_of(name)


@pytest.mark.parametrize("name", sorted(DIFFERS))
def test_what_pytorch_chooses_by_device_is_chosen_for_the_gpu(name):
    assert "for_cpu" not in text_of(name, as_if="cuda:0")
    assert "bernoulli_" not in text_of(name, as_if="cuda:0")


def test_a_mask_that_repeats_along_its_rows_is_written_out_for_attention():
    def attention(q, m):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=m.expand(2, -1, 8, 8))

    args = torch.randn(2, 4, 8, 16), torch.ones(1, 1, 8, 1, dtype=torch.bool)
    text = Program(attention, args, as_if="cuda:0").recorded.aten()["text"]
    assert "aten.clone.default(%expand, memory_format=torch.contiguous_format) : b1[2,1,8,8]cuda:0" in text
    assert "aten.scaled_dot_product_attention.default(%x0, %x0, %x0, %clone" in text


def test_the_gradient_of_a_result_without_elements_lives_where_it_does():
    program = Program(lambda x: x[:0] + 1, (torch.arange(9.0).requires_grad_(),), as_if="cuda:0", joints=("own",))
    graph = program.joints["own"]["graph"]
    text = graph if isinstance(graph, str) else graph["text"]
    assert all(line.endswith("cuda:0") for line in text.splitlines() if " : " in line), text


def test_a_number_that_is_written_to_a_part_is_no_memory_of_the_cpu():
    """PyTorch makes a tensor of it, which a GPU's graph would have to read."""

    def blocks(x):
        out = x.new_zeros(4, 4, dtype=x.dtype)
        out[:2, 1:] = 3
        out[3] = 2.5
        return out + x

    for dtype in (torch.float32, torch.float16, torch.int64):
        x = torch.ones(4, 4, dtype=dtype)
        program = Program(blocks, (x,))
        text = program.recorded.aten()["text"]
        assert text.count("aten.fill_.Scalar") == 2 and "aten.fill_.Tensor" not in text, text
        assert torch.equal(program.run_aten(), blocks(x))
