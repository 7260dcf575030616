"""Autograd inside, hooks, random streams, modules whose state changes between calls, odd kinds of tensors."""

import functools
import random
import threading
import types

import numpy as np
import torch
import torch.nn.functional as F
from tests.python.programs.registry import program, scenario, vec
from torch import nn


@scenario
def autograd_inside(compile):
    @compile
    def f(x):
        y = (x * x).sum()
        y.backward()
        return x.grad.clone(), y

    x = torch.arange(3.0, requires_grad=True)
    out = [f(x), f(x), x.grad]
    x.grad = None
    return out + [f(x)]


@scenario
def autograd_grad(compile):
    @compile
    def f(x, w):
        y = torch.tanh(x @ w)
        (g,) = torch.autograd.grad(y.sum(), w, retain_graph=True)
        return y, g, g.pow(2)

    w = torch.ones(3, 2, requires_grad=True)
    return [f(torch.ones(2, 3), w), f(torch.randn(2, 3), w), w.grad]


@scenario
def gradients_flow_through(compile):
    @compile
    def f(x, w):
        h = x @ w
        h = h.relu()
        h[0] = 0
        h = h * h.detach()
        print(h.requires_grad)
        return h.sum() + w.mean()

    out = []
    for rg_x, rg_w in ((0, 0), (1, 0), (0, 1), (1, 1), (0, 0)):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_(bool(rg_x))
        w = (torch.arange(6.0).reshape(3, 2) - 2).requires_grad_(bool(rg_w))
        y = f(x, w)
        out += [y.requires_grad, y.detach()]
        if y.requires_grad:
            y.backward()
        out += [x.grad, w.grad, x.is_leaf, y.is_leaf, y.grad_fn is None]
    return out


@scenario
def gradients_through_views_and_in_place(compile):
    @compile
    def f(x):
        y = x.clone()
        v = y[1:]
        v.mul_(x[:-1])
        w = y.t() if y.dim() > 1 else y
        w += 1
        return y, v

    out = []
    for shape in ((4,), (3, 2), (4,)):
        x = torch.linspace(-1, 1, 4).repeat(2)[: int(np.prod(shape))].reshape(shape).requires_grad_()
        y, v = f(x)
        (y.sum() + (v * v).sum()).backward()
        out += [y.detach(), v.detach(), x.grad, v._base is y]
    return out


@scenario
def leaf_in_place_raises(compile):
    @compile
    def f(x):
        x += 1
        return x * 2

    out = [f(torch.ones(2))]
    x = torch.ones(2, requires_grad=True)
    try:
        f(x)
    except RuntimeError as e:
        out.append(str(e))
    with torch.no_grad():
        out += [f(x), x.detach()]
    y = x * 1
    out.append(f(y).sum())
    y.sum().backward()
    return out + [x.grad, f(torch.ones(2))]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.k * 100, None


@scenario
def custom_function(compile):
    f = compile(lambda x, k: Square.apply(x + 1, k).sum() * 2)
    out = []
    for k in (1, 2):
        x = torch.arange(3.0, requires_grad=True)
        y = f(x, k)
        y.backward()
        out += [y.detach(), x.grad]
    with torch.no_grad():
        return out + [f(torch.ones(2), 3)]


@scenario
def tensor_hooks(compile):
    log = []

    @compile
    def f(x):
        y = x * 3
        y.register_hook(lambda g: log.append(g.clone()) or g * 10)
        y.retain_grad()
        return (y * y).sum(), y

    x = torch.ones(2, requires_grad=True)
    s, y = f(x)
    s.backward()
    return x.grad, y.grad, log, s.detach()


@scenario
def requires_grad_toggles_inside(compile):
    @compile
    def f(x):
        y = x.detach().clone().requires_grad_()
        z = (y**3).sum()
        (g,) = torch.autograd.grad(z, y)
        return g, y.requires_grad, z.detach(), y.is_leaf

    x = torch.arange(3.0)
    return [f(x), f(x.clone().requires_grad_()), x.requires_grad]


@scenario
def detached_and_no_grad_pieces(compile):
    @compile
    def f(x, w):
        with torch.no_grad():
            a = x * w
            with torch.enable_grad():
                b = x + w
        c = a * b
        with torch.set_grad_enabled(False):
            d = c * 2
        return a.requires_grad, b.requires_grad, c, d.requires_grad, a.is_leaf

    w = torch.ones(2, requires_grad=True)
    out = f(torch.ones(2), w)
    out[2].sum().backward()
    with torch.no_grad():
        other = f(torch.ones(2), w)
    return out[0], out[1], out[3:], w.grad, other[0], other[1], other[2].detach(), other[3]


