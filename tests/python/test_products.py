"""Matrix products by our own kernel: values as PyTorch's, at every edge of a tile, and the choice between the two."""

import sqlite3

import pytest
import torch
import vitrine
from vitrine import _engine


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return str(tmp_path_factory.mktemp("objects"))


def lanes():
    """AVX2's width everywhere, AVX-512's where this machine has it."""
    with open("/proc/cpuinfo") as cpu:
        return [16, 8] if "avx512f" in cpu.read() else [8]


def type_text(t):
    text = "f32[" + ",".join(map(str, t.shape)) + "]"
    return text if t.is_contiguous() else text + "{" + ",".join(map(str, t.stride())) + "}"


def graph(a, b, bias=None):
    lines = [f"  %a = placeholder() : {type_text(a)}", f"  %b = placeholder() : {type_text(b)}"]
    out = f"f32[{a.shape[0]},{b.shape[1]}]"
    if bias is None:
        lines.append(f"  %y = aten.mm.default(%a, %b) : {out}")
    else:
        lines.insert(0, f"  %c = placeholder() : {type_text(bias)}")
        lines.append(f"  %y = aten.addmm.default(%c, %a, %b) : {out}")
    return "graph aten {\n" + "\n".join(lines) + "\n  return %y\n}"


def compiled(objects, width, *operands, session="", products="generated"):
    return _engine.plan_compile(graph(*operands), True, objects, "", session, products, width)


def product(objects, width, a, b, bias=None):
    plan = compiled(objects, width, a, b, bias)
    assert _engine.plan_facts(plan)["kernels"] == 1 and _engine.plan_facts(plan)["problems"] == []
    (y,) = _engine.plan_run(plan, [a, b] if bias is None else [bias, a, b])
    return y


def check(y, a, b, bias=None):
    """Not much further from the exact result than PyTorch's own."""
    exact = a.double() @ b.double() + (0 if bias is None else bias.double())
    eager = a @ b if bias is None else torch.addmm(bias, a, b)
    assert y.shape == eager.shape and y.stride() == eager.stride()
    error, allowed = (y - exact).abs().max(), 4 * (eager - exact).abs().max()
    assert error <= allowed + 1e-6 * exact.abs().max()


SHAPES = [(1, 1, 1), (1, 7, 5), (8, 1, 48), (9, 17, 49), (7, 256, 16), (16, 257, 95), (3, 5000, 3), (50, 64, 96), (129, 33, 47)]


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("m,k,n", SHAPES)
def test_every_edge_of_a_tile(objects, width, m, k, n):
    a, b, w = torch.randn(m, k), torch.randn(k, n), torch.randn(n, k)
    check(product(objects, width, a, b), a, b)
    check(product(objects, width, a, w.t()), a, w.t())
    bias = torch.randn(n)
    check(product(objects, width, a, w.t(), bias), a, w.t(), bias)


@pytest.mark.parametrize("width", lanes())
def test_factors_of_any_strides(objects, width):
    big = torch.randn(200, 300)
    for a in (big[:37, :70], big.t()[:37, :70], big[::3, 1:211:3][:37, :70], big[:1].expand(37, 300)[:, :70]):
        for b in (big[:70, :50], big.t()[:70, :50], big[:140:2, ::5][:, :50], big[:70, :1].expand(70, 50)):
            check(product(objects, width, a, b), a, b)


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("shape", [(50,), (1, 50), (21, 50)])
def test_a_bias_that_broadcasts_over_rows(objects, width, shape):
    a, b, bias = torch.randn(21, 300), torch.randn(300, 50), torch.randn(*shape)
    check(product(objects, width, a, b, bias), a, b, bias)


@pytest.mark.parametrize("width", lanes())
def test_infinities_and_nans_stay_in_their_rows_and_columns(objects, width):
    a, b = torch.randn(20, 300), torch.randn(300, 50)
    a[3, 7], a[11, 299], b[5, 49], b[260, 2] = float("nan"), float("inf"), float("-inf"), float("nan")
    y, eager = product(objects, width, a, b), a @ b
    assert torch.equal(y.isnan(), eager.isnan())
    assert torch.equal(y.isposinf(), eager.isposinf()) and torch.equal(y.isneginf(), eager.isneginf())


