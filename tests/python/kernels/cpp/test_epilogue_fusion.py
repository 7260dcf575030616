"""What follows a product in one kernel with it: values as eager's, and when the two are one kernel."""

import sqlite3

import pytest
import torch
import torch.nn.functional as F
import vitrine
from tests.python.support.recorded import recorded
from vitrine import _engine


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def kernels_of(path):
    return sqlite3.connect(path).execute("SELECT kind, name FROM kernel ORDER BY ordinal").fetchall()


def lanes():
    with open("/proc/cpuinfo") as cpu:
        return [16, 8] if "avx512f" in cpu.read() else [8]


def type_text(t):
    dtype = {torch.float32: "f32", torch.bool: "b1", torch.float64: "f64"}[t.dtype]
    text = dtype + "[" + ",".join(map(str, t.shape)) + "]"
    return text if t.is_contiguous() else text + "{" + ",".join(map(str, t.stride())) + "}"


def run(tmp_path, body, results, inputs, width=0):
    """A graph given as its operators' lines, by dictated kernels; and the kernels that it became."""
    lines = [f"  %{name} = placeholder() : {type_text(t)}" for name, t in inputs.items()]
    text = "graph aten {\n" + "\n".join(lines + ["  " + line for line in body]) + f"\n  return {results}\n}}"
    path = str(tmp_path / "s.vitrine")
    plan = _engine.plan_compile(text, True, str(tmp_path / "objects"), "", path, "generated", width)
    assert _engine.plan_facts(plan)["problems"] == []
    outs = [_engine.plan_run(plan, list(inputs.values())) for _ in range(2)][1]
    return outs, kernels_of(path)


SIZES = [(1, 3, 5), (9, 300, 50), (33, 70, 48), (128, 600, 100)]  # one row is sums, no product


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("m,k,n", SIZES)
def test_bias_and_gelu(tmp_path, width, m, k, n):
    x, w, b = torch.randn(m, k), torch.randn(n, k) / k**0.5, torch.randn(n)
    out = f"f32[{m},{n}]"
    body = [f"%t = aten.t.default(%w) : f32[{k},{n}]{{1,{k}}}", f"%m = aten.addmm.default(%b, %x, %t) : {out}", f"%g = aten.gelu.default(%m) : {out}"]
    (y,), kernels = run(tmp_path, body, "%g", dict(b=b, x=x, w=w), width)
    assert len(kernels) == 1 and kernels[0][1].startswith("product") == (m > 1)
    torch.testing.assert_close(y, F.gelu(F.linear(x, w, b)))


@pytest.mark.parametrize("text", ["ir", "assembly"])
def test_each_line_of_machine_code_leads_to_its_own_operator(tmp_path, text):
    """What follows a product is inlined into it; its lines still say which operator they are of."""
    x, w, b, r = torch.randn(64, 300), torch.randn(300, 50), torch.randn(50), torch.randn(64, 50)
    out = "f32[64,50]"
    body = [
        f"%m = aten.addmm.default(%b, %x, %w) : {out}", f"%g = aten.gelu.default(%m) : {out}",
        f"%s = aten.mul.Tensor(%g, 0.5) : {out}", f"%y = aten.add.Tensor(%s, %r) : {out}",
    ]  # fmt: skip
    run(tmp_path, body, "%y", dict(b=b, x=x, w=w, r=r))
    db = sqlite3.connect(tmp_path / "s.vitrine")
    lines = "SELECT n.op, sum(r.end_line - r.line + 1) FROM kernel_range r JOIN node n ON n.id = r.node WHERE r.text = ? GROUP BY n.op"
    count = dict(db.execute(lines, (text,)))
    assert set(count) == {"aten.mm.default", "aten.erf.default", "aten.mul.Tensor", "aten.add.Tensor"}
    assert count["aten.erf.default"] > 2 * count["aten.mul.Tensor"]  # a polynomial; the sum is stored, too, in parts of vectors


