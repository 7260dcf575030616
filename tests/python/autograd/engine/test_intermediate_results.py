"""Results that other results of the same region are computed from: whoever looks at their gradients sees eager's, in the first
backward pass as in later ones, and the function stays compiled."""

import warnings

import pytest
import torch
from tests.python.autograd.engine.test_several_backwards import outcome, same
from tests.python.autograd.steps.test_training import leaf
from torch import nn

import vitrine
from vitrine._errors import DoubleBackwardError


def compiled_whole(f, *args):
    explained = vitrine.explain(f)(*args)
    return not explained.messages and explained.graph_count == 1


def chain(x, w, v):
    first = x @ w
    second = first.relu() * 2 + x.sum()
    loss = (second @ v).sin().sum() + first.square().mean()
    return first, second, loss


def views(x, w, v):
    h = (x @ w).unflatten(1, (1, 2)).transpose(0, 1)
    g = h[:, :, 0]
    return h, g, (h.exp().flatten() * v.sum()).sum() + g.sin().sum()


def views_of_inputs(x, w, v):
    h = x.t()
    return h, x[:1], (h * w).tanh().sum() * v.sum() + x.sum()


def parts(x, w, v):
    a, b = (x @ w).chunk(2, 1)
    c = a.exp()
    return a, c, (c * 2).sum() * v.sum(), b


def two_losses(x, w, v):
    h = x @ w
    return h, (h @ v).exp().sum(), (h * 3).cos().sum(), w.sum()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() * 2


def own_function(x, w, v):
    h = x @ w
    g = Doubled.apply(h)
    return h, g, (g @ v).sum() + h.mean()


def written(x, w, v):
    h = x @ w
    g = h + 1
    g.mul_(2)
    k = g * 3
    k[0] = 3.0
    return h, g, k, (k @ v).sum()


def integers_and_constants(x, w, v):
    h = x @ w
    return h, h.argmax(1), h.detach() + 1, torch.cumsum(h, 0).sum() * v.sum()


PROGRAMS = [chain, views, views_of_inputs, parts, two_losses, own_function, written, integers_and_constants]


def arguments():
    return leaf(2, 3, seed=1), leaf(3, 2, seed=2), leaf(2, 2, seed=3)


def wanted(results):
    return [r for r in results if r.requires_grad]


def retain(results, log):
    for r in wanted(results):
        r.retain_grad()
    return lambda: [r.grad for r in wanted(results)]


def retain_first(results, log):
    results[0].retain_grad()
    return lambda: results[0].grad


def note(results, log):
    for i, r in enumerate(wanted(results)):
        r.register_hook(lambda g, i=i: log.append((i, g.clone())))
    return lambda: None


def change(results, log):
    for i, r in enumerate(wanted(results)):
        r.register_hook(lambda g, i=i: (log.append((i, g.clone())), g * (i + 2))[1])
    return lambda: None


def change_first(results, log):
    results[0].register_hook(lambda g: g * 3)
    return lambda: None


def several_at_once(results, log):
    handle = torch.autograd.graph.register_multi_grad_hook(wanted(results), lambda gs: log.append([None if g is None else g.clone() for g in gs]))
    return lambda: handle is None


def forgotten(results, log):
    results[0].register_hook(lambda g: (log.append(g.clone()), g * 2)[1])
    del results[0]
    return lambda: None


WATCHES = [retain, retain_first, note, change, change_first, several_at_once, forgotten]


def from_the_last(results):
    wanted(results)[-1].sum().backward()


def from_all(results):
    torch.autograd.backward([r.sum() for r in wanted(results)])


def from_all_as_they_are(results):
    torch.autograd.backward(wanted(results), [torch.full_like(r, 0.5) for r in wanted(results)])


def from_what_is_made_of_them(results):
    sum((r * r).sum() for r in wanted(results)).backward()


def twice(results):
    loss = wanted(results)[-1].sum()
    loss.backward(retain_graph=True)
    loss.backward()


def one_after_the_other(results):
    for r in reversed(wanted(results)):
        r.sum().backward(retain_graph=True)


PASSES = [from_the_last, from_all, from_all_as_they_are, from_what_is_made_of_them, twice, one_after_the_other]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_whoever_looks_at_gradients_sees_eagers(f):
    assert compiled_whole(f, *arguments())
    for watch in WATCHES:
        for way in PASSES:

            def program(compiled, watch=watch, way=way):
                shown, call = [], compiled(f)
                for _ in range(2):
                    inputs, log = arguments(), []
                    results = list(call(*inputs))
                    after = watch(results, log)
                    failed = outcome(lambda: way(results))
                    shown.append((log, after(), [x.grad for x in inputs], failed))
                return shown

            with warnings.catch_warnings():
                warnings.simplefilter("error")
                same(program)


