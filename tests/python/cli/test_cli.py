"""The command line as a user meets it: every command, its output and its exit status."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from tests.python.support.places import ROOT
from tests.python.support.command_line import TINY, query, said, vitrine, write

STAGES = re.findall(r'^      \{"(\w+)", "', (ROOT / "app/cli/show.cpp").read_text(), re.M)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recorded run of the transformer block, and what the command said."""
    folder = tmp_path_factory.mktemp("session")
    session = folder / "block.vitrine"
    return session, vitrine("run", ROOT / "samples/transformer_block.py", "-o", session, "--repeats", 2)


def test_run_prints_stages_and_times(recorded):
    session, result = recorded
    assert result.returncode == 0, said(result)
    lines = result.stdout.splitlines()
    assert any(re.match(r"Memory +[\d.]+ (kB|MB|B) ", line) for line in lines)
    assert any(re.match(r"ATen +\d+ nodes +[\d.]+ (µs|ms) +ok", line) for line in lines)
    (run,) = [line for line in lines if line.startswith("transformer_block.py")]
    assert "finished" in run and re.search("(equal|close to) eager", run) and "not measured: 2 calls" in run
    assert f"vitrine open {session}" in result.stdout
    assert "USDT" not in result.stderr and all(line.startswith("vitrine: ") for line in result.stderr.splitlines())


def test_there_are_stages_to_show():
    assert len(STAGES) >= 28


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_as_text_and_as_json(recorded, stage):
    text = vitrine("show", recorded[0], stage)
    assert text.returncode == 0 and text.stdout.strip() and not text.stderr
    rows = json.loads(vitrine("show", recorded[0], stage, "--json").stdout)
    empty = {"joint", "partition", "forward", "backward", "recompilations", "symbols", "breaks", "messages", "counters", "samples", "numerics"}
    assert isinstance(rows, list) and (bool(rows) != (stage in empty))
    if rows:
        assert isinstance(rows[0], dict)
        assert rows[0].get("nodes") != []  # the last pass of a stage may have changed nothing
    else:
        assert text.stdout.startswith("No ")


def test_show_filters_by_compilation(recorded):
    assert vitrine("show", recorded[0], "aten", "--compilation", "0/0").stdout == vitrine("show", recorded[0], "aten").stdout
    wrong = vitrine("show", recorded[0], "aten", "--compilation", "7/7")
    assert wrong.returncode == 2 and "7/7" in wrong.stderr and "0/0" in wrong.stderr


def test_show_numbers_calls_from_one(tmp_path):
    """The window's strip of calls does: the third call is the one that needed another compilation."""
    text = "import torch, vitrine\nf = vitrine.compile(lambda x, n: x * n)\nfor n in (2, 2, 5):\n    f(torch.ones(3), n)\n"
    script = write(tmp_path, "calls.py", text)
    session = tmp_path / "calls.vitrine"
    assert vitrine("run", script, "-o", session).returncode == 0
    assert " at call 3," in vitrine("show", session, "recompilations").stdout


def test_show_all_passes(recorded):
    one, all = (vitrine("show", recorded[0], "optimised", *more).stdout for more in ((), ("--passes",)))
    assert len(all) > len(one) and ", after " in all


def test_tables_say_units_and_count_as_the_window_does(recorded):
    def shown(stage):
        return vitrine("show", recorded[0], stage).stdout.splitlines()

    assert "offset, B" in shown("memory")[0]
    launched = [int(n) for n in (re.split(r"  +", line)[1] for line in shown("launch")[1:] if "  " in line) if n.isdigit()]
    assert launched == list(range(1, len(launched) + 1)) and "view" in "".join(shown("launch"))
    assert any(re.match(rf"Launch plan +{len(launched)} launches ", line) for line in shown("stages"))
    decisions = shown("decisions")
    assert "saves" in decisions[0] and not any(", saves" in line for line in decisions) and any("not fused" in line for line in decisions)
    assert any(re.match(r" *\d+ +CALL +\d+$", line) for line in shown("bytecode"))
    assert any(line.startswith("L a local variable") for line in shown("guards")) and not any("__dict__" in line for line in shown("guards"))
    assert "f32[8,128,768]" in shown("accuracy")[1] and "found its compilation" in "".join(shown("calls"))
    assert not any(re.match(r" *– ", line) for line in shown("timeline"))
    assert "needs gradients" in shown("joint")[0]
    rows = json.loads(vitrine("show", recorded[0], "decisions", "--json").stdout)
    assert all(len(r["pair"]) == 2 and all(r["pair"]) for r in rows) and any(r["kernel_label"] == "K0" for r in rows)


