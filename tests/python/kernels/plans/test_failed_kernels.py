"""A kernel that cannot be compiled: its operators alone run through PyTorch, and a problem says so."""

import sqlite3
import sys
from pathlib import Path

import pytest
import torch
from vitrine import _engine

# A kernel compiler that hands everything to the real one, but refuses sources with a given word.
PROXY = """#!{python}
import json, struct, subprocess, sys
real = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def read(f):
    head = f.read(4)
    return f.read(struct.unpack("<I", head)[0]) if len(head) == 4 else None
def write(f, body):
    f.write(struct.pack("<I", len(body)) + body)
    f.flush()
while (body := read(sys.stdin.buffer)) is not None:
    request = json.loads(body)
    if {word!r} in request.get("source", ""):
        request["source"] = "#error refused\\n" + request["source"]
    write(real.stdin, json.dumps(request).encode())
    write(sys.stdout.buffer, read(real.stdout))
"""


@pytest.fixture
def refusing(tmp_path):
    real = next(p for folder in Path(_engine.__file__).parents for p in (folder / "bin/vitrine-cc", folder / "vitrine-cc") if p.is_file())

    def make(word):
        path = tmp_path / "proxy-cc"
        path.write_text(PROXY.format(python=sys.executable, real=str(real), word=word))
        path.chmod(0o755)
        return str(path)

    return make


# Two kernels: a row's softmax, and the product's follower, with PyTorch's product between.
TWO = """graph aten {
  %x = placeholder() : f32[8,16]
  %w = placeholder() : f32[16,16]
  %e = aten.exp.default(%x) : f32[8,16]
  %a = aten.mul.Tensor(%e, 3.0) : f32[8,16]
  %m = aten.mm.default(%a, %w) : f32[8,16]
  %s = aten.tanh.default(%m) : f32[8,16]
  %t = aten.add.Tensor(%s, 1.0) : f32[8,16]
  return %t, %a
}"""


def check_two(plan):
    x, w = torch.randn(8, 16), torch.randn(16, 16)
    t, a = _engine.plan_run(plan, [x, w])
    torch.testing.assert_close(a, x.exp() * 3)
    torch.testing.assert_close(t, (a @ w).tanh() + 1)


def test_the_others_keep_their_kernels(tmp_path, refusing):
    whole = _engine.plan_facts(_engine.plan_compile(TWO, True, str(tmp_path / "a"), "", "", "library"))
    assert whole["kernels"] == 2 and not whole["problems"]
    plan = _engine.plan_compile(TWO, True, str(tmp_path / "b"), refusing("tanh"), "", "library")
    check_two(plan)
    facts = _engine.plan_facts(plan)
    assert facts["kernels"] == 1 and facts["launches"] == 4  # exp and mul, mm, tanh, add
    ((said, reproducer),) = facts["problems"]
    assert "could not be compiled" in said and "refused" in said
    assert "tanh" in open(reproducer).read()


def test_a_candidate_without_code_is_no_candidate(tmp_path, refusing):
    n = 96
    text = f"""graph aten {{
  %x = placeholder() : f32[{n},{n}]
  %w = placeholder() : f32[{n},{n}]
  %m = aten.mm.default(%x, %w) : f32[{n},{n}]
  %s = aten.relu.default(%m) : f32[{n},{n}]
  return %s
}}"""
    plan = _engine.plan_compile(text, True, str(tmp_path / "a"), "", "", "generated")
    assert _engine.plan_facts(plan)["launches"] == 1
    plan = _engine.plan_compile(text, True, str(tmp_path / "b"), refusing("panel"), "", "generated")
    x, w = torch.randn(n, n), torch.randn(n, n)
    torch.testing.assert_close(_engine.plan_run(plan, [x, w])[0], (x @ w).relu())
    facts = _engine.plan_facts(plan)
    assert facts["launches"] == 2 and facts["kernels"] == 1 and facts["problems"]


def test_a_recorded_problem_is_a_message(tmp_path, refusing):
    path = str(tmp_path / "s.vitrine")
    check_two(_engine.plan_compile(TWO, True, str(tmp_path), refusing("tanh"), path, "library"))
    db = sqlite3.connect(path)
    ((text, severity),) = db.execute("select text, severity from message")
    assert "could not be compiled" in text and severity == "warning"
    assert db.execute("select count(*) from launch").fetchone() == (4,)
    assert db.execute("select count(*) from kernel where kind = 'generated'").fetchone() == (1,)


