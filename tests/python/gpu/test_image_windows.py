"""Biases of convolutions, pools and repeated neighbours of images on a GPU: as loops they give what eager's operators give."""

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.python.gpu.test_channels_last import check, images

POOLS = {
    "side by side": lambda x: F.avg_pool2d(x, 2),
    "that overlap": lambda x: F.avg_pool2d(x, 3, 1),
    "of unlike sides": lambda x: F.avg_pool2d(x, (1, 3), (2, 3)),
}
NEIGHBOURS = {
    "by a factor": lambda x: F.interpolate(x, scale_factor=2.0),
    "by a size": lambda x: F.interpolate(x, size=(48, 24)),
    "of rows alone": lambda x: F.interpolate(x, scale_factor=(4.0, 1.0)),
}


def whole(*sizes):
    """Small whole numbers: sums of their products are exact in half precision, however they are rounded."""
    return images(*sizes).clamp(-2, 2).round().half()


def convolutions():
    made = nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(16, 8, 3, padding=1)
    for convolution in made:
        for p in convolution.parameters():
            p.data = whole(*p.shape).clamp(-1, 1)
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("name", [*POOLS, *NEIGHBOURS])
def test_images_by_themselves(name, dtype):
    of = (POOLS | NEIGHBOURS)[name]
    after, _ = check(lambda x: of(x) + 1, images(2, 8, 12, 12).to(dtype))
    assert "avg_pool2d" not in after and "upsample" not in after


@pytest.mark.parametrize("name", [*POOLS, *NEIGHBOURS])
def test_images_between_convolutions(name):
    of, (a, b) = (POOLS | NEIGHBOURS)[name], convolutions()
    after, innermost = check(lambda x: F.relu(b(of(F.relu(a(x)).clamp(0, 4)).round())), whole(2, 8, 12, 12))
    assert innermost >= 2 and "avg_pool2d" not in after and "upsample" not in after
    clones = [line for line in after.splitlines() if "aten.clone" in line]
    assert len(clones) <= 4 + (name in NEIGHBOURS), after  # the image, two weights and the result


@pytest.mark.parametrize("function", [
    lambda x: F.avg_pool2d(x, 3, 1, 1), lambda x: F.avg_pool2d(x, 5), lambda x: F.avg_pool2d(x, 2, ceil_mode=True), lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    lambda x: F.interpolate(x, scale_factor=3.0), lambda x: F.interpolate(x, size=(17, 24)), lambda x: F.interpolate(x, scale_factor=2.0, recompute_scale_factor=False, mode="bilinear"),
])  # fmt: skip
def test_others_stay(function):
    after, _ = check(lambda x: function(x) + 1, images(2, 4, 11, 12))
    assert "avg_pool2d" in after or "upsample" in after


def test_a_bias_is_added_by_the_loop_behind():
    a, b = convolutions()
    without_bias = lambda text: [line for line in text.splitlines() if "aten.convolution" in line and ", None, [1, 1]" in line]  # noqa: E731
    after, _ = check(lambda x: F.relu(a(x)) * 2, whole(2, 8, 12, 12))
    assert len(without_bias(after)) == 1, after
    after, _ = check(lambda x: b(a(x)), whole(2, 8, 12, 12))  # the second one's result is laid out anew
    assert len(without_bias(after)) == 1, after
