"""Hooks on tensors, parameters, modules and saved tensors, and parametrized modules."""

import copy

import torch
import torch.nn.utils.parametrize as parametrize
from tests.python.programs.registry import scenario
from torch import nn
from torch.nn.modules import module as all_modules


def linear(n=3, m=2):
    torch.manual_seed(0)
    return nn.Linear(n, m)


@scenario
def saved_tensors_are_packed(compile):
    log = []
    work = compile(lambda x: (x.sin() * x.exp()).sum())
    out = []
    x = torch.arange(3.0, requires_grad=True)
    work(x).backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t * 2)[1], lambda t: (log.append("unpack"), t)[1]):
        loss = work(x)
    loss.backward()
    out.append(x.grad)
    work(x).backward()
    return out, x.grad, log


@scenario
def saved_tensors_are_packed_inside(compile):
    log = []

    @compile
    def work(x):
        y = x * 2
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(tuple(t.shape)), t)[1], lambda t: t * 10):
            z = y * y
        return (z + y.sin()).sum()

    out = []
    for _ in range(3):
        x = torch.arange(3.0, requires_grad=True)
        work(x).backward()
        out.append(x.grad)
    return out, log


@scenario
def saved_on_cpu(compile):
    work = compile(lambda x: (x.sin() * x.exp()).sum())
    out = []
    for _ in range(3):
        x = torch.arange(3.0, requires_grad=True)
        with torch.autograd.graph.save_on_cpu():
            loss = work(x)
        loss.backward()
        out.append(x.grad)
    return out


@scenario
def saved_tensors_hooks_disabled(compile):
    work = compile(lambda x: (x.sin() * x.exp()).sum())
    x = torch.arange(3.0, requires_grad=True)
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        work(x).backward()
        try:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                work(x)
        except RuntimeError as error:
            return x.grad, str(error)


@scenario
def hooks_on_tensors_inside(compile):
    log = []

    @compile
    def work(x, k):
        y = x * 2
        y.register_hook(lambda g: (log.append(("y", k)), g * k)[1])
        z = y.sin()
        handle = z.register_hook(lambda g: g * 100)
        handle.remove()
        z.retain_grad()
        return z.sum(), z

    out = []
    for k in (1, 3, 3):
        x = torch.arange(3.0, requires_grad=True)
        loss, z = work(x, k)
        loss.backward()
        out.append((x.grad, z.grad))
    return out, log


@scenario
def hooks_after_accumulation(compile):
    log = []
    model = linear()
    run = compile(model)
    x = torch.ones(1, 3)
    run(x).sum().backward()
    handle = model.weight.register_post_accumulate_grad_hook(lambda p: log.append((p.grad.clone(), p is model.weight)))
    run(x).sum().backward()
    compile(lambda: run(x).sum().backward())()
    handle.remove()
    run(x).sum().backward()
    return log, model.weight.grad


@scenario
def optimizer_in_a_hook(compile):
    model = linear()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)

    @compile
    def train(x):
        loss = model(x).square().sum()
        loss.backward()
        return loss.detach()

    return [train(torch.ones(2, 3)) for _ in range(4)], [p.grad for p in model.parameters()], model.weight.detach()


