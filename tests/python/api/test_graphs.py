"""``vitrine.graph``: the graph of a stage as a module of torch.fx, which runs, prints, can be changed and compiled again."""

import io
from contextlib import redirect_stdout

import pytest
import torch
from torch import fx, nn

import vitrine

aten = torch.ops.aten
INFERENCE = ("captured", "aten", "decomposed", "optimised")


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(8, 16), nn.LayerNorm(16)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, shift=None):
        y = torch.nn.functional.gelu(self.fc(x))
        a, b = y.chunk(2, -1)
        return self.norm(y) * self.scale, {"sum": a + b if shift is None else a + b + shift}


@pytest.mark.parametrize("stage", INFERENCE)
def test_a_graph_takes_and_gives_what_the_model_does(stage):
    model, x = Block().eval(), torch.randn(4, 8)
    with torch.no_grad():
        graph = vitrine.graph(model, x, stage=stage)
        normed, sums = graph(x)
        wanted, wanted_sums = model(x)
    assert isinstance(graph, fx.GraphModule)
    torch.testing.assert_close(normed, wanted)
    torch.testing.assert_close(sums["sum"], wanted_sums["sum"])


@pytest.mark.parametrize("stage", INFERENCE)
def test_a_graph_is_compiled_again_whole(stage):
    model, x = Block().eval(), torch.randn(4, 8)
    with torch.no_grad():
        graph = vitrine.graph(model, x, stage=stage)
        normed, sums = vitrine.compile(graph, fullgraph=True)(x)
        torch.testing.assert_close(normed, model(x)[0])
        torch.testing.assert_close(sums["sum"], model(x)[1]["sum"])


def test_its_parameters_are_the_model_s_own():
    model, x = Block().eval(), torch.randn(4, 8)
    with torch.no_grad():
        graph = vitrine.graph(model, x)
        assert graph.fc.weight is model.fc.weight and graph.scale is model.scale
        model.fc.weight.zero_()
        torch.testing.assert_close(graph(x)[0], model(x)[0])


def test_keyword_and_nested_arguments_keep_their_structure():
    def f(pair, *, scale):
        return {"out": (pair[0] * scale["by"] + pair[1],)}

    given = ((torch.randn(3), torch.randn(3)),), {"scale": {"by": torch.randn(3)}}
    graph = vitrine.graph(f, *given[0], **given[1])
    torch.testing.assert_close(graph(*given[0], **given[1]), f(*given[0], **given[1]))


def test_one_tensor_that_is_given_twice_is_two_inputs():
    x, y = torch.randn(3), torch.randn(3)
    graph = vitrine.graph(lambda a, b: a - b * 2, x, x)
    torch.testing.assert_close(graph(x, y), x - y * 2)


def test_what_is_handed_through_is_returned():
    x, y = torch.randn(3), torch.randn(3)
    graph = vitrine.graph(lambda a: (a + 1, a, "text"), x)
    torch.testing.assert_close(graph(y)[0], y + 1)
    assert graph(y)[1] is y and graph(y)[2] == "text"


def test_results_beside_an_object_of_the_program_s_are_a_tuple():
    class Thing:
        pass

    x = torch.randn(3)
    (made,) = vitrine.graph(lambda a, thing=Thing(): (a + 1, thing), x)(x)  # noqa: B008
    torch.testing.assert_close(made, x + 1)


def test_operators_carry_their_values_types_and_lines():
    def f(x):
        return torch.relu(x) + 1

    graph = vitrine.graph(f, torch.randn(3, 4)).graph
    relu = graph.find_nodes(op="call_function", target=aten.relu.default)[0]
    assert relu.meta["val"].shape == (3, 4) and relu.meta["val"].dtype == torch.float32
    assert "return torch.relu(x) + 1" in relu.meta["stack_trace"]
    assert "torch.ops.aten.relu.default(x)" in graph.python_code("self").src


def test_it_prints_as_a_table():
    pytest.importorskip("tabulate", reason="torch.fx prints tables by it")
    table = io.StringIO()
    with redirect_stdout(table):
        vitrine.graph(lambda x: torch.relu(x), torch.randn(3)).graph.print_tabular()
    assert "aten.relu.default" in table.getvalue()


def test_an_edited_graph_computes_what_it_was_edited_to():
    def f(x):
        return torch.relu(x) + 1

    x = torch.randn(8)
    graph = vitrine.graph(f, x)
    for node in graph.graph.find_nodes(op="call_function", target=aten.relu.default):
        node.target = aten.tanh.default
    graph.recompile()
    torch.testing.assert_close(graph(x), torch.tanh(x) + 1)
    torch.testing.assert_close(vitrine.compile(graph, fullgraph=True)(x), torch.tanh(x) + 1)


def test_the_joint_graph_computes_results_and_gradients():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    joint = vitrine.graph(model, x, stage="joint")
    tangent = torch.randn(4, 2)
    with torch.no_grad():
        out, *gradients = joint(x, tangent)
    eager = model(x)
    wanted = torch.autograd.grad(eager, list(model.parameters()), tangent)
    torch.testing.assert_close(out, eager.detach())
    assert {tuple(g.shape) for g in gradients} == {(2, 3), (2,)}
    for gradient in gradients:
        torch.testing.assert_close(gradient, next(w for w in wanted if w.shape == gradient.shape))


@pytest.mark.parametrize("stage", ("forward", "backward", "decomposed", "backward.decomposed", "backward.optimised"))
def test_a_step_of_training_has_the_graphs_of_both_halves(stage):
    model = Block()
    graph = vitrine.graph(model, torch.randn(4, 8), stage=stage)
    operators = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert "aten.addmm.default" in operators or stage.startswith("backward")
    assert ("tangent_0" in {node.name for node in graph.graph.find_nodes(op="placeholder")}) == stage.startswith("backward")
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_model_is_as_after_one_call():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    other = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    other.load_state_dict(model.state_dict())
    x = torch.randn(8, 4)
    vitrine.graph(model, x)
    other(x)
    torch.testing.assert_close(model[1].running_mean, other[1].running_mean)
    assert model[1].num_batches_tracked == 1


def test_a_call_that_breaks_has_no_single_graph():
    def f(x):
        x = x + 1
        print("here")
        return x * 2

    with pytest.raises(vitrine.GraphBreakError):
        vitrine.graph(f, torch.randn(3))


def test_what_has_no_such_graph_says_why():
    with pytest.raises(ValueError, match="joint.*gradient"):
        vitrine.graph(lambda x: x + 1, torch.randn(3), stage="joint")
    with pytest.raises(ValueError, match="no stage of graphs is called 'loop'.*optimised"):
        vitrine.graph(lambda x: x + 1, torch.randn(3), stage="loop")
    with pytest.raises(ValueError, match="computes nothing"):
        vitrine.graph(lambda x: 1, torch.randn(3))


def test_a_compiled_model_is_looked_through():
    model, x = Block().eval(), torch.randn(4, 8)
    with torch.no_grad():
        graph = vitrine.graph(vitrine.compile(model), x)
        torch.testing.assert_close(graph(x)[0], model(x)[0])