def test_why_two_are_not_one_kernel(recorded):
    def why(*names):
        return vitrine("show", recorded[0], "why", *names)

    rows = json.loads(vitrine("show", recorded[0], "decisions", "--json").stdout)
    apart = next(row for row in rows if row["verdict"] != "fused")
    fused = next(row for row in rows if row["verdict"] == "fused" and row["kernel_label"])
    assert "not one kernel" in why(*apart["pair"]).stdout and apart["reason"] in why(*apart["pair"]).stdout
    assert f"both are in {fused['kernel_label']}" in why(*fused["pair"]).stdout
    never = why("K0", "K2")  # which have kernels and calls between them
    assert never.returncode == 0 and "not one kernel" in never.stdout and "would save" in never.stdout
    (row,) = json.loads(why("K0", "K2", "--json").stdout)
    assert row["a"].startswith("K0 ") and row["verdict"] == "not one kernel" and row["reason"]
    assert "fused" not in {line.split("  ")[2] for line in why().stdout.splitlines()[1:] if line.count("  ") > 2}
    wrong = why("K0", "geluu")
    assert wrong.returncode == 2 and "no node and no kernel geluu" in wrong.stderr
    assert why("K0").returncode == 2 and vitrine("show", recorded[0], "kernels", "K0", "K1").returncode == 2


def test_explain_a_session(recorded):
    result = vitrine("explain", recorded[0])
    assert result.returncode == 0 and result.stdout.startswith("1 graph, 0 graph breaks, ")


def test_explain_a_file_leaves_nothing_behind(tmp_path):
    write(tmp_path, "m.py", "import torch\ndef f(x):\n    y = x + 1\n    print('here')\n    return y * 2\n")
    result = vitrine("explain", "m.py", "--entry", "f", "--input", "f32[3]", cwd=tmp_path, env={"TMPDIR": str(tmp_path)})
    assert result.returncode == 0, said(result)
    assert "2 graphs, 1 graph break" in result.stdout and "m.py:4" in result.stdout
    assert not [name for name in os.listdir(tmp_path) if "vitrine" in name]