def test_writes_to_inputs_and_reductions(tmp_path, refusing):
    text = """graph aten {
  %x = placeholder() : f32[4,6]
  %y = placeholder() : f32[4,6]
  %a = aten.add_.Tensor(%x, %y) : f32[4,6]
  %b = aten.tanh.default(%a) : f32[4,6]
  %s = aten.sum.dim_IntList(%b, [1], True) : f32[4,1]
  %d = aten.div.Tensor(%b, %s) : f32[4,6]
  %c = aten.mul_.Tensor(%x, 2.0) : f32[4,6]
  %z = aten.sin.default(%y) : f32[4,6]
  return %d, %z
}"""
    plan = _engine.plan_compile(text, True, str(tmp_path), refusing("tanh"))
    x, y = torch.rand(4, 6), torch.rand(4, 6)
    b = (x + y).tanh()
    after = (x + y) * 2
    d, z = _engine.plan_run(plan, [x, y])
    torch.testing.assert_close(d, b / b.sum(1, keepdim=True))
    torch.testing.assert_close(z, y.sin())
    torch.testing.assert_close(x, after)
    assert _engine.plan_facts(plan)["problems"]


# Two tensors' step counts and what an optimizer makes of them: one number each.
HOST = """graph aten {
  %s = placeholder() : f32[]
  %t = placeholder() : f32[1]
  %lr = placeholder() : f64[]
  %a = aten.add.Tensor(%s, 1) : f32[]
  %b = aten.add.Tensor(%t, 1) : f32[1]
  %w = aten._to_copy.default(%a, dtype=f64) : f64[]
  %p = aten.pow.Scalar(0.9, %w) : f64[]
  %c = aten.rsub.Scalar(%p, 1) : f64[]
  %q = aten.sqrt.default(%c) : f64[]
  %d = aten.div.Tensor(%lr, %c) : f64[]
  %n = aten.neg.default(%d) : f64[]
  %h = aten._to_copy.default(%n, dtype=f32) : f32[]
  %m = aten.mul.Tensor(%h, %s) : f32[]
  %set_s = aten.copy_.default(%s, %a) : f32[]
  %set_t = aten.copy_.default(%t, %b) : f32[1]
  return %q, %n, %m
}"""


def test_single_numbers_need_no_compiler(tmp_path):
    plan = _engine.plan_compile(HOST, True, str(tmp_path), "/nowhere/vitrine-cc", "", "library")
    facts = _engine.plan_facts(plan)
    assert not facts["problems"] and facts["python_calls"] == 0 and facts["kernels"] > 0, facts
    s, t, lr = torch.tensor(3.0), torch.tensor([7.0]), torch.tensor(0.01, dtype=torch.float64)
    for step in (4, 5, 6):
        before, c = s.clone(), 1 - 0.9 ** torch.tensor(step, dtype=torch.float64)
        q, n, m = _engine.plan_run(plan, [s, t, lr])
        assert torch.equal(q, c.sqrt()) and torch.equal(n, -(lr / c)) and torch.equal(m, n.float() * before)
        assert s == step and t.tolist() == [step + 4] and m.dtype == torch.float32


def test_several_numbers_need_one(tmp_path):
    plan = _engine.plan_compile(HOST.replace("[1]", "[2]"), True, str(tmp_path), "/nowhere/vitrine-cc", "", "library")
    assert "vitrine-cc" in str(_engine.plan_facts(plan)["problems"])
    t = torch.tensor([7.0, 8.0])
    _engine.plan_run(plan, [torch.tensor(3.0), t, torch.tensor(0.01, dtype=torch.float64)])
    assert t.tolist() == [8, 9]


def test_a_compiler_whose_libraries_are_missing_is_told_of_once(tmp_path):
    compiler = tmp_path / "vitrine-cc"
    compiler.write_text("#!/bin/sh\nexit 127\n")  # as the loader ends a program
    compiler.chmod(0o755)
    plan = _engine.plan_compile(TWO, True, "", str(compiler))
    (problem,) = _engine.plan_facts(plan)["problems"]
    assert "does not start, since a shared library that it needs is missing" in str(problem)
    check_two(plan)
