"""What a program asks of a value is a guard: a share of tests/fuzz/questions.py and questions_of_two.py, and what it has found."""

import pytest
import torch
import vitrine
from tests.fuzz import questions, questions_of_two


@pytest.mark.parametrize("seed", range(3))
def test_no_answer_is_given_for_another_value(seed):
    assert not list(questions.differences(seed, share=0.1))


def test_no_answer_is_given_for_two_other_values():
    assert not list(questions_of_two.differences(0, share=0.1, count=24))


@pytest.mark.parametrize("value", ["", [], (), [("a", 1)]], ids=repr)
@pytest.mark.parametrize("program", [lambda v, x: (x + 1, dict(**v)), lambda v, x: (x + 1, {**v})], ids=["call", "display"])
def test_two_stars_take_mappings_alone(program, value):
    """dict.update() takes pairs too."""
    with pytest.raises(TypeError) as expected:
        program(value, questions.X)
    with pytest.raises(TypeError) as found:
        vitrine.compile(program)(value, questions.X)
    assert str(found.value) == str(expected.value)


def test_a_tensor_is_rounded_by_its_method_alone():
    def f(x):
        return round(x)

    with pytest.raises(TypeError) as expected:
        f(torch.tensor(2.5))
    with pytest.raises(TypeError) as found:
        vitrine.compile(f)(torch.tensor(2.5))
    assert str(found.value) == str(expected.value)
