"""`vitrine import`: what PyTorch's own tools and Nsight Systems recorded, as sessions."""

import gzip
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.python.support.command_line import TINY, said, vitrine, write

RECORDED = Path(__file__).parent / "recorded"
LOG = RECORDED / "dedicated_log_torch_trace_small.log"


def imported(tmp_path, path, name="i.vitrine"):
    result = vitrine("import", path, "-o", tmp_path / name)
    assert result.returncode == 0, said(result)
    return tmp_path / name


def asked(session, sql):
    result = vitrine("query", session, sql, "--json")
    assert result.returncode == 0, said(result)
    return [tuple(row.values()) for row in json.loads(result.stdout)]


def test_a_structured_log_has_graphs_code_guards_breaks_and_recompilations(tmp_path):
    session = imported(tmp_path, LOG)
    labels = dict(asked(session, "SELECT label, function FROM compilations"))
    assert labels["0/0"] == "forward" and labels["2/1"] == "<lambda>" and "0/1 backward" in labels
    stages = {stage for (stage,) in asked(session, "SELECT DISTINCT stage FROM graphs")}
    assert stages == {"captured", "aten", "joint", "forward", "backward", "optimised"}
    assert ("linear", "torch._C._nn.linear", "f32[4,16]") in asked(session, "SELECT name, op, type FROM nodes WHERE stage = 'captured'")
    assert ("erf", "pointwise", 8) in asked(session, "SELECT name, family, line FROM nodes WHERE stage = 'aten'")
    assert ("cpp_fused_gelu_0", "c++", "generated") in asked(session, "SELECT name, language, kind FROM kernels")
    (source,) = asked(session, "SELECT source FROM kernels WHERE name = 'cpp_fused_gelu_0' LIMIT 1")[0]
    assert source.lstrip().startswith("#include") and "'''" not in source
    assert [text for (text,) in asked(session, "SELECT text FROM launches WHERE compilation = '0/0' ORDER BY number")] == ["addmm", "K0 cpp_fused_gelu_0"]
    breaks = asked(session, "SELECT reason, hint, file, line FROM breaks")
    assert breaks and all("print" in reason and hint and file == "/home/user/m.py" and line == 9 for reason, hint, file, line in breaks)
    assert ("n == 2",) in asked(session, "SELECT failed FROM recompilations")
    guards = asked(session, "SELECT kind, source, expected FROM guards WHERE compilation = '0/0'")
    assert any(kind == "tensor match" and source == "L['x']" and "size=[4, 8]" in expected for kind, source, expected in guards)
    assert asked(session, "SELECT count(*) FROM slices WHERE name LIKE 'inductor_compile%' AND us > 0")[0][0] > 0
    assert asked(session, "SELECT count(*) FROM links")[0][0] > 0
    assert "no measured calls" in asked(session, "SELECT text FROM messages")[0][0]


def test_a_line_that_each_compilation_breaks_at_is_one_break(tmp_path):
    session = imported(tmp_path, LOG)
    assert asked(session, "SELECT count(*) FROM breaks")[0][0] == 2
    assert vitrine("show", session, "breaks").stdout.count("m.py:9:0") == 1
    assert "1 graph break" in vitrine("show", session).stdout


def test_both_halves_are_graphs_of_one_compilation_and_weights_have_their_names(tmp_path):
    session = imported(tmp_path, LOG)
    (label,) = asked(session, "SELECT DISTINCT compilation FROM graphs WHERE stage = 'backward'")[0]
    stages = {stage for (stage,) in asked(session, f"SELECT stage FROM graphs WHERE compilation = '{label}'")}
    assert "backward" not in label and {"joint", "forward", "backward"} <= stages
    with sqlite3.connect(session) as db:
        linked = db.execute("SELECT count(*) FROM link JOIN node a ON a.id = origin JOIN node b ON b.id = derived JOIN graph g ON g.id = a.graph WHERE g.stage = 'backward'").fetchone()  # fmt: skip
        weights = db.execute("SELECT detail, kind FROM node WHERE name LIKE 'L_self_modules%' LIMIT 1").fetchone()
    assert linked[0] > 0  # Inductor's graph of backward comes from it
    assert weights[1] == "parameter" and weights[0].startswith("L['self'].") and weights[0].endswith(("weight", "bias")), weights


def test_values_that_a_failed_guard_names_are_told(tmp_path):
    log = LOG.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(log) if '"recompile_reasons"' in line)
    log[at + 1] = '\t["0/0: tensor \'x\' size mismatch at index 0. expected 8, actual 24"]\n'
    del log[at + 2 : next(i for i in range(at + 2, len(log)) if not log[i].startswith("\t"))]
    changed = tmp_path / LOG.name
    changed.write_text("".join(log))
    assert ("8", "24") in asked(imported(tmp_path, changed), "SELECT old_value, new_value FROM recompilations")


