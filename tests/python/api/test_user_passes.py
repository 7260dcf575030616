"""``vitrine.register_pass``: passes of the user's own, in the pipeline, checked, told of, and part of what a program is kept by."""

import operator
import re
import subprocess
import sys
import textwrap
import warnings

import pytest
import torch
from torch.fx.passes.infra.pass_base import PassResult

import vitrine

from tests.python.support.command_line import query
from tests.python.support.command_line import vitrine as cli

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def swap(module, old, new):
    """Puts one operator of one tensor in the place of another."""
    for node in module.graph.find_nodes(op="call_function", target=old):
        with module.graph.inserting_after(node):
            made = module.graph.call_function(new, node.args)
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)


def sin_to_cos(module):
    swap(module, aten.sin.default, aten.cos.default)


def f(x):
    return torch.sin(x) + 1


def called_with(function, *args):
    """(result, texts of the warnings)"""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [str(one.message) for one in seen if issubclass(one.category, vitrine.VitrineWarning)]


@pytest.mark.parametrize("after", ("aten", "decompose", "optimised", "dce"))
def test_a_pass_changes_what_is_computed_until_it_is_removed(after):
    x, compiled = torch.randn(16), vitrine.compile(f)
    torch.testing.assert_close(compiled(x), torch.sin(x) + 1)
    with vitrine.register_pass(sin_to_cos, after=after):
        torch.testing.assert_close(compiled(x), torch.cos(x) + 1)
    torch.testing.assert_close(compiled(x), torch.sin(x) + 1)


def test_a_pass_may_return_another_module_or_what_torch_s_passes_return():
    x = torch.randn(16)

    def as_result(module):
        swap(module, aten.sin.default, aten.cos.default)
        return PassResult(module, True)

    def as_copy(module):
        import copy

        made = copy.deepcopy(module)
        swap(made, aten.sin.default, aten.cos.default)
        return made

    for function in (as_result, as_copy):
        with vitrine.register_pass(function, after="decompose"):
            torch.testing.assert_close(vitrine.compile(f)(x), torch.cos(x) + 1)


def test_both_halves_of_a_training_step_go_through_it():
    seen = []
    x = torch.randn(16, requires_grad=True)
    with vitrine.register_pass(lambda module: seen.append([n.name for n in module.graph.nodes]), after="aten", name="look"):
        vitrine.compile(f)(x).sum().backward()
    assert len(seen) == 2 and any(name.startswith("tangent") for name in seen[1])
    torch.testing.assert_close(x.grad, torch.cos(x.detach()))


def test_results_of_operators_with_several_can_be_read():
    def g(x):
        a, b = x.chunk(2)
        return torch.sin(a) * b

    x = torch.randn(16)
    with vitrine.register_pass(sin_to_cos, after="decompose"):
        compiled, told = called_with(vitrine.compile(g), x)
    assert not told
    torch.testing.assert_close(compiled, torch.cos(x[:8]) * x[8:])


def through_an_alias(module):
    """Gives each operator its first input by another node, so that all types are made anew."""
    for node in [n for n in module.graph.nodes if n.op == "call_function" and n.all_input_nodes and n.target is not operator.getitem]:
        given = node.all_input_nodes[0]
        with module.graph.inserting_before(node):
            node.replace_input_with(given, module.graph.call_function(aten.alias.default, (given,)))


@pytest.mark.parametrize("after", ("aten", "decompose", "optimised"))
def test_types_of_a_whole_training_step_are_made_anew(after):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(144, 8), torch.nn.LayerNorm(8))
    x = torch.randn(2, 3, 8, 8)
    model(x).square().sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()

    def step():
        vitrine.compile(model)(x).square().sum().backward()

    with vitrine.register_pass(through_an_alias, after=after):
        _, told = called_with(step)
    assert not told
    torch.testing.assert_close([p.grad for p in model.parameters()], wanted, atol=1e-4, rtol=1e-4)


def test_a_pass_sees_graphs_for_a_gpu_that_is_not_here():
    devices = set()
    look = lambda module: devices.update(n.meta["val"].device.type for n in module.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor))
    with vitrine.register_pass(look, after="decompose", name="look"):
        _, told = called_with(vitrine.compile(f, options={"target": "sm_90"}), torch.randn(16))
    assert devices == {"cuda"} and not [text for text in told if "look" in text]


def raises(module):
    raise ValueError("no such thing")


def leaves_a_python_call(module):
    swap(module, aten.sin.default, torch.cos)


def changes_the_result_s_type(module):
    output = module.graph.output_node()
    with module.graph.inserting_before(output):
        made = module.graph.call_function(aten.sum.default, (output.args[0][0],))
    output.args = ((made,),)


