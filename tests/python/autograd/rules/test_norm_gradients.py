"""Gradients of normalisations inside compiled models: whichever of input, weight and bias ask for one, in training and in
evaluation, are eager's."""

import copy

import pytest
import torch
from torch import nn

import vitrine

MODELS = {
    "layer norm": (lambda: nn.LayerNorm(40), (6, 5, 40)),
    "layer norm of two dims": (lambda: nn.LayerNorm((5, 40)), (6, 5, 40)),
    "layer norm without weight": (lambda: nn.LayerNorm(40, elementwise_affine=False), (6, 5, 40)),
    "layer norm without bias": (lambda: nn.LayerNorm(40, bias=False), (6, 5, 40)),
    "RMS norm": (lambda: nn.RMSNorm(40), (6, 5, 40)),
    "batch norm": (lambda: nn.BatchNorm2d(5), (4, 5, 6, 7)),
    "batch norm of vectors": (lambda: nn.BatchNorm1d(40), (33, 40)),
    "batch norm without weight": (lambda: nn.BatchNorm2d(5, affine=False), (4, 5, 6, 7)),
}


@pytest.mark.parametrize("asked", ["all", "input", "weight", "bias"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, training, asked):
    vitrine.reset()  # the cases are more than one place is compiled for
    make, shape = MODELS[name]
    norm = make().train(training)
    parameters = dict(norm.named_parameters())
    if asked in ("weight", "bias") and asked not in parameters:
        pytest.skip("it has none")
    for key, p in parameters.items():
        p.data.uniform_(0.5, 1.5)
        p.requires_grad_(asked in ("all", key))
    x, g = torch.randn(shape), torch.randn(shape)
    found = []
    for module, dtype in ((vitrine.compile(copy.deepcopy(norm)), torch.float32), (copy.deepcopy(norm).double(), torch.float64)):
        given = x.detach().clone().to(dtype).requires_grad_(asked in ("all", "input"))
        (module(given * 1) * g.to(dtype)).sum().backward()
        found.append([given.grad] + [p.grad for p in module.parameters()])
    for ours, wide in zip(*found):
        assert (ours is None) == (wide is None)
        if wide is not None:
            torch.testing.assert_close(ours, wide.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("parameters", [torch.float32, None])
def test_group_norm_of_half_precision(half, parameters):
    """Autocast gives it f32 parameters. What PyTorch's meta kernels say of the gradient's type is not what its kernels give."""
    vitrine.reset()
    norm = nn.GroupNorm(2, 8).to(parameters or half)
    for p in norm.parameters():
        p.data.uniform_(0.5, 1.5)
    x, g = torch.randn(4, 8, 5, 5).to(half), torch.randn(4, 8, 5, 5).to(half)
    found = []
    for module, dtype in ((vitrine.compile(copy.deepcopy(norm)), half), (copy.deepcopy(norm), half), (copy.deepcopy(norm).double(), torch.float64)):
        given = x.clone().to(dtype).requires_grad_()
        (module(given * 1) * g.to(dtype)).sum().backward()
        found.append([given.grad] + [p.grad for p in module.parameters()])
    for ours, eager, wide in zip(*found):
        assert ours.dtype == eager.dtype
        assert (ours - wide).norm() <= 1.5 * (eager - wide).norm() + 1e-5 * wide.norm()