@scenario
def optimiser_step_inside(compile):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.1)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return [step(torch.ones(2, 3), torch.zeros(2, 1)) for _ in range(4)], [p.detach().clone() for p in net.parameters()]


@scenario
def training_loop_around(compile):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 1))
    g = compile(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    out = []
    for i in range(6):
        net.train(i % 3 != 2)
        opt.zero_grad(set_to_none=i % 2 == 0)
        loss = g(torch.linspace(-1, 1, 12).reshape(4, 3)).pow(2).sum()
        loss.backward()
        opt.step()
        out.append(loss.detach())
    return out, net.state_dict()


@scenario
def inference_tensors(compile):
    f = compile(lambda x: x * 2 + 1)
    out = [f(torch.ones(2))]
    with torch.inference_mode():
        x = torch.ones(2)
        y = f(x)
        out += [y.is_inference(), y.clone()]
    out += [f(x).is_inference(), f(x).clone()]
    z = f(torch.ones(2, requires_grad=True))
    return [o.clone() if isinstance(o, torch.Tensor) else o for o in out] + [z.requires_grad]


@scenario
def random_streams(compile):
    @compile
    def f(x):
        a = torch.rand(2)
        b = F.dropout(x, 0.5)
        print(b.sum().item())
        c = torch.randn_like(x) + torch.randint(0, 9, (6,))
        x = x + random.random() + np.random.rand()
        return a, b, c, x, torch.normal(0.0, 1.0, (2,)), torch.empty(3).uniform_(), torch.multinomial(torch.ones(4), 2), torch.empty(2).bernoulli_(0.5), torch.randperm(5), x.clone().exponential_()

    out = []
    for _ in range(3):
        random.seed(1)
        np.random.seed(2)
        out.append(f(torch.ones(6)))
    torch.manual_seed(9)
    return out + [f(torch.ones(6)), torch.rand(1)]


@scenario
def generators_as_arguments(compile):
    @compile
    def f(g):
        return torch.rand(3, generator=g), torch.randn(2, generator=g) * 2

    g = torch.Generator().manual_seed(4)
    return [f(g), f(g), f(torch.Generator().manual_seed(4)), f(None), torch.rand(1, generator=g)]


@scenario
def seeds_inside(compile):
    @compile
    def f(seed):
        torch.manual_seed(seed)
        a = torch.rand(2)
        state = torch.get_rng_state()
        b = torch.rand(2)
        torch.set_rng_state(state)
        with torch.random.fork_rng():
            torch.rand(5)
        return a, b, torch.rand(2), torch.initial_seed()

    return [f(1), f(1), f(2)]


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, Tagged):
            out.tag = getattr(args[0], "tag", "none") + "." + func.__name__
        return out


@scenario
def subclass_between_calls(compile):
    f = compile(lambda x: x * 2 + 1)
    t = torch.ones(2).as_subclass(Tagged)
    t.tag = "t"
    a = f(torch.ones(2))
    b = f(t)
    return a, type(b).__name__, b.tag, b.as_subclass(torch.Tensor), f(nn.Parameter(torch.ones(2))).requires_grad, f(torch.ones(2)), type(f(nn.Buffer(torch.ones(2)))).__name__


class Wrapped:
    def __init__(self, t):
        self.t = t

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "torch " + func.__name__


@program(vec(), lambda: Wrapped(1))
def torch_function_object(x, w):
    return torch.add(x, w), torch.sin(w), x + 1


