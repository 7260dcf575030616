"""How often a tensor was written, as autograd counts it: kernels that join writes, and writes that come to nothing."""

import torch
from tests.python.programs.registry import scenario


@scenario
def version_counters(compile):
    def f(x, y):
        x.add_(1)
        x.mul_(2)
        x[0] = 4
        x.t().zero_()
        y.view(-1)[1:].sin_()
        z = y + 1
        z.mul_(2).relu_()
        w = torch.zeros(3)
        w[0] = x.sum()
        return x.sum(), z, w, z.view(-1)

    g = compile(f)
    x, y = torch.ones(2, 2), torch.ones(2, 2)
    out = []
    with torch.no_grad():
        for _ in range(2):
            results = g(x, y)
            out += [x._version, y._version, [t._version for t in results], results]
    return out


@scenario
def versions_in_training(compile):
    def f(x, b, w):
        b.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        h = torch.relu_(x * w)
        return (h * b.clone()).sum()

    g = compile(f)
    b, w = torch.zeros(3), torch.ones(3, requires_grad=True)
    out = []
    for _ in range(3):
        loss = g(torch.arange(6.0).reshape(2, 3), b, w)
        loss.backward()
        out += [b._version, w._version, loss._version]
    return out, b, w.grad


@scenario
def writes_of_nothing_count(compile):
    def f(x):
        x.add_(0)
        x.mul_(1)
        x.copy_(x.clone())
        x.fill_(2)
        x.fill_(3)
        return x + 1

    g = compile(f)
    x = torch.ones(3)
    out = []
    for _ in range(2):
        out += [g(x), x._version]
    return out


@scenario
def a_saved_tensor_was_written(compile):
    def f(x):
        x.add_(1)
        x.mul_(2)
        return x.sum()

    g = compile(f)
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    y = w * x
    g(x)
    y.sum().backward()  # says at which version x is


@scenario
def versions_of_an_optimizer(compile):
    p = torch.ones(3, requires_grad=True)
    out = []
    for make in (torch.optim.SGD, torch.optim.AdamW):
        optimizer = make([p], 0.1)
        step = compile(lambda: optimizer.step())  # noqa: B023
        for _ in range(3):
            p.grad = torch.ones(3)
            step()
            state = [v._version for v in optimizer.state[p].values() if isinstance(v, torch.Tensor)]
            out += [p._version, p.grad._version, state, p.detach().clone()]
    return out


@scenario
def versions_of_an_index(compile):
    f = compile(lambda x, i, s: x.index_add_(0, i, s))
    out = []
    with torch.no_grad():
        x, i, s = torch.zeros(4, 3), torch.tensor([0, 2]), torch.ones(2, 3)
        for _ in range(2):
            out.append((f(x, i, s), x._version, i._version, s._version))
    return out


@scenario
def versions_of_what_out_is_given(compile):
    """out= writes what it names, and reads the rest."""
    programs = {
        "another": lambda x, o: torch.add(x, 1, out=o),
        "itself": lambda x, o: torch.mul(x, 2, out=x),
        "a row": lambda x, o: torch.mul(x[0], 2, out=x[1]),
        "a list": lambda x, o: torch.cat([x, x], out=o),
        "two": lambda x, o: torch.aminmax(x, dim=0, out=(o[0], o[1])),
        "a name that is read": lambda x, o: torch.searchsorted(x, x, sorter=torch.arange(3).repeat(2, 1)),
    }
    out = []
    with torch.no_grad():
        for f in programs.values():
            g = compile(f)
            for _ in range(2):
                x = torch.arange(6.0).reshape(2, 3)
                o = torch.zeros(4, 3) if f is programs["a list"] else torch.zeros(2, 3)
                g(x, o)
                out += [x._version, o._version, x, o]
    return out


@scenario
def versions_of_a_complex_tensors_parts(compile):
    f = compile(lambda z: (z.real, z.imag, z + 1))
    out = []
    for _ in range(2):
        z = torch.tensor([1 + 2j, 3j])
        real, imag, _ = f(z)
        real.add_(1)
        imag.mul_(2)
        out.append((z, z._version, real._version, imag._version, real._is_view()))
    return out


@scenario
def versions_of_a_view_returned_of_what_was_written(compile):
    def f(x, y):
        x.add_(1).mul_(2)
        y[0] = 1
        z = x.view(-1)
        z.zero_()
        return z

    g = compile(f)
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    z = g(x, y)
    return x, y, z, x._version, y._version, z._version


@scenario
def versions_of_gradients(compile):
    """Autograd's engine adds to a gradient in place where several come together."""

    def inside(w, x):
        ((w * x).sum() + w.sum() + (w**2).sum()).backward()
        return w.grad._version

    def one(w, x):
        (w @ x).sum().backward()

    def copied(w, x):
        w.clone().sum().backward()

    def asked(w, x):
        (found,) = torch.autograd.grad((w * x).sum() + w.exp().sum(), [w])
        return found, found._version

    def forward(w, x):
        return (w[0] * x[1]).sum() + w[1].exp().sum() + (w + x).sum()

    out = []
    for f in (inside, one, copied, asked, forward):
        g = compile(f)
        for repeat in range(3):
            w, x = torch.linspace(-1, 2, 9).reshape(3, 3).requires_grad_(), torch.linspace(1, 3, 9).reshape(3, 3)
            if repeat == 2:
                w.grad = torch.zeros(3, 3)
            got = g(w, x)
            if f is forward:
                got.backward()
            out += [got, w.grad, None if w.grad is None else w.grad._version]
    return out


@scenario
def a_tensor_that_was_turned_around_is_no_view(compile):
    def f(x):
        y = x + 1
        row = y[0]
        y.t_()
        y.add_(1)
        row.unsqueeze_(1)
        return y, row, y.sum(0)

    g = compile(f)
    out = []
    for _ in range(2):
        y, row, total = g(torch.arange(6.0).reshape(3, 2))
        out += [y, row, total, y._is_view(), row._is_view(), y._base is None, y._version, row._version]
    return out


@scenario
def views_cannot_be_detached_in_place(compile):
    def f(x):
        x.detach_()
        return x * 2

    g = compile(f)
    out = []
    for make in (lambda b: b * 1, lambda b: b[1:], lambda b: b.detach(), lambda b: b * 3):
        x = make(torch.arange(4.0).requires_grad_())
        try:
            out += [g(x), x, x.requires_grad, x._version]
        except RuntimeError as error:
            out.append(str(error))
    return out


@scenario
def nodes_have_the_names_of_eagers(compile):
    def f(x):
        y = x.clone()
        v = y.t()
        v.mul_(2)
        return y, v, x.exp(), x * 2

    out = []
    g = compile(f)
    for _ in range(2):
        for t in g(torch.ones(2, 3, requires_grad=True)):
            out += [type(t.grad_fn).__name__, t.grad_fn.name()]
    return out


@scenario
def versions_of_gradients_asked_by_name(compile):
    def writes(t):
        return getattr(t, "_version")  # noqa: B009

    return gradients_asked(compile, writes)


@scenario
def versions_of_gradients_asked_inside(compile):
    return gradients_asked(compile, lambda t: [(lambda u: u._version)(each) for each in (t,)])


def gradients_asked(compile, ask):
    w, x = torch.linspace(-1, 2, 9).reshape(3, 3).requires_grad_(), torch.linspace(1, 3, 6).reshape(2, 3)
    f = compile(lambda: ((x @ w).tanh() @ w + w.sum() + (w * 2).sum()).sum())
    out = []
    for _ in range(3):
        f().backward()
        out.append(ask(w.grad))
    return out