@pytest.mark.parametrize("width", lanes())
@pytest.mark.parametrize("m,k,n", SIZES)
def test_a_residual_a_scale_and_a_number_for_each_row(tmp_path, width, m, k, n):
    a, b, res, per_row = torch.randn(m, k), torch.randn(k, n), torch.randn(m, n), torch.randn(m, 1)
    out = f"f32[{m},{n}]"
    body = [
        f"%p = aten.mm.default(%a, %b) : {out}", f"%s = aten.mul.Tensor(%p, 0.125) : {out}", f"%q = aten.mul.Tensor(%s, %per_row) : {out}",
        f"%r = aten.add.Tensor(%res, %q) : {out}", f"%y = aten.relu.default(%r) : {out}",
    ]  # fmt: skip
    (y,), kernels = run(tmp_path, body, "%y", dict(a=a, b=b, res=res, per_row=per_row), width)
    assert len(kernels) == 1
    torch.testing.assert_close(y, torch.relu(res + a @ b * 0.125 * per_row), atol=1e-4, rtol=1e-5)


def test_a_batch_of_products_is_scaled(tmp_path):
    a, b, mask = torch.randn(6, 20, 300), torch.randn(6, 300, 51), torch.randn(20, 51)
    body = ["%p = aten.bmm.default(%a, %b) : f32[6,20,51]", "%s = aten.mul.Tensor(%p, 0.5) : f32[6,20,51]", "%y = aten.add.Tensor(%s, %mask) : f32[6,20,51]"]
    (y,), kernels = run(tmp_path, body, "%y", dict(a=a, b=b, mask=mask))
    assert len(kernels) == 1
    torch.testing.assert_close(y, a @ b * 0.5 + mask, atol=1e-4, rtol=1e-5)


def test_values_on_the_way_are_results_too(tmp_path):
    """A training step keeps what stands before the activation, and a mask."""
    a, b, bias = torch.randn(30, 300), torch.randn(300, 50), torch.randn(50)
    body = [
        "%p = aten.mm.default(%a, %b) : f32[30,50]", "%h = aten.add.Tensor(%p, %bias) : f32[30,50]",
        "%y = aten.relu.default(%h) : f32[30,50]", "%on = aten.gt.Scalar(%h, 0) : b1[30,50]",
    ]  # fmt: skip
    (y, h, on), kernels = run(tmp_path, body, "%y, %h, %on", dict(a=a, b=b, bias=bias))
    assert len(kernels) == 1
    torch.testing.assert_close(h, a @ b + bias, atol=1e-4, rtol=1e-5)
    assert torch.equal(y, h.relu()) and torch.equal(on, h > 0)


@pytest.mark.parametrize(
    "body,results",
    [
        (["%y = aten.relu.default(%p) : f32[30,50]"], "%y, %p"),  # the product itself is a result
        (["%y = aten.relu.default(%p) : f32[30,50]", "%z = aten.sum.dim_IntList(%p, [1]) : f32[30]"], "%y, %z"),
        (["%y = aten.gt.Scalar(%p, 0) : b1[30,50]"], "%y"),  # no f32 is written
        (["%y = aten.t.default(%p) : f32[50,30]{1,50}", "%z = aten.add.Tensor(%y, %o) : f32[50,30]"], "%z"),
    ],
)
def test_a_product_that_others_see_stays_apart(tmp_path, body, results):
    a, b, o = torch.randn(30, 300), torch.randn(300, 50), torch.randn(50, 30)
    outs, kernels = run(tmp_path, ["%p = aten.mm.default(%a, %b) : f32[30,50]", *body], results, dict(a=a, b=b, o=o))
    assert len(kernels) >= 2
    p = a @ b
    expected = {"%y, %p": [p.relu(), p], "%y, %z": [p.relu(), p.sum(1)], "%y": [p > 0], "%z": [p.t() + o]}[results]
    for y, e in zip(outs, expected):
        torch.testing.assert_close(y, e, atol=1e-4, rtol=1e-5)


