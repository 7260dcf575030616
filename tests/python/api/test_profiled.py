"""What torch.profiler sees of compiled code: regions, guards and kernels by name."""

import pytest
import torch

import vitrine


def norm(x, w):
    return torch.nn.functional.layer_norm((x @ w).sin() * 2, (8,))


def events(profile):
    return {event.key: event for event in profile.key_averages(group_by_input_shape=True)}


@pytest.mark.parametrize("shapes", [False, True])
def test_regions_guards_and_kernels_have_names(shapes):
    vitrine.reset()
    compiled, x, w = vitrine.compile(norm), torch.randn(4, 8), torch.randn(8, 8)
    with torch.profiler.profile(record_shapes=shapes) as profile:  # also of the first call
        compiled(x, w)
    assert any(name.startswith("Vitrine-Compiled Region: norm") for name in events(profile))
    with torch.profiler.profile(record_shapes=shapes) as profile:
        compiled(x, w)
    seen = events(profile)
    kernels = [name for name in seen if name.startswith("vitrine::")]
    assert {"Vitrine-Compiled Region: norm", "Vitrine Guards: norm"} <= set(seen)
    assert kernels and all("kernel" not in name for name in kernels)
    assert any("sin" in name for name in kernels), kernels
    region = next(event for event in profile.events() if event.name == "Vitrine-Compiled Region: norm")
    assert {child.name for child in region.cpu_children} >= {kernels[0]}


def test_a_backward_pass_has_a_region():
    compiled = vitrine.compile(lambda x: (x.sin() * x).sum())
    x = torch.randn(9, requires_grad=True)
    compiled(x).backward()
    with torch.profiler.profile() as profile:
        compiled(x).backward()
    regions = [name for name in events(profile) if name.startswith("Vitrine-Compiled Region")]
    assert len(regions) == 2 and any(name.endswith("(backward)") for name in regions)


def test_shapes_of_a_kernels_inputs_are_recorded():
    compiled, x = vitrine.compile(lambda x: x.sin() + 1), torch.randn(3, 5)
    compiled(x)
    with torch.profiler.profile(record_shapes=True) as profile:
        compiled(x)
    (kernel,) = [event for event in profile.events() if event.name.startswith("vitrine::")]
    assert [3, 5] in kernel.input_shapes
