"""Convolutions with windows of 3 x 3 by Winograd's algorithm: values as PyTorch's, whatever image and weight hold."""

import pytest
import torch
import torch.nn.functional as F
from vitrine import _engine


def kernels():
    """Lanes of a vector and the kernel for it: AVX2's everywhere, AVX-512's where this machine has it."""
    with open("/proc/cpuinfo") as cpu:
        return [(8, "Winograd's, 4 x 24")] + ([(16, "Winograd's, 8 x 48")] if "avx512f" in cpu.read() else [])


@pytest.fixture(scope="module", params=kernels(), ids=lambda kernel: kernel[1])
def kernel(request):
    return request.param


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return str(tmp_path_factory.mktemp("objects"))


def type_text(t):
    return "f32[" + ",".join(map(str, t.shape)) + "]"


class Convolution:
    """One convolution by itself, of which Winograd's kernel is the only one offered."""

    def __init__(self, objects, kernel, images=1, channels=16, out=8, size=(14, 14), padding=(1, 1), groups=1, biased=False, stride=1):
        self.image = torch.randn(images, channels, *size)
        self.weight = torch.randn(out, channels // groups, 3, 3)
        self.bias = torch.randn(out) if biased else None
        self.how = dict(padding=padding, groups=groups, stride=stride)
        operands = {"x": self.image, "w": self.weight} | ({"b": self.bias} if biased else {})
        lines = [f"  %{name} = placeholder() : {type_text(t)}" for name, t in operands.items()]
        call = f"aten.convolution.default(%x, %w, {'%b' if biased else 'None'}, [{stride},{stride}], {list(padding)}, [1,1], False, [0,0], {groups})"
        text = "graph aten {\n" + "\n".join(lines) + f"\n  %y = {call} : {type_text(self.eager())}\n  return %y\n}}"
        self.plan = _engine.plan_compile(text, True, objects, "", "", kernel[1], kernel[0])
        facts = _engine.plan_facts(self.plan)
        assert facts["problems"] == []
        self.kernels = facts["kernels"]

    def eager(self, dtype=torch.float32):
        bias = None if self.bias is None else self.bias.to(dtype)
        return F.conv2d(self.image.to(dtype), self.weight.to(dtype), bias, **self.how)

    def run(self):
        return _engine.plan_run(self.plan, [t for t in (self.image, self.weight, self.bias) if t is not None])[0]


CASES = {
    "the last panel is one column": dict(channels=16, out=16),
    "rows that are no whole tile": dict(out=13, size=(7, 7), biased=True),
    "odd sizes, several images": dict(images=2, channels=32, out=24, size=(9, 13)),
    "more images than threads": dict(images=5, out=9, size=(8, 10)),
    "a sum in two parts": dict(channels=272, out=16),
    "no padding": dict(channels=32, size=(14, 15), padding=(0, 0), biased=True),
    "wide padding": dict(channels=32, padding=(2, 3)),
    "groups": dict(images=3, channels=32, out=32, size=(20, 37), padding=(1, 0), groups=2, biased=True),
    "several panels in long rows": dict(channels=48, out=40, size=(5, 120)),
    "many panels": dict(channels=32, out=32, size=(30, 28)),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_as_exact_as_pytorchs(objects, kernel, case):
    torch.manual_seed(0)
    made = Convolution(objects, kernel, **CASES[case])
    assert made.kernels == 1
    exact, eager, ours = made.eager(torch.float64), made.eager(), made.run()
    assert ours.shape == eager.shape and ours.stride() == eager.stride()
    assert (ours - exact).abs().max() <= 4 * (eager - exact).abs().max() + 1e-6 * exact.abs().max()


def test_every_thread_has_a_part(objects, kernel):
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for how in (dict(channels=64, out=16, size=(28, 28)), dict(channels=16, out=64, size=(14, 14)), dict(images=3)):
            made = Convolution(objects, kernel, **how)
            torch.testing.assert_close(made.run(), made.eager(), rtol=1e-4, atol=1e-4)
    finally:
        torch.set_num_threads(threads)


def test_infinities_and_nans_are_where_pytorch_has_them(objects, kernel):
    torch.manual_seed(0)
    made = Convolution(objects, kernel, channels=32, out=16, size=(20, 20), biased=True)
    made.image[0, 0, 3, 4], made.image[0, 1, 0, 19], made.image[0, 5, 10, 10] = float("inf"), float("nan"), -float("inf")
    ours, eager = made.run(), made.eager()
    assert torch.equal(ours.isnan(), eager.isnan()) and torch.equal(ours.isinf(), eager.isinf())
    torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_sums_on_the_way_that_overflow_are_made_again(objects, kernel):
    made = Convolution(objects, kernel)
    made.image.fill_(3e38)
    made.weight.zero_()
    made.weight[:, 0, 1, 1] = 1
    assert torch.equal(made.run(), made.eager())


@pytest.mark.parametrize("how", [dict(stride=2), dict(channels=8), dict(channels=64, out=64, groups=64)])
def test_others_stay_with_pytorch(objects, kernel, how):
    assert Convolution(objects, kernel, **how).kernels == 0
