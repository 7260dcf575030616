"""__torch_dispatch__, and modes of either kind that are on around a compiled call or inside of it."""

import torch
import torch.utils._pytree as pytree
from tests.python.programs.registry import program, scenario, vec
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Two(torch.Tensor):
    """A wrapper of two tensors on which every operator runs."""

    @staticmethod
    def __new__(cls, a, b):
        made = torch.Tensor._make_wrapper_subclass(cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device)
        made.a, made.b = a, b
        return made

    def __repr__(self):
        return f"Two({self.a.tolist()}, {self.b.tolist()})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Two(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        one = func(*pytree.tree_map_only(Two, lambda t: t.a, args), **pytree.tree_map_only(Two, lambda t: t.a, kwargs))
        other = func(*pytree.tree_map_only(Two, lambda t: t.b, args), **pytree.tree_map_only(Two, lambda t: t.b, kwargs))
        return Two(one, other) if isinstance(one, torch.Tensor) else one


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Negating(TorchDispatchMode):
    """sin is -sin."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return -out if func is torch.ops.aten.sin.default else out


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", "?"))
        return func(*args, **(kwargs or {}))


class Cosine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return (torch.cos if func is torch.sin else func)(*args, **(kwargs or {}))


def plain(x):
    return (x.sin() + 1).relu().sum()


@scenario
def wrapper_subclass_after_plain(compile):
    work = compile(lambda x: (x * 2).sin() + 1)
    x = torch.arange(3.0)
    return [repr(r) if isinstance(r, Two) else r for r in map(work, [x, Two(x, -x), x, Two(x, x + 1), nn.Parameter(x).detach()])]


@scenario
def wrapper_subclass_made_inside(compile):
    @compile
    def work(x):
        t = Two(x, x + 1)
        u = t.sin() + 1
        return u.a, u.b, type(u).__name__, isinstance(u, torch.Tensor), u.shape, (t @ t).b

    return [work(torch.arange(3.0)) for _ in range(3)]


@scenario
def wrapper_subclasses_as_parameters(compile):
    model = nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.copy_(torch.arange(6.0).view(2, 3))
        model.bias.zero_()
    run = compile(model)
    out = [run(torch.ones(3)).detach()]
    model.weight = nn.Parameter(Two(torch.ones(2, 3), torch.zeros(2, 3)))
    got = run(torch.ones(3))
    return [*out, type(got).__name__, repr(got.detach())]


@scenario
def dispatch_mode_around(compile):
    work = compile(plain)
    x = torch.arange(3.0)
    out = [work(x), work(x)]
    with Counting() as mode:
        out.append(work(x))
    with Negating():
        out.append(work(x))
    return [*out, work(x)], mode.names


@scenario
def dispatch_mode_inside(compile):
    @compile
    def work(x):
        y = x.sin()
        with Counting() as mode:
            z = y.sin() * 2
            z += 1
        with Negating():
            w = x.sin()
        return y, z, w, mode.names

    return [work(torch.arange(3.0)) for _ in range(3)]


@scenario
def dispatch_mode_first(compile):
    """The first call, which would be compiled, is one under a mode."""
    work = compile(plain)
    x = torch.arange(3.0)
    with Counting() as mode:
        out = [work(x), work(x)]
    return [*out, work(x), work(x)], mode.names


@scenario
def function_mode_around(compile):
    work = compile(plain)
    x = torch.arange(3.0)
    out = [work(x), work(x)]
    with Functions() as mode:
        out.append(work(x))
    with Cosine():
        out.append(compile(lambda x: torch.sin(x))(x))
    return [*out, work(x)], mode.names


@scenario
def function_mode_inside(compile):
    @compile
    def work(x):
        with Functions() as mode:
            y = torch.sin(x) + 1
            n = y.shape[0]
        with Cosine():
            z = torch.sin(x)
        return y, z, n, mode.names, torch.sin(x)

    return [work(torch.arange(3.0)) for _ in range(3)]


@scenario
def mode_entered_by_hand(compile):
    @compile
    def work(x, leave):
        mode = Cosine()
        mode.__enter__()
        y = torch.sin(x)
        if leave:
            mode.__exit__(None, None, None)
            return y, torch.sin(x)
        return y, mode

    x = torch.arange(3.0)
    out = [*work(x, True), *work(x, True)]
    y, mode = work(x, False)
    out += [y, torch.sin(x), compile(lambda x: torch.sin(x))(x)]
    mode.__exit__(None, None, None)
    return [*out, torch.sin(x)]


@scenario
def meta_device_around(compile):
    work = compile(lambda n: torch.zeros(n) + torch.arange(n))
    out = [work(3), work(3)]
    with torch.device("meta"):
        out.append(work(3).device.type)
    out.append(work(3))
    torch.set_default_device("meta")
    try:
        out.append(work(3).device.type)
    finally:
        torch.set_default_device(None)
    return [*out, work(3)]


@scenario
def meta_device_inside(compile):
    @compile
    def work(x):
        with torch.device("meta"):
            y = torch.zeros(3)
            m = nn.Linear(3, 3)
        return y.device.type, m.weight.device.type, torch.zeros(3) + x, y.shape

    return [work(torch.ones(3)) for _ in range(3)]


@scenario
def default_device_set_inside(compile):
    @compile
    def work(x, device):
        torch.set_default_device(device)
        return torch.zeros(3).device.type, x + 1

    out = []
    for device in ("cpu", "meta", None, "meta"):
        out.append(work(torch.ones(3), device))
        out.append(torch.ones(2).device.type)
        torch.set_default_device(None)
    return out


@scenario
def fake_tensors(compile):
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    work = compile(lambda x, y: (x @ y).relu() + torch.ones(2))
    x = torch.ones(2, 2)
    out = [work(x, x)]
    with FakeTensorMode() as mode:
        f = mode.from_tensor(x)
        got = work(f, f)
        out += [isinstance(got, FakeTensor), tuple(got.shape), type(torch.ones(2)).__name__]
    got = work(x, x)
    with FakeTensorMode(allow_non_fake_inputs=True):
        again = work(x, x)
        out.append(type(again).__name__)
    return [*out, got, work(x, x)]


@scenario
def fake_mode_inside(compile):
    from torch._subclasses.fake_tensor import FakeTensorMode

    @compile
    def work(x):
        with FakeTensorMode() as mode:
            y = torch.empty(3, 4)
            z = (mode.from_tensor(x) @ y).shape
        return tuple(z), type(y).__name__, x + 1

    return [work(torch.ones(2, 3)) for _ in range(3)]


@scenario
def operations_are_counted(compile):
    from torch.utils.flop_counter import FlopCounterMode

    model = nn.Linear(4, 4)
    run = compile(model)
    x = torch.ones(2, 4)
    run(x)
    with FlopCounterMode(display=False) as count:
        run(x)
    first = count.get_total_flops()

    @compile
    def inside(x):
        with FlopCounterMode(display=False) as count:
            y = x @ x
        return y, count.get_total_flops()

    return first, inside(torch.ones(3, 3)), inside(torch.ones(3, 3))


@scenario
def modes_are_asked_for(compile):
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    @compile
    def work(x):
        return len(_get_current_function_mode_stack()), type(_get_current_dispatch_mode()).__name__, x + 1

    x = torch.ones(3)
    out = [work(x)]
    with Functions():
        out.append(work(x))
    with Counting():
        out.append(work(x))
    return [*out, work(x)]


@scenario
def mode_with_an_exception(compile):
    class Stop(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.exp:
                raise KeyError("no exp here")
            return func(*args, **(kwargs or {}))

    @compile
    def work(x):
        try:
            with Stop():
                y = torch.sin(x)
                y = torch.exp(y)
        except KeyError as error:
            return y, str(error)
        return y, None

    @compile
    def free(x):
        return torch.exp(x)

    x = torch.ones(3)
    out = [work(x), work(x), free(x)]
    try:
        with Stop():
            free(x)
    except KeyError as error:
        out.append(str(error))
    return [*out, free(x)]


@scenario
def hooks_on_saved_tensors_and_modes(compile):
    seen = []

    @compile
    def work(x):
        return (x.sin() * x).sum()

    x = torch.arange(3.0, requires_grad=True)
    work(x).backward()
    with Counting() as mode:
        loss = work(x)
        loss.backward()
    seen.append(len(mode.names) > 3)
    return x.grad, seen, "aten.sin.default" in mode.names, "aten.cos.default" in mode.names


@scenario
def no_dispatch(compile):
    from torch.utils._python_dispatch import _disable_current_modes

    work = compile(plain)
    x = torch.arange(3.0)
    with Counting() as mode:
        with _disable_current_modes():
            a = work(x)
        b = work(x)
    return a, b, mode.names


@program(vec(4))
def default_device_asked(x):
    return torch.get_default_device().type, torch.get_default_dtype(), x + torch.tensor([1.0])


@scenario
def registered_class_in_a_tree(compile):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, _: Pair(*items))
    try:

        @compile
        def work(p):
            q = pytree.tree_map(lambda t: t * 2, p)
            leaves, spec = pytree.tree_flatten({"p": q, "l": [q.a, (q.b,)]})
            again = pytree.tree_unflatten([t + 1 for t in leaves], spec)
            return q.a, q.b, len(leaves), again["p"].a, again["l"][1][0], type(again["p"]).__name__

        return [work(Pair(torch.ones(2), torch.arange(2.0) + i)) for i in range(3)]
    finally:
        pytree._deregister_pytree_node(Pair) if hasattr(pytree, "_deregister_pytree_node") else pytree.SUPPORTED_NODES.pop(Pair)
