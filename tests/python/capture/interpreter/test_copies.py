"""copy.copy and copy.deepcopy of a program's own objects: what they ask for, what they make, and nothing breaks."""
import copy

import pytest
import torch

import vitrine


class Renamed:
    """Attributes by another name, as configurations have them for historical reasons."""

    other_names = {"size": "width"}

    def __init__(self):
        self.width = 3
        self.pruned = {1, 2}
        self.nested = {"list": [1, 2], "deep": {"set": {3}}}

    def __getattribute__(self, name):
        if name != "other_names" and name in super().__getattribute__("other_names"):
            name = super().__getattribute__("other_names")[name]
        return super().__getattribute__(name)


class Listening:
    asked = []

    def __init__(self):
        self.width = 3

    def __getattr__(self, name):
        self.asked.append(name)
        raise AttributeError(name)


class Entries:
    def __init__(self):
        self.entries = {"width": 3}

    def __getattr__(self, name):
        return self.entries[name]


def explained(function, *args):
    return [str(b) for b in vitrine.explain(function)(*args).graph_break_reasons]


def test_deep_copy_of_sets_and_of_a_class_that_answers_in_python():
    def function(x, config):
        twin = copy.deepcopy(config)
        twin.width = 7
        twin.pruned.add(9)
        twin.nested["deep"]["set"].add(4)
        return x + twin.size + config.size, twin

    config = Renamed()
    x = torch.ones(2)
    result, twin = vitrine.compile(function)(x, config)
    assert result.tolist() == [11.0, 11.0]
    assert (twin.width, twin.pruned, twin.nested) == (7, {1, 2, 9}, {"list": [1, 2], "deep": {"set": {3, 4}}})
    assert (config.width, config.pruned, config.nested["deep"]) == (3, {1, 2}, {"set": {3}})
    assert explained(function, x, config) == []


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_class_is_asked_for_what_eager_asks(how):
    def function(x, thing):
        return x + how(thing).width

    for call in (function, vitrine.compile(function)):
        Listening.asked.clear()
        assert call(torch.ones(2), Listening()).tolist() == [4.0, 4.0]
        asked = list(Listening.asked)
        if call is function:
            expected = asked
    assert asked == expected and "__setstate__" in asked


def test_a_class_that_does_not_know_copying():
    compiled = vitrine.compile(lambda x, thing: x + copy.deepcopy(thing).width)
    with pytest.raises(KeyError, match="__deepcopy__"):
        compiled(torch.ones(2), Entries())