def test_an_entry_with_several_inputs_and_its_session_beside_us(tmp_path):
    path = write(tmp_path, "in here/my file.py", "def f(x, n, words):\n    return x * n if words else x\n")
    result = vitrine("run", path, "--entry", "f", "--input", "f32[4]", "--input=-3", "--input", "[1, 2]", "--repeats", 0, cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert query(tmp_path / "my file.vitrine", "SELECT inputs, status, eager_ns FROM run") == [("f32[4], -3, [1, 2]", "finished", 0)]
    assert 'vitrine open "my file.vitrine"' in result.stdout


SCRIPT = """
import sys, torch
@torch.compile
def f(x):
    return x.sin() + 1
print("arguments", sys.argv[1:], __name__)
print(f(torch.zeros(2)).tolist())
"""


def test_a_script_with_its_own_arguments(tmp_path):
    write(tmp_path, "s.py", SCRIPT)
    result = vitrine("run", "s.py", "--take-over", "--repeats", 3, "--mode", "max-autotune", "--", "--repeats", "x", "--help", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "arguments ['--repeats', 'x', '--help'] __main__" in result.stdout and "[1.0, 1.0]" in result.stdout
    assert query(tmp_path / "s.vitrine", "SELECT count(*) FROM kernel")[0][0] == 1


def test_a_script_that_compiles_nothing_says_what_to_do(tmp_path):
    write(tmp_path, "s.py", "print('hello')\n")
    result = vitrine("run", "s.py", cwd=tmp_path)
    assert result.returncode == 1 and "Nothing was compiled" in result.stderr and "--take-over" in result.stderr
    assert query(tmp_path / "s.vitrine", "SELECT status FROM run") == [("failed",)]  # in the window, too, it is no success


@pytest.mark.parametrize("arguments", [("m.py",), ("m.py", "--target", "sm_90"), ("s.py",), ("s.py", "--take-over")], ids=" ".join)
def test_a_run_where_compilation_is_switched_off_says_so(tmp_path, monkeypatch, arguments):
    write(tmp_path, "m.py", TINY)
    write(tmp_path, "s.py", "import torch\nprint(torch.compile(lambda x: x + 1)(torch.ones(2)))\n")
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    result = vitrine("run", *arguments, cwd=tmp_path)
    assert result.returncode == (0 if "--take-over" in arguments else 2 if "m.py" in arguments else 1), said(result)
    assert "TORCH_COMPILE_DISABLE=1 in the environment switches compilation off" in said(result)


def test_a_session_is_replaced_and_nothing_else_is(tmp_path):
    path = write(tmp_path, "m.py", TINY)
    for _ in range(2):
        assert vitrine("run", path, "-o", "s.vitrine", "--repeats", 0, cwd=tmp_path).returncode == 0
    write(tmp_path, "other.py", TINY)
    for target, why in (("m.py", "is read by this run"), ("other.py", "not a Vitrine session"), (".", "folder"), ("none/s.vitrine", "does not exist"), ("/proc/s.vitrine", "cannot be written")):
        result = vitrine("run", path, "-o", target, cwd=tmp_path)
        assert result.returncode == 1 and why in result.stderr and "-o" in result.stderr, said(result)
    assert path.read_text() == TINY


def test_every_graph_is_compared_when_asked(tmp_path):
    text = "import torch\ndef f(x):\n    x.add_(1)\n    y = torch.rand(3) + x\n    print('t')\n    return y.sin()\n"
    write(tmp_path, "m.py", text)
    result = vitrine("run", "m.py", "--entry", "f", "--input", "f32[3]", "--check", "--repeats", 1, cwd=tmp_path)
    assert result.returncode == 0 and re.search("(equal|close to) eager", result.stdout), said(result)


@pytest.mark.parametrize("words", [["--help"], *[[c, "--help"] for c in ("run", "show", "diff", "explain", "bench", "open", "shot", "doctor")]])
def test_help(words):
    if words[0] == "shot" and not (Path(subprocess.getoutput("command -v vitrine")).parent / "vitrine-app").exists():
        pytest.skip("the application is not built")
    result = vitrine(*words)
    assert result.returncode == 0 and len(result.stdout) > 60


def test_help_lists_what_there_is():
    assert all(name in vitrine("show", "--help").stdout for name in STAGES)
    assert all(o in vitrine("run", "--help").stdout for o in ("--entry", "--input", "--take-over", "--repeats", "--check", "--mode"))
    assert all(o in vitrine("bench", "--help").stdout for o in ("--against", "--compile", "--json"))


@pytest.mark.parametrize(
    "words",
    [[], ["nonsense"], ["run"], ["run", "a.py", "--nonsense"], ["run", "a.py", "b.py"], ["run", "a.py", "--repeats"],
     ["run", "a.py", "--repeats", "many"], ["run", "a.py", "--repeats", "-1"], ["show"], ["explain"],
     ["bench", "--nonsense"], ["bench", "--against", "nobody"], ["doctor", "--nonsense"]],
)  # fmt: skip
def test_wrong_arguments(words, tmp_path):
    result = vitrine(*words, cwd=tmp_path)
    assert result.returncode == 2 and result.stderr and not os.listdir(tmp_path), said(result)


def test_wrong_arguments_leave_the_session_that_was_there(tmp_path):
    write(tmp_path, "m.py", TINY)
    (tmp_path / "m.vitrine").write_text("of before")
    result = vitrine("run", "m.py", "--input", "f32[3]", cwd=tmp_path)
    assert result.returncode == 2 and "--input does not go with" in result.stderr, said(result)
    assert (tmp_path / "m.vitrine").read_text() == "of before"


def test_an_unknown_command_names_the_known_ones():
    result = vitrine("compare", "a", "b")
    assert result.returncode == 2
    assert 'There is no command "compare"' in result.stderr and "run, show, diff, explain" in result.stderr


RAISING = {
    "eager does not raise it": ("vitrine.compile(lambda x: x * 2)", "torch.ones(40)", "mark_dynamic(x, 0, min=2, max=16)",
                                "vitrine.compile raised ConstraintViolationError", "Eager does not raise this. Give mark_dynamic"),
    "a derivative's derivative": ("vitrine.compile(lambda x: x.sin().sum())", "torch.ones(4, requires_grad=True)", "config",
                                  "vitrine.compile raised DoubleBackwardError", "Eager does not raise this."),
    "the user's own": ("vitrine.compile(lambda x: x @ x)", "torch.ones(2, 3)", "config",
                       "Your code raised RuntimeError: mat1 and mat2", "without Vitrine, please report it"),
}


@pytest.mark.parametrize("name", RAISING)
def test_a_script_that_raises_is_told_who_raised(name, tmp_path):
    compiled, x, more, what, hint = RAISING[name]
    script = write(tmp_path, "script.py", f"""
import torch, vitrine
f = {compiled}
x = {x}
vitrine.{more}
y = f(x)
if y.requires_grad: torch.autograd.grad(y, x, create_graph=True)
""")
    result = vitrine("run", script, "-o", tmp_path / "s.vitrine")
    assert result.returncode == 1
    assert what in result.stderr and hint in result.stderr and str(script) in result.stderr


def test_an_unknown_stage_names_the_known_ones(recorded):
    result = vitrine("show", recorded[0], "attention")
    assert result.returncode == 2 and '"attention"' in result.stderr and "captured" in result.stderr


def test_doctor():
    result = vitrine("doctor")
    assert result.returncode == 0
    for part in ("CPython", "PyTorch", "CPU", "kernel compiler", "CUDA driver", "CUPTI", "display", "self-test"):
        assert part in result.stdout
    rows = json.loads(vitrine("doctor", "--json").stdout)
    from vitrine import _engine, config

    (nvrtc,) = [r for r in rows if r["name"] == "NVRTC"]
    assert (nvrtc["state"] == "ok") == (_engine.cuda_target_problem("sm_90", config.nvrtc) is None)  # as `run --target` finds it
    assert {r["state"] for r in rows} <= {"ok", "part", "missing"} and all(r["switches_off"] for r in rows if r["state"] == "missing")


def test_bench_measures_a_model_beside_its_peers(tmp_path):
    """Those that are not installed are named, with how to install them; the others have a row each."""
    file = write(tmp_path, "m.py", TINY)
    result = vitrine("bench", file, "--against", "eager,openvino", "--seconds", 0.2)
    assert result.returncode == 0, result.stderr
    assert "eager" in result.stdout and "vitrine" in result.stdout and "how much faster Vitrine is (95 % interval)" in result.stdout
    if "openvino is left out" in result.stdout:
        assert "pip install openvino" in result.stdout
    rows = json.loads(vitrine("bench", file, "--seconds", 0.2, "--json").stdout)
    assert [r["side"] for r in rows] == ["vitrine", "eager"] and all(r["ns"] > 0 and r["error"] < 1e-4 for r in rows)


def test_bench_knows_its_peers(tmp_path):
    result = vitrine("bench", write(tmp_path, "m.py", TINY), "--against", "nobody")
    assert result.returncode == 2 and "eager, inductor, onnxruntime, openvino" in result.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_bench_says_that_there_is_no_gpu():
    result = vitrine("bench", "--cuda")
    assert result.returncode == 1 and not result.stdout and result.stderr.startswith("vitrine bench: There is no GPU for --cuda here.")


@pytest.mark.parametrize("how", [(), ("--compile",)])
@pytest.mark.parametrize("text, why", [(None, "does not exist"), ("x = 1", "has no model"), ("inputs = ()\nmodel = 1 / 0", "division by zero")])
def test_bench_says_why_there_is_no_model(how, text, why, tmp_path):
    file = tmp_path / "m.py" if text is None else write(tmp_path, "m.py", text)
    result = vitrine("bench", *how, file)
    assert result.returncode == 1 and result.stderr.startswith("vitrine bench: ") and why in result.stderr
    assert "bench.py" not in result.stderr and "loading.py" not in result.stderr


def test_bench_measures_a_models_first_call(tmp_path):
    result = vitrine("bench", "--compile", write(tmp_path, "m.py", TINY), "--processes", 1, "--json")
    assert result.returncode == 0, said(result)
    cold, warm = json.loads(result.stdout)
    assert (cold["cache"], warm["cache"]) == ("cold", "warm") and 0 < warm["first"]


REPEATS_ITSELF = """import torch
import vitrine


@vitrine.compile
def scaled(x, name):
    return x * len(name) if name != "nothing" else x


for i in range(14):
    scaled(torch.ones(3), "a" * i)
"""


def test_what_is_said_again_and_again_stands_once(tmp_path):
    write(tmp_path, "again.py", REPEATS_ITSELF)
    run = vitrine("run", tmp_path / "again.py", "-o", tmp_path / "s.vitrine")
    for text in (run.stdout, vitrine("show", tmp_path / "s.vitrine", "messages").stdout):
        assert text.count("new cases run eagerly.") == 1, text
        assert "new cases run eagerly. (6 times)" in text
    assert len(json.loads(vitrine("show", tmp_path / "s.vitrine", "messages", "--json").stdout)) == 6


def test_open_compares_two_sessions_and_no_other_number(tmp_path):
    (tmp_path / "a.vitrine").write_bytes(b"")
    result = vitrine("open", "--compare", tmp_path / "a.vitrine")
    assert result.returncode == 2 and "--compare takes two sessions" in result.stderr
