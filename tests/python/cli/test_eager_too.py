"""`vitrine run --eager-too`: a script is run once more, eagerly, and its steps are set beside the compiled ones."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import types

import pytest
from tests.python.support.command_line import said, vitrine, write

# Eight steps of training. The first compiles, and where the last one ends is not known.
TRAIN = """
import os, sys, time
import torch
import vitrine

print("hash", hash("vitrine"), "in", os.path.basename(os.getcwd()), "with", sys.argv[1:])
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))
compiled = vitrine.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 16), torch.randn(64, 1)
BEFORE
for step in range(8):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(compiled(x), y)
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}", file=sys.stdout)
END
"""
# Only the second run finds the file that the first one wrote.
SECOND = "second = os.path.exists('ran')\nopen('ran', 'w').close()"


def train(before="", end=""):
    return TRAIN.replace("BEFORE", before).replace("END", end)


def rows(session, sql):
    with contextlib.closing(sqlite3.connect(f"file:{session}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def run(tmp_path, text, *words):
    session = tmp_path / "s.vitrine"
    write(tmp_path, "train.py", text)
    return vitrine("run", "train.py", "--eager-too", "-o", session, *words, cwd=tmp_path), session


def steps(session):
    return dict(rows(session, "SELECT side, calls FROM measurement WHERE kind = 'step'"))


def test_steps_of_both_runs_are_matched_and_what_the_second_prints_is_not_shown(tmp_path):
    result, session = run(tmp_path, train("print('environment', os.environ.get('PYTHONHASHSEED'))"), "--", "--epochs", "1")
    assert result.returncode == 0, said(result)
    assert said(result).count("step 7: loss") == 1 and said(result).count("hash ") == 1
    # Of seven whole steps one compiles, one is profiled, and of one the memory is noted.
    assert steps(session) == {"eager": 4, "compiled": 4}
    assert "8 printed losses agree" in rows(session, "SELECT text FROM message")[0][0]
    for shown in (result.stdout, vitrine("show", session).stdout):
        assert "A step: eager " in shown and ", 4 steps each: " in shown and "The script ran twice" in shown, shown
        assert "Times were not measured" not in shown
    assert rows(session, "SELECT eager_ns, compiled_ns FROM run") == [(0.0, 0.0)]  # which are of calls


def test_the_eager_step_is_shown_above_compiled_ones(tmp_path):
    result, session = run(tmp_path, train())
    assert result.returncode == 0, said(result)
    eager = rows(session, "SELECT label, count FROM lane WHERE side = 'eager' ORDER BY ordinal")
    assert [label for label, _ in eager] == ["beside", "modules", "operators"] and eager[2][1] > 20, eager
    slices = json.loads(vitrine("show", session, "timeline", "--json").stdout)
    calls = [s["start_ns"] for s in slices if s["side"] == "compiled" and s["lane"] == "calls" and "backward" not in s["name"]]
    operators = [s for s in slices if s["side"] == "eager" and s["lane"] == "operators"]
    assert calls[0] < min(s["start_ns"] for s in operators)  # the first step compiles, and is not the one shown
    replaced = {s["name"]: s["replaced_by"] for s in operators if s["replaced_by"]}
    assert "gelu" in replaced["gelu"] and "backward" not in replaced["gelu"], replaced


def test_the_eager_step_stands_where_the_compiled_one_of_its_number_begins(monkeypatch):
    from vitrine._tools import timeline
    from vitrine._tools.eager_too import record, steps

    lanes, graph = {}, types.SimpleNamespace(nodes={})
    monkeypatch.setattr(timeline, "put_lane", lambda recording, run, side, kind, label, ordinal, slices: lanes.update({label: [(s.start, s.duration, s.name) for s in slices]}))
    compiled = steps.steps_of([(0, 1000 * i, 1000 * i + 10) for i in range(5)])
    # Operators are told from the step's begin on, ranges and modules by the clock of their own process.
    report = {
        "calls": [(0, 50_000 + 400 * i, 50_000 + 400 * i + 5) for i in range(5)], "operators": [(3, 20, "aten::linear"), (30, 40, "aten::gelu")],
        "ranges": [(50_805, 51_100, "forward")], "modules": [(50_500, 50_600, "of another step"), (50_810, 50_900, "0")], "problem": "",
    }  # fmt: skip
    recording = types.SimpleNamespace(put=lambda *row, **columns: None)
    record.put_lanes(recording, {"id": 1}, graph, 100, [], compiled, 2, report)
    begins = 2000 + 10 - 100
    assert lanes["operators"] == [(begins + 3, 20, "aten::linear"), (begins + 30, 40, "aten::gelu")]
    assert lanes["beside"] == [(begins, 295, "forward")] and lanes["modules"] == [(begins + 5, 90, "0")]
    lanes.clear()
    record.put_lanes(recording, {"id": 1}, graph, 100, [], compiled, 4, report)  # behind the last whole step
    assert not lanes


def test_the_eager_step_has_lanes_by_module_forward_and_backward(tmp_path):
    result, session = run(tmp_path, train())
    assert result.returncode == 0, said(result)
    slices = json.loads(vitrine("show", session, "timeline", "--json").stdout)
    eager = [s for s in slices if s["side"] == "eager"]
    modules = sorted((s for s in eager if s["lane"] == "modules"), key=lambda s: (s["start_ns"], -s["duration_ns"]))
    names = [s["name"] for s in modules]
    assert names == ["Sequential", "0", "1", "2", "Sequential", "2", "1", "0"], names
    (forward, backward) = (s for s in modules if s["name"] == "Sequential")
    assert forward["start_ns"] + forward["duration_ns"] < backward["start_ns"]
    gelu = next(s for s in eager if s["lane"] == "operators" and s["name"] == "gelu_backward")
    (around,) = [s for s in modules[5:] if s["name"] == "1"]
    assert around["start_ns"] <= gelu["start_ns"] < around["start_ns"] + around["duration_ns"]


@pytest.mark.parametrize(
    "end, why",
    [("if second: print('the disk is full', file=sys.stderr); raise OSError('no space')", "the eager run failed (exit status 1)"),
     ("if second: sys.exit(7)", "the eager run failed (exit status 7)"),
     ("if second: os._exit(0)", "the eager run ended before its times were told")],
)  # fmt: skip
def test_a_second_run_that_fails_is_said_with_what_it_printed_and_nothing_is_claimed(tmp_path, end, why):
    result, session = run(tmp_path, train(SECOND, end))
    assert result.returncode == 0, said(result)  # as a script the first run did what it was asked for
    assert f"There is no speed-up of a step: {why}." in said(result)
    assert said(result).count("step 7: loss") == 2  # what the second printed is shown where it failed
    assert ("OSError: no space" in said(result)) == ("OSError" in end)
    assert steps(session) == {} and not rows(session, "SELECT * FROM lane WHERE side = 'eager'")
    shown = vitrine("show", session).stdout
    assert why in shown and "A step:" not in shown and "Times were not measured" in shown, shown


@pytest.mark.parametrize("end", ["sys.exit()", "sys.exit(0)"])
def test_a_script_that_exits_by_itself_is_measured_like_another(tmp_path, end):
    result, session = run(tmp_path, train("", end))
    assert result.returncode == 0, said(result)
    assert steps(session) == {"eager": 4, "compiled": 4}


def test_a_script_that_ends_with_a_status_of_its_own_is_not_run_again(tmp_path):
    result, session = run(tmp_path, train("", "open('runs', 'a').write('x')\nsys.exit(3)"))
    assert result.returncode == 3, said(result)
    assert (tmp_path / "runs").read_text() == "x" and "once more" not in said(result)
    assert steps(session) == {}


def test_other_losses_are_said_and_no_speed_up_is_claimed(tmp_path):
    result, session = run(tmp_path, train(SECOND + "\nif second: y = y + 1"))
    assert result.returncode == 0, said(result)
    assert "do not print the same losses (loss 1 of 8: eager " in said(result), said(result)
    assert steps(session) == {} and "A step:" not in vitrine("show", session).stdout


def test_another_number_of_steps_is_said(tmp_path):
    result, session = run(tmp_path, train(SECOND).replace("range(8)", "range(6 if second else 8)"))
    assert "the compiled run has 7 whole steps, the eager one 5" in said(result), said(result)
    assert steps(session) == {}


def test_too_few_steps_are_said_without_a_second_run(tmp_path):
    result, session = run(tmp_path, train("", "open('runs', 'a').write('x')").replace("range(8)", "range(2)"))
    assert result.returncode == 0 and "the compiled run has 1 whole steps, of which 0 compile nothing" in said(result), said(result)
    assert (tmp_path / "runs").read_text() == "x"


def test_both_runs_have_the_same_hashes_and_begin_in_the_same_folder(tmp_path):
    text = train("open('seen', 'a').write(f'{hash(\"vitrine\")} {os.getcwd()} {sys.argv} {torch.initial_seed()}\\n')\nos.chdir('/')")
    result, _ = run(tmp_path, text, "--", "a b")
    assert result.returncode == 0, said(result)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == 2 and seen[0] == seen[1] and "a b" in seen[0], seen


def test_torch_compile_is_taken_over_in_both(tmp_path):
    result, session = run(tmp_path, train().replace("vitrine.compile(", "torch.compile("), "--take-over")
    assert result.returncode == 0, said(result)
    assert steps(session) == {"eager": 4, "compiled": 4}


def test_it_does_not_go_with_what_makes_steps_longer(tmp_path):
    result, _ = run(tmp_path, train(), "--check")
    assert result.returncode == 2 and "--eager-too compares times of steps" in said(result)


@pytest.mark.parametrize(
    "eager, compiled, says",
    [("loss: 0.6931", "loss: 0.6932", ""), ("loss: 0.6931", "loss: 0.7012", "loss 1 of 1: eager 0.6931, compiled 0.7012"),
     ("{'loss': 1.5e-3}", "{'loss': 0.0015}", ""), ("train_loss nan", "train_loss nan", ""), ("loss nan", "loss 1.5", "loss 1 of 1: eager nan, compiled 1.5"),
     ("loss 0.5\nloss 0.4", "loss 0.5", "eager printed 2 of them, compiled 1"), ("loss after 8 steps: 0.25 in 3.1 s", "loss after 8 steps: 0.25 in 9.9 s", ""),
     ("took 3.1 s", "took 9.9 s", "")],
)  # fmt: skip
def test_losses_are_found_in_what_is_printed(eager, compiled, says):
    from vitrine._tools.eager_too.losses import difference

    assert difference(eager, compiled) == says


def test_cancelling_ends_the_second_run_too(tmp_path):
    write(tmp_path, "train.py", train(SECOND + "\nif second:\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(600)"))
    words = ["vitrine", "run", "train.py", "--eager-too", "-o", "s.vitrine"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=tmp_path, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **quiet)
    try:
        end = time.monotonic() + 120
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < end, "it was not run again"
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(30) == 130
    finally:
        process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def held(session):
    return dict(rows(session, "SELECT side, sum(bytes) FROM allocation GROUP BY side"))


def test_what_a_step_holds_of_memory_is_recorded_on_both_sides(tmp_path):
    result, session = run(tmp_path, train())
    assert result.returncode == 0, said(result)
    found = held(session)
    # The hidden layer's values, at least, and every gradient.
    assert set(found) == {"eager", "compiled"} and min(found.values()) >= 64 * 32 * 4, found
    for side in found:
        (ns,) = rows(session, f"SELECT value FROM meta WHERE key = 'memory_{side}_ns'")[0]
        assert rows(session, f"SELECT max(start_ns) FROM allocation WHERE side = '{side}'")[0][0] <= int(ns)
    assert rows(session, "SELECT 1 FROM allocation JOIN node ON node.id = entity WHERE side = 'eager'")


def test_without_an_eager_run_the_compiled_step_is_recorded(tmp_path):
    session = tmp_path / "s.vitrine"
    write(tmp_path, "train.py", train())
    result = vitrine("run", "train.py", "-o", session, cwd=tmp_path)
    assert result.returncode == 0 and set(held(session)) == {"compiled"}, said(result)
    assert rows(session, "SELECT 1 FROM ceiling WHERE kind = 'copy'")  # by which what is kept for backward has a price


def test_a_profile_of_the_scripts_own_comes_first(tmp_path):
    text = train().replace("    loss.backward()", "    with torch.profiler.profile() as prof:\n        loss.backward()\n    print('events', len(prof.events()) > 5)")
    session = tmp_path / "s.vitrine"
    write(tmp_path, "train.py", text)
    result = vitrine("run", "train.py", "-o", session, cwd=tmp_path)
    assert result.returncode == 0 and said(result).count("events True") == 8, said(result)
    assert held(session) == {}
    assert "the script begins a profile of its own in that step" in "".join(text for (text,) in rows(session, "SELECT text FROM message"))


def test_where_the_sixth_step_is_the_last_that_is_why_it_has_no_memory(tmp_path):
    session = tmp_path / "s.vitrine"
    write(tmp_path, "train.py", train().replace("range(8)", "range(6)"))
    result = vitrine("run", "train.py", "-o", session, cwd=tmp_path)
    assert result.returncode == 0 and held(session) == {}, said(result)
    ((text,),) = rows(session, "SELECT text FROM message WHERE about = 'memory'")
    assert "no seventh tells where it ends" in text
