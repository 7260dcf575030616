"""Cross entropy and what it is made of: picked classes, ignored ones, weights, pictures; values, gradients and errors are eager's,
and no log softmax is kept for backward where its operand may be."""

import pytest
import torch
from tests.python.autograd.rules.test_own_gradients import OURS, sentence
from torch.nn import functional as F

import vitrine

CLASSES = 7
SHAPES = {"rows": ((5, CLASSES), (5,)), "pictures": ((2, CLASSES, 3, 4), (2, 3, 4)), "one": ((CLASSES,), ()), "lines": ((2, CLASSES, 3), (2, 3))}
WEIGHT = torch.linspace(0.2, 1.7, CLASSES)
OPTIONS = {
    "mean": {},
    "sum, weights": {"reduction": "sum", "weight": WEIGHT},
    "none": {"reduction": "none"},
    "mean, weights, another ignored": {"weight": WEIGHT, "ignore_index": 2},
    "none, weights, smoothed": {"reduction": "none", "weight": WEIGHT, "label_smoothing": 0.1},
}


def loss_of(options):
    return lambda x, t: F.cross_entropy(x * 1, t, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_cross_entropy(name, shape):
    vitrine.reset()
    options, (sizes, places) = OPTIONS[name], SHAPES[shape]
    x, target = torch.randn(sizes), torch.randint(0, CLASSES, places)
    if places:
        target.view(-1)[1] = options.get("ignore_index", -100)
    elif options.get("ignore_index") == target.item():
        target += 1  # all ignored is nan either way
    found = []
    for run in (loss_of(options), vitrine.compile(loss_of(options))):
        given = x.clone().requires_grad_()
        loss = run(given, target)
        (loss * torch.linspace(0.5, 1, loss.numel()).view(loss.shape)).sum().backward()
        found.append((loss.detach(), given.grad))
    for eager, ours in zip(*found):
        torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("shape", ["rows", "pictures"])
def test_its_gradient_is_our_own(shape):
    sizes, places = SHAPES[shape]
    assert sentence(loss_of({"weight": WEIGHT}), torch.randn(sizes, requires_grad=True), torch.randint(0, CLASSES, places)) == OURS


@pytest.mark.parametrize("wrong", [CLASSES, -1, -100])
def test_a_class_out_of_range_is_eagers_error(wrong):
    function = loss_of({"ignore_index": 3})
    with pytest.raises(IndexError) as eager:
        function(torch.randn(2, CLASSES), torch.tensor([0, wrong]))
    compiled = vitrine.compile(function)
    compiled(torch.randn(2, CLASSES, requires_grad=True), torch.tensor([0, 3])).backward()
    with pytest.raises(IndexError) as ours:
        compiled(torch.randn(2, CLASSES, requires_grad=True), torch.tensor([0, wrong]))
    assert str(ours.value) == str(eager.value)


def test_all_ignored():
    x, target = torch.randn(3, CLASSES, requires_grad=True), torch.full((3,), -100)
    assert vitrine.compile(loss_of({}))(x, target).isnan()
    assert vitrine.compile(loss_of({"reduction": "sum"}))(x, target) == 0


def test_half_precision():
    x, target = torch.randn(6, CLASSES).bfloat16(), torch.randint(0, CLASSES, (6,))
    torch.testing.assert_close(vitrine.compile(loss_of({}))(x, target), loss_of({})(x, target), rtol=2e-2, atol=2e-2)


def test_two_numbers_a_row_are_kept_and_no_log_softmax():
    """The scores that a product has written are in memory anyway."""
    x, w, target = torch.randn(6, 5, requires_grad=True), torch.randn(200, 5, requires_grad=True), torch.randint(0, 200, (6,))

    def loss(x, w, target):
        return F.cross_entropy(x @ w.t(), target)

    kept = [t for t in vitrine.compile(loss)(x, w, target).grad_fn.kept if t.shape == (6, 200)]
    scores = (x @ w.t()).detach()
    assert len(kept) == 1
    torch.testing.assert_close(kept[0], scores)
