"""PyTorch's record of a GPU's memory: what compiled code allocates has the line of the program that asked for it."""

import pytest
import torch
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu

NAME = "recorded_in_history"


def recorded_in_history(model, x):
    y = model(x)
    y.square().mean().backward()
    return y


@pytest.fixture
def history():
    torch.cuda.memory._record_memory_history(max_entries=10000, stacks="python")
    yield
    torch.cuda.memory._record_memory_history(enabled=None)


def allocations(snapshot):
    return [entry for trace in snapshot["device_traces"] for entry in trace if entry["action"] == "alloc"]


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_what_compiled_code_allocates_has_its_line(history, mode):
    vitrine.reset()
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda()
    compiled, x = vitrine.compile(model, mode=mode), torch.randn(1024, 256, device="cuda")
    for _ in range(3):
        y = recorded_in_history(compiled, x)
    made = allocations(torch.cuda.memory._snapshot())
    of_call = [entry for entry in made if any(frame["name"] == NAME for frame in entry["frames"])]
    assert any(entry["size"] >= y.nbytes for entry in of_call), f"{len(of_call)} of {len(made)} allocations"
    assert all(any(frame["filename"] == __file__ for frame in entry["frames"]) for entry in of_call)


def test_a_result_tells_who_allocated_it(history):
    vitrine.reset()
    compiled = vitrine.compile(lambda x: (x.sin() * 2).relu())

    def recorded_in_history(x):
        return compiled(x)

    x = torch.randn(1 << 20, device="cuda")
    for _ in range(3):
        y = recorded_in_history(x)
    frames = torch.cuda.memory._snapshot()["segments"]
    blocks = [block for segment in frames for block in segment["blocks"] if block["state"] == "active_allocated"]
    (block,) = [block for block in blocks if block["address"] == y.data_ptr()]
    assert any(frame["name"] == NAME for frame in block["frames"]), block["frames"]
