"""Torch.func, forward-mode derivatives, and autograd.Function of all sorts."""

import torch
import torch.autograd.forward_ad as fwAD
from tests.python.programs.registry import mat, program, scenario, vec
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap
from torch.nn import functional as F


def cubic(x):
    return (x * x * x).sum()


@program(vec())
def gradient_of_a_function(x):
    g = grad(cubic)(x)
    h, v = grad_and_value(lambda t: cubic(t) * 2)(x + 1)
    return g, h, v, g.requires_grad


@program(vec(3))
def jacobians(x):
    f = lambda t: torch.stack([t.sum(), (t * t).sum()])  # noqa: E731
    return jacrev(f)(x), jacfwd(f)(x), hessian(cubic)(x), vmap(jacrev(f))(torch.stack([x, x + 1]))


@program(vec(3), vec(3))
def products_with_jacobians(x, v):
    out, tangent = jvp(torch.sin, (x,), (v,))
    value, back = vjp(torch.sin, x)
    return out, tangent, value, back(v)[0]


@program(mat(2, 3))
def gradients_per_sample(x):
    w = torch.ones(3)
    loss = lambda w, row: (w * row).sin().sum()  # noqa: E731
    return vmap(grad(loss), in_dims=(None, 0))(w, x), vmap(vmap(torch.sin))(x), vmap(lambda t: t.sum())(x)


@program(vec(3))
def effects_in_transforms(x):
    seen = []

    def f(t):
        seen.append(type(t).__name__)
        print("called", tuple(t.shape))
        return cubic(t)

    return grad(f)(x), seen, vmap(f)(torch.stack([x, x])), len(seen)


@program(vec(3))
def transforms_with_aux(x):
    g, aux = grad(lambda t: (cubic(t), {"double": t * 2}), has_aux=True)(x)
    j, aux2 = jacrev(lambda t: (t * t, t + 1), has_aux=True)(x)
    return g, aux, j, aux2


@scenario
def transforms_around_compiled(compile):
    work = compile(lambda x: (x.sin() * x).sum())
    x = torch.arange(3.0)
    out = [work(x), grad(work)(x), work(x), vmap(work)(torch.stack([x, x + 1])), jacrev(work)(x)]
    out.append(jvp(work, (x,), (torch.ones(3),)))
    return [*out, work(x), hessian(work)(x)]


@scenario
def transforms_first(compile):
    work = compile(lambda x: (x.sin() * x).sum())
    x = torch.arange(3.0)
    return [grad(work)(x), grad(work)(x), vmap(work)(torch.stack([x, x])), work(x), work(x)]


@scenario
def modules_called_functionally(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))

    @compile
    def work(parameters, x):
        return functional_call(model, parameters, (x,)).sum()

    x = torch.ones(2, 3)
    own = dict(model.named_parameters())
    zeros = {k: torch.zeros_like(v) for k, v in own.items()}
    out = [work(own, x), work(zeros, x), work(own, x), work({"0.bias": torch.ones(3)}, x)]
    try:
        work({"nothing": torch.ones(3)}, x)
    except Exception as error:
        out.append(type(error).__name__)
    out.append(grad(work)({k: v.detach() for k, v in own.items()}, x)["0.bias"])
    return out, [p.grad for p in model.parameters()], model[0].weight is own["0.weight"]


@scenario
def functional_call_of_compiled(compile):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    run = compile(model)
    x = torch.ones(2, 3)
    out = [run(x)]
    for scale in (0.0, 1.0, 2.0):
        (weight,) = (name for name, _ in run.named_parameters() if name.endswith("weight"))
        out.append(functional_call(run, {weight: torch.full((2, 3), scale)}, (x,)))
    return [*out, run(x)]


@scenario
def ensembles(compile):
    torch.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    base = nn.Linear(3, 2, device="meta")

    @compile
    def work(parameters, x):
        return vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(parameters, buffers, x)

    out = [work(parameters, torch.ones(1, 3)) for _ in range(3)]
    out[-1].sum().backward()
    return [o.detach() for o in out], parameters["weight"].grad


