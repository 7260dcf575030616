"""`with torch.device(...)` inside compiled functions: captured whole, and what makes tensors gets the device."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.same_as_eager import assert_same, run

CPU = torch.device("cpu")


def factories(x):
    with torch.device("cpu"):
        made = torch.zeros(3), torch.arange(3), torch.tensor([1.0, 2.0, 3.0]), torch.eye(3), torch.rand(3)
        asked = torch.ones(3, device=None), torch.full((3,), 2.0, device="cpu"), torch.zeros_like(x)
    return [x + each for each in (*made, *asked)], torch.ones(2)


def modules(x):
    with CPU:
        layer = torch.nn.Linear(3, 2)
        hidden = F.dropout(layer(x), 0.5)
    return hidden, layer.weight.device


def nested(x):
    with CPU as device, torch.device("cpu", 0):
        y = x + torch.ones(3)
        with torch.no_grad(), torch.device("cpu"):
            y = y * torch.full((3,), 2.0)
    return y, device, device is CPU, torch.get_default_device()


def left_by_exception(x):
    try:
        with CPU:
            y = x + torch.ones(3)
            raise ValueError("left")
    except ValueError as error:
        return y, str(error), torch.zeros(3)


def attention_inside(x):
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval().requires_grad_(False)
    x = x.new_ones(2, 3, 4)
    with CPU:
        return layer(x, x, x)


def numbers_of_sizes(x):
    with CPU:
        return x * torch.tensor(x.shape[0]) + torch.arange(x.shape[0])


@pytest.mark.parametrize("program", [factories, modules, nested, left_by_exception, attention_inside, numbers_of_sizes])
@pytest.mark.parametrize("outside", [None, "cpu"])
def test_a_device_for_a_while(program, outside):
    compiled = vitrine.compile(program, fullgraph=program is not nested)
    torch.set_default_device(outside)
    try:
        for _ in range(3):
            results = []
            for function in (program, compiled):
                torch.manual_seed(1)
                results.append(run(function, [torch.arange(3.0)]))
            assert results[1][1] is None
            assert_same(*results)
            assert torch.utils._device.CURRENT_DEVICE == (outside and torch.device(outside))
            assert torch._C._len_torch_function_stack() == (1 if outside else 0)
    finally:
        torch.set_default_device(None)


def test_a_device_of_nothing():
    def program(x):
        with torch.device("meta"):
            a = torch.zeros(3)
            b = torch.arange(4)
        return x * 2, a, b, torch.ones(2)

    compiled = vitrine.compile(program)
    for _ in range(3):
        got = compiled(torch.ones(3))
        assert [each.device.type for each in got] == ["cpu", "meta", "meta", "cpu"]


def test_a_graph_that_ends_inside():
    def program(x):
        with torch.device("cpu"):
            y = x + torch.ones(3)
            now = y.sum().item()
            y = y + torch.full((3,), now)
        return y * torch.ones(3), torch._C._len_torch_function_stack()

    compiled = vitrine.compile(program)
    for value in (1.0, 2.0, 1.0):
        x = torch.full((3,), value)
        assert_same(compiled(x), program(x))
        assert torch._C._len_torch_function_stack() == 0


def test_sizes_stay_open():
    compiled = vitrine.compile(numbers_of_sizes, dynamic=True, fullgraph=True)
    for n in (3, 5, 7):
        x = torch.arange(float(n))
        assert_same(compiled(x), numbers_of_sizes(x))


def test_other_devices_by_the_call():
    def program(x, device):
        with device:
            return x + 1, torch.empty(2)

    compiled = vitrine.compile(program)
    for device in ("cpu", "meta", "cpu"):
        got = compiled(torch.ones(2), torch.device(device))
        assert got[1].device.type == device and got[0].tolist() == [2, 2]


FIRST_DEVICE_OF_A_PROCESS = """
import sys
import torch, vitrine

def f(x):
    with torch.device("cpu"):
        return x + torch.ones(3)

assert "torch.utils._device" not in sys.modules
print(vitrine.compile(f)(torch.zeros(3)).tolist())
"""


def test_first_device_of_a_process():
    """PyTorch imports the module that keeps it when the first one is entered."""
    ran = subprocess.run([sys.executable, "-c", FIRST_DEVICE_OF_A_PROCESS], capture_output=True, text=True)
    assert ran.stdout == "[1.0, 1.0, 1.0]\n", ran.stderr
