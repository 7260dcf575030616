"""Matrix products by our own kernel: values as PyTorch's, at every edge of a tile, and the choice between the two."""

import re
import sqlite3
import subprocess

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


def tiles():
    """Vectors of a width with each tile for it: AVX2's everywhere, AVX-512's where this machine has it."""
    return [(8, "6 x 16"), (8, "4 x 24")] + ([(16, "8 x 48"), (16, "6 x 64")] if 16 in lanes() else [])


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


def run(objects, width, call, kernels=1, products="generated", **operands):
    """One operator, `call`, of named operands."""
    lines = [f"  %{name} = placeholder() : {type_text(t)}" for name, t in operands.items()]
    text = "graph aten {\n" + "\n".join(lines) + f"\n  %y = {call}\n  return %y\n}}"
    plan = _engine.plan_compile(text, True, objects, "", "", products, width)
    assert _engine.plan_facts(plan)["kernels"] == kernels and _engine.plan_facts(plan)["problems"] == []
    return _engine.plan_run(plan, list(operands.values()))[0]


def compiled(objects, width, *operands, session="", products="generated"):
    return _engine.plan_compile(graph(*operands), True, objects, "", session, products, width)


def product(objects, width, a, b, bias=None, products="generated"):
    plan = compiled(objects, width, a, b, bias, products=products)
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


SHAPES = [(1, 1, 1), (1, 7, 5), (8, 1, 48), (9, 17, 49), (7, 256, 16), (16, 257, 95), (3, 5000, 3), (50, 64, 96), (129, 33, 47), (21, 300, 100)]


@pytest.mark.parametrize("width,tile", tiles())
@pytest.mark.parametrize("m,k,n", SHAPES)
def test_every_edge_of_a_tile(objects, width, tile, m, k, n):
    a, b, w = torch.randn(m, k), torch.randn(k, n), torch.randn(n, k)
    check(product(objects, width, a, b, products=tile), a, b)
    check(product(objects, width, a, w.t(), products=tile), a, w.t())
    bias = torch.randn(n)
    check(product(objects, width, a, w.t(), bias, products=tile), a, w.t(), bias)


@pytest.mark.parametrize("width,tile", tiles())
@pytest.mark.parametrize("m,k,n", [(5, 3, 200), (255, 258, 145), (258, 512, 97), (600, 513, 200)])
def test_rows_that_many_panels_read(objects, width, tile, m, k, n):
    """More rows than are packed at a time, sums of more than one depth, rows and columns left over, in every layout."""
    a, b, bias = torch.randn(m, k), torch.randn(k, n), torch.randn(n)
    apart = torch.randn(m, 2 * k)[:, ::2]
    for left in (a, a.t().contiguous().t(), apart):
        for right in (b, b.t().contiguous().t()):
            check(product(objects, width, left, right, bias, products=tile), left, right, bias)


def test_sizes_that_change_meet_every_edge_of_one_kernel():
    product = vitrine.compile(torch.matmul, dynamic=True, options={"products": "generated"})
    for m, k, n in [(16, 32, 96), *SHAPES[3:]]:
        a, b = torch.randn(m, k), torch.randn(k, n)
        check(product(a, b), a, b)


def test_a_left_factor_that_caches_do_not_hold(objects):
    a, b = torch.randn(257, 16500), torch.randn(257, 100)
    check(product(objects, 0, a.t(), b), a.t(), b)


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("batch,m,k,n", [(1, 3, 4, 5), (3, 17, 65, 49), (5, 1, 300, 70)])
def test_a_batch_of_products(objects, width, batch, m, k, n):
    a, b = torch.randn(batch, m, k), torch.randn(batch, k, n)
    for left in (a, torch.randn(m, batch, k).transpose(0, 1), torch.randn(batch, k, m).mT, a[:1].expand(batch, m, k)):
        for right in (b, torch.randn(batch, n, k).mT, b[:1].expand(batch, k, n)):
            check(run(objects, width, f"aten.bmm.default(%a, %b) : f32[{batch},{m},{n}]", a=left, b=right), left, right)