@scenario
def randomness_under_vmap(compile):
    @compile
    def work(x, randomness):
        return vmap(lambda t: t + torch.rand(2), randomness=randomness)(x)

    out = []
    for kind in ("same", "different", "error", "same"):
        torch.manual_seed(3)
        try:
            out.append(work(torch.zeros(3, 2), kind))
        except RuntimeError as error:
            out.append(str(error)[:40])
    return out


@program(vec(3))
def dual_numbers_inside(x):
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones(3))
        out = fwAD.unpack_dual(dual.sin() * 2)
        return out.primal, out.tangent


@scenario
def dual_numbers_around(compile):
    work = compile(lambda x: (x.sin() * 2).exp())
    x = torch.arange(3.0)
    out = [work(x)]
    for _ in range(2):
        with fwAD.dual_level():
            p, t = fwAD.unpack_dual(work(fwAD.make_dual(x, torch.ones(3))))
            out += [p, t, fwAD.unpack_dual(work(x)).tangent]
    return [*out, work(x)]


@scenario
def parameters_with_tangents(compile):
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
        model.bias.zero_()
    run = compile(model)
    x = torch.ones(2)
    out = [run(x)]
    with fwAD.dual_level():
        weight = model.weight
        del model.weight
        model.weight = fwAD.make_dual(weight.detach(), torch.ones(2, 2))
        out.append(fwAD.unpack_dual(run(x)).tangent)
    return out


class Scaled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x * k, x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        (x,) = ctx.saved_tensors
        return g * ctx.k * x, None

    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.k, None


