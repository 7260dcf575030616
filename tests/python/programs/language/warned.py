"""Warnings, of PyTorch's and of the program's own, reach Python's filters at each call as eager's do."""

import functools
import itertools
import threading
import warnings

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, scenario
from torch import nn

import vitrine

FILTERS = ("default", "always", "error", "ignore", "once", "module")


def forget_warnings():
    """Every module forgets what it has warned of."""
    warnings._filters_mutated()
    warnings.onceregistry.clear()


def seen_of(f, make, action, calls=3):
    """What f's calls raised, and warned of where, under simplefilter(action)."""
    forget_warnings()
    seen = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter(action)
        warnings.filterwarnings("ignore", category=vitrine.VitrineWarning)
        for call in range(calls):
            already = len(given)
            try:
                f(*make(call))
                error = None
            except Warning as e:
                error = type(e), str(e)
            seen.append((error, [(w.category, str(w.message), w.filename, w.lineno) for w in given[already:]]))
    return seen


def under_all_filters(name, f, make):
    """Registers the scenario: f under every filter, with gradients and without, sizes that change between calls."""

    def run(compile):
        out = []
        for action, grad in itertools.product(FILTERS, (False, True)):
            vitrine.reset()
            with torch.set_grad_enabled(grad):
                out.append((action, grad, seen_of(compile(f), make, action)))
        return out

    run.__name__ = name
    scenario(run)


def same(x):
    return lambda call: (x.clone(),)


def growing(*sizes):
    return lambda call: (torch.arange(float(sizes[call] * 3)).reshape(sizes[call], 3),)


def deviation(x):
    return (x * 2).std(1, correction=x.shape[1]) + 1


def all_spreads(x):
    return x.var(0), torch.std_mean(x, 0), torch.var_mean(x, (0,)), x[0, 0].std(), x[:0].var()


def halves_loss(x):
    y = x + 1
    loss = F.mse_loss(y, y[:1])
    return loss * 2


SOFTMAX = nn.Softmax(dim=None)


def implicit_dim(x):
    return SOFTMAX(x + 1) * 2


def deprecated_functions(x):
    y = torch.range(0, 3)
    return F.upsample(x[None, None], scale_factor=2).sum() + y.sum(), F.mse_loss(x, x + 1, size_average=False)


def copies_by_constructor(x):
    return torch.tensor(x) + 1


def written_elsewhere(x):
    out = torch.empty(1)
    torch.add(x, 1, out=out)
    return out


def helper(x):
    warnings.warn("from the helper", DeprecationWarning, stacklevel=2)
    return x.sin()


def own_warnings(x):
    y = helper(x + 1)
    warnings.warn(f"careful with {tuple(y.shape)}")
    return helper(y)


x = torch.arange(6.0).reshape(2, 3)
under_all_filters("warnings_of_deviation", deviation, same(x))
under_all_filters("warnings_of_one_row", all_spreads, growing(1, 2, 1))
under_all_filters("warnings_of_broadcast_loss", halves_loss, growing(2, 1, 3))
under_all_filters("warnings_of_implicit_dim", implicit_dim, same(x))
under_all_filters("warnings_of_deprecated_functions", deprecated_functions, same(x))
under_all_filters("warnings_of_constructor", copies_by_constructor, same(x))
under_all_filters("warnings_of_resized_output", written_elsewhere, same(x))
under_all_filters("warnings_of_the_program", own_warnings, growing(2, 1, 3))


@program(mat(2, 3))
def warnings_recorded_inside(x):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        y = x.std(1, correction=3)
        warnings.warn("inside")
        z = F.mse_loss(x, x[:1])
    return y, z, [(str(w.message), w.lineno) for w in given]


@program(mat(2, 3))
def warning_caught_as_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            y = (x + 1).std(1, correction=3)
        except UserWarning as e:
            y = x * len(str(e))
    return y + 1


@scenario
def warnings_of_what_was_warned_of_before(compile):
    """A place that warned before capture is silent under "default", and speaks again when filters change."""

    def f(x):
        return F.mse_loss(x, x[:1]) + x.std(1, correction=3).sum()

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        f(x)
        g = compile(f)
        g(x)
    return seen_of(g, same(x), "always"), seen_of(g, same(x), "default")


@scenario
def said_once_a_process(compile):
    """What PyTorch says once a process was said before: it is captured, and stays silent."""

    @compile
    def f(x):
        return x.T + 1, torch.cross(x[0], x[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = torch.ones(2, 3, 3)
        before.T, torch.cross(before, before)
    return seen_of(f, same(torch.ones(2, 3, 3)), "always")


class Deprecated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    @functools.wraps(nn.Module.forward)
    def forward(self, x):
        if x.shape[0] == 1:
            warnings.warn("a batch of one", RuntimeWarning, stacklevel=1)
        return self.linear(x).relu()


@scenario
def warnings_of_modules(compile):
    torch.manual_seed(0)
    net = nn.Sequential(Deprecated(), Deprecated())
    g = compile(net)
    return [seen_of(g, growing(2, 1, 1), action) for action in FILTERS]


@scenario
def threads_capture_and_warn_at_once(compile):
    """Whatever one thread captures meanwhile, another's warnings and the program's filters are what they were."""
    before = warnings.filters, warnings._showwarnmsg

    def work(k, out):
        for i in range(4):
            f = compile(lambda x: (F.mse_loss(x, x[:1]) * k + i, x.std(1, correction=3)))
            out.append(f(torch.ones(2, 3) * i)[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, results = (warnings.filters, warnings._showwarnmsg), [[] for _ in range(4)]
        threads = [threading.Thread(target=work, args=(k, out)) for k, out in enumerate(results)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = (warnings.filters, warnings._showwarnmsg) == given
    return results, kept, (warnings.filters, warnings._showwarnmsg) == before
