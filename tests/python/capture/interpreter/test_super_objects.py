"""What super() gives is an object like others: it has a class, a text and a hash."""

import pytest
import torch

import vitrine


class Base:
    def f(self, x):
        return x + 1


class Derived(Base):
    def f(self, x):
        return x + 2

    def asked(self, x, ask):
        return super().f(x), ask(super(), self)


QUESTIONS = {
    "class": lambda s, self: type(s),
    "isinstance": lambda s, self: (isinstance(s, Derived), isinstance(s, super)),
    "text": lambda s, self: (repr(s)[:7], str(s)[:7], f"{s}"[:7]),
    "hash": lambda s, self: hash(s) == hash(s),
    "equal": lambda s, self: (s == s, s == self, s in [1, self]),
    "truth": lambda s, self: bool(s),
    "key": lambda s, self: {s: 1}[s],
    "attribute": lambda s, self: s.__class__,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_super_object_answers_as_in_eager(name):
    x, ask = torch.ones(3), QUESTIONS[name]
    expected, found = Derived().asked(x, ask), vitrine.compile(Derived().asked)(x, ask)
    assert torch.equal(found[0], expected[0]) and found[1] == expected[1]


def test_an_operator_on_a_super_object_raises_as_in_eager():
    with pytest.raises(TypeError, match="'super'"):
        vitrine.compile(Derived().asked)(torch.ones(3), lambda s, self: torch.ones(3) + s)