class Doubling(torch.autograd.Function):
    """Writes into its argument."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Careless(Doubling):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2


def outcome(function, *args):
    try:
        return function(*args), args[0]._version
    except RuntimeError as error:
        return str(error), args[0]._version


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Asking(torch.autograd.Function):
    """Says what it was asked for."""

    asked: list = []

    @staticmethod
    def forward(ctx, x, y, *rest, **named):
        ctx.set_materialize_grads(False)
        ctx.shapes = x.shape, len(rest)
        return x + y, x - y

    @staticmethod
    def backward(ctx, a, b):
        Asking.asked.append((ctx.needs_input_grad, a is None, b is None, ctx.shapes))
        out = torch.zeros(ctx.shapes[0])
        out = out if a is None else out + a
        return (out, out * 2, *[None] * ctx.shapes[1])


class Batched(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x):
        return x + 10 * info.batch_size, in_dims[0]

    @staticmethod
    def backward(ctx, g):
        return g * 3


@scenario
def functions_with_setup_context(compile):
    work = compile(lambda x, k: Scaled.apply(x, k))
    out = []
    for k in (2, 3, 2):
        x = torch.arange(3.0, requires_grad=True)
        a, b = work(x, k)
        a.sum().backward()
        out.append((a.detach(), b, b.requires_grad, x.grad))
        out.append(work(torch.ones(2), k))
        out.append(vmap(lambda t: work(t, k)[0])(torch.ones(2, 2)))
        out.append(grad(lambda t: work(t, k)[0].sum())(torch.ones(2)))
        out.append(jvp(lambda t: work(t, k)[0], (torch.ones(2),), (torch.ones(2),)))
    return out


@scenario
def functions_that_write(compile):
    @compile
    def work(x):
        y = x * 1
        z = Doubling.apply(y)
        return z, y, z is y

    out = []
    for _ in range(3):
        x = torch.arange(3.0, requires_grad=True)
        z, y, same = work(x)
        z.sum().backward()
        out.append((z.detach(), y.detach(), same, x.grad, y.grad_fn is z.grad_fn))
        p = torch.ones(3)
        out.append((compile(lambda p: Doubling.apply(p))(p), p, p._version))
        out.append(compile(lambda p: outcome(Careless.apply, p))(torch.ones(3)))
        try:
            compile(lambda p: Doubling.apply(p))(torch.ones(3, requires_grad=True))
        except RuntimeError as error:
            out.append(str(error))
    return out


@scenario
def functions_differentiable_once(compile):
    work = compile(lambda x: Once.apply(x).sum())
    out = []
    for _ in range(3):
        x = torch.arange(3.0, requires_grad=True)
        work(x).backward()
        (g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
        out.append((x.grad, g.requires_grad))
        try:
            g.sum().backward()
        except RuntimeError as error:
            out.append(str(error)[:60])
    return out


@scenario
def functions_that_ask(compile):
    Asking.asked.clear()
    work = compile(lambda x, y: Asking.apply(x, y, 1, "two"))
    out = []
    for needed in ((True, False), (True, True), (False, True), (False, False)):
        x, y = (torch.arange(3.0, requires_grad=n) for n in needed)
        a, b = work(x, y)
        if any(needed):
            a.sum().backward() if needed[0] else b.sum().backward()
        out.append((a.detach(), x.grad, y.grad, a.requires_grad))
    return out, list(Asking.asked)


@scenario
def functions_with_a_rule_for_vmap(compile):
    work = compile(lambda x: Batched.apply(x))
    inside = compile(lambda x: vmap(Batched.apply)(x))
    return [(work(torch.ones(2)), vmap(work)(torch.ones(3, 2)), inside(torch.ones(4, 2))) for _ in range(3)]


@scenario
def function_changes_between_calls(compile):
    class F(torch.autograd.Function):
        factor = 2

        @staticmethod
        def forward(ctx, x):
            return x * F.factor

        @staticmethod
        def backward(ctx, g):
            return g * F.factor * 10

    work = compile(lambda x: F.apply(x).sum())
    out = []

    def once():
        x = torch.ones(2, requires_grad=True)
        loss = work(x)
        loss.backward()
        out.append((loss.detach(), x.grad))

    once()
    once()
    F.factor = 3
    once()
    F.backward = staticmethod(lambda ctx, g: g * 0 - 1)
    once()
    F.forward = staticmethod(lambda ctx, x: x.exp())
    once()
    return out


@scenario
def function_with_no_tensors(compile):
    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, note, x):
            print("forward", note)
            ctx.note = note
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            print("backward", ctx.note)
            return None, g

    @compile
    def work(x, note):
        y = Noted.apply(note + "1", x)
        return Noted.apply(note + "2", y * 2).sum()

    out = []
    for note in "abb":
        x = torch.ones(2, requires_grad=True)
        work(x, note).backward()
        out.append(x.grad)
    return out


@scenario
def wrong_gradients(compile):
    class Wrong(torch.autograd.Function):
        shape = 3

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return torch.ones(Wrong.shape)

    class Few(Wrong):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

    work, few = compile(lambda x: Wrong.apply(x).sum()), compile(lambda x: Few.apply(x, x).sum())
    out = []
    for shape in (3, 2, 3):
        Wrong.shape = shape
        for f in (work, few):
            x = torch.ones(3, requires_grad=True)
            try:
                f(x).backward()
                out.append(x.grad)
            except RuntimeError as error:
                out.append(str(error).replace("Backward", ""))
    return out


@scenario
def second_derivatives_through_functions(compile):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    @compile
    def work(x):
        y = Square.apply(x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g * g).sum()

    out = []
    for _ in range(3):
        x = torch.arange(3.0, requires_grad=True)
        loss = work(x)
        loss.backward()
        out.append((loss.detach(), x.grad))
    return out


@scenario
def gradients_of_changing_sizes(compile):
    scale = [2.0]

    @compile
    def work(x):
        return grad(lambda t: (t * t).sum() * scale[0])(x), hessian(cubic)(x), jacfwd(torch.sin)(x)

    out = [work(torch.arange(float(n))) for n in (2, 3, 4, 5, 3)]
    scale[0] = 3.0
    return [*out, work(torch.arange(3.0))]


@scenario
def gradients_that_fail(compile):
    @compile
    def work(x, f, transform):
        try:
            return transform(f)(x)
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, str(error)

    functions = (lambda t: t * 2, lambda t: 3, lambda t: (t.sum(), t), lambda t: t.view(7), lambda t: t.long().sum())
    return [work(torch.arange(3.0), f, transform) for f in functions for transform in (grad, jacrev, jacfwd)]


@scenario
def gradients_of_what_requires_gradients(compile):
    model = nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.copy_(torch.arange(3.0))
        model.bias.zero_()

    @compile
    def work(x):
        return grad(lambda t: model(t).sin().sum())(x), grad(lambda t: (t * t).sum())(x)

    out = []
    for needed in (False, True, False):
        x = torch.arange(3.0).requires_grad_(needed)
        a, b = work(x)
        (a.sum() + b.sum()).backward()
        out.append((a.detach(), b.requires_grad, b.detach(), x.grad, model.weight.grad.clone()))
    return out


@program(vec(4))
def names_of_transforms(x):
    f = jacrev(cubic)
    return f.__name__, f.__wrapped__ is cubic, f(x), jacfwd(cubic).__name__


@program(mat(2, 3))
def gradients_of_losses(x):
    def loss(parameters, x, y):
        h = torch.nn.functional.gelu(x @ parameters["w"] + parameters["b"])
        return torch.nn.functional.cross_entropy(h, y), {"h": h}

    parameters = {"w": torch.ones(3, 4) / 3, "b": torch.zeros(4)}
    y = torch.tensor([1, 3])
    found, (value, aux) = grad_and_value(loss, has_aux=True)(parameters, x, y)
    return found, value, aux, {k: v - 0.1 * found[k] for k, v in parameters.items()}


@program(vec(3))
def modes_inside_of_transforms(x):
    def f(t):
        with torch.no_grad():
            u = t * 2
        return (u * t).sum() + t.detach().sum()

    with torch.no_grad():
        a = grad(f)(x)
    return a, grad(f)(x), grad(lambda t: t.sum() if torch.is_grad_enabled() else t.prod())(x)


def small_models():
    torch.manual_seed(0)
    return [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]


MODELS = small_models()
STACKED = {name: torch.stack([dict(m.named_parameters())[name].detach() for m in MODELS]) for name, _ in MODELS[0].named_parameters()}
FIRST = {name: p.detach() for name, p in MODELS[0].named_parameters()}


@program(mat(5, 3))
def models_of_an_ensemble(x):
    return vmap(lambda p, x: functional_call(MODELS[0], p, (x,)), in_dims=(0, None))(STACKED, x)


@program(mat(5, 3), lambda: torch.tensor([0, 1, 1, 0, 1]))
def gradients_of_a_model_per_sample(x, y):
    def loss(p, row, label):
        return F.cross_entropy(functional_call(MODELS[0], p, (row[None],)), label[None])

    return vmap(grad(loss), in_dims=(None, 0, 0))(FIRST, x, y), MODELS[0](x)


@program(vec(3), vec(3))
def models_linearised(x, t):
    first = dict(FIRST)
    along = jvp(lambda x: functional_call(MODELS[0], first, (x,)), (x,), (t,))
    return along, jacrev(lambda p: functional_call(MODELS[0], p, (x,)))(first)


@program(vec(3), vec(2))
def pulled_back_through_a_model(x, t):
    first = dict(FIRST)
    out, pull = vjp(lambda x: functional_call(MODELS[0], first, (x,)), x)
    two, both = vjp(lambda a, b: (a * b, a + b), x, x + 1)
    return out, pull(t), pull(out), two, both((x, x))


@program(vec(3))
def pulled_back_elsewhere(x):
    return vjp(torch.sin, x)[1]


@program(vec(3))
def changes_that_stay(x):
    seen = {"n": x}

    def note(row):
        seen["n"] = seen["n"] + 1
        return row * 2

    return vmap(note)(x), seen["n"]
