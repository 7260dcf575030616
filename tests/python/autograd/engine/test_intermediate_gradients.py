"""Training programs whose compiled part gives what its loss is computed from, and that look at the gradients there: attributions,
auxiliary losses, hooks that change what flows on. Some steps with an optimizer; all numbers are eager's."""

import pytest
import torch
import vitrine
from tests.python.autograd.engine.test_several_backwards import same
from torch import nn
from torch.nn import functional as F
from torch.utils.hooks import RemovableHandle


def attributions(compiled):
    """Grad-CAM and gradients at pooled features, beside a step of training."""
    layers, head = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)), nn.Linear(4, 3)

    def forward(x):
        maps = layers(x)
        pooled = F.relu(maps).mean((2, 3))
        return maps, pooled, head(pooled)

    call, shown = compiled(forward), []
    for turn in range(3):
        maps, pooled, scores = call(torch.randn(2, 2, 5, 5))
        (weights,) = torch.autograd.grad(scores[:, turn].sum(), maps, retain_graph=True)
        shown.append(F.relu((weights.mean((2, 3), keepdim=True) * maps).sum(1)).detach())
        shown.append(torch.autograd.grad(scores.sum(), pooled, retain_graph=True))
        scores.logsumexp(1).sum().backward()
    return shown, [p.grad for p in (*layers.parameters(), *head.parameters())]


def sampled_codes(compiled):
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)

    def forward(x, noise):
        mean, log_var = encoder(x).chunk(2, -1)
        code = mean + noise * (0.5 * log_var).exp()
        return mean, log_var, code, F.mse_loss(decoder(code), x) - 0.5 * (1 + log_var - mean.square() - log_var.exp()).sum()

    call, shown = compiled(forward), []
    for _ in range(3):
        mean, log_var, code, loss = call(torch.randn(5, 6), torch.randn(5, 2))
        code.retain_grad()
        mean.retain_grad()
        log_var.register_hook(lambda g: g.clamp(-1, 1))
        loss.backward()
        shown.append((loss.detach(), code.grad, mean.grad))
        optimizer.step()
        optimizer.zero_grad()
    return shown, list(encoder.parameters())


def both_sides_of_pairs(compiled):
    left, right, scale = nn.Linear(4, 5), nn.Linear(3, 5), nn.Parameter(torch.tensor(2.6))

    def forward(x, y):
        a, b = F.normalize(left(x), dim=-1), F.normalize(right(y), dim=-1)
        scores, target = scale.exp() * a @ b.t(), torch.arange(len(x))
        return a, b, scores, (F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target)) / 2

    call, shown = compiled(forward), []
    for _ in range(2):
        a, b, scores, loss = call(torch.randn(5, 4), torch.randn(5, 3))
        scores.retain_grad()
        torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: shown.append([g.clone() for g in gs]))
        (loss + 0.1 * a.square().sum()).backward()
        shown.append(scores.grad)
    return shown, [p.grad for p in (*left.parameters(), *right.parameters(), scale)]


def recurrent_states(compiled):
    table, cell = nn.Embedding(11, 6), nn.GRU(6, 6, batch_first=True)

    def forward(ids):
        words = table(ids)
        states, _ = cell(words)
        return words, states, F.cross_entropy(F.linear(states, table.weight)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    call, shown = compiled(forward), []
    for _ in range(2):
        words, states, loss = call(torch.randint(0, 11, (3, 5)))
        words.retain_grad()
        states.register_hook(lambda g: g * 0.5)
        loss.backward()
        shown.append(words.grad)
    return shown, [p.grad for p in (*table.parameters(), *cell.parameters())]


@pytest.mark.parametrize("program", [attributions, sampled_codes, both_sides_of_pairs, recurrent_states], ids=lambda p: p.__name__)
def test_gradients_at_what_a_loss_is_computed_from(program):
    def seeded(compiled):
        torch.manual_seed(0)
        return program(compiled)

    same(seeded)


def test_no_handle_of_a_hook_is_made_for_them():
    """A program sees how many there were: by their ids, and by guards of their class."""

    def program(x):
        h = x * 2
        first = h[0]
        first.zero_()
        return h, first, h * 3

    x = torch.randn(3, 4, requires_grad=True)
    before = RemovableHandle.next_id
    h, _, out = vitrine.compile(program)(x)
    out.sum().backward()
    assert RemovableHandle.next_id == before and h.requires_grad