def test_an_input_that_is_written_is_read_whole_before(tmp_path):
    """The update of a weight from a product with itself: no tile may see what another has written."""
    w, x = torch.randn(300, 300), torch.randn(300, 300)
    out = "f32[300,300]"
    body = [f"%p = aten.mm.default(%w, %x) : {out}", f"%y = aten.sub.Tensor(%w, %p) : {out}", f"%c = aten.copy_.default(%w, %y) : {out}"]
    expected = w - w @ x
    lines = [f"  %{name} = placeholder() : {out}" for name in "wx"] + ["  " + line for line in body]
    text = "graph aten {\n" + "\n".join(lines) + "\n  return\n}"
    plan = _engine.plan_compile(text, True, str(tmp_path / "objects"), "", "", "generated", 0)
    _engine.plan_run(plan, [w, x])
    torch.testing.assert_close(w, expected, atol=1e-4, rtol=1e-5)


def test_nans_and_infinities_pass(tmp_path):
    a, b = torch.randn(20, 300), torch.randn(300, 50)
    a[3, 7], a[11, 299], b[5, 49] = float("nan"), float("inf"), float("-inf")
    body = ["%p = aten.mm.default(%a, %b) : f32[20,50]", "%y = aten.relu.default(%p) : f32[20,50]"]
    (y,), kernels = run(tmp_path, body, "%y", dict(a=a, b=b))
    eager = (a @ b).relu()
    assert len(kernels) == 1 and torch.equal(y.isnan(), eager.isnan()) and torch.equal(y.isinf(), eager.isinf())


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(6, 20, 3, padding=1, bias=False), torch.nn.BatchNorm2d(20)

    def forward(self, x, residual):
        return F.relu(self.norm(self.conv(x)) + residual)


@torch.no_grad()
def test_batch_norm_residual_and_relu_join_the_convolution(tmp_path):
    """The norm's numbers are read at every call: nothing is kept that a write, however it is made, could overtake."""
    block = Block().eval()
    for t in (block.norm.running_mean, block.norm.running_var, block.norm.weight, block.norm.bias):
        t.uniform_(0.5, 1.5)
    x, residual = torch.randn(2, 6, 9, 9), torch.randn(2, 20, 9, 9)
    with recorded(tmp_path) as session:
        compiled = vitrine.compile(block, options={"products": "generated"})
        torch.testing.assert_close(compiled(x, residual), block(x, residual))
    generated = [name for kind, name in kernels_of(session.path) if kind == "generated"]
    # The norm's factor for each channel is computed where it is used.
    assert generated == ["convolution_batch_norm_add_relu"]
    changes = [lambda: block.norm.weight.mul_(2), lambda: block.conv.weight.data.add_(0.1), lambda: block.norm.running_var.numpy().__setitem__(3, 9.0)]
    for change in changes:
        change()
        torch.testing.assert_close(compiled(x, residual), block(x, residual))


def test_both_in_one_kernel_are_measured_beside_the_others(tmp_path):
    a, b = torch.randn(64, 256), torch.randn(256, 240)
    text = (
        f"graph aten {{\n  %a = placeholder() : {type_text(a)}\n  %b = placeholder() : {type_text(b)}\n"
        "  %p = aten.mm.default(%a, %b) : f32[64,240]\n  %y = aten.gelu.default(%p) : f32[64,240]\n  return %y\n}"
    )
    path = str(tmp_path / "s.vitrine")
    plan = _engine.plan_compile(text, True, str(tmp_path / "objects"), "", path, "measured", 0)
    torch.testing.assert_close(_engine.plan_run(plan, [a, b])[0], F.gelu(a @ b))
    rows = sqlite3.connect(path).execute("SELECT candidate, ns, chosen FROM choice ORDER BY ordinal").fetchall()
    assert rows[0][0] == "PyTorch" and rows[-1][0].endswith(", one kernel with what follows")
    (chosen,) = [row for row in rows if row[2]]
    assert chosen[1] == min(row[1] for row in rows)
    joined = chosen is rows[-1]
    assert len(kernels_of(path)) == (1 if joined else 2)
    verdicts = sqlite3.connect(path).execute("SELECT verdict FROM fusion_decision WHERE kind = 'epilogue'").fetchall()
    assert set(verdicts) == {("fused" if joined else "rejected",)}
