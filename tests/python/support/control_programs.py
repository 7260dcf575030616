"""Programs around torch.compile's controls. Each takes a `compile` and returns what a user sees: results, side effects, and
which functions were told that they are compiled. What torch.compile gives is what Vitrine must give."""

import functools

import torch
import torch._dynamo

disable = torch.compiler.disable


class Seen(list):
    """Who ran, and whether it was told that it is compiled."""

    def here(self, name):
        self.append((name, torch.compiler.is_compiling()))


def deep(seen, x):
    seen.here("deep")
    return x.sin() + 1


def decorated(compile):
    seen = Seen()

    @disable
    def inner(x):
        seen.here("inner")
        return deep(seen, x)

    f = compile(lambda x: inner(x + 1) * 2)
    return [f(torch.ones(2)) for _ in range(2)], seen


def with_reason(compile):
    seen = Seen()

    @disable(reason="it reads a file")
    def inner(x):
        return deep(seen, x)

    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def by_a_call(compile):
    seen = Seen()
    inner = torch._dynamo.disable(lambda x: deep(seen, x))
    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def not_recursive(compile):
    seen = Seen()

    @disable(recursive=False)
    def inner(x):
        seen.here("inner")
        return deep(seen, x)

    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def skipped(compile):
    seen = Seen()

    @torch._dynamo.decorators.skip
    def inner(x):
        seen.here("inner")
        return deep(seen, x)

    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def early_disable(compile):
    seen = Seen()

    @torch._disable_dynamo
    def inner(x):
        seen.here("inner")
        return deep(seen, x)

    f = compile(lambda x: inner(x + 1) * 2)
    return [f(torch.ones(2)) for _ in range(2)], seen


def method(compile):
    seen = Seen()

    class Model:
        scale = 3

        @disable
        def inner(self, x):
            seen.here("inner")
            return x * self.scale

        def run(self, x):
            seen.here("run")
            return self.inner(x + 1)

    return compile(Model().run)(torch.ones(2)), seen


def class_and_static_methods(compile):
    seen = Seen()

    class Model:
        scale = 3

        @classmethod
        @disable
        def of_class(cls, x):
            seen.here("of_class")
            return x * cls.scale

        @staticmethod
        @disable
        def of_none(x):
            seen.here("of_none")
            return x - 1

    return compile(lambda x: Model.of_class(x) + Model().of_none(x))(torch.ones(2)), seen


class Counting(torch.nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.seen, self.calls = seen, 0
        self.linear = torch.nn.Linear(2, 2)
        torch.nn.init.ones_(self.linear.weight)
        torch.nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        self.calls += 1
        self.seen.here("forward")
        return self.linear(x) * self.calls


class Around(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x + 1) + 1


def module(compile):
    seen = Seen()
    inner = disable(Counting(seen))
    f = compile(Around(inner))
    return [f(torch.ones(2)) for _ in range(3)], seen


def forward_of_a_module(compile):
    seen = Seen()

    class Quiet(Counting):
        @disable
        def forward(self, x):
            return super().forward(x)

    model = Around(Quiet(seen))
    f = compile(model)
    return [f(torch.ones(2)) for _ in range(3)], seen, model.inner.calls


def forward_on_the_instance(compile):
    seen = Seen()
    inner = Counting(seen)
    inner.forward = disable(inner.forward)
    return [compile(Around(inner))(torch.ones(2)) for _ in range(2)], seen


def class_of_modules(compile):
    seen = Seen()

    @disable
    class Quiet(Counting):
        pass

    return compile(Around(Quiet(seen)))(torch.ones(2)), seen


def disabled_after_compiled(compile):
    seen = Seen()
    return disable(compile(lambda x: deep(seen, x)))(torch.ones(2)), seen


def compiled_after_disabled(compile):
    seen = Seen()
    return compile(disable(lambda x: deep(seen, x)))(torch.ones(2)), seen


def compiled_module_disabled(compile):
    seen = Seen()
    return disable(compile(Counting(seen)))(torch.ones(2)), seen


def disabled_module_compiled(compile):
    seen = Seen()
    return compile(disable(Counting(seen)))(torch.ones(2)), seen


def compiled_inside_of_disabled(compile):
    seen = Seen()
    compiled = compile(lambda x: deep(seen, x))

    @disable
    def inner(x):
        seen.here("inner")
        return compiled(x)

    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def decorators_stacked(compile):
    seen = Seen()

    def twice(function):
        @functools.wraps(function)
        def wrapper(x):
            seen.here("wrapper")
            return function(function(x))

        return wrapper

    @twice
    @disable
    @twice
    def inner(x):
        return deep(seen, x)

    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), [name for name, _ in seen], [told for name, told in seen if name == "deep"]


