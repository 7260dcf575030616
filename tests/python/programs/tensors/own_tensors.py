"""Tensor classes of the program's own, with __torch_function__, and what stands around compiled calls that see
them."""

import copy
import functools
import pickle

import torch
import torch.nn.functional as F
from tests.python.programs.registry import program, scenario, vec
from torch import nn

LOG = []


class Unit(torch.Tensor):
    """A tensor with a unit, which products multiply and sums ask to be the same."""

    @staticmethod
    def __new__(cls, data, unit="m"):
        made = torch.as_tensor(data).as_subclass(cls)
        made.unit = unit
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        units = [a.unit for a in args if isinstance(a, Unit) and hasattr(a, "unit")]
        out = super().__torch_function__(func, types, args, kwargs or {})
        if func in (torch.add, torch.Tensor.add, torch.sub, torch.Tensor.sub) and len(set(units)) > 1:
            raise ValueError(f"cannot add {units}")
        if isinstance(out, Unit) and units:
            out.unit = "*".join(units) if func in (torch.mul, torch.Tensor.mul) else units[0]
        return out


class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        LOG.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Quiet(torch.Tensor):
    """A subclass whose results are plain tensors."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Wrapper:
    """No tensor, but PyTorch's functions take it."""

    def __init__(self, data, note):
        self.data, self.note = data, note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.data if isinstance(a, Wrapper) else a for a in args]
        notes = "".join(a.note for a in args if isinstance(a, Wrapper))
        return Wrapper(func(*plain, **(kwargs or {})), notes + func.__name__[0])


class Refuses:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class Scalar(float):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return "seen by the number"


class Marked(nn.Parameter):
    """A parameter with a note."""

    def __new__(cls, data, note="none"):
        made = super().__new__(cls, data, True)
        made.note = note
        return made


@scenario
def units_are_carried(compile):
    @compile
    def work(a, b):
        c = a * b
        return c + c, c.unit, (torch.mul(a, b) * 2).sum()

    out = []
    for unit in ("m", "s", "m"):
        got = work(Unit(torch.ones(3), unit), Unit(torch.arange(3.0), "kg"))
        out.append((type(got[0]).__name__, got[0].unit, got[1], got[0].as_subclass(torch.Tensor), type(got[2]).__name__, got[2].unit))
    return out


@scenario
def units_that_do_not_fit(compile):
    @compile
    def work(a, b):
        return a + b

    out = []
    for one, other in (("m", "m"), ("m", "s"), ("s", "s")):
        try:
            out.append(work(Unit(torch.ones(3), one), Unit(torch.ones(3), other)).unit)
        except ValueError as error:
            out.append(str(error))
    return out


@scenario
def subclass_after_plain(compile):
    @compile
    def work(a):
        return (a * 2).relu() + 1

    x = torch.arange(4.0) - 2
    kinds = [x, Unit(x, "m"), Plain(x), x, x.as_subclass(Quiet), Unit(x, "s"), nn.Parameter(x), Marked(x, "n"), x]
    return [(type(r).__name__, getattr(r, "unit", None), r.detach().as_subclass(torch.Tensor)) for r in map(work, kinds)]


@scenario
def calls_are_logged(compile):
    @compile
    def work(a, b):
        return torch.cat([a, b]).sin().view(2, -1)[0] + F.relu(b)[0]

    LOG.clear()
    x = torch.arange(4.0)
    for a, b in ((x, x), (x.as_subclass(Logging), x), (x, x.as_subclass(Logging)), (x, x)):
        work(a, b)
        LOG.append("--")
    return list(LOG)


@program(vec())
def logged_inside(x):
    LOG.clear()
    y = x.as_subclass(Logging)
    z = (y + 1).mul_(2)
    y[0] = 5
    n, m = y.shape[0], y.dtype
    return list(LOG), z.as_subclass(torch.Tensor), type(z).__name__, n, m, x


@program(vec())
def attributes_of_subclasses(x):
    y = Unit(x, "m")
    y.note = ["first"]
    z = y.clone()
    return hasattr(z, "note"), y.note, y.unit, z.unit, isinstance(z, Unit), isinstance(z, torch.Tensor), type(y) is torch.Tensor


