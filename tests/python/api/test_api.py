"""vitrine.compile, disable, reset and explain, and the module that compile returns."""

import copy
import functools
import inspect
import io
import logging
import pickle
import subprocess
import sys
import types

import pytest
import torch

import vitrine
from tests.python.support.recorded import recorded


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Net(torch.nn.Module):
    """A small net."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.scale = 2.0

    def forward(self, x, *, shift=0.0):
        return self.drop(self.fc(x)) * self.scale + shift

    def extra(self):
        return "extra"


def add(x, y=1):
    """Adds."""
    return x + y


def test_function_method_and_decorators():
    x = torch.ones(3)
    assert torch.equal(vitrine.compile(add)(x), x + 1)
    assert torch.equal(vitrine.compile(add)(x, y=2), x + 2)

    @vitrine.compile
    def plain(a):
        return a * 2

    @vitrine.compile(fullgraph=True, mode="max-autotune")
    def with_arguments(a):
        return a * 3

    class Holder:
        factor = 5

        @vitrine.compile
        def method(self, a):
            return a * self.factor

        @staticmethod
        @vitrine.compile
        def static(a):
            return a * 7

    assert torch.equal(plain(x), x * 2) and torch.equal(with_arguments(x), x * 3)
    assert torch.equal(Holder().method(x), x * 5) and torch.equal(Holder.static(x), x * 7)
    assert torch.equal(vitrine.compile(Holder().method)(x), x * 5)


def test_compiled_function_looks_like_the_function():
    compiled = vitrine.compile(add)
    assert compiled.__name__ == "add" and compiled.__doc__ == "Adds." and compiled.__module__ == add.__module__
    assert compiled.__wrapped__ is add
    assert inspect.signature(compiled) == inspect.signature(add)
    assert callable(compiled) and "add" in repr(compiled)
    assert vitrine.compile(compiled).__wrapped__ is add
    assert pickle.loads(pickle.dumps(compiled)).__wrapped__ is add


def test_any_callable_is_taken():
    class Adder:
        def __call__(self, x):
            return x + 4

    x = torch.ones(2)
    assert torch.equal(vitrine.compile(Adder())(x), x + 4)
    assert torch.equal(vitrine.compile(torch.sin)(x), torch.sin(x))
    assert torch.equal(vitrine.compile(lambda t: t - 1)(x), x - 1)


def test_torch_compile_parameters():
    x = torch.ones(2)
    for mode in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        assert torch.equal(vitrine.compile(add, mode=mode)(x), x + 1)
    assert torch.equal(vitrine.compile(add, dynamic=False)(x), x + 1)
    assert torch.equal(vitrine.compile(add, options={"fuse": False})(x), x + 1)
    for backend in ("eager", "aot_eager", "inductor", "cudagraphs"):
        assert torch.equal(vitrine.compile(add, backend=backend)(x), x + 1)
    assert vitrine.compile(add, disable=True) is add


@pytest.mark.parametrize(
    "arguments, error, says",
    [
        ({"dynamic": "yes"}, TypeError, "dynamic takes True, False or None"),
        ({"mode": "fastest"}, ValueError, "unknown mode 'fastest'"),
        ({"mode": "lite"}, NotImplementedError, "mode 'lite' of torch.compile is not supported yet"),
        ({"backend": "no_such"}, ValueError, "unknown backend 'no_such'"),
        ({"options": {"no_such": 1}}, ValueError, "unknown option 'no_such'"),
        ({"options": {"epilogue_fusion": True}}, NotImplementedError, "option 'epilogue_fusion' of torch.compile is not supported yet"),
        ({"options": {"triton.cudagraphs": True}}, NotImplementedError, "not supported yet"),
        ({"options": {"disabled_passes": ["cse", "cze"]}}, ValueError, "no pass is called cze; there are canonicalise, .*cse.*run_late"),
        ({"options": {"disabled_passes": ["loops"]}}, ValueError, "loops cannot be switched off: kernels are made of loops"),
        ({"options": {"disabled_passes": [1]}}, TypeError, "takes names"),
        ({"options": {"fuse": "yes"}}, TypeError, "fuse"),
        ({"options": {"fuse": True}, "mode": "default"}, RuntimeError, "not both"),
    ],
)
def test_what_is_not_supported_says_so(arguments, error, says):
    with pytest.raises(error, match=says):
        vitrine.compile(add, **arguments)


@pytest.mark.parametrize("thing", [3, "add", torch.ones(1)])
def test_what_cannot_be_compiled_says_so(thing):
    with pytest.raises(TypeError, match="vitrine.compile"):
        vitrine.compile(thing)


def test_instances_of_a_decorated_class_are_compiled():
    @vitrine.compile
    class Told(torch.nn.Module):
        def forward(self, x):
            return x + 1, torch.compiler.is_compiling()

    model = Told()
    assert isinstance(model, torch.nn.Module) and model(torch.ones(1))[1]


def test_a_class_that_is_compiled_is_compiled_by_itself(tmp_path):
    @vitrine.compile
    class Told(torch.nn.Module):
        def forward(self, x):
            return x + 1

    Told()(torch.ones(1))
    with recorded(tmp_path) as session:
        for other in (torch.nn.ReLU(), torch.nn.Sequential(torch.nn.ReLU())):
            vitrine.compile(other)(torch.ones(1))
    assert session.rows("recompilation") == []


def test_a_traced_module_runs():
    traced = torch.jit.trace(torch.nn.Linear(3, 3), torch.ones(2, 3))
    assert torch.equal(vitrine.compile(traced)(torch.ones(2, 3)), traced(torch.ones(2, 3)))


def test_a_scripted_module_is_refused():
    with pytest.raises(RuntimeError, match="torch.compile does not support compiling torch.jit.script"):
        vitrine.compile(torch.jit.script(torch.nn.Linear(2, 2)))


def test_exceptions_are_the_users_own():
    def bad(x):
        y = x + 1
        raise KeyError("mine")
        return y

    with pytest.raises(KeyError, match="mine") as caught:
        vitrine.compile(bad)(torch.ones(2))
    assert caught.traceback[-1].name == "bad"
    with pytest.raises(TypeError, match="argument"):
        vitrine.compile(add)()
    with pytest.raises(RuntimeError, match="size of tensor"):
        vitrine.compile(add)(torch.ones(2), torch.ones(3))


def test_module_keeps_the_contract():
    torch.manual_seed(0)
    net = Net().eval()
    compiled = vitrine.compile(net)
    x = torch.ones(2, 4)
    with torch.no_grad():
        assert torch.equal(compiled(x), net(x))
        assert torch.equal(compiled(x, shift=1.0), net(x, shift=1.0))
    assert isinstance(compiled, torch.nn.Module) and isinstance(compiled, vitrine.OptimizedModule)
    assert compiled._orig_mod is net
    assert list(compiled.state_dict()) == ["_orig_mod.fc.weight", "_orig_mod.fc.bias"]
    assert [n for n, _ in compiled.named_parameters()] == ["_orig_mod.fc.weight", "_orig_mod.fc.bias"]
    assert {id(p) for p in compiled.parameters()} == {id(p) for p in net.parameters()}
    assert compiled.scale == 2.0 and compiled.extra() == "extra" and compiled.fc is net.fc
    assert compiled.__doc__ == "A small net." and "Net" in repr(compiled)
    compiled.load_state_dict({k: torch.zeros_like(v) for k, v in compiled.state_dict().items()})
    with torch.no_grad():
        assert torch.equal(compiled(x), torch.zeros(2, 3)) and not net.fc.weight.any()


def test_frameworks_compile_a_modules_methods_as_the_module_was():
    """They take its ``dynamo_ctx`` from it, put the methods it makes in the module, and run the module itself."""
    net = Net().eval()
    net.forward = vitrine.compile(net, fullgraph=True).dynamo_ctx(net.forward)
    x = torch.ones(2, 4)
    with torch.no_grad():
        assert torch.equal(net(x), Net.forward(net, x))
    with pytest.raises(vitrine.GraphBreakError):
        vitrine.compile(net, fullgraph=True).dynamo_ctx(lambda x: print("") or x + 1)(x)


def test_module_mode_and_attributes_are_the_modules_own():
    net = Net()
    compiled = vitrine.compile(net)
    assert compiled.training
    assert compiled.eval() is compiled and not net.training and not net.drop.training and not compiled.training
    compiled.train()
    assert net.training and net.drop.training
    net.eval()
    assert not compiled.training
    compiled.scale = 5.0
    assert net.scale == 5.0
    compiled.fc = torch.nn.Linear(4, 2)
    assert net.fc.out_features == 2
    with torch.no_grad():
        assert compiled(torch.ones(1, 4)).shape == (1, 2)
    del compiled.scale
    assert not hasattr(net, "scale")
    with pytest.raises(AttributeError):
        compiled.no_such_thing
    compiled.double()
    assert net.fc.weight.dtype == torch.float64


def test_containers_stay_containers():
    compiled = vitrine.compile(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    assert len(compiled) == 2 and isinstance(compiled[1], torch.nn.ReLU) and len(list(compiled)) == 2 and compiled
    assert bool(vitrine.compile(Net()))


def test_module_hooks_run_once():
    calls = []
    net = Net().eval()
    net.register_forward_hook(lambda m, a, out: calls.append("inner"))
    compiled = vitrine.compile(net)
    compiled.register_forward_hook(lambda m, a, out: calls.append("outer"))
    x = torch.ones(1, 4)
    with torch.no_grad():
        for _ in range(3):
            compiled(x)
    assert calls.count("inner") == 3


def test_module_copies_and_pickles():
    net = Net().eval()
    compiled = vitrine.compile(net)
    x = torch.ones(1, 4)
    with torch.no_grad():
        expected = compiled(x)
        twin = copy.deepcopy(compiled)
        assert isinstance(twin, vitrine.OptimizedModule) and twin._orig_mod is not net
        assert torch.equal(twin(x), expected)
        twin.fc.weight.zero_()
        assert torch.equal(compiled(x), expected)
        buffer = io.BytesIO()
        torch.save(compiled, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=False)
        assert isinstance(loaded, vitrine.OptimizedModule) and torch.equal(loaded(x), expected)


def test_training_through_a_compiled_module():
    torch.manual_seed(0)
    net = Net().eval()
    reference = copy.deepcopy(net)
    compiled = vitrine.compile(net)
    x = torch.randn(5, 4)
    for model in (compiled, reference):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    for a, b in zip(net.parameters(), reference.parameters()):
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(a.grad, b.grad)


def test_disable_as_decorator_function_and_context():
    @vitrine.disable
    def island(x):
        return x * 3 if x.sum() > 0 else x

    @vitrine.disable()
    def with_parentheses(x):
        return x + 10

    def f(x):
        y = x + 1
        with vitrine.disable():
            y = y * 2
        return with_parentheses(island(y))

    assert island.__name__ == "island"
    x = torch.ones(3)
    compiled = vitrine.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(x), f(x))
    assert torch.equal(vitrine.disable(add)(x), x + 1)


def test_is_compiling_outside():
    assert vitrine.is_compiling() is False


def test_a_way_for_compilers_that_raises_is_not_taken():
    def f(x, mask=None):
        if mask is None and not torch.compiler.is_compiling():
            mask = torch.ones_like(x)
        return x * mask[:, None].squeeze(1)

    compiled = vitrine.compile(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(torch.full((2, 3), 2.0)), torch.full((2, 3), 2.0))
    assert torch.equal(compiled(torch.ones(2, 3), torch.zeros(2, 3)), torch.zeros(2, 3))
    with pytest.raises(IndexError):
        vitrine.compile(f)(torch.ones(()), torch.zeros(()))


def test_a_message_that_is_logged_once_ends_the_first_graph_alone():
    @functools.lru_cache(None)
    def warn_once(text):
        logging.getLogger(__name__).warning(text)

    def f(x):
        warn_once("be careful")
        return x + 1

    first = vitrine.explain(f)(torch.ones(2))
    assert "its function's cache does not hold" in str(first.graph_break_reasons[0])
    assert "From the next call with these arguments on" in str(first)
    assert torch.equal(vitrine.compile(f, fullgraph=True)(torch.ones(2)), torch.full((2,), 2.0))


def test_a_way_for_compilers_through_an_operator_on_functions_is_not_taken():
    """torch.associative_scan's gradients are wrong: Mamba takes it when it is told that it is compiled."""
    from torch._higher_order_ops.associative_scan import associative_scan_op

    def states(a, b):
        if torch.compiler.is_compiling():
            return associative_scan_op(lambda a, b, c, d: (a * c, c * b + d), (a, b), additional_inputs=())[1]
        state, each = torch.zeros_like(b[0]), []
        for i in range(len(a)):
            state = a[i] * state + b[i]
            each.append(state)
        return torch.stack(each)

    a, b = torch.rand(5, 3).requires_grad_(), torch.randn(5, 3).requires_grad_()
    expected = torch.autograd.grad(states(a, b).square().sum(), (a, b))
    compiled = vitrine.compile(states, fullgraph=True)
    got = torch.autograd.grad(compiled(a, b).square().sum(), (a, b))
    torch.testing.assert_close(got, expected)