def generator(compile):
    seen = Seen()

    @disable
    def parts(x):
        for i in range(3):
            seen.here("parts")
            yield x * i

    return compile(lambda x: sum(parts(x + 1)) + 1)(torch.ones(2)), seen


def partial_and_callable(compile):
    seen = Seen()

    class Call:
        @disable
        def __call__(self, x, y):
            seen.here("call")
            return x + y

    inner = functools.partial(Call(), y=2)
    return compile(lambda x: inner(x + 1) * 2)(torch.ones(2)), seen


def raises(compile):
    seen = Seen()

    @disable
    def inner(x):
        seen.here("inner")
        raise KeyError("mine")

    @compile
    def f(x):
        y = x + 1
        try:
            inner(y)
        except KeyError as error:
            return y * 2, str(error)

    return f(torch.ones(2)), seen


def gradients(compile):
    @disable
    def inner(x):
        return x * x

    x = torch.ones(2, requires_grad=True)
    compile(lambda x: inner(x * 3).sum())(x).backward()
    return x.grad


def graph_break(compile):
    seen = []

    @compile
    def f(x):
        x = x + 1
        torch._dynamo.graph_break()
        seen.append(torch.compiler.is_compiling())
        torch._dynamo.graph_break(msg="once more")
        return x * 2

    return [f(torch.ones(2)) for _ in range(2)], seen


def disallowed(compile):
    torch._dynamo.disallow_in_graph(torch.sinc)
    try:
        return compile(lambda x: torch.sinc(x + 1) * 2)(torch.ones(2))
    finally:
        torch._dynamo.allow_in_graph(torch.sinc)


def stance_as_context(compile):
    seen = Seen()
    f = compile(lambda x: deep(seen, x))
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2))
    f(torch.ones(2))
    return seen


def stance_as_decorator(compile):
    seen = Seen()
    f = compile(lambda x: deep(seen, x))

    @torch.compiler.set_stance("force_eager")
    def run():
        return f(torch.ones(2))

    return run(), f(torch.ones(2)), run(), seen


def stance_as_call(compile):
    seen = Seen()
    f = compile(lambda x: deep(seen, x))
    torch.compiler.set_stance("force_eager")
    f(torch.ones(2))
    torch.compiler.set_stance("default")
    f(torch.ones(2))
    return seen


def eager_on_recompile(compile):
    seen = Seen()
    f = compile(lambda x, k: deep(seen, x) * len(k))
    f(torch.ones(2), "ab")
    with torch.compiler.set_stance("eager_on_recompile"):
        results = f(torch.ones(2), "ab"), f(torch.ones(2), "abc")
    return results, seen[0], seen[-1]


def eager_on_recompile_of_nothing(compile):
    seen = Seen()
    f = compile(lambda x: deep(seen, x))
    with torch.compiler.set_stance("eager_on_recompile"):
        f(torch.ones(2))
    return seen


def fail_on_recompile(compile):
    f = compile(lambda x, k: x * len(k))
    f(torch.ones(2), "ab")
    with torch.compiler.set_stance("fail_on_recompile"):
        same = f(torch.ones(2), "ab")
        try:
            f(torch.ones(2), "abc")
        except RuntimeError as error:
            return same, type(error), str(error).split(".")[0]


def fail_on_the_first_compilation(compile):
    f = compile(lambda n: n + 1)
    with torch.compiler.set_stance("fail_on_recompile"):
        try:
            return f(3)
        except RuntimeError as error:
            return type(error)


def switched_off(compile):
    seen = Seen()
    f = compile(lambda x: deep(seen, x))
    with torch._dynamo.config.patch(disable=True):
        f(torch.ones(2))
    return seen


PROGRAMS = [value for name, value in globals().items() if callable(value) and getattr(value, "__module__", None) == __name__ and not isinstance(value, type) and name not in ("deep", "disable")]