@scenario
def modes_active(compile):
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = []

    class Fn(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Disp(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    f = compile(lambda x: (x * 2).sin())
    out = [f(torch.ones(2))]
    with Fn():
        out.append(f(torch.ones(2)))
    with Disp():
        out.append(f(torch.ones(2)))
    return out + [f(torch.ones(2))], [c for c in calls if "ones" not in c]


@scenario
def default_device_and_dtype(compile):
    f = compile(lambda: (torch.ones(2) * 2, torch.arange(2).device.type, torch.tensor([1.0]).dtype))
    out = [f()]
    with torch.device("meta"):
        a, kind, _ = f()
        out += [a.device.type, kind]
    torch.set_default_dtype(torch.float64)
    try:
        out.append(f())
    finally:
        torch.set_default_dtype(torch.float32)
    return out + [f()]


@scenario
def autocast_between_calls(compile):
    m = nn.Linear(4, 4)
    f = compile(m)
    x = torch.ones(2, 4)
    out = [f(x).dtype]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out.append(f(x).dtype)
    inside = compile(lambda x: [torch.mm(x, x).dtype, [torch.autocast("cpu", dtype=torch.bfloat16).__enter__() and 0]][0])
    with_ctx = compile(autocast_block)
    return out + [f(x).dtype, with_ctx(torch.ones(3, 3)), inside(torch.ones(2, 2)) if False else 0]


def autocast_block(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        z = y + 1
    return y, z.dtype, (x @ x).dtype


@scenario
def meta_and_sparse_inputs(compile):
    f = compile(lambda x: x * 2)
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    m = f(torch.ones(2, device="meta"))
    s = f(dense.to_sparse())
    c = f(dense.to_sparse_csr())
    return f(dense), m.device.type, m.shape, s.to_dense(), s.is_sparse, c.to_dense(), f(torch.quantize_per_tensor(dense, 0.5, 0, torch.qint8).dequantize()), f(dense)


@scenario
def nested_and_quantized(compile):
    f = compile(lambda x: x + x)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    return [t.clone() for t in f(nested).unbind()], f(torch.ones(3)), compile(lambda q: q.dequantize() * 2)(torch.quantize_per_tensor(torch.ones(3), 0.5, 1, torch.quint8))


@scenario
def numpy_arguments(compile):
    @compile
    def f(a, x):
        return x * torch.from_numpy(a), a.sum(), x + float(a[0]), x * a.shape[0], torch.as_tensor(a) + 1, np.add(a, 1).tolist()

    a = np.arange(3.0)
    out = [f(a, torch.ones(3)), f(a + 1, torch.ones(3)), f(np.ones(3, dtype=np.float32), torch.ones(3))]
    g = compile(lambda x, s: x * s)
    out += [g(torch.ones(2), np.float64(2.5)), g(torch.ones(2), np.int64(3)), g(torch.ones(2), np.float64(4.5)), g(torch.ones(2), np.bool_(True))]
    shared = compile(lambda x: (x.numpy(), x.add_(1))[0])
    t = torch.zeros(2)
    return out + [shared(t).tolist(), t]


@scenario
def functions_that_return_odd_things(compile):
    return [
        compile(lambda x: None)(torch.ones(1)), compile(lambda x: x.shape)(torch.ones(1)), compile(lambda x: x.dtype)(torch.ones(1)), type(compile(lambda x: (i for i in [x]))(torch.ones(1))).__name__,
        compile(lambda x: {"s": {1}, "f": lambda t: t + x})(torch.ones(1))["f"](torch.ones(1)), compile(lambda x: torch.Size([1, 2]))(1), compile(lambda *a: a)(), compile(lambda x: ...)(1), compile(lambda x: x.size)(torch.ones(2))(),
        compile(lambda x: x.add)(torch.ones(2))(1), compile(lambda x: functools.partial(torch.mul, x * 2))(torch.ones(2))(3), compile(lambda x: range(x.shape[0]))(torch.ones(2)), compile(lambda x: slice(x.dim(), None))(torch.ones(2)), compile(lambda x: type(x))(torch.ones(2)) is torch.Tensor,
        compile(lambda x: [[]] * 2)(1), compile(lambda x: iter([x, 1]))(torch.ones(2)).__next__(), compile(lambda x: x.unbind())(torch.ones(2)), compile(lambda x: x.max(0))(torch.ones(2)), compile(lambda x: torch.return_types.max((x, x)))(torch.ones(2)), compile(lambda x: x.stride())(torch.ones(2, 2)),
    ]  # fmt: skip


@scenario
def closure_escapes_with_state(compile):
    @compile
    def make(x):
        n = 0
        y = x * 2

        def f(t):
            nonlocal n, y
            n += 1
            y = y + t
            return y * n

        def peek():
            return n, y

        return f, peek

    f, peek = make(torch.ones(2))
    g, peek2 = make(torch.ones(3))
    h = compile(f)
    return f(torch.ones(2)), h(torch.ones(2)), h(torch.ones(2)), peek(), g(1), peek2()


@scenario
def tensor_attributes(compile):
    @compile
    def f(x):
        x.note = "hello"
        x.extra = x * 2
        y = x + 1
        y.name_of = x.note
        return y, y.name_of, x.extra, hasattr(y, "note")

    x = torch.ones(2)
    y, *rest = f(x)
    z, *rest2 = f(x)
    return y, rest, x.note, x.extra, z.name_of, compile(lambda t: t.note if hasattr(t, "note") else "no")(x), compile(lambda t: getattr(t, "note", "no"))(torch.ones(2))


@scenario
def grad_attribute(compile):
    f = compile(lambda w: (w.grad is None, w.detach() - 0.1 * w.grad if w.grad is not None else w.detach()))
    w = torch.ones(2, requires_grad=True)
    out = [f(w)]
    w.grad = torch.ones(2)
    out.append(f(w))
    w.grad = torch.ones(2) * 5
    out.append(f(w))
    w.grad = None
    return out + [f(w)]


@scenario
def shapes_grow(compile):
    @compile
    def f(cache, x):
        cache = torch.cat([cache, x], 0)
        return cache, (cache @ x.t()).softmax(0), cache.shape[0]

    cache = torch.empty(0, 3)
    out = []
    for i in range(12):
        cache, a, n = f(cache, torch.full((1, 3), float(i)))
        out += [a, n]
    return out, cache


@scenario
def weights_are_views(compile):
    flat = torch.arange(6.0)
    m = nn.Linear(3, 2, bias=False)
    m.weight.data = flat.view(2, 3)
    f = compile(m)
    x = torch.ones(1, 3)
    out = [f(x)]
    flat.mul_(2)
    out.append(f(x))
    m.weight.data = flat.view(3, 2).t()
    out.append(f(x))
    flat.zero_()
    return out + [f(x)]


@scenario
def storage_freed_and_resized(compile):
    f = compile(lambda x: x + 1)
    x = torch.ones(4)
    out = [f(x)]
    x.resize_(2)
    out.append(f(x))
    x.resize_(8).fill_(3)
    out.append(f(x))
    x.untyped_storage().resize_(0)
    y = torch.ones(4)
    out.append(f(y))
    y.set_(torch.arange(6.0)[2:])
    out.append(f(y[:4]))
    y.data = torch.zeros(4)
    return out + [f(y)]


@scenario
def grad_mode_left_changed(compile):
    def f(x):
        torch.set_grad_enabled(False)
        return x * 2

    g = compile(f)
    x = torch.ones(2, requires_grad=True)
    out = []
    for _ in range(3):
        torch.set_grad_enabled(True)
        out += [g(x).requires_grad, torch.is_grad_enabled()]
    torch.set_grad_enabled(True)
    return out


@scenario
def thread_with_other_grad_mode(compile):
    f = compile(lambda x: (x * 2).requires_grad)
    x = torch.ones(2, requires_grad=True)
    out = []
    for mode in (True, False, True):

        def work():
            with torch.set_grad_enabled(mode):
                out.append(f(x))

        t = threading.Thread(target=work)
        t.start()
        t.join()
    return out


@scenario
def errors_between_calls(compile):
    @compile
    def f(x, y):
        x.add_(1)
        z = x @ y
        return z + 1

    out = []
    x = torch.ones(2, 2)
    for y in (torch.ones(2, 2), torch.ones(3, 2), torch.ones(2), torch.ones(2, 2).int(), "no", None, torch.ones(2, 2)):
        try:
            out.append(f(x, y))
        except Exception as e:
            out += [type(e).__name__, str(e)]
        out.append(x.clone())
    return out


@scenario
def checkpoint_and_utilities(compile):
    from torch.utils import _pytree as pytree
    from torch.utils.checkpoint import checkpoint

    w = torch.ones(2, requires_grad=True)
    f = compile(lambda x: checkpoint(lambda t: (t * w).sin(), x, use_reentrant=False).sum())
    y = f(torch.ones(2))
    y.backward()
    g = compile(lambda d: pytree.tree_map(lambda t: t * 2, d))
    return y.detach(), w.grad, g({"a": [torch.ones(1), (2, torch.zeros(1))]}), compile(nn.utils.parameters_to_vector)([torch.ones(2), torch.ones(1, 2)]), compile(torch.nn.utils.clip_grad_norm_)([w], 0.1), w.grad