@pytest.mark.parametrize("shape", [((0, 4), (4, 3)), ((2, 0), (0, 3)), ((2, 4), (4, 0))])
def test_an_empty_product_stays_with_pytorch(objects, shape):
    a, b = torch.randn(*shape[0]), torch.randn(*shape[1])
    plan = compiled(objects, 0, a, b)
    assert _engine.plan_facts(plan)["kernels"] == 0
    assert torch.equal(_engine.plan_run(plan, [a, b])[0], a @ b)


@pytest.mark.parametrize("bias", [torch.randn(21, 1), torch.randn(1), torch.randn(100)[::2]])
def test_a_bias_without_columns_side_by_side_stays_with_pytorch(objects, bias):
    a, b = torch.randn(21, 30), torch.randn(30, 50)
    plan = compiled(objects, 0, a, b, bias)
    torch.testing.assert_close(_engine.plan_run(plan, [bias, a, b])[0], torch.addmm(bias, a, b))


def test_a_weight_is_read_at_every_call(objects):
    """However it is written: nothing of it is kept between calls."""
    a, w = torch.randn(64, 96), torch.nn.Parameter(torch.randn(80, 96))
    plan = compiled(objects, 0, a, w.detach().t())
    for change in (lambda: None, lambda: w.data.mul_(2), lambda: w.detach().numpy().__setitem__((3, 5), 7.0)):
        change()
        check(_engine.plan_run(plan, [a, w.detach().t()])[0], a, w.detach().t())


def test_the_choice_and_both_times_are_recorded(objects, tmp_path):
    a, b = torch.randn(128, 256), torch.randn(256, 256)
    path = str(tmp_path / "s.vitrine")
    plan = compiled(objects, 0, a, b, session=path, products="measured")
    check(_engine.plan_run(plan, [a, b])[0], a, b)
    rows = sqlite3.connect(path).execute(
        "SELECT kernel.kind, remark.text FROM remark JOIN kernel ON kernel.id = remark.kernel WHERE pass = 'choice'"
    ).fetchall()
    ((kind, said),) = rows
    assert said.startswith("our kernel: " if kind == "generated" else "PyTorch's: ")
    assert "generated 0." in said and ", PyTorch 0." in said and "thread" in said


def test_a_small_product_is_not_measured(objects):
    a, b = torch.randn(4, 4), torch.randn(4, 4)
    assert _engine.plan_facts(compiled(objects, 0, a, b, products="measured"))["kernels"] == 0


def test_a_product_between_other_kernels(objects):
    text = (
        "graph aten {\n  %x = placeholder() : f32[33,70]\n  %w = placeholder() : f32[50,70]\n"
        "  %r = aten.relu.default(%x) : f32[33,70]\n  %t = aten.t.default(%w) : f32[70,50]{1,70}\n"
        "  %m = aten.mm.default(%r, %t) : f32[33,50]\n  %g = aten.gelu.default(%m) : f32[33,50]\n  return %g\n}"
    )
    x, w = torch.randn(33, 70), torch.randn(50, 70)
    plan = _engine.plan_compile(text, True, objects, "", "", "generated", 0)
    assert _engine.plan_facts(plan)["kernels"] == 3
    for _ in range(2):
        (y,) = _engine.plan_run(plan, [x, w])
        torch.testing.assert_close(y, torch.nn.functional.gelu(x.relu() @ w.t()))


def test_a_caller_may_dictate_the_choice():
    layer, x = torch.nn.Linear(300, 500), torch.randn(200, 300)
    with torch.no_grad():
        assert torch.equal(vitrine.compile(layer, options={"products": "library"})(x), layer(x))
        ours = vitrine.compile(layer, options={"products": "generated"})
        for change in (lambda: None, lambda: layer.weight.data.mul_(2), lambda: layer.weight.add_(1), layer.double, layer.float):
            change()
            given = x.to(layer.weight.dtype)
            torch.testing.assert_close(ours(given), layer(given), atol=1e-3, rtol=1e-4)
    with pytest.raises(ValueError, match="'products' takes measured, generated, library, not 'fast'"):
        vitrine.compile(layer, options={"products": "fast"})
