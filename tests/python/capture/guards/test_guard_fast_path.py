"""Guards take the fast way from the second call on, however often they hold or fail."""

import torch
from torch import nn

import vitrine
from tests.python.support.segments import compiled

CALLS = 50


def test_a_module_called_again_is_checked_the_fast_way():
    vitrine.reset()
    net = vitrine.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval())
    x = torch.randn(3, 4)
    with torch.no_grad():
        for _ in range(CALLS):
            net(x)
    (only,) = compiled()
    assert only.calls == CALLS
    assert only.walks <= 3 and only.fast_checks >= CALLS - 3


def test_new_sizes_are_checked_the_fast_way():
    vitrine.reset()
    program = vitrine.compile(lambda x: x.sin() * 2, dynamic=True)
    for n in range(2, 2 + CALLS):
        program(torch.randn(n, 3))
    (only,) = compiled()
    assert only.walks <= 3 and only.fast_checks >= CALLS - 3


def test_what_changes_is_walked_and_then_checked_the_fast_way_again():
    vitrine.reset()
    net = nn.Linear(4, 2)
    ours = vitrine.compile(net)
    x = torch.randn(3, 4)
    for _ in range(CALLS):
        ours(x)
    before = compiled()[0]
    net.note = "changed"  # an attribute that no guard reads
    for _ in range(CALLS):
        ours(x)
    after = compiled()[0]
    assert after.fast_checks - before.fast_checks >= CALLS // 2 and after.walks - before.walks <= CALLS // 2


class Settings:
    pass


def test_what_is_written_into_a_plain_object_is_noticed():
    settings, x = Settings(), torch.randn(3)
    settings.scale = 1.0
    only = vitrine.compile(lambda x: x * settings.scale * (2 if hasattr(settings, "late") else 1))

    def check():
        for _ in range(4):
            assert torch.equal(only(x), x * settings.scale * (2 if hasattr(settings, "late") else 1))

    check()
    names = list(vars(settings))
    settings.scale = 3.0
    check()
    settings.late = True
    check()
    del settings.late
    check()
    assert list(vars(settings)) == names == ["scale"]
