"""Images through convolutions, norms, pools and repeated neighbours on a GPU: no further from float64 than eager's."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn

pytestmark = pytest.mark.gpu


class Levels(nn.Module):
    """Down and up again, as a small UNet."""

    def __init__(self, down, up):
        super().__init__()
        self.down, self.up = down, up
        self.first, self.middle, self.last = nn.Conv2d(4, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(128, 4, 3, padding=1)
        self.norm, self.wide = nn.GroupNorm(8, 64), nn.GroupNorm(8, 128)

    def forward(self, x):
        x = self.first(x)
        y = self.middle(F.silu(self.norm(self.down(x))))
        return self.last(F.silu(self.wide(torch.cat([self.up(y, x.shape[-2:]), x], 1))))


DOWN = {
    "mean": lambda x: F.avg_pool2d(x, 2), "adaptive": lambda x: F.adaptive_avg_pool2d(x, (16, 16)), "most": lambda x: F.max_pool2d(x, 2),
    "overlapping": lambda x: F.avg_pool2d(x, 3, 2, 1),
}  # fmt: skip
UP = {
    "nearest": lambda y, size: F.interpolate(y, scale_factor=2.0), "to a size": lambda y, size: F.interpolate(y, size=size),
    "bilinear": lambda y, size: F.interpolate(y, size=size, mode="bilinear"),
}  # fmt: skip


def values(model, x, trains):
    y = model(x)
    if not trains:
        return [y]
    return [y.detach(), *torch.autograd.grad(y.square().mean(), list(model.parameters()))]


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("down, up", [*((d, "nearest") for d in DOWN), *(("mean", u) for u in UP if u != "nearest")])
def test_down_and_up_again(down, up, dtype, trains):
    vitrine.reset()
    torch.manual_seed(0)
    model = Levels(DOWN[down], UP[up]).cuda().to(dtype)
    x = torch.randn(2, 4, 32, 32, device="cuda").to(dtype)
    with torch.set_grad_enabled(trains):
        ours, eager = values(vitrine.compile(model), x, trains), values(model, x, trains)
        exact = values(model.double(), x.double(), trains)
    for a, b, true in zip(ours, eager, exact, strict=True):
        most = true.abs().max().item()
        error, eagers = ((t.double() - true).abs().max().item() for t in (a, b))
        assert error <= 2 * eagers + 1e-6 * most, f"{error}, eager {eagers}"
        assert a.stride() == b.stride() or trains


def test_an_image_as_eager_hands_it_on():
    """The result of a convolution has eager's strides, whoever adds its bias."""
    vitrine.reset()
    c = nn.Conv2d(8, 16, 3).cuda().half()
    x = torch.randn(2, 8, 16, 16, device="cuda").half().to(memory_format=torch.channels_last)
    with torch.no_grad():
        ours, eager = vitrine.compile(lambda x: (c(x), c(x).relu()))(x), (c(x), c(x).relu())
    for a, b in zip(ours, eager):
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b)
