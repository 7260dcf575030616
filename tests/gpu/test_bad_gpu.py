"""What goes wrong with a GPU: a clear message, eager's own exception or result, and the next call works."""

import subprocess
import sys
import warnings

import pytest
import torch
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu
GIGABYTE = 1 << 30


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()
    vitrine.reset()


def hungry(x):
    """Keeps several large tensors at once, none of which an elementwise kernel does away with."""
    a = (x @ x).relu()
    b = (a @ x).relu()
    return (a @ b) + (b @ a)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@torch.no_grad()
def test_out_of_memory_in_a_call_is_pytorchs_exception(mode):
    compiled = vitrine.compile(hungry, mode=mode)
    small = torch.randn(64, 64, device="cuda")
    for _ in range(4):
        torch.testing.assert_close(compiled(small), hungry(small), rtol=1e-4, atol=1e-2)
    x = torch.randn(16384, 16384, device="cuda")  # 1 GB
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(2.5 * GIGABYTE / total)
    for _ in range(4):
        with pytest.raises(torch.OutOfMemoryError), warnings.catch_warnings():
            warnings.simplefilter("error")  # of a graph that was not recorded, too
            compiled(x)
    torch.cuda.set_per_process_memory_fraction(1.0)
    for _ in range(4):
        torch.testing.assert_close(compiled(small), hungry(small), rtol=1e-4, atol=1e-2)
    x = x[:4096, :4096].contiguous()
    torch.testing.assert_close(compiled(x), hungry(x), rtol=1e-3, atol=x.shape[0] ** 2)


def test_out_of_memory_in_a_training_step_leaves_the_parameters():
    model = nn.Sequential(nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU()).cuda()
    compiled = vitrine.compile(model)
    compiled(torch.randn(8, 4096, device="cuda")).square().mean().backward()
    before = [(p.detach().clone(), p.grad.clone()) for p in model.parameters()]
    x = torch.randn(1 << 17, 4096, device="cuda")  # 2 GB
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated() + GIGABYTE) / total)
    with pytest.raises(torch.OutOfMemoryError):
        compiled(x).square().mean().backward()
    torch.cuda.set_per_process_memory_fraction(1.0)
    for p, (value, grad) in zip(model.parameters(), before, strict=True):
        assert torch.equal(p, value) and torch.equal(p.grad, grad)


def test_without_nvrtc_pytorch_runs_the_operators():
    code = """
import warnings, torch, vitrine
vitrine.config.nvrtc = "/nowhere/libnvrtc.so.13"
x = torch.randn(8, 8, device="cuda")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    y = vitrine.compile(lambda x: torch.relu(x) * 2 + 1)(x)
assert torch.equal(y, torch.relu(x) * 2 + 1)
print(*(w.message for w in said), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "/nowhere/libnvrtc.so.13" in done.stdout


def test_an_architecture_that_nvrtc_does_not_know_is_named(tmp_path):
    file = tmp_path / "model.py"
    file.write_text("import torch\nmodel = torch.nn.ReLU()\ninputs = (torch.randn(4),)\n")
    words = [sys.executable, "-m", "vitrine._tools.run", str(file), "-o", str(tmp_path / "s.vitrine"), "--target", "sm_10"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and "sm_10" in done.stderr and "sm_90" in done.stderr


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU is here")
def test_the_second_gpu_while_the_first_is_current():
    def rows(x, w):
        return torch.softmax(torch.nn.functional.gelu(x) @ w, -1) * 2

    compiled = vitrine.compile(rows)
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, w = torch.randn(64, 48, device=device), torch.randn(48, 32, device=device)
        for _ in range(2):
            torch.testing.assert_close(compiled(x, w), rows(x, w), rtol=1e-4, atol=1e-5)
    assert torch.cuda.current_device() == 0


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU is here")
def test_a_model_on_two_gpus():
    first, second = nn.Linear(32, 64).cuda(0), nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 8)).cuda(1)

    def split(x):
        return second(torch.relu(first(x)).to("cuda:1")).softmax(-1)

    compiled = vitrine.compile(split)
    for _ in range(3):
        x = torch.randn(16, 32, device="cuda:0")
        got, expected = compiled(x), split(x)
        assert got.device == expected.device
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
        got.sum().backward()
    stream = torch.cuda.Stream(1)
    with torch.cuda.device(1), torch.cuda.stream(stream), warnings.catch_warnings():
        torch.testing.assert_close(compiled(x), split(x), rtol=1e-4, atol=1e-5)


ALONE = """
import torch, vitrine
run = vitrine.compile(lambda x: (x @ x).relu() @ (x @ x), mode="{mode}")
x = torch.randn(8192, 8192, device="cuda")
torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (1 << 28)) / torch.cuda.get_device_properties(0).total_memory)
for _ in range(3):
    try:
        run(x)
    except torch.OutOfMemoryError:
        print("eager's exception")
"""


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_out_of_memory_is_said_once_and_without_frames_of_cpp(mode):
    done = subprocess.run([sys.executable, "-c", ALONE.format(mode=mode)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("eager's exception") == 3, done.stdout + done.stderr
    assert "frame #" not in done.stderr and "aoti_torch" not in done.stderr, done.stderr[:2000]
    if mode == "max-autotune":
        assert "was not tuned: there is not enough memory to try its ways" in done.stderr, done.stderr