def adds_an_input(module):
    with module.graph.inserting_before(next(iter(module.graph.nodes))):
        module.graph.placeholder("more")


def returns_a_number(module):
    return 3


def calls_with_too_little(module):
    for node in module.graph.find_nodes(op="call_function", target=aten.sin.default):
        node.args = ()


@pytest.mark.parametrize(
    "wrong, said",
    [
        (raises, "raised ValueError: no such thing"),
        (leaves_a_python_call, "no call of an operator"),
        (changes_the_result_s_type, r"result 0 is f32\[\], and was f32\[16\]"),
        (adds_an_input, "adds the input more"),
        (returns_a_number, "not a int"),
        (calls_with_too_little, "cannot run"),
    ],
)
def test_a_wrong_pass_is_named_and_left_out(wrong, said):
    x = torch.randn(16)
    with vitrine.register_pass(wrong, after="optimised"):
        result, told = called_with(vitrine.compile(f), x)
    torch.testing.assert_close(result, torch.sin(x) + 1)
    (text,) = told
    assert wrong.__name__ in text and "test_user_passes.py:" in text and "registered after optimised" in text
    assert re.search(said, text), text


def test_the_line_that_raised_is_named():
    with vitrine.register_pass(raises, after="optimised"):
        _, (text,) = called_with(vitrine.compile(f), torch.randn(4))
    assert f"test_user_passes.py:{raises.__code__.co_firstlineno + 1} in raises" in text


def test_names_and_keys_are_checked():
    with pytest.raises(ValueError, match="no pass or stage of graphs is called fuse_all; there are aten, decomposed, optimised, canonicalise"):
        vitrine.register_pass(sin_to_cos, after="fuse_all")
    with pytest.raises(TypeError, match="takes a function"):
        vitrine.register_pass(3, after="aten")
    with pytest.raises(TypeError, match="key takes a text"):
        vitrine.register_pass(sin_to_cos, after="aten", key="")


PROCESS = """
import sys, torch, vitrine
from vitrine import _engine
aten = torch.ops.aten
def swap(module):
    for node in module.graph.find_nodes(op="call_function", target=aten.sin.default):
        node.target = {target}
vitrine.config.cache_dir = sys.argv[1]
if {registered}:
    vitrine.register_pass(swap, after="decompose", key={key!r})
x = torch.ones(16)
print(vitrine.compile(lambda x: torch.sin(x) + 1)(x)[0].item())
print(_engine.kept_programs()["found"])
"""


def test_kept_programs_are_found_by_the_key_of_the_pass(tmp_path):
    def run(registered=True, target="aten.cos.default", key=None):
        text = PROCESS.format(registered=registered, target=target, key=key)
        done = subprocess.run([sys.executable, "-c", text, str(tmp_path / "cache")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        value, found = done.stdout.split()
        return round(float(value), 4), int(found)

    sin, cos, tanh = (round(float(function(torch.ones(())) + 1), 4) for function in (torch.sin, torch.cos, torch.tanh))
    assert run(registered=False) == (sin, 0)
    assert run(registered=False) == (sin, 1)
    assert run(key="cos") == (cos, 0)
    assert run(key="cos") == (cos, 1)
    assert run(key="tanh", target="aten.tanh.default") == (tanh, 0)
    assert run(target="aten.tanh.default") == (tanh, 0)  # without a key nothing is kept
    assert run(registered=False) == (sin, 1)


def test_the_session_shows_it_among_the_passes(tmp_path):
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import torch, vitrine
        def sin_to_cos(module):
            for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default):
                node.target = torch.ops.aten.cos.default
        def broken(module):
            raise KeyError("lost")
        vitrine.register_pass(sin_to_cos, after="decompose")
        vitrine.register_pass(broken, after="decompose")
        print(vitrine.compile(lambda x: torch.sin(x) + 1)(torch.zeros(8))[0].item())
        """)
    )
    done = cli("run", "script.py", "-o", "s.vitrine", cwd=tmp_path)
    assert done.returncode == 0 and "2.0" in done.stdout, done.stdout + done.stderr
    told = dict(query(tmp_path / "s.vitrine", "SELECT pass, sentence FROM graph"))
    assert told["sin_to_cos"] == "2 rewrites: a pass of your own"  # the operator, and what reads it
    assert "failed: the pass broken" in told["broken"] and "KeyError" in told["broken"]
    became = query(tmp_path / "s.vitrine", "SELECT text FROM rewrite WHERE rule = 'sin_to_cos'")
    assert ("sin → cos",) in became, became
