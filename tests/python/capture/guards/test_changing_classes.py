"""A class that changes between calls: the compiled function goes on where nobody asked for what changed, and gives
eager's result in any case."""

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded
from torch import nn


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def program():
    class Base(nn.Module):
        made = 0
        bias = 1.0

    class Part(Base):
        scale = 2.0
        words = "more"

        def factor(self):
            return self.scale + getattr(self, self.words, 0)

        def __getattr__(self, name):
            return 5.0 if name == "absent" else super().__getattr__(name)

        def forward(self, x):
            return x * self.factor() + self.absent + type(self).bias

    return Base, Part


def setting(which, name, value):
    def change(base, part):
        setattr({"base": base, "part": part}[which], name, value)

    change.__name__ = f"{which}_{name}_{value if isinstance(value, (int, float)) else type(value).__name__}"
    return change


def deleting(base, part):
    del part.scale
    base.scale = 3.0


UNNOTICED = [
    setting("base", "made", 1), setting("part", "made", 7), setting("part", "_registry", 3), setting("base", "unheard_of", 2),
    setting("base", "notes", "text"),
]  # fmt: skip
NOTICED = [
    setting("part", "scale", 3.0), setting("base", "bias", 2.0), setting("part", "bias", 4.0), setting("part", "more", 1.5), setting("base", "absent", 1.0),
    setting("base", "more", 0.5), setting("part", "words", "made"), setting("part", "factor", lambda self: 11.0),
    setting("part", "scale", property(lambda self: 6.0)), setting("part", "__getattribute__", lambda self, name: object.__getattribute__(self, name)),
    deleting,
]
ANOTHER_PROGRAM = [setting("part", "forward", lambda self, x: x - 1)]  # fmt: skip


@pytest.mark.parametrize("change", [*UNNOTICED, *NOTICED, *ANOTHER_PROGRAM], ids=lambda c: c.__name__)
def test_a_change_of_a_class(tmp_path, change):
    base, part = program()
    net = part()
    compiled = vitrine.compile(net)
    with recorded(tmp_path) as session, torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(torch.ones(3)), net(torch.ones(3)))
        change(base, part)
        for _ in range(3):
            torch.testing.assert_close(compiled(torch.ones(3)), net(torch.ones(3)))
    assert bool(session.rows("recompilation")) == (change in NOTICED), session.rows("recompilation")


def test_a_class_that_counts_its_objects(tmp_path):
    """Each new one changes the class; none is a reason to compile again."""

    class Layer(nn.Module):
        made = 0

        def __init__(self):
            super().__init__()
            type(self).made += 1

        def forward(self, x):
            return x.sin() * 2

    net = Layer()
    compiled = vitrine.compile(net)
    with recorded(tmp_path) as session, torch.no_grad():
        for _ in range(12):
            compiled(torch.ones(3))
            Layer()
    assert Layer.made == 13 and len(session.rows("compilation")) == 1 and not session.rows("recompilation")


def test_what_changed_unnoticed_is_not_noticed_later(tmp_path):
    """A name that is not asked for may change; the next change of one that is must still be seen."""
    base, part = program()
    net = part()
    compiled = vitrine.compile(net)
    with torch.no_grad():
        for i in range(6):
            base.made = i
            compiled(torch.ones(3))
            base.bias = part.made = float(i)
            torch.testing.assert_close(compiled(torch.ones(3)), net(torch.ones(3)))