def test_nested_compiled_functions():
    inner = vitrine.compile(lambda x: x * 2)

    @vitrine.compile
    def outer(x):
        return inner(x + 1) + inner(x)

    x = torch.arange(3.0)
    for _ in range(3):
        assert torch.equal(outer(x), (x + 1) * 2 + x * 2)


def test_explain_says_what_happens(capsys):
    def f(x):
        y = torch.sin(x)
        print("middle")
        return torch.cos(y) * 2

    with torch.no_grad():
        explanation = vitrine.explain(f)(torch.ones(4))
    assert explanation.graph_count == 2 and explanation.graph_break_count == 1
    assert explanation.graph_break_reasons[0].kind == "side_effect"
    assert "print" in explanation.graph_break_reasons[0].reason
    assert any("sin" in op for op in explanation.ops) and any("cos" in op for op in explanation.ops)
    assert any("L['x']" in guard for guard in explanation.guards)
    text = str(explanation)
    assert "2 graphs, 1 graph break" in text and "hint:" in text
    torch.testing.assert_close(explanation.result, f(torch.ones(4)))


def test_explain_leaves_compiled_code_alone():
    compiled = vitrine.compile(add)
    x = torch.ones(2)
    compiled(x)
    assert vitrine.explain(compiled)(x).graph_count == 1
    assert vitrine.explain(compiled)(x).graph_count == 1, "each explanation captures afresh"
    assert torch.equal(compiled(x), x + 1)


