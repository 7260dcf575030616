"""Compiling for a GPU on a machine that has none: what a user sees, and what the session holds of each kernel."""

import json
import re
import subprocess
import sys
import types
import warnings

import pytest
import torch
import vitrine
from tests.python.support.command_line import said, vitrine as run, write
from tests.python.support.recorded import Session, recorded
from vitrine import _engine, config
from vitrine._tools.target import compiled_for

NVRTC = not _engine.cuda_target_problem("sm_90", config.nvrtc)
pytestmark = pytest.mark.skipif(not NVRTC, reason="NVRTC is not here")
needs_sass = pytest.mark.skipif(not config.nvdisasm, reason="nvdisasm is not here")

MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)

    def forward(self, x):
        y = torch.softmax(self.norm(torch.relu(x * 2)), -1)
        return y + torch.arange(256, device=x.device)

model = Block().eval()MOVED
inputs = (torch.randn(64, 256, device=DEVICE),)
"""


def model_on(folder, device):
    text = MODEL.replace("MOVED", "" if device == "cpu" else f'.to("{device}")').replace("DEVICE", repr(device))
    return write(folder, "model.py", text)


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0"])
def test_a_file_is_compiled_for_a_gpu_that_is_not_here(tmp_path, device):
    result = run("run", model_on(tmp_path, device), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "ran eagerly" in result.stderr and "Fused" in result.stdout
    kernels = json.loads(run("show", "s.vitrine", "kernels", "--json", cwd=tmp_path).stdout)
    ours = [k for k in kernels if k["kind"] == "generated"]
    assert len(ours) == 1 and ours[0]["language"] == "cuda c++" and ours[0]["isa"] == "sm_90"
    assert "__global__" in ours[0]["source"] and ".target sm_90" in ours[0]["ir"]
    assert f".entry vitrine_{ours[0]['name']}(" in ours[0]["ir"]  # profilers tell one kernel from another
    gpu = ours[0]["gpu"]
    assert gpu["registers"] > 0 and gpu["spill_bytes"] == 0 and gpu["blocks"] >= 1 and gpu["threads"] % 32 == 0
    assert 0 < gpu["occupancy"] <= 1 and gpu["limited_by"]
    shown = run("show", "s.vitrine", "kernels", cwd=tmp_path).stdout
    assert "occupancy" in shown and "registers" in shown
    assert run("show", "s.vitrine", "timeline", cwd=tmp_path).stdout.startswith("No timeline")


@pytest.mark.parametrize("arch", ["sm_91", "90", "hopper"])
def test_an_unknown_architecture_is_named_with_those_that_there_are(tmp_path, arch):
    result = run("run", model_on(tmp_path, "cpu"), "--target", arch, "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 1 and f"architecture {arch};" in result.stderr and "sm_90" in result.stderr
    assert not (tmp_path / "s.vitrine").exists()


def test_code_that_asks_for_a_gpu_is_compiled_and_not_run(tmp_path):
    write(tmp_path, "f.py", "import torch\ndef f(x):\n    return x * 2 + torch.ones(8, device='cuda')\n")
    words = ["run", "f.py", "--entry", "f", "--input", "f32[4,8]", "--target", "sm_90", "-o", "s.vitrine"]
    result = run(*words, cwd=tmp_path)
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert result.returncode == 0, said(result)
    assert "was not run" in result.stderr
    assert "__global__" in run("show", "s.vitrine", "kernels", cwd=tmp_path).stdout


def test_an_error_of_the_users_is_told(tmp_path):
    write(tmp_path, "f.py", "def f(x):\n    raise ValueError('no')\n")
    result = run("run", "f.py", "--entry", "f", "--input", "f32[4]", "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 1 and "ValueError" in result.stderr


def test_without_nvrtc_a_run_says_what_to_install(tmp_path):
    program = "import sys, vitrine; vitrine.config.nvrtc = '/nowhere/libnvrtc.so'; from vitrine._tools import run; sys.exit(run.main(sys.argv[1:]))"
    result = subprocess.run(
        [sys.executable, "-c", program, str(model_on(tmp_path, "cpu")), "--target", "sm_90", "-o", str(tmp_path / "s.vitrine")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 1 and "NVRTC" in result.stderr and "nvidia-cuda-nvrtc" in result.stderr


def softmax_twice(x):
    return torch.softmax(x * 0.125, -1) + 1


def compile_for(tmp_path, fn, *args, target="sm_90"):
    vitrine.reset()
    with recorded(tmp_path) as session, torch.no_grad():
        vitrine.compile(fn, options={"target": target})(*args)
    return session


@needs_sass
def test_every_listing_is_linked_to_the_lines_of_the_source(tmp_path):
    session = compile_for(tmp_path, softmax_twice, torch.randn(8, 512))
    kernel = session.one("kernel", kind="generated")
    texts = {r["text"] for r in session.rows("kernel_range", kernel=kernel["id"])}
    assert texts == {"source", "ir", "assembly"}
    nodes = {t: {r["node"] for r in session.rows("kernel_range", kernel=kernel["id"], text=t)} for t in texts}
    # Every operator of the source has instructions in PTX and SASS, but for what is folded into others.
    assert nodes["ir"] <= nodes["source"] and nodes["assembly"] <= nodes["source"]
    assert len(nodes["ir"]) >= len(nodes["source"]) - 1 and len(nodes["assembly"]) >= len(nodes["source"]) - 1


@needs_sass
def test_what_a_line_of_sass_belongs_to(tmp_path):
    """The shuffles of a maximum stand under amax, the exponential under exp."""
    write(tmp_path, "f.py", "import torch\ndef f(x):\n    return torch.softmax(x, -1)\n")
    words = ["run", "f.py", "--entry", "f", "--input", "f32[64,512]", "--target", "sm_90", "-o", "s.vitrine"]
    assert run(*words, cwd=tmp_path).returncode == 0
    (kernel,) = json.loads(run("show", "s.vitrine", "kernels", "--json", cwd=tmp_path).stdout)
    session = Session(str(tmp_path / "s.vitrine"))
    op = {n["id"]: n["op"] for n in session.rows("node")}
    for text, listing, shuffle, exponential in (("ir", kernel["ir"], "shfl", "ex2"), ("assembly", kernel["assembly"], "SHFL", "MUFU.EX2")):
        lines = listing.splitlines()
        owner = {}
        for r in session.rows("kernel_range", text=text):
            owner.update(dict.fromkeys(range(r["line"], r["end_line"] + 1), op[r["node"]]))
        shuffles = {owner.get(i) for i, line in enumerate(lines, 1) if shuffle in line}
        assert shuffles == {"aten.amax.default", "aten.sum.dim_IntList"}, (text, shuffles)
        assert {owner.get(i) for i, line in enumerate(lines, 1) if exponential in line} == {"aten.exp.default"}
        assert not re.search(r"\.loc\b|//##", listing)


def test_the_steady_state_is_not_compiled_with_lines(tmp_path):
    """What is recorded is compiled for it; the cubin of an ordinary call holds no line table."""
    source = 'extern "C" __global__ void vitrine_kernel(float* x) {\n  x[threadIdx.x] *= 2.0f;\n}\n'
    cubin, ptx, _, report = _engine.cuda_compile(source, "sm_90", config.nvrtc)
    assert b".debug_line" in cubin and ".loc" in ptx and report["registers"] > 0
    config.cache_dir = tmp_path / "cache"
    try:
        vitrine.reset()
        with torch.no_grad():
            vitrine.compile(softmax_twice, options={"target": "sm_90"})(torch.randn(8, 512))
        (plain,) = (tmp_path / "cache/kernels").glob("*.so")
        assert b".debug_line" not in plain.read_bytes()
        compile_for(tmp_path, softmax_twice, torch.randn(8, 512))
        assert len(list((tmp_path / "cache/kernels").glob("*.so"))) == 2
    finally:
        config.cache_dir = vitrine.config._default_cache_dir()


# By hand from the limits of the architecture: threads, registers, shared bytes -> part, blocks.
@pytest.mark.parametrize(
    "arch, threads, registers, shared, expected",
    [
        ("sm_90", 256, 32, 0, (1.0, 8, "threads")),
        ("sm_90", 256, 48, 0, (0.625, 5, "registers")),  # 40 warps of 48 registers fit
        ("sm_90", 128, 32, 47 * 1024, (4 * 4 / 64, 4, "shared memory")),
        ("sm_90", 32, 16, 0, (0.5, 32, "blocks")),
        ("sm_86", 1024, 32, 0, (32 / 48, 1, "threads")),
        ("sm_80", 512, 128, 0, (0.25, 1, "registers")),
    ],
)
def test_theoretical_occupancy(arch, threads, registers, shared, expected):
    assert _engine.cuda_occupancy(arch, threads, registers, shared) == pytest.approx(expected)


def test_no_occupancy_is_told_for_an_unknown_architecture():
    assert _engine.cuda_occupancy("sm_10", 128, 32, 0) is None
    assert _engine.cuda_occupancy("sm_90", 1024, 255, 0) is None  # such a block does not fit


ATTENTION = """
import torch

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(16))

    def forward(self, q, m):
        q = q * self.scale
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=m.expand(2, -1, 8, 8), dropout_p=0.1)

