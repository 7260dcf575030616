"""Places where a call could not be captured: that one call does not decide for those that come after it."""

import pytest
import torch

import vitrine


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Odd:
    def sum(self):
        print("odd sum")
        return torch.zeros(())


def pick(value):
    print("picked")  # a break, so that what follows is asked for at the call of `consume`
    return value


def consume(value):
    return value.sum()


def whole(value):
    return torch.sin(consume(pick(value)))


def graphs_of(call, *args):
    modules = []

    def keep(graph_module, example_inputs):
        modules.append([n.name for n in graph_module.graph.nodes if n.op.startswith("call")])
        return graph_module.forward

    return vitrine.compile(call, backend=keep), modules


def test_an_odd_first_call_does_not_switch_capture_off():
    compiled, graphs = graphs_of(whole)
    assert torch.equal(compiled(Odd()), whole(Odd()))
    graphs.clear()
    x = torch.ones(4)
    assert torch.equal(compiled(x), whole(x))
    assert ["sum", "sin"] in [[name.removesuffix("_1") for name in graph] for graph in graphs], graphs
    graphs.clear()
    assert torch.equal(compiled(x), whole(x)) and torch.equal(compiled(Odd()), whole(Odd()))
    assert not graphs  # both are known by now


def test_many_odd_calls_end_without_a_warning(recwarn):
    compiled, _ = graphs_of(whole)
    for i in range(20):
        kind = type(f"Odd{i}", (Odd,), {})
        assert torch.equal(compiled(kind()), torch.zeros(()))
    assert not [w for w in recwarn if "was compiled" in str(w.message)]


def test_full_graph_says_why_even_when_nothing_was_captured():
    def f(value):
        return consume(pick(value))

    with pytest.raises(vitrine.GraphBreakError, match="print"):
        vitrine.compile(f, fullgraph=True)(torch.ones(2))
