"""A GPU's counters and samples in a session: what was read joins the kernels of the launch plan, a refusal is a message.
Kernels are compiled for a GPU that is not here; what the GPU answers is written down here, or refused by no CUPTI at all."""

import contextlib
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from tests.python.support.command_line import said, vitrine as run, write
from tests.python.support.recorded import Session
from vitrine import _engine, config
from vitrine._tools import counters, gpu, timeline

needs_sass = pytest.mark.skipif(bool(_engine.cuda_target_problem("sm_90", config.nvrtc)) or not config.nvdisasm, reason="NVRTC or nvdisasm is not here")

MODEL = "import torch\nmodel = torch.nn.Softmax(-1).eval()\ninputs = (torch.randn(64, 256),)\n"


@pytest.fixture(scope="module")
def compiled_for_sm_90(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counters")
    result = run("run", write(folder, "model.py", MODEL), "--target", "sm_90", "-o", "s.vitrine", cwd=folder)
    assert result.returncode == 0, said(result)
    return folder / "s.vitrine"


class Rows:
    """Takes the place of a recording: rows by table, messages."""

    def __init__(self, path):
        self.path, self.tables, self.messages = str(path), {}, []

    def put(self, table, **row):
        self.tables.setdefault(table, []).append(row)

    def message(self, severity, origin, text, hint="", detail="", run=0):
        self.messages.append((severity, text, hint))


@needs_sass
def test_lines_of_sass_know_their_place_and_their_source(compiled_for_sm_90):
    session = Session(compiled_for_sm_90)
    kernel = session.one("kernel", kind="generated")
    runs = session.rows("sass_lines", kernel=kernel["id"])
    assert runs[0]["offset"] == 0 and {r["bytes"] for r in runs} <= {0, 16}
    assert [r["line"] for r in runs] == sorted(r["line"] for r in runs)
    sources = {r["source_line"] for r in runs if r["source_line"]}
    ranges = [(r["line"], r["end_line"]) for r in session.rows("kernel_range", kernel=kernel["id"], text="source")]
    assert len(sources) > 2 and all(any(low <= s <= high for low, high in ranges) for s in sources)


@needs_sass
def test_samples_find_line_source_and_node(compiled_for_sm_90):
    session = Session(compiled_for_sm_90)
    graph, rows = timeline.Graph(str(compiled_for_sm_90)), Rows(compiled_for_sm_90)
    kernel, launch = session.one("kernel", kind="generated")["id"], session.rows("launch", kind="kernel")[0]["id"]
    line = next(r for r in session.rows("sass_lines", kernel=kernel) if r["source_line"] and r["bytes"])
    second = line["offset"] + line["bytes"]
    taken = [("vitrine_kernel", 1, 30, second, "wait", 5), ("vitrine_kernel", 1, 30, second, "wait", 2), ("vitrine_kernel", 1, 30, 1 << 20, "wait", 1)]
    other = [("somebody_else", 2, 99, 0, "wait", 4)]
    known = [(launch, "vitrine_kernel", 30)]
    assert counters.put_samples(rows, graph, {"rows": taken + other, "total": 12, "dropped": 3}, known) == 8
    found, unknown = rows.tables["sample"]
    assert found["kernel"] == kernel and found["samples"] == 7
    assert found["line"] == line["line"] + 1 and found["source_line"] == line["source_line"]
    assert found["node"] in {r["node"] for r in session.rows("kernel_range", kernel=kernel)}
    assert (unknown["line"], unknown["source_line"], unknown["node"]) == (0, 0, 0)
    assert {"key": "samples_dropped", "value": "3"} in rows.tables["meta"]


@needs_sass
def test_counters_join_the_launches_in_order(compiled_for_sm_90):
    session = Session(compiled_for_sm_90)
    graph, rows = timeline.Graph(str(compiled_for_sm_90)), Rows(compiled_for_sm_90)
    launch = session.rows("launch", kind="kernel")[0]
    kernels = [(0, "before", 1), (launch["id"], "first", 2), (launch["id"], "second", 3)]
    values = [{"time": 1.0}, {"time": 2.0, "dram_read": 64.0}, {"time": 3.0}]
    assert counters.put_counters(rows, graph, {"kernels": values, "passes": 11, "dropped": 0}, kernels, 128) is None
    told = [(r["ordinal"], r["function"], r["metric"], r["value"]) for r in rows.tables["counter"]]
    assert told == [(0, "first", "time", 2.0), (0, "first", "dram_read", 64.0), (1, "second", "time", 3.0)]
    assert {r["kernel"] for r in rows.tables["counter"]} == {launch["kernel"]}
    # A call that does something else every time is not mistaken for the one that is known.
    problem = counters.put_counters(rows, graph, {"kernels": values[:2], "passes": 11, "dropped": 0}, kernels, 128)
    assert "2 kernels" in problem[0] and "3" in problem[0] and problem[1]


def test_kernels_have_the_order_of_their_launches():
    activities = [
        {"kind": "runtime_call", "correlation": 5, "start": 10, "name": "cudaLaunchKernel"},
        {"kind": "runtime_call", "correlation": 7, "start": 30, "name": "cudaLaunchKernel"},
        {"kind": "kernel", "correlation": 7, "start": 40, "name": "b"},
        {"kind": "copy", "correlation": 6, "start": 45, "name": "copy"},
        {"kind": "kernel", "correlation": 5, "start": 50, "name": "a"},
    ]
    owners = [(0, 20, "K0", "pointwise", 1, 1), (25, 35, "K1", "pointwise", 2, 2)]
    assert gpu.kernels_of(activities, owners) == [(1, "a", 5), (2, "b", 7)]


# CUPTI is here or it is not: without a GPU there is no context, and both say so with what to do.
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_a_gpu_refuses_both_and_says_what_to_do():
    for answer in (_engine.gpu_counters_open(config.cupti, 0, 8, True), _engine.gpu_sampling_open(config.cupti, 10)):
        assert counters.refused(answer) and "CUDA" in answer[0] and answer[1]
    result = run("doctor")
    assert "GPU's counters" in result.stdout and "hardware counters of kernels" in result.stdout


def test_what_is_refused_is_a_message_and_the_rest_stays(monkeypatch, compiled_for_sm_90):
    rows = Rows(compiled_for_sm_90)
    rows.commit = lambda: None
    why = ("the system does not allow this user to profile the GPU", "As root, ...")
    monkeypatch.setattr(counters, "alone", lambda: contextlib.nullcontext(True))
    monkeypatch.setattr(counters, "sampled", lambda call, graph: why)
    monkeypatch.setattr(counters, "counted", lambda call, most: why)
    ours = SimpleNamespace(problem=None, kernels=list, duration=1000)
    counters.record_counters(rows, {"id": 1}, None, (), {}, ours, 8)
    assert [m[0] for m in rows.messages] == ["warning", "warning"] and all(why[0] in m[1] and m[2] == why[1] for m in rows.messages)
    assert not rows.tables
    # A call that takes long is sampled, and not made a dozen times.
    rows.messages.clear()
    ours.duration = 5_000_000_000
    counters.record_counters(rows, {"id": 1}, None, (), {}, ours, 8)
    assert "a call takes 5.0 s" in rows.messages[1][1]
    # Another run of ours reads them, for long.
    rows.messages.clear()
    monkeypatch.setattr(counters, "alone", lambda: contextlib.nullcontext(False))
    counters.record_counters(rows, {"id": 1}, None, (), {}, ours, 8)
    assert len(rows.messages) == 1 and "another run of Vitrine" in rows.messages[0][1]
    # Another profiler records: nothing is tried, and it is said once.
    rows.messages.clear()
    ours.problem = ("another profiler already records this process through CUPTI", "End it.")
    counters.record_counters(rows, {"id": 1}, None, (), {}, ours, 8)
    assert len(rows.messages) == 1 and "another profiler" in rows.messages[0][1]


def test_the_number_of_kernels_is_checked():
    result = subprocess.run([sys.executable, "-m", "vitrine._tools.run", "x.py", "-o", "x.vitrine", "--counters", "-1"], capture_output=True, text=True)
    assert result.returncode == 2 and "--counters" in result.stderr
    assert "--counters" in run("run", "--help").stdout
