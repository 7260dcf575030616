"""`vitrine run` with a device, a step of training, symbols from the start; and --watch, which records again."""

import json
import os
import signal
import subprocess
import time

import pytest
from tests.python.support.command_line import TINY, query, said, vitrine, write


def test_a_step_of_training_has_a_backward_graph_and_equal_gradients(tmp_path):
    session = tmp_path / "t.vitrine"
    result = vitrine("run", write(tmp_path, "t.py", TINY), "--train", "--repeats", 0, "-o", session)
    assert result.returncode == 0, said(result)
    assert query(session, "SELECT count(*) FROM graph WHERE stage = 'backward'")[0][0] > 0
    outputs = query(session, "SELECT output, verdict FROM accuracy")
    assert len(outputs) == 3 and all(verdict in ("equal", "close") for _, verdict in outputs), outputs


def test_sizes_are_symbols_from_the_start_where_it_is_asked(tmp_path):
    path = write(tmp_path, "f.py", "def f(x):\n    return x.sin() + 1\n")
    for when, symbols in (("yes", True), ("auto", False)):
        session = tmp_path / f"{when}.vitrine"
        result = vitrine("run", path, "--entry", "f", "--input", "f32[4,8]", "--dynamic", when, "--repeats", 0, "-o", session)
        assert result.returncode == 0, said(result)
        assert bool(query(session, "SELECT count(*) FROM symbol")[0][0]) == symbols
        assert (f"--dynamic={when}" in json.loads(query(session, "SELECT value FROM meta WHERE key = 'arguments'")[0][0]))


def test_a_device_is_where_model_and_inputs_are(tmp_path):
    result = vitrine("run", write(tmp_path, "t.py", TINY), "--device", "cpu", "--repeats", 0, "-o", tmp_path / "d.vitrine")
    assert result.returncode == 0, said(result)


@pytest.mark.parametrize(
    "text, words, says",
    [(TINY, ["--device", "tpu9"], "There is no device 'tpu9'"), (TINY, ["--device", "cuda:77"], "There is no GPU for --device cuda:77"),
     ("print(1)\n", ["--train"], "--train needs an entry"), (TINY, ["--train", "--target", "sm_90"], "--target compiles and does not run"),
     ("def f(x):\n    return x\n", ["--entry", "f", "--input", "f32[2]", "--train"], "--train needs a module")],
)  # fmt: skip
def test_what_does_not_go_together_is_said(tmp_path, text, words, says):
    result = vitrine("run", write(tmp_path, "m.py", text), *words, "-o", tmp_path / "x.vitrine")
    assert result.returncode in (1, 2) and says in said(result), said(result)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def test_watch_records_again_when_a_module_of_the_folder_changes_and_keeps_the_last_good_run(tmp_path):
    helper = write(tmp_path, "helper.py", "def g(x):\n    return x + 1\n")
    write(tmp_path, "m.py", "import torch\nfrom helper import g\nmodel = torch.compile(g, disable=True)\ndef f(x):\n    return g(x)\n")
    log = open(tmp_path / "log", "w+")
    words = ["vitrine", "run", "m.py", "--entry", "f", "--input", "f32[4]", "--repeats", "0", "--watch"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=os.environ)

    def told(text, times):
        return (tmp_path / "log").read_text().count(text) >= times

    def texts():
        return "".join(str(row) for row in query(tmp_path / "m.vitrine", "SELECT name FROM node"))

    try:
        wait_for(lambda: told("waiting for a change of 2 files", 1))
        assert "mul" not in texts()
        helper.write_text("def g(x):\n    return x * 3\n")
        wait_for(lambda: told("waiting for a change", 2))
        assert told("helper.py has changed", 1) and "mul" in texts()
        helper.write_text("def g(x:\n")
        wait_for(lambda: told("waiting for a change", 3))
        assert told("does not import", 1) and "mul" in texts()
        helper.write_text("def g(x):\n    return x.sin()\n")
        wait_for(lambda: told("waiting for a change", 4))
        assert "sin" in texts()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        log.close()


def test_what_can_be_run_is_read_without_running_it(tmp_path):
    from vitrine._tools.entries import read

    path = write(tmp_path, "m.py", "raise SystemExit\nmodel = inputs = 1\nclass A:\n    def __call__(self, x, n: int = 3, *rest, flag): pass\n")
    found = read(str(path))
    assert [entry["name"] for entry in found["entries"]] == ["", "A"] and not found["script"]
    x, n, rest, flag = found["entries"][1]["parameters"]
    assert (x["name"], x["needed"], n["default"], n["annotation"], rest["needed"], flag["by_place"]) == ("x", True, "3", "int", False, False)
    assert "line 1" in read(str(write(tmp_path, "bad.py", "def f(:\n")))["problem"]