@program(lambda: Wrapper(torch.ones(3), "w"), vec(3))
def wrappers_that_are_no_tensors(w, x):
    y = torch.add(w, x)
    z = torch.sin(y)
    return y.data, y.note, z.note, F.relu(w).note, torch.stack([x, x])


@program(vec(3))
def wrappers_made_inside(x):
    w = Wrapper(x, "w")
    return torch.add(w, 1).note, torch.mul(x, w).data, torch.is_tensor(w), torch.overrides.has_torch_function((w,))


@program(vec(3))
def refused_by_all(x):
    try:
        return torch.add(x, Refuses())
    except TypeError as error:
        return str(error), x + 1


@program(vec(3))
def numbers_with_torch_function(x):
    return torch.add(x, Scalar(2.0))


@program(vec(3))
def subclass_in_operators(x):
    w = Unit(x, "m")
    a, b = 2 * w, w @ w
    w += 1
    return a.unit, b.unit, type(-w).__name__, type(w > 0).__name__, type(w.T).__name__, float(w.sum()), len(w), bool((w > 0).any()), x


@program(vec(3))
def made_subclasses(x):
    a = torch.Tensor._make_subclass(Plain, x)
    b = torch.Tensor._make_subclass(nn.Parameter, x, True)
    c = x.as_subclass(Plain)
    a.add_(1)
    return type(a).__name__, type(b).__name__, b.requires_grad, c is x, type(c + x).__name__, x, a.as_subclass(torch.Tensor)


@scenario
def parameters_of_own_classes(compile):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = Marked(torch.ones(3), "first")
            self.scale = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x):
            w = self.weight
            return w * x * self.scale, type(w).__name__, w.note, isinstance(w, nn.Parameter), type(w + 1).__name__

    model = Model()
    run = compile(model)
    out = [run(torch.arange(3.0))]
    model.weight.note = "second"
    out.append(run(torch.arange(3.0)))
    model.weight = Marked(torch.zeros(3), "third")
    out.append(run(torch.arange(3.0)))
    out[-1][0].sum().backward()
    return [(o[0].detach(), *o[1:]) for o in out], model.weight.grad, sorted(n for n, _ in model.named_parameters())


@scenario
def attribute_of_a_plain_tensor(compile):
    x = torch.ones(3)
    x.factor = 2

    @compile
    def work(t):
        return t * t.factor, getattr(t, "other", "none")

    out = [work(x)]
    x.factor = 3
    out.append(work(x))
    x.other = "some"
    return out + [work(x)]


@scenario
def results_are_pickled(compile):
    class_of = {}

    @compile
    def work(x):
        y = Plain(x + 1)
        return {"plain": x * 2, "sub": y, "parameter": nn.Parameter(x), "list": [x, x]}

    out = []
    for _ in range(3):
        got = pickle.loads(pickle.dumps(work(torch.arange(3.0))))
        class_of.update({k: type(v).__name__ for k, v in got.items()})
        out.append((got["plain"], got["list"][0] is got["list"][1], got["sub"].as_subclass(torch.Tensor)))
    return out, class_of


@scenario
def results_are_copied_deeply(compile):
    @compile
    def work(x):
        return x * 2, Unit(x + 1, "m")

    out = []
    for _ in range(3):
        a, b = copy.deepcopy(work(torch.arange(3.0)))
        out.append((a, type(b).__name__, b.as_subclass(torch.Tensor)))
    return out


