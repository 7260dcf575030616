"""What stands around a compiled call: hooks, nesting, decorators, copies, names."""

import copy
import functools
import inspect
import pickle
import time

import pytest
import torch

import vitrine


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


class Net(torch.nn.Module):
    """A small net."""

    def __init__(self, width=4):
        super().__init__()
        self.fc = torch.nn.Linear(4, width)

    def forward(self, x):
        return self.fc(x).relu()


def double(x):
    return x * 2


def explained(function, *args):
    with torch.no_grad():
        return vitrine.explain(function)(*args)


# --- hooks


def test_hooks_of_the_compiled_module_run_around_it():
    calls = []
    compiled = vitrine.compile(Net().eval())
    x = torch.randn(2, 4)
    with torch.no_grad():
        plain = compiled(x)
        before = compiled.register_forward_pre_hook(lambda m, args: calls.append("before") or (args[0] * 0,))
        after = compiled.register_forward_hook(lambda m, args, out: calls.append("after") or out + 1)
        assert torch.allclose(compiled(x), compiled._orig_mod(x * 0) + 1)
        assert calls == ["before", "after"]
        before.remove(), after.remove()
        assert torch.equal(compiled(x), plain) and len(calls) == 2
        inner = compiled.fc.register_forward_hook(lambda m, args, out: out * 0)
        assert not compiled(x).any()
        inner.remove()
        assert torch.equal(compiled(x), plain)


def test_hooks_may_be_asked_for_keywords_and_gradients():
    seen = []
    compiled = vitrine.compile(Net())
    compiled.register_forward_pre_hook(lambda m, args, kwargs: seen.append(sorted(kwargs)), with_kwargs=True)
    compiled.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append(grad_out[0].shape))
    compiled(x=torch.randn(2, 4)).sum().backward()
    assert seen == [["x"], torch.Size([2, 4])]
    assert compiled.fc.weight.grad is not None


def test_a_call_costs_microseconds():
    compiled, plain = vitrine.compile(double), double
    x = torch.ones(1)

    def time_of(function):
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()  # the processor's time: the machine may be busy
            for _ in range(200):
                function(x)
            best = min(best, time.thread_time() - start)
        return best / 200

    time_of(compiled)
    assert time_of(compiled) < time_of(plain) + 60e-6


# --- nesting


def test_a_compiled_function_inside_is_captured_with_the_rest():
    inner = vitrine.compile(double)

    def outer(x):
        return inner(x + 1) - 1

    x = torch.ones(3)
    assert torch.equal(vitrine.compile(outer)(x), outer(x))
    explanation = explained(outer, x)
    assert explanation.graph_count == 1 and not explanation.graph_breaks, str(explanation)
    assert explanation.op_count == 3


def test_a_compiled_module_inside_is_captured_with_the_rest():
    net = torch.nn.Sequential(Net(), Net()).eval()
    expected = copy.deepcopy(net)
    net[1] = vitrine.compile(net[1])
    x = torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(vitrine.compile(net)(x), expected(x))
        expected[1].fc.weight.zero_()
        net[1].fc.weight.zero_()
        torch.testing.assert_close(vitrine.compile(net)(x), expected(x))
    explanation = explained(net, x)
    assert explanation.graph_count == 1 and not explanation.graph_breaks, str(explanation)


def test_compiled_methods_call_each_other():
    class Holder:
        factor = 3

        @vitrine.compile
        def scale(self, x):
            return x * self.factor

        @vitrine.compile
        def both(self, x):
            return self.scale(x) + Holder.scale(self, x)

    holder, x = Holder(), torch.ones(2)
    for factor in (3, 5):
        holder.factor = factor
        assert torch.equal(holder.both(x), x * 2 * factor)
    assert explained(holder.both, x).graph_count == 1
    assert not explained(holder.both, x).graph_breaks


def test_a_disabled_function_inside_is_a_break_that_says_so():
    island = vitrine.disable(double)

    def f(x):
        return island(x + 1) + 1

    x = torch.ones(2)
    explanation = explained(f, x)
    assert [b.kind for b in explanation.graph_breaks] == ["disabled"]
    assert torch.equal(explanation.result, f(x))


def test_compiling_twice_is_compiling_once():
    net = Net()
    once = vitrine.compile(net)
    assert vitrine.compile(once)._orig_mod is net
    assert list(vitrine.compile(once).state_dict()) == list(once.state_dict())
    function = vitrine.compile(vitrine.compile(double))
    assert function.__wrapped__ is double
    assert torch.equal(function(torch.ones(2)), torch.full((2,), 2.0))


def test_compile_called_inside():
    def outer(x):
        inner = vitrine.compile(double)
        return inner(x) + 1

    x = torch.ones(2)
    compiled = vitrine.compile(outer)
    for _ in range(3):
        assert torch.equal(compiled(x), outer(x))


