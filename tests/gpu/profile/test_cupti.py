"""CUPTI on a real GPU: what is recorded of launches, on which clock, and what happens when it cannot be."""

import sqlite3
import subprocess
import sys
import time

import pytest
import torch
from vitrine import _engine, config
from vitrine._tools import gpu

pytestmark = pytest.mark.gpu

MODEL = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Softmax(-1)).eval().cuda()
inputs = (torch.randn(2048, 256, device="cuda"),)
"""


def recorded(work):
    """Activities of `work`, and the times around it."""
    work()
    torch.cuda.synchronize()
    with gpu.recorded(True) as recording:
        begin = time.monotonic_ns()
        work()
        torch.cuda.synchronize()
        end = time.monotonic_ns()
    assert recording.problem is None, recording.problem
    assert recording.lost == 0
    return recording.activities, begin, end


def test_kernels_copies_and_calls_are_on_the_clock_of_the_process():
    x = torch.randn(1 << 20, device="cuda")
    host = torch.randn(1 << 20).pin_memory()

    def work():
        x.copy_(host, non_blocking=True)
        torch.relu(x)
        torch.zeros(1 << 20, device="cuda")

    rows, begin, end = recorded(work)
    kernels = [r for r in rows if r["kind"] == "kernel"]
    assert kernels and any(r["kind"] == "copy" and r["name"] == "copy HtoD" and r["bytes"] == 4 << 20 for r in rows)
    for r in rows:
        if r["kind"] in ("kernel", "copy", "runtime_call"):
            assert begin - 1_000_000 <= r["start"] <= r["end"] <= end + 1_000_000, (r, begin, end)
    calls = {r["correlation"] for r in rows if r["kind"] in gpu.CALL_KINDS}
    assert all(k["correlation"] in calls for k in kernels)
    assert all(k["blocks"] > 0 and k["threads"] > 0 and k["registers"] > 0 for k in kernels)
    assert any(r["kind"] == "wait" for r in rows)


def test_nodes_of_a_cuda_graph_are_recorded():
    x = torch.randn(1 << 16, device="cuda")
    torch.relu(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.relu(x) * 2
    rows, _, _ = recorded(graph.replay)
    nodes = [r for r in rows if r["kind"] == "kernel" and r["graph_node"]]
    assert len(nodes) >= 2 and len({n["correlation"] for n in nodes}) == 1, rows
    del y


def test_another_profiler_is_named():
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(1024, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        torch.relu(x)
        problem = _engine.gpu_recording_start(config.cupti)
        if problem is None:
            _engine.gpu_recording_stop()
    assert problem is None or "profiler" in problem[0], problem
    torch.cuda.synchronize()
    assert torch.relu(x).shape == x.shape


def test_a_recorded_run_has_the_gpu_on_both_sides(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "s.vitrine"
    done = subprocess.run([sys.executable, "-m", "vitrine._tools.run", str(tmp_path / "model.py"), "-o", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    db = sqlite3.connect(path)
    messages = [text for (text,) in db.execute("SELECT text FROM message")]
    assert not any("no timeline of the GPU" in m for m in messages), messages
    lanes = {side: db.execute("SELECT sum(count) FROM lane WHERE side = ? AND kind = 'stream'", (side,)).fetchone()[0] for side in ("eager", "compiled")}
    assert lanes["eager"] and lanes["compiled"] and lanes["compiled"] <= lanes["eager"], lanes
    timed = db.execute("SELECT count(*) FROM launch WHERE kind = 'kernel' AND median_ns > 0").fetchone()[0]
    assert timed >= 1
    kernels = db.execute("SELECT registers, spill_bytes, occupancy FROM gpu_kernel").fetchall()
    assert kernels and all(r > 0 and s == 0 and 0 < o <= 1 for r, s, o in kernels)
    ceilings = dict(db.execute("SELECT kind || ' ' || type, rate FROM ceiling"))
    assert ceilings["copy f32"] > 1e11 and ceilings["product bf16"] > 1e12, ceilings