def test_fullgraph_raises_on_a_break():
    @vitrine.compile(fullgraph=True)
    def f(x):
        y = x * 2
        print("no")
        return y + 1

    with torch.no_grad():
        for _ in range(2):
            with pytest.raises(vitrine.GraphBreakError, match="fullgraph") as caught:
                f(torch.ones(2))
    assert caught.value.kind == "side_effect" and caught.value.reason and caught.value.hint


def test_what_wraps_a_function_is_one_to_inspect():
    """As what torch.compile returns; a callable object has no code, and does not claim to."""

    def asks(x):
        return x + 1 if isinstance(wrapped, types.FunctionType) and wrapped.__class__ is types.FunctionType else x - 1

    async def waits(x):
        return x

    for wrap in (vitrine.compile, vitrine.disable):
        for function in (add, Net().extra, waits):
            wrapped = wrap(function)
            assert inspect.isfunction(wrapped) and inspect.signature(wrapped) == inspect.signature(function)
            assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(function)
            assert inspect.getsource(wrapped) == inspect.getsource(function)
            assert wrapped.__globals__ is function.__globals__ and wrapped.__closure__ == function.__closure__
            assert torch.equal(vitrine.compile(asks)(torch.ones(1)), torch.full((1,), 2.0))
        assert not inspect.isfunction(wrap(functools.partial(add, 1)))


