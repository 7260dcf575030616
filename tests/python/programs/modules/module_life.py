"""Modules whose hooks, parameters, buffers and methods change between calls."""

import copy
import math
import re
import types
import warnings

import torch
from tests.python.programs.registry import scenario
from torch import nn
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint


def ramp(*sizes):
    return torch.arange(float(math.prod(sizes))).reshape(sizes) / 5 - 1


class Counting(nn.Module):
    def __init__(s, n=3, m=3):
        super().__init__()
        torch.manual_seed(0)
        s.l = nn.Linear(n, m)
        s.register_buffer("c", torch.zeros(()))
        s.n = 0

    def forward(s, x):
        s.n += 1
        s.c += 1
        return s.l(x) * s.c


def state_of(m):
    return {k: v.detach().clone() for k, v in m.state_dict().items()}


@scenario
def module_hooks_all(compile):
    log = []
    m = nn.Sequential(Counting(), nn.ReLU(), Counting())
    m[0].register_forward_pre_hook(lambda m, a: (log.append("pre"), (a[0] + 1,))[1])
    h = m[1].register_forward_hook(lambda m, a, o: (log.append("post"), o * 2)[1])
    m[2].register_full_backward_hook(lambda m, gi, go: log.append(("bw", len(gi), len(go))))
    m[0].register_full_backward_pre_hook(lambda m, go: (log.append("bpre"), (go[0] * 2,))[1])
    m[2].register_forward_hook(lambda m, a, k, o: log.append(sorted(k)), with_kwargs=True)
    g = compile(m)
    out = []
    for i in range(4):
        x = ramp(2, 3).requires_grad_()
        y = g(x)
        y.sum().backward()
        out.append((y.detach(), x.grad.clone()))
        if i == 1:
            h.remove()
        if i == 2:
            m[1].register_forward_hook(lambda m, a, o: None, always_call=True)
    return (out, log, [p.grad for p in m.parameters()], state_of(m))


@scenario
def state_dict_hooks(compile):
    log = []
    m = Counting()
    m._register_state_dict_hook(lambda mod, sd, pre, meta: log.append(sorted(sd)))
    m.register_state_dict_pre_hook(lambda *a: log.append("p"))
    m.register_load_state_dict_post_hook(lambda m, inc: log.append("post"))

    @compile
    def f(x):
        sd = m.state_dict()
        y = m(x)
        return (y, {k: v.shape for k, v in sd.items()}, sd["l.weight"] is m.l.weight)
    out = [f(ramp(2, 3)) for _ in range(2)]
    m.load_state_dict({k: v * 0 + 1 for k, v in m.state_dict().items()})
    return (out, f(ramp(2, 3)), log)


@scenario
def load_in_forward(compile):
    m = Counting()

    @compile
    def f(x):
        m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})
        return m(x)
    with torch.no_grad():
        return ([f(ramp(2, 3)) for _ in range(3)], state_of(m))


@scenario
def apply_inside(compile):
    m = nn.Sequential(Counting(), Counting())

    def init(q):
        if isinstance(q, nn.Linear):
            nn.init.constant_(q.weight, 0.5)
            q.bias.data.zero_()

    @compile
    def f(x):
        m.apply(init)
        return m(x)
    return ([f(ramp(2, 3)) for _ in range(3)], state_of(m))


class Symmetric(nn.Module):
    def forward(s, w):
        return w.triu() + w.triu(1).transpose(-1, -2)

    def right_inverse(s, a):
        return a.triu()


@scenario
def parametrized(compile):
    torch.manual_seed(0)
    l = nn.Linear(3, 3)
    parametrize.register_parametrization(l, "weight", Symmetric())
    g = compile(l)
    out = []
    for i in range(3):
        y = g(ramp(2, 3))
        y.sum().backward()
        out.append((y.detach(), [p.grad.clone() for p in l.parameters()]))
        if i == 0:
            l.weight = torch.ones(3, 3) * 2
    with parametrize.cached():
        out.append((g(ramp(2, 3)).detach(), g(ramp(2, 3)).detach()))
    parametrize.remove_parametrizations(l, "weight")
    out.append(g(ramp(2, 3)).detach())
    return out


@scenario
def norms(compile):
    torch.manual_seed(0)
    a = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    b = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    c = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    m = nn.Sequential(a, b, c)
    g = compile(m)
    out = []
    for mode in (True, False, True):
        m.train(mode)
        y = g(ramp(2, 3))
        y.sum().backward()
        out.append(y.detach())
    return (out, [p.grad for p in m.parameters()], state_of(m))