@scenario
def module_hooks_come_and_go(compile):
    log = []
    model = nn.Sequential(linear(3, 3), nn.ReLU(), linear(3, 2))
    run = compile(model)
    x = torch.ones(1, 3)
    out = [run(x)]
    pre = model[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    out.append(run(x))
    post = model[2].register_forward_hook(lambda m, args, result: result + len(args))
    out.append(run(x))
    named = model[2].register_forward_hook(lambda m, args, kwargs, r: (log.append(sorted(kwargs)), r)[1], with_kwargs=True)
    first = model[2].register_forward_hook(lambda m, a, r: (log.append("first"), r * 0)[1], prepend=True)
    out.append(run(x))
    first.remove()
    pre.remove()
    out.append(run(x))
    post.remove()
    named.remove()
    always = model[0].register_forward_hook(lambda m, a, r: log.append("always"), always_call=True)
    out.append(run(x))
    try:
        run(torch.ones(1, 4))
    except RuntimeError:
        log.append("raised")
    always.remove()
    return [o.detach() for o in [*out, run(x)]], log


@scenario
def backward_hooks_of_modules(compile):
    log = []
    model = nn.Sequential(linear(3, 3), nn.Tanh())
    run = compile(model)

    def once():
        x = torch.ones(1, 3, requires_grad=True)
        model.zero_grad()
        run(x).sum().backward()
        return x.grad, model[0].weight.grad.clone()

    out = [once()]
    full = model[0].register_full_backward_hook(lambda m, gi, go: (log.append((len(gi), len(go))), (gi[0] * 2,))[1])
    out.append(once())
    pre = model[1].register_full_backward_pre_hook(lambda m, go: (log.append("pre"), (go[0] * 3,))[1])
    out.append(once())
    full.remove()
    out.append(once())
    pre.remove()
    return [*out, once()], log


@scenario
def hooks_on_all_modules(compile):
    log = []
    model = nn.Sequential(linear(3, 3), nn.ReLU())
    run = compile(model)
    x = torch.ones(1, 3)
    out = [run(x)]
    handle = all_modules.register_module_forward_hook(lambda m, a, r: log.append(type(m).__name__))
    out.append(run(x))
    handle.remove()
    before = all_modules.register_module_forward_pre_hook(lambda m, a: (a[0] + 1,))
    out.append(run(x))
    before.remove()
    back = all_modules.register_module_full_backward_hook(lambda m, gi, go: log.append("back " + type(m).__name__))
    run(torch.ones(1, 3, requires_grad=True)).sum().backward()
    back.remove()
    return [o.detach() for o in [*out, run(x)]], [each for each in log if "Optimized" not in each], model[0].weight.grad


@scenario
def hooks_registered_inside(compile):
    log = []
    model = linear()

    @compile
    def work(x):
        handle = model.register_forward_hook(lambda m, a, r: (log.append("hook"), r * 2)[1])
        y = model(x)
        handle.remove()
        return y, model(x), len(model._forward_hooks)

    return [tuple(t.detach() if isinstance(t, torch.Tensor) else t for t in work(torch.ones(1, 3))) for _ in range(3)], log


@scenario
def registration_hooks(compile):
    log = []
    handle = all_modules.register_module_parameter_registration_hook(lambda m, name, p: log.append((type(m).__name__, name)))
    try:

        @compile
        def work(x):
            model = nn.Linear(3, 3, bias=False)
            with torch.no_grad():
                model.weight.fill_(1.0)
            return model(x).detach()

        return [work(torch.ones(3)) for _ in range(3)], log
    finally:
        handle.remove()


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


@scenario
def parametrized_modules(compile):
    model = linear(3, 3)
    run = compile(model)
    x = torch.ones(1, 3)
    out = [run(x)]
    parametrize.register_parametrization(model, "weight", Symmetric())
    out += [run(x), run(x)]
    with torch.no_grad():
        model.parametrizations.weight.original.mul_(2)
    out.append(run(x))
    with parametrize.cached():
        out += [run(x), run(x)]
    out[-1].sum().backward()
    out.append(model.parametrizations.weight.original.grad)
    parametrize.remove_parametrizations(model, "weight")
    return [o.detach() for o in [*out, run(x)]], type(model).__name__


@scenario
def parametrized_cached_inside(compile):
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2

    model = linear(3, 3)
    parametrize.register_parametrization(model, "weight", Counted())
    calls.clear()

    @compile
    def work(x):
        with parametrize.cached():
            y = model(x) + model(x)
        return y + model(x)

    return [work(torch.ones(3)).detach() for _ in range(3)], len(calls)


@scenario
def normed_weights(compile):
    out = []
    x = torch.ones(2, 3)
    for make in (nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm, nn.utils.parametrizations.orthogonal):
        torch.manual_seed(1)
        model = make(linear(3, 3))
        run = compile(model)
        for train in (True, True, False):
            model.train(train)
            model.zero_grad()
            y = run(x)
            y.square().sum().backward()
            out += [y.detach(), *[p.grad for p in model.parameters()], *[b.clone() for b in model.buffers()]]
    return out


@scenario
def normed_weights_in_the_old_way(compile):
    out = []
    x = torch.ones(2, 3)
    for make in (nn.utils.spectral_norm,):
        torch.manual_seed(1)
        model = make(linear(3, 3))
        run = compile(model)
        for train in (True, True, False):
            model.train(train)
            y = run(x)
            y.square().sum().backward()
            out += [y.detach(), model.weight_orig.grad.clone(), model.weight_u.clone()]
    return out


@scenario
def pruned_modules(compile):
    from torch.nn.utils import prune

    model = linear(4, 4)
    run = compile(model)
    x = torch.ones(1, 4)
    out = [run(x)]
    prune.l1_unstructured(model, "weight", amount=0.5)
    out += [run(x), run(x)]
    prune.random_unstructured(model, "bias", amount=1)
    out.append(run(x))
    prune.remove(model, "weight")
    return [o.detach() for o in [*out, run(x)]], sorted(n for n, _ in model.named_buffers())


@scenario
def lazy_modules(compile):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2))
    run = compile(model)
    out = [type(model[0]).__name__, run(torch.ones(3, 5)).detach(), type(model[0]).__name__, run(torch.ones(3, 5)).detach()]
    try:
        run(torch.ones(3, 6))
    except RuntimeError as error:
        out.append(str(error))
    other = nn.LazyLinear(3)
    try:
        compile(lambda: other.weight + 1)()
    except ValueError as error:
        out.append(str(error))
    return out


