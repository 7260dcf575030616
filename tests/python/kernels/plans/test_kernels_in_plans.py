"""Generated code in plans: compiled, cached, run on PyTorch's threads, and what happens when it cannot be."""

import os
import sqlite3
import subprocess
import sys

import pytest
import torch
from vitrine import _engine


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


def graph(n):
    return f"graph aten {{\n  %x = placeholder() : f32[{n}]\n  %y = aten.add.Tensor(%x, 1.0) : f32[{n}]\n  return %y\n}}"


def source(comment=""):
    return """// %s
extern "C" void vitrine_kernel(void* const* args, long begin, long end) {
  const float* __restrict x = (const float*)args[0];
  float* __restrict y = (float*)args[1];
  for (long i = begin; i < end; ++i) y[i] = x[i] * 2.0f + 1.0f;
}
""" % comment


@pytest.mark.parametrize("n,grain", [(1, 16), (16, 16), (100_000, 1000), (0, 16)])
def test_a_kernel_runs(tmp_path, n, grain):
    plan, problems, _ = _engine.plan_kernel(graph(n), source(), n, grain, str(tmp_path))
    assert problems == []
    x = torch.randn(n)
    (y,) = _engine.plan_run(plan, [x])
    assert torch.equal(y, x * 2 + 1)
    assert y is not _engine.plan_run(plan, [x])[0]
    assert _engine.plan_facts(plan) == {"launches": 1, "kernels": 1, "python_calls": 0, "problems": []}


def test_the_second_time_comes_from_the_cache(tmp_path):
    text = source("cached")
    assert _engine.plan_kernel(graph(4), text, 4, 16, str(tmp_path))[2] is False
    plan, _, cached = _engine.plan_kernel(graph(4), text, 4, 16, str(tmp_path))
    assert cached is True
    assert _engine.plan_run(plan, [torch.ones(4)])[0].tolist() == [3, 3, 3, 3]
    assert _engine.plan_kernel(graph(4), source("other"), 4, 16, str(tmp_path))[2] is False


def test_a_damaged_cache_is_built_anew(tmp_path):
    text = source("damaged")
    _engine.plan_kernel(graph(4), text, 4, 16, str(tmp_path))
    for entry in (tmp_path / "kernels").iterdir():
        entry.write_bytes(entry.read_bytes()[:200])
    plan, problems, cached = _engine.plan_kernel(graph(4), text, 4, 16, str(tmp_path))
    assert cached is False and problems == []
    assert _engine.plan_run(plan, [torch.zeros(4)])[0].tolist() == [1, 1, 1, 1]


def test_a_cache_that_cannot_be_written_does_not_matter():
    plan, problems, cached = _engine.plan_kernel(graph(4), source("nowhere"), 4, 16, "/proc/nowhere")
    assert cached is False
    assert all("kernel cache is not used" in what and "/proc/nowhere" in what for what, _ in problems)  # told once a process
    assert _engine.plan_run(plan, [torch.zeros(4)])[0].tolist() == [1, 1, 1, 1]


def test_a_kernel_with_an_error_leaves_a_reproducer(tmp_path):
    text = source().replace("y[i] =", "z[i] =")
    plan, problems, _ = _engine.plan_kernel(graph(4), text, 4, 16, str(tmp_path))
    assert plan is None
    ((said, reproducer),) = problems
    assert "K0" in said and "'z'" in said
    content = open(reproducer).read()
    assert text in content and "line 5:" in content and "vitrine-cc" in content


def test_without_the_compiler_it_says_so(tmp_path):
    plan, problems, _ = _engine.plan_kernel(graph(4), source("gone"), 4, 16, str(tmp_path), "/nowhere/vitrine-cc")
    assert plan is None and "vitrine-cc" in problems[0][0]


FUSED = """graph aten {
  %x = placeholder() : f32[64,100]
  %y = placeholder() : f32[64,100]
  %mul = aten.mul.Tensor(%x, 3.0) : f32[64,100]
  %add = aten.add.Tensor(%mul, %y) : f32[64,100]
  %relu = aten.relu.default(%add) : f32[64,100]
  return %relu
}"""


def check_fused(plan):
    x, y = torch.randn(64, 100), torch.randn(64, 100)
    (out,) = _engine.plan_run(plan, [x, y])
    torch.testing.assert_close(out, torch.relu(x * 3 + y))