def test_fullgraph_never_runs_eagerly_at_the_limit():
    def f(x, word):
        return x + len(word) if word != "w1" else x - 1

    x = torch.ones(2)
    compiled = vitrine.compile(f, fullgraph=True, recompile_limit=2)
    for word in ("w0", "w1"):
        assert torch.equal(compiled(x, word), f(x, word))
    for _ in range(2):
        with pytest.raises(vitrine.RecompileLimitError, match="f .* was compiled 2 times"):
            compiled(x, "w2")
    assert torch.equal(compiled(x, "w1"), f(x, "w1")), "what is compiled still runs"
    relaxed = vitrine.compile(f, recompile_limit=2)
    with pytest.warns(vitrine.VitrineWarning, match="new cases run eagerly"):
        for word in ("w0", "w1", "w2"):
            assert torch.equal(relaxed(x, word), f(x, word))


@torch.library.custom_op("vitrine_tests::interruptible", mutates_args=())
def interruptible(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@interruptible.register_fake
def _(x):
    if is_interrupted:
        raise KeyboardInterrupt
    return torch.empty_like(x)


is_interrupted = False


def test_an_interrupt_during_capture_ends_the_call(monkeypatch):
    def f(x):
        return interruptible(x + 1) * 2

    x, compiled = torch.ones(2), vitrine.compile(f)
    monkeypatch.setattr(f"{__name__}.is_interrupted", True)
    with pytest.raises(KeyboardInterrupt):
        compiled(x)
    monkeypatch.setattr(f"{__name__}.is_interrupted", False)
    assert torch.equal(compiled(x), f(x)) and vitrine.explain(f)(x).graph_count == 1


def test_a_loop_of_very_many_calls_is_no_one_graph():
    def f(x):
        for _ in range(51_000):
            x = x + 1
        return x

    explanation = vitrine.explain(f)(torch.zeros(2))
    assert torch.equal(explanation.result, torch.full((2,), 51_000.0))
    assert [b.kind for b in explanation.graph_breaks] == ["limit"]


def test_config_checks_names_and_types():
    before = vitrine.config.recompile_limit
    try:
        vitrine.config.recompile_limit = 3
        assert vitrine.config.recompile_limit == 3
        with pytest.raises(TypeError, match="recompile_limit"):
            vitrine.config.recompile_limit = "many"
        with pytest.raises(AttributeError, match="no setting"):
            vitrine.config.recompile_limits = 3
    finally:
        vitrine.config.recompile_limit = before


@pytest.mark.parametrize(
    "patch, says",
    [
        ("sys.version_info = (3, 9, 1, 'final', 0)", "Vitrine needs CPython 3.11, 3.12 or 3.13, this is 3.9"),
        ("import torch; torch.__version__ = '1.13.1'", "Vitrine needs PyTorch 2.11 or newer, this is 1.13.1"),
        ("import importlib.util as u; u.find_spec = lambda name: None", "PyTorch, which is not installed"),
    ],
)
def test_an_unsupported_environment_is_named_at_import(patch, says):
    code = f"import sys\n{patch}\nimport vitrine"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"ImportError: {says}" in done.stderr or (says in done.stderr and "ImportError" in done.stderr)


def test_threads_share_compiled_code():
    import threading

    compiled = vitrine.compile(lambda x, k: torch.relu(x * k) + k)
    wrong = []

    def work(seed):
        x = torch.full((64,), float(seed))
        for i in range(200):
            if not torch.equal(compiled(x, i % 3), torch.relu(x * (i % 3)) + i % 3):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_compiling_imports_no_other_compiler():
    code = (
        "import sys, torch, vitrine\n"
        "f = vitrine.compile(lambda x: torch.nn.functional.gelu(x) + 1)\n"
        "f(torch.ones(3))\n"
        "print([m for m in ('torch._dynamo', 'torch._inductor', 'sympy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_views_of_parameters_without_gradients_are_compiled():
    token = torch.nn.Parameter(torch.randn(1, 1, 4))

    def f(x):
        return torch.cat([token.expand(2, -1, -1), x], 1) * 2

    def leaves(x):
        return token.expand(2, -1, -1), x + 1

    def marks(x):
        x.requires_grad_()
        return x.detach() * 2

    with torch.no_grad():
        explanation = vitrine.explain(f)(torch.ones(2, 3, 4))
        assert not any("gradients are needed" in str(m) for m in explanation.messages), explanation.messages
        view, _ = vitrine.compile(leaves)(torch.ones(2, 3, 4))
        assert view.requires_grad and view.data_ptr() == token.data_ptr()
        x = torch.ones(3)
        vitrine.compile(marks)(x)
        assert x.requires_grad


def test_a_process_that_replaced_a_method_ends_well():
    code = """
import torch, vitrine
f = vitrine.compile(lambda x: x.relu())
f(torch.ones(2))
torch.Tensor.relu = lambda x: x * 5
assert torch.equal(f(torch.ones(2)), torch.full((2,), 5.0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