@scenario
def old_norms(compile):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = nn.utils.weight_norm(nn.Linear(3, 3))
        b = nn.utils.spectral_norm(nn.Linear(3, 3))
    m = nn.Sequential(a, b)
    g = compile(m)
    out = []
    for mode in (True, False, True):
        m.train(mode)
        y = g(ramp(2, 3))
        y.sum().backward()
        out.append(y.detach())
    nn.utils.remove_weight_norm(a)
    out.append(g(ramp(2, 3)).detach())
    return (out, state_of(m))


@scenario
def checkpoints(compile):
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    out = []
    for re in (False, True):
        g = compile(lambda x: checkpoint(m, x, use_reentrant=re).sum())
        for i in range(2):
            torch.manual_seed(i)
            x = ramp(2, 3).requires_grad_()
            l = g(x)
            l.backward()
            out.append((l.detach(), x.grad.clone()))
    return (out, [p.grad for p in m.parameters()])


@scenario
def containers_mutate(compile):
    torch.manual_seed(0)

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ps = nn.ParameterList([nn.Parameter(torch.ones(3))])
            s.md = nn.ModuleDict({"a": nn.Linear(3, 3)})
            s.pd = nn.ParameterDict({"q": nn.Parameter(torch.ones(3) * 2)})
            s.ml = nn.ModuleList([nn.ReLU()])

        def forward(s, x):
            for p in s.ps:
                x = x * p
            for k, m in s.md.items():
                x = m(x) + len(k)
            for k in s.pd:
                x = x + s.pd[k]
            for m in s.ml:
                x = m(x)
            return (x, len(s.ps), list(s.md), "q" in s.pd, len(list(s.parameters())), [n for n, _ in s.named_children()])
    m = M()
    g = compile(m)
    out = [g(ramp(2, 3))]
    m.ps.append(nn.Parameter(torch.ones(3) * 3))
    out.append(g(ramp(2, 3)))
    m.md["bb"] = nn.Linear(3, 3, bias=False)
    out.append(g(ramp(2, 3)))
    del m.md["a"]
    out.append(g(ramp(2, 3)))
    m.pd["z"] = torch.zeros(3)
    m.ml.insert(0, nn.Tanh())
    out.append(g(ramp(2, 3)))
    m.ps[0] = nn.Parameter(torch.zeros(3))
    m.ml[0] = nn.Identity()
    out.append(g(ramp(2, 3)))
    m.pd.pop("q")
    m.ps.extend([torch.ones(3)])
    m.md.clear()
    out.append(g(ramp(2, 3)))
    return out


@scenario
def buffers_reassigned(compile):

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("h", torch.zeros(2, 3))
            s.register_buffer("z", None)
            s.register_buffer("np", torch.ones(3), persistent=False)

        def forward(s, x):
            s.h = torch.tanh(s.h + x)
            if s.z is None:
                s.z = x * 2
            else:
                s.z = None
            s.np = s.np.clone()
            s.np[0] += 1
            return (s.h, s.z)
    m = M()
    g = compile(m)
    out = []
    with torch.no_grad():
        for i in range(4):
            out.append(g(ramp(2, 3)))
    return (out, sorted(m.state_dict()), m.np, [n for n, _ in m.named_buffers()], out[0][0] is out[1][0])


@scenario
def call_overridden(compile):

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.k = 1

        def __call__(s, *a, **k):
            s.k += 1
            return ("w", super().__call__(*a, **k), s.k)

        def forward(s, x, *, b=2):
            return x * b + s.k
    m = M()
    g = compile(m)
    return (g(ramp(2, 3)), g(ramp(2, 3), b=4), g(ramp(3, 3)), m.k)


@scenario
def forward_replaced(compile):
    m = Counting()
    g = compile(m)
    out = [g(ramp(2, 3))]
    old = m.forward
    m.forward = lambda x: old(x) + 100
    out.append(g(ramp(2, 3)))
    m.forward = types.MethodType(lambda self, x: x * self.n, m)
    out.append(g(ramp(2, 3)))
    del m.forward
    out.append(g(ramp(2, 3)))
    m.__class__ = type("Q", (Counting,), {"forward": lambda s, x: x - 1})
    out.append(g(ramp(2, 3)))
    return out


@scenario
def training_flags(compile):
    torch.manual_seed(0)
    m = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 3))
    g = compile(m)
    out = []
    for i, md in enumerate([1, 0, 1, 1, 0]):
        m.train(bool(md))
        if i == 3:
            m[0].eval()
        torch.manual_seed(i)
        out.append(g(ramp(4, 3)).detach())
    m[0].momentum = None
    m.train()
    out.append(g(ramp(4, 3)).detach())
    m[0].track_running_stats = False
    out.append(g(ramp(4, 3)).detach())
    m[1].p = 0.0
    out.append(g(ramp(4, 3)).detach())
    return (out, state_of(m))