@scenario
def lazy_modules_in_a_function(compile):
    torch.manual_seed(0)
    model = nn.LazyConv2d(4, 3)

    @compile
    def work(x):
        initialized = isinstance(model, nn.modules.lazy.LazyModuleMixin)
        y = model(x)
        return y.detach(), initialized, type(model).__name__, model.in_channels

    return [work(torch.ones(1, 2, 5, 5)) for _ in range(3)], isinstance(model.weight, nn.parameter.UninitializedParameter)


@scenario
def modules_copied_inside(compile):
    model = linear()

    @compile
    def work(x):
        other = copy.deepcopy(model)
        with torch.no_grad():
            other.weight.mul_(2)
        return other(x).detach(), model(x).detach(), other.weight is model.weight, type(other).__name__

    out = [work(torch.ones(1, 3)) for _ in range(2)]
    with torch.no_grad():
        model.weight.add_(1)
    return [*out, work(torch.ones(1, 3))]


@scenario
def compiled_modules_copied(compile):
    model = compile(linear())
    x = torch.ones(1, 3)
    out = [model(x)]
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.weight.zero_()
    return [o.detach() for o in [*out, other(x), model(x), copy.copy(model)(x)]]


@scenario
def hook_order_of_tensors(compile):
    log = []

    @compile
    def work(x):
        y = x * 2
        y.register_hook(lambda g: log.append("first"))
        y.register_hook(lambda g: (log.append("second"), g + 1)[1])
        return y.sum()

    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: (log.append("leaf"), g * 5)[1])
    for _ in range(3):
        work(x).backward()
    return x.grad, log


@scenario
def hooks_on_nodes(compile):
    log = []
    work = compile(lambda x: (x * 2).sin())
    out = []
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        y = work(x)
        y.grad_fn.register_prehook(lambda gs: log.append(len(gs)))
        y.grad_fn.register_hook(lambda gi, go: log.append("after"))
        y.sum().backward()
        out.append(x.grad)
    return out, log


@scenario
def gradients_of_intermediates(compile):
    kept = {}

    @compile
    def work(x):
        h = (x * 2).tanh()
        h.retain_grad()
        kept["h"] = h
        return (h * h).sum()

    out = []
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        work(x).backward()
        out.append((x.grad, kept["h"].grad, kept["h"].is_leaf, kept["h"].retains_grad))
    return out


@scenario
def several_gradients_at_once(compile):
    log = []

    @compile
    def work(x, y):
        a, b = x * y, x + y
        torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: log.append([g is not None for g in gs]))
        return a, b

    out = []
    for both in (True, False, True):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        a, b = work(x, y)
        (a.sum() + b.sum() if both else a.sum()).backward()
        out.append((x.grad, y.grad))
    return out, log