def test_its_folder_is_the_same_and_every_part_is_shown(tmp_path):
    folder = tmp_path / "trace"
    folder.mkdir()
    shutil.copy(LOG, folder)
    session = imported(tmp_path, folder)
    for stage in ("", "captured", "aten", "optimised", "kernels", "guards", "breaks", "recompilations", "launch", "stages", "timeline", "source"):
        result = vitrine("show", session, *([stage] if stage else []))
        assert result.returncode == 0 and result.stdout, (stage, said(result))
    summary = vitrine("show", session).stdout
    assert "no measured calls" in summary and "0 calls" not in summary
    graphs = vitrine("export", session, "--to", "fx", "-o", tmp_path / "fx")
    assert graphs.returncode == 0, said(graphs)
    for file in sorted((tmp_path / "fx").iterdir()):
        ran = subprocess.run([sys.executable, file], capture_output=True, text=True)
        assert ran.returncode == 0 and "tuple" not in ran.stdout, said(ran) + file.read_text()
    assert "self.out(h)" in vitrine("show", session, "source").stdout
    page = vitrine("export", session, "--to", "html", "-o", tmp_path / "a.html")
    assert page.returncode == 0 and "cpp_fused_gelu_0" in (tmp_path / "a.html").read_text()


def compile_seconds(session):
    return dict(asked(session, "SELECT label, compile_ms / 1e3 FROM compilations"))


def test_phases_tell_the_times_that_a_log_has_no_metrics_of(tmp_path):
    log = LOG.read_text().splitlines(keepends=True)
    changed = tmp_path / LOG.name
    changed.write_text("".join(line for line in log if '{"compilation_metrics"' not in line))
    told, phases = compile_seconds(imported(tmp_path, LOG)), compile_seconds(imported(tmp_path, changed, "changed.vitrine"))
    assert told["0/0"] == pytest.approx(29.09, abs=0.01)
    for label, seconds in told.items():
        assert phases[label] == pytest.approx(seconds, abs=0.01)


def test_a_log_that_ends_in_a_compilation_has_its_times_until_then(tmp_path):
    log = LOG.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(log) if '"inductor_compile"' in line and '"ph": "E"' in line) + 1
    cut = tmp_path / LOG.name
    cut.write_text("".join(log[:at]))
    session = imported(tmp_path, cut)
    assert compile_seconds(session)["0/0"] == pytest.approx(28.97, abs=0.01)
    assert "29.0 s" in vitrine("show", session, "stages").stdout or "Compiled in 29.0 s" in vitrine("show", session).stdout
    assert ("The trace ends while 0/0 is compiled.",) in asked(session, "SELECT text FROM messages")
    assert asked(session, "SELECT count(*) FROM slices WHERE name = 'entire_frame_compile 0/0'") == [(1,)]


def test_what_is_never_fused_is_drawn_as_its_last_graph_and_written_in_both_halves(tmp_path):
    session = imported(tmp_path, LOG)
    dot = vitrine("export", session, "--to", "dot", "-o", tmp_path / "a.dot")
    assert dot.returncode == 0 and "addmm" in (tmp_path / "a.dot").read_text(), said(dot)
    none = vitrine("export", session, "--to", "dot", "--stage", "loops")
    assert none.returncode == 1 and "--stage captured, aten, joint, forward, backward, optimised." in said(none)
    log = LOG.read_text().splitlines(keepends=True)
    for at in [i for i, line in enumerate(log) if '{"aot_inference_graph"' in line or '{"aot_joint_graph"' in line]:
        log[at] = log[at].replace('{"aot_inference_graph"', '{"aot_forward_graph"').replace('{"aot_joint_graph"', '{"unknown"')
    halves = tmp_path / LOG.name
    halves.write_text("".join(log))
    folder = tmp_path / "fx"
    assert vitrine("export", imported(tmp_path, halves, "halves.vitrine"), "--to", "fx", "-o", folder).returncode == 0
    names = [path.name for path in folder.iterdir()]
    assert any("_forward_" in name for name in names) and any("backward" in name for name in names), names


def test_a_debug_folder_has_graphs_and_code(tmp_path):
    zipfile.ZipFile(RECORDED / "torch_compile_debug.zip").extractall(tmp_path)
    session = imported(tmp_path, f"{tmp_path}/torch_compile_debug/")
    assert vitrine("show", session).stdout.startswith("import of torch_compile_debug,")
    assert [label for (label,) in asked(session, "SELECT label FROM compilations")] == ["0/0", "4/0", "4/0 backward"]
    assert asked(session, "SELECT count(*) FROM kernels WHERE kind = 'generated'")[0][0] >= 3
    assert ("exp", "pointwise") in asked(session, "SELECT name, family FROM nodes WHERE stage = 'backward'")