model = Attention().train()
inputs = torch.randn(2, 4, 8, 16), torch.ones(1, 1, 8, 1, dtype=torch.bool)
"""


def test_training_attention_has_its_mask_written_out(tmp_path):
    """One that repeats a number along its rows would keep PyTorch from its fused kernels, and from eager's random numbers."""
    result = run("run", write(tmp_path, "model.py", ATTENTION), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    graph = run("show", "s.vitrine", "captured", cwd=tmp_path).stdout
    assert ".contiguous(%expand" in graph, graph


def test_a_mask_of_columns_is_left_as_it_is(tmp_path):
    """A bias for each head, as T5 has it: eager's own attention has no fused kernel for it, and draws other numbers."""
    program = ATTENTION.replace("m.expand(2, -1, 8, 8)", "m.permute(2, 0, 1)[None]").replace("torch.ones(1, 1, 8, 1, dtype=torch.bool)", "torch.randn(8, 8, 4)")
    result = run("run", write(tmp_path, "model.py", program), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    graph = run("show", "s.vitrine", "captured", cwd=tmp_path).stdout
    assert "permute" in graph and "contiguous" not in graph, graph


AUTOCAST = """
import torch

layer = torch.nn.Linear(64, 32)

def model(x):
    with torch.autocast("cuda", dtype=torch.DTYPE):
        y = layer(x)
        return y.relu(), y.float().softmax(-1)

inputs = (torch.randn(8, 64),)
"""


@pytest.mark.parametrize("dtype, word", [("bfloat16", "bf16"), ("float16", "f16")])
def test_autocast_of_the_gpu_that_is_not_here(tmp_path, dtype, word):
    """PyTorch itself warns and switches it off."""
    program = write(tmp_path, "model.py", AUTOCAST.replace("DTYPE", dtype))
    result = run("run", program, "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert run("show", "s.vitrine", "breaks", cwd=tmp_path).stdout.startswith("No graph breaks")
    graph = run("show", "s.vitrine", "aten", cwd=tmp_path).stdout
    assert re.search(rf"addmm.* : {word}\[8,32\]cuda:0", graph) and re.search(r"softmax.* : f32\[8,32\]", graph), graph


def test_the_norms_of_many_tensors_are_one_call(tmp_path):
    parameters = [torch.nn.Parameter(torch.randn(4 + i, 3)) for i in range(6)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    session = compile_for(tmp_path, lambda *ps: torch.nn.utils.clip_grad_norm_(ps, 1.0), *parameters)
    launched = [r["text"] for r in session.rows("launch")]
    assert sum("foreach_norm" in text for text in launched) == 1 and len(launched) <= 4, launched


BORROWED = """
import torch

def get_model():
    return lambda x, i: torch.zeros(4, 3).to(x).scatter_reduce(0, i, x, "amax")

def get_inputs():
    return torch.randn(5, 3, requires_grad=True), torch.randint(0, 4, (5, 3))
"""


def test_a_backward_that_is_pytorchs_own_has_kernels(tmp_path):
    result = run("run", write(tmp_path, "model.py", BORROWED), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    backward = run("show", "s.vitrine", "backward", cwd=tmp_path).stdout
    assert "aten.gather" in backward and "cuda:0" in backward, backward
    kernels = json.loads(run("show", "s.vitrine", "kernels", "--json", cwd=tmp_path).stdout)
    assert len([k for k in kernels if k["kind"] == "generated"]) >= 2


STEP = """
import torch
from torch import nn

def get_model():
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step

def get_inputs():
    return torch.randn(6, 8), torch.randint(4, (6,))
"""


def test_a_whole_training_step_is_one_graph(tmp_path):
    result = run("run", write(tmp_path, "model.py", STEP), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert run("show", "s.vitrine", "breaks", cwd=tmp_path).stdout.startswith("No graph breaks")
    graph = run("show", "s.vitrine", "captured", cwd=tmp_path).stdout
    assert graph.count("# ") == 1 and "%backward" in graph and "addcmul_" in graph, graph


GATED_STEP = """
import torch
from torch import nn

class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(256, 384, bias=False), nn.Linear(256, 384, bias=False), nn.Linear(384, 256, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))

def get_model():
    net = nn.Sequential(*(Gated() for _ in range(4)))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def step(x):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step

def get_inputs():
    return (torch.randn(1024, 256),)
"""


def test_a_whole_step_holds_no_more_than_eager(tmp_path):
    """Of each layer what both branches and their product are, where eager keeps the silu, too; and what only the
    update at the end reads is not computed beside a weight's cast at the begin."""
    result = run("run", write(tmp_path, "model.py", GATED_STEP), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    session = Session(tmp_path / "s.vitrine")
    buffers = [b for b in session.rows("buffer") if b["kind"] in ("temporary", "output")]
    loss = max(launch["ordinal"] for launch in session.rows("launch") if "_mean" in launch["text"])
    held = [b["type"] for b in buffers if b["first"] < loss <= b["last"]]
    assert 0 < sum(t.startswith("bf16[1024,384]") for t in held) <= 12, held
    assert not [t for t in held if t.startswith(("f32[384,256]", "f32[256,384]"))], held


CHOSEN = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(8, 8, 2, batch_first=True, dropout=0.5), nn.Linear(8, 8)

    def forward(self, x):
        y = torch.relu(self.out(CHOICE))
        return nn.functional.scaled_dot_product_attention(y, y, y)

def get_model():
    return Model()

def get_inputs():
    return (torch.randn(2, 5, 8),)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch chooses, where a GPU is")
def test_what_pytorch_chooses_where_the_gpu_is_is_said(tmp_path):
    wide = "torch.lstm(x.double(), (torch.zeros(2, 2, 8, device=x.device).double(),) * 2, [w.double() for w in self.rnn._flat_weights], "
    for choice in ("x", wide + "True, 2, 0.0, True, False, True)[0].float()"):
        program = write(tmp_path, "model.py", CHOSEN.replace("CHOICE", choice))
        result = run("run", program, "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
        assert result.returncode == 0, said(result)
        assert choice != "x" or "scaled_dot_product_attention: written out here" in result.stdout, result.stdout
    breaks = run("show", "s.vitrine", "breaks", cwd=tmp_path).stdout
    assert "torch.lstm can be recorded only where the GPU is" in breaks, breaks
    assert "_thnn" not in run("show", "s.vitrine", "aten", cwd=tmp_path).stdout


RECURRENT = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.KIND(8, 12, 2, batch_first=True, bidirectional=True, dropout=DROPOUT)

    def forward(self, x):
        y, _ = self.rnn(torch.relu(x))
        return y.sigmoid()

def get_model():
    return Model()

def get_inputs():
    return (torch.randn(2, 5, 8, requires_grad=True),)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch chooses, where a GPU is")
@pytest.mark.parametrize("kind, dropout", [("LSTM", 0.0), ("GRU", 0.0), ("RNN", 0.0), ("LSTM", 0.3), ("GRU", 0.3)])
def test_recurrent_layers_are_cudnns(tmp_path, kind, dropout):
    text = RECURRENT.replace("KIND", kind).replace("DROPOUT", str(dropout))
    result = run("run", write(tmp_path, "model.py", text), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert run("show", "s.vitrine", "breaks", cwd=tmp_path).stdout.startswith("No graph breaks")
    forward, backward = (run("show", "s.vitrine", stage, cwd=tmp_path).stdout for stage in ("forward", "backward"))
    assert re.search(r"= aten._cudnn_rnn.default\(.* : f32\[2,5,24\]cuda:0", forward), forward
    assert re.search(r"= aten._cudnn_rnn_backward.default\(.* : f32\[2,5,8\]cuda:0", backward), backward
    assert "= aten.cat" not in forward, forward
    assert ("= aten._cudnn_init_dropout_state" in forward) == (dropout > 0), forward


FUSED = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 3 * 64)

    def forward(self, x, m):
        with torch.autocast("cuda", torch.bfloat16, enabled=CASTS):
            q, k, v = self.project(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
            return nn.functional.scaled_dot_product_attention(q, k, v, GIVEN).transpose(1, 2).flatten(2)

def get_model():
    return Model()

def get_inputs():
    return torch.randn(2, 20, 64), torch.randn(20, 20) > 0
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch chooses, where a GPU is")
@pytest.mark.parametrize(
    "target, casts, given, kernel",
    [("sm_90", True, "is_causal=True", "cudnn"), ("sm_90", True, "m", "cudnn"), ("sm_86", True, "m", "efficient"), ("sm_90", False, "m", "efficient")],
)  # fmt: skip
def test_training_attention_is_the_kernel_that_would_run_there(tmp_path, target, casts, given, kernel):
    program = write(tmp_path, "model.py", FUSED.replace("CASTS", str(casts)).replace("GIVEN", given))
    result = run("run", program, "--target", target, "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    graphs = {stage: run("show", "s.vitrine", stage, cwd=tmp_path).stdout for stage in ("aten", "forward", "backward")}
    dtype = "bf16" if casts else "f32"
    for stage in ("aten", "forward"):
        calls = [line for line in graphs[stage].splitlines() if f"= aten._scaled_dot_product_{kernel}_attention.default" in line]
        assert len(calls) == 1 and f" : {dtype}[2,4,20,16]" in calls[0], graphs[stage]
    assert f"= aten._scaled_dot_product_{kernel}_attention_backward.default" in graphs["backward"], graphs["backward"]
    assert "softmax" not in graphs["aten"], graphs["aten"]


def test_candidates_are_not_compiled_once_tuning_has_no_time_left(tmp_path):
    def f(x):
        return torch.softmax(x @ x, -1) + 1

    tuned = types.SimpleNamespace(fullgraph=False, mode="max-autotune-no-cudagraphs", target="sm_90")
    compiled, before = {}, (config.autotune_seconds, config.cache_dir)
    try:
        for seconds in (100, 0):
            config.autotune_seconds, config.cache_dir = seconds, tmp_path / str(seconds)
            vitrine.reset()
            with torch.no_grad(), warnings.catch_warnings(record=True) as said_of:
                warnings.simplefilter("always")
                compiled_for(f, tuned)(torch.randn(512, 512))
            compiled[seconds] = len([file for file in (tmp_path / str(seconds)).rglob("*") if file.is_file()])
        assert any("not tuned: the 0 s of vitrine.config.autotune_seconds" in str(w.message) for w in said_of)
    finally:
        config.autotune_seconds, config.cache_dir = before
    assert compiled[0] < compiled[100]


MADE = """
import torch

def model(x):
    rows = torch.tensor([0, 2], device=x.device)
    nothing = torch.tensor([], dtype=x.dtype, device=x.device)
    return torch.cat([nothing, x[rows].flatten()]) + torch.tensor(0.5, device="cuda")

inputs = (torch.randn(4, 8),)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="the tensors are made, where a GPU is")
def test_tensors_written_out_in_the_program_are_made_there(tmp_path):
    result = run("run", write(tmp_path, "model.py", MADE), "--target", "sm_90", "-o", "s.vitrine", cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "Facebook" not in said(result)
    assert run("show", "s.vitrine", "breaks", cwd=tmp_path).stdout.startswith("No graph breaks")
    assert "i64[2]cuda:0" in run("show", "s.vitrine", "aten", cwd=tmp_path).stdout