def test_what_torch_compile_made_runs_inside():
    inner = torch.compile(double, backend="eager")

    def outer(x):
        return inner(x + 1) + 1

    compiled = vitrine.compile(outer)
    for size in (2, 2, 3):
        x = torch.ones(size)
        assert torch.equal(compiled(x), x * 2 + 3)
    torch._dynamo.reset()


def test_runs_inside_torch_compile():
    inner = vitrine.compile(double)
    outer = torch.compile(lambda x: inner(x + 1) + 1, backend="eager")
    x = torch.ones(2)
    for _ in range(2):
        assert torch.equal(outer(x), x * 2 + 3)
    torch._dynamo.reset()


# --- decorators and names


def test_call_of_a_class():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @vitrine.compile
        def __call__(self, x):
            return x * self.factor

    x = torch.ones(2)
    assert torch.equal(Scale(3)(x), x * 3) and torch.equal(Scale(4)(x), x * 4)
    assert torch.equal(vitrine.compile(Scale(5))(x), x * 5)


def test_forward_of_a_module_as_a_decorator():
    class Decorated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)

        @vitrine.compile
        def forward(self, x):
            return self.fc(x)

        @classmethod
        @vitrine.compile
        def build(cls, x):
            return x + 1

        @staticmethod
        @vitrine.compile
        def plain(x):
            return x + 2

    net, x = Decorated().eval(), torch.ones(1, 4)
    with torch.no_grad():
        torch.testing.assert_close(net(x), net.fc(x))
        torch.testing.assert_close(vitrine.compile(net)(x), net.fc(x))
    assert torch.equal(Decorated.build(x), x + 1) and torch.equal(net.plain(x), x + 2)
    assert explained(net, x).graph_count == 1


def test_names_and_signature():
    def function(x: torch.Tensor, *rest, scale: float = 2.0, **more) -> torch.Tensor:
        """Scales."""
        return x * scale

    function.mark = 3
    compiled = vitrine.compile(function)
    assert (compiled.__name__, compiled.__qualname__, compiled.__doc__) == (function.__name__, function.__qualname__, "Scales.")
    assert compiled.__module__ == __name__ and compiled.mark == 3
    assert compiled.__wrapped__ is function and inspect.unwrap(compiled) is function
    assert compiled.__annotations__ == function.__annotations__
    assert inspect.signature(compiled) == inspect.signature(function)
    assert str(inspect.signature(vitrine.compile(Net().forward))) == "(x)"

    @functools.wraps(compiled)
    def around(*args):
        return compiled(*args)

    assert around.__name__ == "function" and torch.equal(around(torch.ones(2)), torch.full((2,), 2.0))


def test_names_of_a_module():
    compiled = vitrine.compile(Net())
    assert compiled.__doc__ == "A small net." and isinstance(compiled, torch.nn.Module)
    assert list(inspect.signature(compiled.forward).parameters) == ["x"]
    assert compiled.fc is compiled._orig_mod.fc


def test_pickle_and_deepcopy():
    function = vitrine.compile(double)
    again = pickle.loads(pickle.dumps(function))
    assert torch.equal(again(torch.ones(2)), torch.full((2,), 2.0)) and again.__name__ == "double"
    assert copy.deepcopy(function) is function
    holder = {"model": vitrine.compile(Net().eval()), "function": function}
    twin = copy.deepcopy(holder)
    x = torch.randn(1, 4)
    with torch.no_grad():
        assert torch.equal(twin["model"](x), holder["model"](x))
        twin["model"].fc.bias.add_(1)
        assert not torch.equal(twin["model"].fc.bias, holder["model"].fc.bias)
    loaded = pickle.loads(pickle.dumps(holder["model"]))
    with torch.no_grad():
        assert torch.equal(loaded(x), holder["model"](x))


class Registered:
    known = []

    def __init_subclass__(cls):
        super().__init_subclass__()
        Registered.known.append(cls.__name__)


def test_subclasses_made_inside_are_announced_once():
    def f(x):
        class Inner(Registered):
            pass

        return x + len(Registered.known)

    Registered.known.clear()
    assert torch.equal(vitrine.compile(f)(torch.zeros(1)), torch.ones(1))
    assert Registered.known == ["Inner"]


@vitrine.compile
def decorated(x):
    return x * 3


def test_pickle_of_a_decorated_function():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    island = pickle.loads(pickle.dumps(vitrine.disable(double)))
    assert island.__name__ == "double" and torch.equal(island(torch.ones(1)), torch.full((1,), 2.0))


def test_reset_ends_code_that_only_compiled_code_held():
    for i in range(20):
        space = {"torch": torch}
        exec("def inner(x):\n    return x + 1\ndef outer(x):\n    print('', end='')\n    return inner(x) * 2", space)
        compiled = vitrine.compile(space["outer"])
        compiled(torch.ones(i + 1)), vitrine.compile(space["inner"])(torch.ones(2))
        del space, compiled
    vitrine.reset()
    assert torch.equal(vitrine.compile(double)(torch.ones(2)), torch.full((2,), 2.0))