def test_an_import_is_compared_with_one_of_ours(tmp_path):
    ours = tmp_path / "ours.vitrine"
    assert vitrine("run", write(tmp_path, "tiny.py", TINY), "-o", ours, "--repeats", 0).returncode == 0
    result = vitrine("diff", LOG, ours, env={"VITRINE_CACHE_DIR": str(tmp_path / "cache")})
    assert result.returncode == 0 and result.stdout, said(result)


TRACE = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "Card"}],
    "traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 2, "ts": 100.5, "dur": 10},
        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 101, "dur": 5},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 102, "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "triton_poi_fused_gelu_0", "pid": 0, "tid": 7, "ts": 110, "dur": 3.25, "args": {"stream": 7, "device": 0}},
        {"ph": "f", "name": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 110},
    ],
}


@pytest.mark.parametrize("form", ["plain", "packed", "an array", "cut", "control characters", "damaged"])
def test_a_trace_of_the_profiler_is_a_timeline(tmp_path, form):
    text = json.dumps(TRACE["traceEvents"] if form == "an array" else TRACE)
    if form == "cut":
        text = text[: text.index('{"ph": "f"')]
    if form == "control characters":
        text = text.replace("aten::linear", "aten::\x01linear")
    if form == "damaged":
        text = text.replace('{"ph": "f"', '{"ph": f"').replace('{"ph": "M"', '{"ph": "M",, ')
    path = tmp_path / ("t.json.gz" if form == "packed" else "t.json")
    path.write_bytes(gzip.compress(text.encode()) if form == "packed" else text.encode())
    session = imported(tmp_path, path)
    rows = asked(session, "SELECT side, lane_kind, lane, name, start_us, us FROM slices ORDER BY start_us")
    assert ("compiled", "stream", "stream 7", "triton_poi_fused_gelu_0", 9.5, 3.25) in rows and len(rows) == 4
    assert ("compiled", "thread", "2" if form == "damaged" else "main", "addmm", 0.5, 5) in rows
    assert (form in ("cut", "damaged")) == ("ends in the middle" in vitrine("show", session, "messages").stdout)


def test_an_export_of_nsight_systems_is_a_timeline(tmp_path):
    path = tmp_path / "n.sqlite"
    db = sqlite3.connect(path)
    db.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_tn'), (2, 'cudaLaunchKernel');
        CREATE TABLE TARGET_INFO_GPU (name TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H200');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER, streamId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5000, 1, 7);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER, globalTid INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 2, 281);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
        INSERT INTO NVTX_EVENTS VALUES (1000, 6000, 'step', NULL, 281), (1100, NULL, 'mark', NULL, 281);
    """)
    db.close()
    session = imported(tmp_path, path)
    rows = asked(session, "SELECT lane_kind, name, family, start_us, us FROM slices")
    assert sorted(rows) == [("api", "cudaLaunchKernel", "", 0, 0.5), ("range", "step", "", 0, 5), ("stream", "ampere_sgemm_128x64_tn", "matmul", 1, 3)]
    assert asked(session, "SELECT device FROM runs") == [("NVIDIA H200",)]


def test_what_is_none_of_these_is_said(tmp_path):
    for name, text in (("a.json", '{"x": 1}'), ("b.log", "nothing\n"), ("c.sqlite", "SQLite format 3\0 and no more"), ("d.gz", "\x1f\x8b")):
        result = vitrine("import", write(tmp_path, name, text), "-o", tmp_path / "x.vitrine")
        assert result.returncode == 1 and "nothing that can be imported" in result.stderr, said(result)
    assert not (tmp_path / "x.vitrine").exists()
    assert vitrine("import", tmp_path).returncode == 1


def test_damaged_files_end_in_a_session_or_a_sentence(tmp_path):
    """Bytes that are changed, cut or repeated at random: never a crash."""
    rng = random.Random(0)
    originals = {"t.json": json.dumps(TRACE).encode(), "dedicated_log_torch_trace_x.log": LOG.read_bytes()}
    for name, content in originals.items():
        for _ in range(12):
            data = bytearray(content)
            for _ in range(rng.choice((1, 20, 400))):
                at = rng.randrange(len(data))
                data[at : at + rng.randrange(3)] = bytes(rng.choice(b'\x00\xff\t\n{}[]":,0019eE-') for _ in range(rng.randrange(4)))
            path = tmp_path / name
            path.write_bytes(bytes(data[: rng.randrange(len(data) // 2, len(data))]))
            result = vitrine("import", path, "-o", tmp_path / "x.vitrine")
            assert result.returncode in (0, 1) and (result.returncode == 0 or "vitrine: " in result.stderr), said(result)
            if result.returncode == 0:
                assert vitrine("show", tmp_path / "x.vitrine").returncode == 0
