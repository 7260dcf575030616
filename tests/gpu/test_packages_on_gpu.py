"""Packages for a GPU: kernels are cubins, weights are uploaded once, inputs and results are in the host's memory."""

import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn

from tests.python.support.packages import run_package, vitrine_run

pytestmark = pytest.mark.gpu


class Norms(nn.Module):
    """Nothing that PyTorch has to compute."""

    def __init__(self):
        super().__init__()
        self.norm, self.scale = nn.LayerNorm(256), nn.Parameter(torch.randn(256))

    def forward(self, x):
        return F.gelu(self.norm(x)) * self.scale + x.softmax(-1)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def close(ours: dict, model, x, tolerance=1e-4):
    with torch.no_grad():
        torch.testing.assert_close(ours["output"], model(x).cpu(), rtol=tolerance, atol=tolerance)


def test_kernels_of_ours_need_no_pytorch(tmp_path):
    model, x, package = Norms().cuda().eval(), torch.randn(64, 256, device="cuda"), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    assert "kernels for sm_" in (said := vitrine_run(package).stdout) and " 0 calls of PyTorch" in said, said
    close(run_package(package, {"x": x.cpu()}, torch_folder=None), model, x)


def test_products_are_pytorch_s(tmp_path):
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda().eval()
    x, package = torch.randn(64, 256, device="cuda"), tmp_path / "m.vpkg"
    vitrine.export(model, x, package)
    close(run_package(package, {"input": x.cpu()}), model, x, 1e-3)


def test_any_number_of_rows(tmp_path):
    model, x, package = Norms().cuda().eval(), torch.randn(64, 256, device="cuda"), tmp_path / "m.vpkg"
    vitrine.mark_dynamic(x, 0)
    vitrine.export(model, x, package)
    for rows in (64, 3, 1000):
        x = torch.randn(rows, 256, device="cuda")
        close(run_package(package, {"x": x.cpu()}, torch_folder=None), model, x)