def test_a_graph_becomes_one_kernel(tmp_path):
    plan = _engine.plan_compile(FUSED, True, str(tmp_path))
    check_fused(plan)
    assert _engine.plan_facts(plan) == {"launches": 1, "kernels": 1, "python_calls": 0, "problems": []}


def test_a_graph_without_its_compiler_runs_through_pytorch(tmp_path):
    plan = _engine.plan_compile(FUSED, True, str(tmp_path), "/nowhere/vitrine-cc")
    check_fused(plan)
    facts = _engine.plan_facts(plan)
    assert facts["kernels"] == 0 and "vitrine-cc" in facts["problems"][0][0]


def test_what_the_machine_lacks_is_said_once_for_all_kernels(tmp_path):
    two = FUSED.replace("return %relu", "%z = placeholder() : f32[7]\n  %exp = aten.exp.default(%z) : f32[7]\n  return %relu, %exp")
    plan = _engine.plan_compile(two, True, str(tmp_path), "/nowhere/vitrine-cc")
    assert len(_engine.plan_facts(plan)["problems"]) == 1


def test_a_compiler_that_always_dies_is_survived(tmp_path):
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    plan = _engine.plan_compile(FUSED, True, str(tmp_path), str(broken))
    check_fused(plan)
    ((said, reproducer),) = _engine.plan_facts(plan)["problems"]
    assert "status 7" in said
    assert "vitrine_kernel" in open(reproducer).read()


@pytest.mark.parametrize("again", [False, True])
def test_a_recorded_compilation_shows_the_kernel_in_every_form(tmp_path, again):
    cache, path = str(tmp_path / "cache"), str(tmp_path / "s.vitrine")
    if again:  # from the cache, which must know the texts too or get them
        _engine.plan_compile(FUSED, True, cache)
        _engine.plan_compile(FUSED, True, cache, "", str(tmp_path / "first.vitrine"))
    check_fused(_engine.plan_compile(FUSED, True, cache, "", path))
    db = sqlite3.connect(path)
    ((kernel, name, ir, assembly, compile_ns, cached),) = db.execute(
        "select id, name, ir, assembly, compile_ns, cached from kernel where kind = 'generated'")
    assert ir > 0 and assembly > 0 and ir != assembly and name
    assert (cached == 1, compile_ns == 0) == (again, again)
    ranges = db.execute("select text, count(*), count(distinct node) from kernel_range where kernel = ? group by text",
                        (kernel,)).fetchall()
    assert {r[0] for r in ranges} == {"source", "ir", "assembly"}
    assert all(nodes >= 1 for _, _, nodes in ranges)
    stages = dict(db.execute("select name, state from stage"))
    assert stages["ir"] == stages["assembly"] == "ok"
    assert db.execute("select count(*) from launch").fetchone() == (1,)


def test_a_recorded_failure_is_a_message_and_the_launches_are_what_runs(tmp_path):
    path = str(tmp_path / "s.vitrine")
    plan = _engine.plan_compile(FUSED, True, str(tmp_path), "/nowhere/vitrine-cc", path)
    check_fused(plan)
    db = sqlite3.connect(path)
    ((text, severity),) = db.execute("select text, severity from message")
    assert "vitrine-cc" in text and severity == "warning"
    assert db.execute("select count(*) from launch").fetchone() == (_engine.plan_facts(plan)["launches"],)


def test_after_fork_the_child_compiles_for_itself(tmp_path):
    _engine.plan_kernel(graph(4), source("parent"), 4, 16, str(tmp_path))
    pid = os.fork()
    if pid == 0:
        plan, problems, _ = _engine.plan_kernel(graph(4), source("child"), 4, 16, str(tmp_path))
        os._exit(0 if plan and not problems else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert _engine.plan_kernel(graph(4), source("parent again"), 4, 16, str(tmp_path))[0]


def test_a_process_that_compiled_ends_at_once(tmp_path):
    code = (
        "import torch\nfrom vitrine import _engine\n_engine.bridge_init()\n"
        f"print(_engine.plan_kernel({graph(4)!r}, {source('end')!r}, 4, 16, {str(tmp_path)!r})[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_several_threads_may_run_one_plan(tmp_path):
    import threading

    n = 50_000
    plan, _, _ = _engine.plan_kernel(graph(n), source("threads"), n, 1000, str(tmp_path))
    wrong = []

    def work(seed):
        x = torch.full((n,), float(seed))
        for _ in range(50):
            (y,) = _engine.plan_run(plan, [x])
            if not torch.equal(y, x * 2 + 1):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert wrong == []