# channels, out channels, image, window, stride, padding, dilation, groups
CONVOLUTIONS = [
    (3, 8, (1, 9, 11), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (16, 33, (2, 7, 7), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (16, 24, (1, 14, 14), (1, 1), (2, 2), (0, 0), (1, 1), 1),
    (5, 6, (2, 30, 17), (7, 5), (2, 3), (3, 2), (1, 1), 1),
    (8, 12, (1, 20, 20), (3, 3), (1, 1), (4, 0), (2, 3), 2),
    (40, 17, (1, 50, 50), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (6, 6, (3, 5, 64), (1, 2), (1, 1), (0, 1), (1, 1), 3),
    (32, 20, (2, 7, 7), (3, 3), (1, 1), (1, 1), (1, 1), 1),
]


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("biased", [False, True])
def test_a_convolution(objects, width, case, biased):
    channels, filters, (images, height, across), window, stride, padding, dilation, groups = case
    x = torch.randn(images, channels, height, across)
    w = torch.randn(filters, channels // groups, *window)
    bias = torch.randn(filters) if biased else None
    eager = torch.nn.functional.conv2d(x, w, bias, stride, padding, dilation, groups)
    exact = torch.nn.functional.conv2d(x.double(), w.double(), None if bias is None else bias.double(), stride, padding, dilation, groups)
    call = (
        f"aten.convolution.default(%x, %w, {'%bias' if biased else 'None'}, {list(stride)}, {list(padding)}, {list(dilation)}, "
        f"False, [0, 0], {groups}) : {type_text(eager)}"
    )
    y = run(objects, width, call, x=x, w=w, **({"bias": bias} if biased else {}))
    assert y.stride() == eager.stride()
    torch.testing.assert_close(y.double(), exact, atol=1e-5 * exact.abs().max().item(), rtol=1e-5)


def test_a_convolution_of_other_layouts_stays_with_pytorch(objects):
    x, w = torch.randn(2, 8, 9, 9).to(memory_format=torch.channels_last), torch.randn(4, 8, 3, 3)
    eager = torch.nn.functional.conv2d(x, w)
    call = f"aten.convolution.default(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1) : {type_text(eager)}"
    y = run(objects, 0, call, kernels=0, x=x, w=w)
    assert torch.equal(y, eager) and y.stride() == eager.stride()


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


def choices_of(path):
    """(kind of the kernel, its choice remark, rows of the candidates) of a session's one product."""
    session = sqlite3.connect(path)
    ((kind, said),) = session.execute(
        "SELECT kernel.kind, remark.text FROM remark JOIN kernel ON kernel.id = remark.kernel WHERE pass = 'choice'"
    ).fetchall()
    return kind, said, session.execute("SELECT candidate, ns, chosen, threads, source FROM choice ORDER BY ordinal").fetchall()


def test_the_choice_and_all_times_are_recorded(objects, tmp_path):
    a, b = torch.randn(128, 256), torch.randn(256, 240)
    path = str(tmp_path / "s.vitrine")
    plan = compiled(objects, 0, a, b, session=path, products="measured")
    check(_engine.plan_run(plan, [a, b])[0], a, b)
    kind, said, rows = choices_of(path)
    assert said.startswith("our kernel: " if kind == "generated" else "PyTorch's: ")
    assert re.search(r"PyTorch \d+\.\d{3} ms, .* on \d+ thread", said)
    assert rows[0][0] == "PyTorch" and len(rows) >= 2 and all(ns > 0 for _, ns, *_ in rows)
    (chosen,) = [row for row in rows if row[2]]
    assert chosen[1] == min(row[1] for row in rows) and (chosen[0] != "PyTorch") == (kind == "generated")
    assert {row[4] for row in rows} == {"measured"}
    shown = subprocess.run(["vitrine", "show", path, "choices"], capture_output=True, text=True)
    assert shown.returncode == 0 and all(row[0] in shown.stdout for row in rows) and "chosen" in shown.stdout


def test_a_product_too_large_to_be_tried_is_chosen_by_a_smaller_one(objects, tmp_path):
    a, b = torch.randn(8, 500), torch.randn(500, 140_001)  # 280 MB
    path = str(tmp_path / "s.vitrine")
    plan = compiled(objects, 0, a, b, session=path, products="measured")
    rows = choices_of(path)[2]
    assert len(rows) >= 2 and all(ns > 0 for _, ns, *_ in rows) and {row[4] for row in rows} == {"measured"}
    y = _engine.plan_run(plan, [a, b])[0]
    for columns in (slice(0, 100), slice(-100, None)):
        check(y[:, columns].contiguous(), a, b[:, columns].contiguous())


def test_a_measured_choice_is_kept_for_later_processes(tmp_path):
    a, b = torch.randn(128, 256), torch.randn(256, 224)
    cache = tmp_path / "cache"
    paths = [str(tmp_path / f"{i}.vitrine") for i in range(3)]
    compiled(str(cache), 0, a, b, session=paths[0], products="measured")
    compiled(str(cache), 0, a, b, session=paths[1], products="measured")
    (kept,) = (cache / "choices").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"end", b"en"))  # damaged: as if it were not there
    compiled(str(cache), 0, a, b, session=paths[2], products="measured")
    rows = [choices_of(path)[2] for path in paths]
    assert [{row[4] for row in r} for r in rows] == [{"measured"}, {"kept"}, {"measured"}]
    assert [row[:3] for row in rows[0]] == [row[:3] for row in rows[1]]


def test_a_dictated_choice_is_recorded_without_times(objects, tmp_path):
    a, b = torch.randn(30, 20), torch.randn(20, 50)
    path = str(tmp_path / "s.vitrine")
    compiled(objects, 0, a, b, session=path)
    kind, said, rows = choices_of(path)
    assert kind == "generated" and said == "our kernel, without measuring"
    assert [(row[1], row[2], row[4]) for row in rows] == [(0, 1, "dictated")]


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
    assert _engine.plan_facts(plan)["kernels"] == 2  # gelu is computed where the product is
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