@scenario
def class_gets_torch_function_later(compile):
    class Late(torch.Tensor):
        pass

    @compile
    def work(t):
        return t + 1

    x = torch.ones(2).as_subclass(Late)
    out = [type(work(x)).__name__, type(work(x)).__name__]
    seen = []

    def torch_function(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    Late.__torch_function__ = classmethod(torch_function)
    out.append(type(work(x)).__name__)
    return out, seen


@program(vec(4))
def disabled_torch_function(x):
    y = x.as_subclass(Logging)
    LOG.clear()
    with torch._C.DisableTorchFunctionSubclass():
        z = y + 1
    with torch._C.DisableTorchFunction():
        w = y * 2
    return type(z).__name__, type(w).__name__, list(LOG), x - 1


@functools.wraps(torch.add)
def own_add(a, b):
    if torch.overrides.has_torch_function((a, b)):
        return torch.overrides.handle_torch_function(own_add, (a, b), a, b)
    return a + b


@program(vec(4))
def functions_that_can_be_overridden(x):
    LOG.clear()
    y = own_add(x, 1.0)
    z = own_add(x.as_subclass(Wrapped), 1.0)
    return y, z.as_subclass(torch.Tensor), list(LOG)


class Wrapped(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is own_add:
            LOG.append("own")
            func = torch.mul
        return super().__torch_function__(func, types, args, kwargs or {})


@program(vec(4))
def questions_about_overriding(x):
    y = x.as_subclass(Logging)
    o = torch.overrides
    return o.is_tensor_like(x), o.is_tensor_like(3), o.has_torch_function((x,)), o.has_torch_function((y,)), torch.is_tensor(y)


@scenario
def subclass_property(compile):
    class Doubled(torch.Tensor):
        @property
        def twice(self):
            return self * 2

        @property
        def shape(self):
            return "hidden"

        def relu(self):
            return "own relu"

        def __len__(self):
            return 42

        def __getitem__(self, i):
            return ("item", i)

        def __add__(self, other):
            return ("added", other)

    @compile
    def work(t):
        return t.twice.as_subclass(torch.Tensor), t.shape, t.relu(), len(t), t[1], t + 1, type(t - 1).__name__

    return [work(torch.ones(3).as_subclass(Doubled)) for _ in range(3)]


@scenario
def modules_called_with_subclasses(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2))
    run = compile(model)
    x = torch.randn(2, 3)
    out = []
    for each in (x, Unit(x, "m"), x, Plain(x)):
        got = run(each)
        out.append((type(got).__name__, getattr(got, "unit", None), got.detach().as_subclass(torch.Tensor)))
    return out


@scenario
def gradients_through_subclasses(compile):
    @compile
    def work(t):
        return (t * t).sin().sum()

    out = []
    for _ in range(3):
        x = Unit(torch.arange(3.0).requires_grad_(), "m")
        leaf = torch.arange(3.0).requires_grad_()
        work(Plain(leaf)).backward()
        loss = work(x)
        out.append((type(loss).__name__, loss.requires_grad, leaf.grad, type(leaf.grad).__name__))
    return out


@scenario
def a_subclass_in_a_list(compile):
    @compile
    def work(parts):
        total = sum(p.sum() for p in parts)
        return torch.stack(parts), total

    x = torch.arange(3.0)
    out = []
    for parts in ([x, x], [x, Unit(x, "m")], [Unit(x, "s"), x], [x, x]):
        a, b = work(parts)
        out.append((type(a).__name__, type(b).__name__, a.as_subclass(torch.Tensor)))
    return out


@scenario
def a_subclass_is_closed_over(compile):
    held = [torch.ones(3)]

    @compile
    def work(x):
        return x + held[0]

    out = []
    for each in (torch.ones(3), Unit(torch.ones(3), "m"), Plain(torch.ones(3)), torch.ones(3)):
        held[0] = each
        out.append(type(work(torch.zeros(3))).__name__)
    return out


@scenario
def class_of_a_tensor_changes(compile):
    @compile
    def work(x):
        return x * 2

    x = torch.ones(3)
    out = [type(work(x)).__name__]
    x.__class__ = Plain
    out.append(type(work(x)).__name__)
    x.__class__ = nn.Parameter
    out.append(type(work(x)).__name__)
    x.__class__ = torch.Tensor
    return out + [type(work(x)).__name__]


@scenario
def a_buffer_becomes_a_parameter(compile):
    x = nn.Buffer(torch.ones(3)) if hasattr(nn, "Buffer") else torch.ones(3)
    model = nn.Module()
    model.held = x
    model.forward = lambda y: (y * model.held, type(model.held).__name__, len(list(model.buffers())))
    run = compile(model)
    out = [run(torch.ones(3)), run(torch.ones(3))]
    del model.held
    model.held = nn.Parameter(torch.zeros(3))
    return [(a.detach(), *b) for a, *b in [*out, run(torch.ones(3))]]