def gradients(f, of, with_respect_to, kept=True, **how):
    """A program: torch.autograd.grad among results (numbers) and inputs (letters), again and again."""

    def program(compiled):
        call, shown = compiled(f), []
        for _ in range(2):
            inputs = dict(zip("xwv", arguments()))
            results = call(*inputs.values())
            pick = lambda names: [inputs[n] if isinstance(n, str) else results[n] for n in names]  # noqa: B023, E731
            for _ in range(2):
                shown.append(outcome(lambda: torch.autograd.grad([r.sum() for r in pick(of)], pick(with_respect_to), retain_graph=kept, **how)))  # noqa: B023
            shown.append([x.grad for x in inputs.values()])
        return shown

    return program


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "used_up"])
@pytest.mark.parametrize("of, with_respect_to", [([2], [0]), ([2], [1]), ([2], [0, 1, "w"]), ([2, 1], [0]), ([1], [0, "x"]), ([2], ["v"]),
                                                 ([2], ["x", "w", "v"]), ([2], [0, 1, 2]), ([0], [2]), ([0, 2], [0, 2, "w"])])
@pytest.mark.parametrize("f", PROGRAMS[:3] + [own_function], ids=lambda f: f.__name__)
def test_gradients_among_results(f, of, with_respect_to, kept):
    same(gradients(f, of, with_respect_to, kept))
    same(gradients(f, of, with_respect_to, kept, allow_unused=True))


def used_up_in_parts(compiled):
    """What is between two results is used up apart from what is below."""
    shown = []
    for order in ("above, below", "below, above", "above, whole", "below, whole"):
        x, w, v = arguments()
        first, second, loss = compiled(chain)(x, w, v)
        ways = {
            "above": lambda: torch.autograd.grad(loss, first),  # noqa: B023
            "below": lambda: first.sum().backward(),  # noqa: B023
            "whole": lambda: loss.backward(),  # noqa: B023
        }
        for way in order.split(", "):
            shown.append(outcome(ways[way]))
        shown.append((x.grad, w.grad, outcome(lambda: second.sum().backward())))  # noqa: B023
    return shown


def test_what_is_used_up_is_eagers():
    same(used_up_in_parts)


def test_what_was_changed_is_eagers_error():
    def program(compiled):
        shown = []
        for written in range(3):
            x, w, v = arguments()
            results = compiled(chain)(x, w, v)
            results[0].retain_grad()
            with torch.no_grad():
                (x, w, v)[written].add_(1)
            shown.append(outcome(lambda: torch.autograd.grad(results[2], results[1], retain_graph=True)))  # noqa: B023
            shown.append(outcome(results[2].backward))
            shown.append(results[0].grad)
        return [part[0] if isinstance(part, tuple) and part and isinstance(part[0], type) else part for part in shown]

    same(program)


def test_a_result_is_written_to_behind_the_region():
    def program(compiled):
        x, w, v = arguments()
        second, loss = compiled(lambda: (second := (x @ w) + 1, second.sum() * v.sum()))()
        seen = []
        second.register_hook(lambda g: seen.append(g.clone()))
        second.mul_(2)
        second.retain_grad()
        torch.autograd.backward([loss, second.sum()])
        return seen, second.grad, x.grad, w.grad

    same(program)


def test_hooks_on_nodes_run():
    def program(compiled):
        x, w, v = arguments()
        first, second, loss = compiled(chain)(x, w, v)
        seen = []
        first.grad_fn.register_prehook(lambda gs: (seen.append(gs[0].clone()), (gs[0] * 2,))[1])
        loss.backward()
        return seen, x.grad, w.grad

    same(program)


def test_layers_of_a_model():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 8)
            self.layers = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(3))
            self.head = nn.Linear(8, 7)

        def forward(self, ids):
            hidden = [self.table(ids)]
            for layer in self.layers:
                hidden.append(layer(hidden[-1]))
            logits = self.head(hidden[-1])
            return hidden, logits, nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    def program(compiled):
        torch.manual_seed(0)
        model, ids, shown = Model(), torch.tensor([[1, 2, 3, 4], [3, 2, 1, 0]]), []
        call = compiled(model)
        for turn in range(3):
            hidden, logits, loss = call(ids)
            if turn:
                for h in (*hidden, logits):
                    h.retain_grad()
            shown.append(torch.autograd.grad(loss, hidden[1], retain_graph=True))
            loss.backward()
            shown.append([h.grad for h in (*hidden, logits)] if turn else None)
            shown.append([p.grad.clone() for p in model.parameters()])
        return shown

    same(program)


def test_sizes_that_change():
    def program(compiled):
        call, shown = compiled(chain), []
        for n in (2, 3, 4, 5):
            x, w, v = leaf(n, 3), leaf(3, 2), leaf(2, 2)
            first, second, loss = call(x, w, v)
            first.retain_grad()
            loss.backward()
            shown.append((first.grad, x.grad, w.grad, v.grad))
        return shown

    same(program)


def test_a_backward_pass_that_is_to_be_differentiated_is_an_error():
    x, w, v = arguments()
    first, _, loss = vitrine.compile(chain)(x, w, v)
    with pytest.raises(DoubleBackwardError):
        torch.autograd.grad(loss, first, create_graph=True)


def test_a_gradient_of_zeros_reads_what_was_saved():
    """nextafter gives its second operand a gradient of zeros, which median's backward scatters by the indices it saved."""

    def f(x):
        last, middle = x[..., -1], (x + 1).median(-1).values
        near = torch.nextafter(last, middle)
        return near, near.trunc() + near.frac(), last

    def program(compiled):
        x = leaf(5, 7)
        sum(result.sum() for result in compiled(f)(x)).backward()
        return x.grad

    same(program)
