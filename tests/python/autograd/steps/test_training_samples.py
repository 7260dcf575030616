"""Training samples: losses and parameters of a few steps are eager's."""

import importlib.util

import pytest
import torch

import vitrine

from tests.python.support.places import ROOT

SAMPLES = ROOT / "samples" / "training"
SMALL = {
    "focal_loss": {"rows": 64, "classes": 50},
    "gpt2_step": {"layers": 2, "width": 64, "vocabulary": 101, "length": 16},
    "autocast_model": {}, "checkpointed": {}, "custom_autograd": {}, "sin_exp": {}, "split_step": {},
    "t5_step": {"width": 64, "vocabulary": 101, "length": 12}, "whole_step": {},
}  # fmt: skip
# bfloat16 products: a last bit of float32 before a cast may be one of bfloat16 behind it.
LOOSE = {"autocast_model": {"rtol": 2e-2, "atol": 2e-2}}


def load(name):
    spec = importlib.util.spec_from_file_location(f"training_{name}", SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_sample_is_here():
    assert {p.stem for p in SAMPLES.glob("*.py")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_losses_and_parameters_are_eagers(name):
    vitrine.reset()
    make, found = load(name).make, []
    for compile in (lambda f: f, vitrine.compile):
        run, function, parameters = make(**SMALL[name])
        compiled = compile(function)
        torch.manual_seed(1)
        found.append(([run(compiled).detach() for _ in range(4)], parameters))
    (losses, parameters), (losses2, parameters2) = found
    torch.testing.assert_close(losses2, losses, **LOOSE.get(name, {"rtol": 1e-4, "atol": 1e-5}))
    torch.testing.assert_close(parameters2, parameters, **LOOSE.get(name, {"rtol": 1e-3, "atol": 2e-4}))