@scenario
def requires_grad_toggles(compile):
    m = Counting()
    g = compile(m)
    out = []
    for r in (True, False, True):
        m.l.weight.requires_grad_(r)
        m.zero_grad()
        y = g(ramp(2, 3))
        if y.requires_grad:
            y.sum().backward()
        out.append((y.detach(), [None if p.grad is None else p.grad.clone() for p in m.parameters()]))
    m.l.weight = nn.Parameter(torch.ones(3, 3))
    out.append(g(ramp(2, 3)).detach())
    m.double()
    out.append(g(ramp(2, 3).double()).detach())
    return out


@scenario
def tied(compile):
    torch.manual_seed(0)
    a = nn.Linear(3, 3)
    b = nn.Linear(3, 3)
    b.weight = a.weight
    m = nn.Sequential(a, b)
    g = compile(m)
    y = g(ramp(2, 3))
    y.sum().backward()
    r = [y.detach(), a.weight.grad.clone()]
    b.weight = nn.Parameter(torch.ones(3, 3))
    m.zero_grad()
    y = g(ramp(2, 3))
    y.sum().backward()
    return (r, y.detach(), a.weight.grad, b.weight.grad)


@scenario
def opt_in(compile):
    torch.manual_seed(0)
    m = Counting()
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    sch = torch.optim.lr_scheduler.StepLR(o, 1, 0.5)

    @compile
    def step(x):
        o.zero_grad()
        l = m(x).pow(2).mean()
        l.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        o.step()
        return l.detach()
    out = []
    for i in range(4):
        out.append(step(ramp(2, 3)))
        sch.step()
    return (out, state_of(m), o.state_dict()["param_groups"][0]["lr"])


@scenario
def ema(compile):
    torch.manual_seed(0)
    m = nn.Linear(3, 3)
    e = copy.deepcopy(m)

    @compile
    def upd(d):
        with torch.no_grad():
            for p, q in zip(m.parameters(), e.parameters()):
                q.mul_(d).add_(p, alpha=1 - d)
        return sum((q.sum() for q in e.parameters()))
    out = [upd(0.9), upd(0.8)]
    m.weight.data.fill_(3)
    out.append(upd(0.5))
    return ([o.detach() for o in out], state_of(e))


@scenario
def deepcopied_module(compile):
    m = Counting()
    g = compile(m)
    a = g(ramp(2, 3))
    n = copy.deepcopy(m)
    h = compile(n)
    b = h(ramp(2, 3))
    return (a, b, m.n, n.n, m.c, n.c)


@scenario
def module_inside_built(compile):

    @compile
    def f(x):
        torch.manual_seed(0)
        l = nn.Linear(3, 2)
        b = nn.BatchNorm1d(2)
        return (b(l(x)), l.weight.shape, b.num_batches_tracked)
    return [f(ramp(4, 3)) for _ in range(2)]


@scenario
def functional_call_s(compile):
    m = Counting()

    @compile
    def f(p, x):
        return torch.func.functional_call(m, p, (x,))
    p = {k: v.detach() * 2 for k, v in m.named_parameters()}
    return (f(p, ramp(2, 3)), f({**p, "c": torch.ones(())}, ramp(2, 3)), m.c, m.n)


@scenario
def global_hooks(compile):
    log = []
    m = Counting()
    g = compile(m)
    a = g(ramp(2, 3))
    h = nn.modules.module.register_module_forward_hook(lambda m, i, o: log.append(type(m).__name__))
    b = g(ramp(2, 3))
    h.remove()
    c = g(ramp(2, 3))
    return (a, b, c, log)


@scenario
def property_on_module(compile):

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s._k = 2
            s.w = nn.Parameter(torch.ones(2))

        @property
        def k(s):
            return s._k * s.w

        @k.setter
        def k(s, v):
            s._k = v

        def __getattr__(s, n):
            try:
                return super().__getattr__(n)
            except AttributeError:
                return ("missing", n)

        def __setattr__(s, n, v):
            if n == "log":
                v = v + ["set"]
            super().__setattr__(n, v)

        def forward(s, x):
            s.k = s._k + 1
            s.log = [1]
            return (x * s.k, s.nope, s.log)
    m = M()
    g = compile(m)
    return ([g(ramp(1, 2)) for _ in range(3)], m._k)
