"""The same computation over many tensors is one launch: an optimizer's updates, whatever the tensors' sizes and layouts."""

import json
import sqlite3

import pytest
import torch
import vitrine
from tests.python.support.codegen_harness import GraphWriter, tool
from tests.python.support.cuda_on_cpu import check
from tests.python.support.recorded import recorded
from vitrine import _engine, config

SHAPES = [(), (1,), (3,), (16,), (17,), (5, 7), (1, 2049), (64, 33), (4096,), (2, 3, 4)]


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)


def launches(session):
    """What the last compilation launches."""
    last = max(row["compilation"] for row in session.rows("launch"))
    return session.rows("launch", compilation=last)


def updated(make_optimizer, make_parameters, compile, steps=3, each=lambda optimizer, i: None):
    torch.manual_seed(1)
    parameters = make_parameters()
    optimizer = make_optimizer(parameters)
    step = compile(optimizer.step)
    for i in range(steps):
        for p in parameters:
            p.grad = torch.empty_like(p).normal_()
        each(optimizer, i)
        step()
    return [p.detach() for p in parameters], [optimizer.state[p] for p in parameters]


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD, momentum, decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, foreach=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW, amsgrad, foreach": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_tensors_of_odd_sizes(tmp_path, name):
    def parameters():
        return [torch.randn(s).requires_grad_() for s in SHAPES]

    def slower(optimizer, i):
        optimizer.param_groups[0]["lr"] *= 0.5

    expected = updated(OPTIMIZERS[name], parameters, lambda f: f, each=slower)
    with recorded(tmp_path) as session:
        found = updated(OPTIMIZERS[name], parameters, vitrine.compile, each=slower)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert len(launches(session)) <= 4
    assert "8 tensors of 8352" in {k["space"] for k in session.rows("kernel")}  # all but the two of one number


def test_layouts_that_are_not_walked_in_order_stand_apart(tmp_path):
    def parameters():
        plain = [torch.randn(6, 5) for _ in range(3)]
        turned = [torch.randn(5, 6).t() for _ in range(2)]
        sliced = [torch.randn(6, 10)[:, ::2], torch.randn(40)[3:33].view(6, 5)]
        return [p.detach().requires_grad_() for p in (*plain, *turned, *sliced)]

    expected = updated(OPTIMIZERS["SGD, momentum, decay"], parameters, lambda f: f)
    with recorded(tmp_path) as session:
        found = updated(OPTIMIZERS["SGD, momentum, decay"], parameters, vitrine.compile)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert "5 tensors of 150" in {k["space"] for k in session.rows("kernel")}


def test_parameters_that_share_memory():
    def overlapping():
        base = torch.randn(12)
        return [base[:8].requires_grad_(), base[4:].requires_grad_()]

    expected = updated(OPTIMIZERS["SGD"], overlapping, lambda f: f)
    torch.testing.assert_close(updated(OPTIMIZERS["SGD"], overlapping, vitrine.compile), expected)


def crosswise(a, b, c):
    """Alike, and each reads what another writes."""
    new_a, new_b, new_c = b * 2 + 1, c * 2 + 1, a * 2 + 1
    a.copy_(new_a)
    b.copy_(new_b)
    c.copy_(new_c)


def in_turn(a, b, c):
    """Alike, but each needs the one before."""
    b.copy_(a * 2 + 1)
    c.copy_(b * 2 + 1)
    a.copy_(c * 2 + 1)


@pytest.mark.parametrize("function", [crosswise, in_turn])
def test_what_reads_anothers_target(function):
    tensors = [torch.randn(5000) for _ in range(3)]
    again = [t.clone() for t in tensors]
    compiled = vitrine.compile(function)
    for _ in range(3):
        function(*tensors)
        compiled(*again)
        torch.testing.assert_close(again, tensors)


def test_large_values_do_not_wait_for_others(tmp_path):
    """What is computed on the way stays where it is: waiting would keep its memory."""

    def f(*xs):
        total = 0
        for x in xs:
            total = total + (x @ x).exp().mul(2).sum(1) @ x
        return total

    xs = [torch.randn(200, 200) / 20 for _ in range(3)]
    with recorded(tmp_path) as session:
        torch.testing.assert_close(vitrine.compile(f)(*xs), f(*xs), rtol=1e-3, atol=1e-3)
    assert not [d for d in session.rows("fusion_decision") if "other tensors" in d["reason"]]


def test_the_verdict_and_each_tensors_operators_are_in_the_session(tmp_path):
    def f(*xs):
        for x in xs:
            x.mul_(3).sub_(1)

    with recorded(tmp_path) as session:
        vitrine.compile(f)(*(torch.randn(n) for n in (5, 300, 7000)))
    verdicts = [d for d in session.rows("fusion_decision", kind="horizontal", verdict="fused") if "one launch for 3" in d["reason"]]
    assert len(verdicts) == 2
    kernel = session.one("kernel")
    assert kernel["space"] == "3 tensors of 7305"
    db = sqlite3.connect(session.path)
    nodes = "SELECT count(DISTINCT r.node), count(DISTINCT n.op) FROM kernel_range r JOIN node n ON n.id = r.node WHERE r.text = 'source'"
    assert db.execute(nodes).fetchone() == (6, 2)


def test_sizes_that_change_need_no_other_kernel(tmp_path):
    def f(*xs):
        for x in xs:
            x.mul_(3).sub_(1)

    compiled = vitrine.compile(f, dynamic=True)
    with recorded(tmp_path) as session:
        for sizes in ((5, 300), (18, 2), (7000, 33)):
            xs = [torch.randn(n) for n in sizes]
            expected = [x * 3 - 1 for x in xs]
            compiled(*xs)
            torch.testing.assert_close(xs, expected)
    assert len({k["source"] for k in session.rows("kernel")}) == 1


def test_a_gpus_kernel_takes_pointers_and_sizes_in_one_argument(tmp_path):
    """Many tensors: two launches, because a kernel's arguments hold about 4 kB; it compiles, and spills nothing."""
    if _engine.cuda_target_problem("sm_90", config.nvrtc):
        pytest.skip("NVRTC is not here")
    sizes = [n * 37 + 2 for n in range(150)]
    lines = []
    for i, n in enumerate(sizes):
        t = f"f32[{n}]cuda:0"
        lines += [f"  %x{i} = placeholder() : {t}", f"  %g{i} = placeholder() : {t}"]
    for i, n in enumerate(sizes):
        t = f"f32[{n}]cuda:0"
        lines += [f"  %a{i} = aten.mul.Tensor(%g{i}, 0.1) : {t}", f"  %b{i} = aten.sub.Tensor(%x{i}, %a{i}) : {t}"]
    for i, n in enumerate(sizes):
        lines.append(f"  %c{i} = aten.copy_.default(%x{i}, %b{i}) : f32[{n}]cuda:0")
    text = "graph aten {\n" + "\n".join(lines) + "\n  return %c0\n}\n"
    program = json.loads(tool("json", text))
    kernels = [k for k in program["kernels"] if "members" in k["text"]]
    assert len(kernels) == 2 and len([s for s in program["steps"] if s["kernel"] >= 0]) == 2
    cubin, _, log, report = _engine.cuda_compile(kernels[0]["text"], "sm_90", config.nvrtc)
    assert report["registers"] > 0 and report["spill_bytes"] == 0, log


def test_what_a_gpus_kernel_computes(tmp_path):
    """Odd sizes, several blocks, pointers that are not aligned; run by threads that the CPU plays."""
    g = GraphWriter()
    store = torch.randn(20000)
    results = []
    for i, n in enumerate([2, 5, 64, 257, 4096, 4097, 9001]):
        x, y = g.input(store[i + 1 : i + 1 + n].clone()), g.input(torch.randn(n))
        results.append(g.op("aten.sub.Tensor", g.op("aten.mul.Tensor", x, y), x))
    program = check(g, results, tmp_path)
    assert len(program.p["kernels"]) == 1 and program.p["kernels"][0]["blocks"] == 10


def test_a_number_in_the_hosts_memory_goes_to_a_gpu_by_value():
    if _engine.cuda_target_problem("sm_90", config.nvrtc):
        pytest.skip("NVRTC is not here")
    text = """graph aten {
  %lr = placeholder() : f64[]
  %x = placeholder() : f32[100]cuda:0
  %y = placeholder() : f32[7,3]cuda:0
  %m = placeholder() : f32[64,32]cuda:0
  %n = aten.neg.default(%lr) : f64[]
  %a = aten.mul.Tensor(%x, %n) : f32[100]cuda:0
  %b = aten.mul.Tensor(%y, %n) : f32[7,3]cuda:0
  %c = aten.mul.Tensor(%m, %lr) : f32[64,32]cuda:0
  %s = aten.sum.dim_IntList(%c, [1]) : f32[64]cuda:0
  return %a, %b, %s
}
"""
    program = json.loads(tool("json", text))
    on_cpu, united, summed = (k["text"] for k in program["kernels"])
    assert "__global__" not in on_cpu and "f64 value_lr" in summed and "&members.own[m]" in united
    for kernel in (united, summed):
        _, _, log, report = _engine.cuda_compile(kernel, "sm_90", config.nvrtc)
        assert report["registers"] > 0 and report["spill_bytes"] == 0, log
