"""Every kernel that is generated for a GPU compiles for the architectures that matter, without spills. No GPU is needed."""

import functools
import json
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from vitrine import _engine, config

from tests.python.kernels.cpp import test_codegen as programs
from tests.python.kernels.cpp import test_data_movement as moving
from tests.python.kernels.cpp import test_reductions as reductions
from tests.python.support.codegen_harness import TOOL, tool
from tests.python.support.cuda_on_cpu import on_gpu
from tests.python.support.places import ROOT

GOLDEN = sorted((ROOT / "tests/golden/cuda").glob("*.txt"))
ARCHS = ("sm_80", "sm_90", "sm_100")
pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(bool(_engine.cuda_target_problem("sm_100", config.nvrtc)), reason="no NVRTC for sm_100"),
]


@functools.cache
def compiled(text, arch):
    return _engine.cuda_compile(text, arch, config.nvrtc)


def check_kernels(kernels, archs=ARCHS):
    """Compiles all of them, side by side; no warning but about what a template leaves out, no spill."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [(k, arch, pool.submit(compiled, k["text"], arch)) for k in kernels for arch in archs]
        for kernel, arch, job in jobs:
            _, _, log, report = job.result()
            assert report["registers"] > 0, f"{kernel['name']} {arch}: {log}"
            assert report["spill_bytes"] == 0, f"{kernel['name']} {arch} spills {report['spill_bytes']} bytes"


def program_of(graph_text, passes=False):
    return json.loads(tool("json", on_gpu(graph_text), passes=passes))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden(path):
    graph = path.read_text().split("----")[0]
    kernels = program_of(graph)["kernels"]
    assert kernels and all("__global__" in k["text"] for k in kernels)
    check_kernels(kernels)


@pytest.fixture
def compiled_only(monkeypatch):
    """The programs of test_codegen.py, compiled for GPUs instead of being run on the CPU."""
    seen = []

    def check(graph, results, folder, *how, passes=False, **more):
        program = program_of(graph.text(results), passes)
        seen.extend(program["kernels"])
        assert all("__global__" in k["text"] for k in program["kernels"])
        return types.SimpleNamespace(p=program)

    monkeypatch.setattr(programs, "check", check)
    monkeypatch.setattr(moving, "check", check)
    monkeypatch.setattr(reductions, "check", check)
    return seen


HALF_AND_FULL = [torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("op", programs.UNARY)
def test_unary(op, compiled_only, monkeypatch):
    """Every unary operator in every floating type, one kernel each as in a model."""
    monkeypatch.setattr(programs, "UNARY", [op])
    for dtype in HALF_AND_FULL:
        programs.test_unary(None, dtype)
    check_kernels(compiled_only, ["sm_90"] if op not in ("exp", "erf", "tanh") else ARCHS)


def test_functions_of_two(compiled_only):
    """Quotients and remainders of floating types, and of integers by a number."""
    for dtype in HALF_AND_FULL:
        programs.test_functions_of_two(None, dtype)
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        programs.test_integers_by_a_number(None, dtype)
    check_kernels(compiled_only, ["sm_90"])


BINARY_TYPES = next(m.args[1] for m in programs.test_binary.pytestmark if m.name == "parametrize")


@pytest.mark.parametrize("op", programs.BINARY)
def test_binary(op, compiled_only, monkeypatch):
    """Every binary operator over pairs of floating, integer and bool types."""
    monkeypatch.setattr(programs, "BINARY", [op])
    for types_of in BINARY_TYPES:
        programs.test_binary(None, types_of)
    check_kernels(compiled_only, ["sm_90"])


ROWS = {
    "softmax of short rows": lambda: programs.test_softmax(None, 17, False),
    "softmax of rows": lambda: programs.test_softmax(None, 1024, False),
    "softmax of long rows": lambda: programs.check_softmax(None, 64, 20000, False),
    "softmax of few long rows": lambda: programs.check_softmax(None, 5, 20000, False),
    "layer norm": lambda: programs.test_layer_norm_with_epilogue(None, 768, False),
    "layer norm of odd rows": lambda: programs.test_layer_norm_with_epilogue(None, 1000, False),
    "rows of two dims": lambda: programs.test_group_norm_rows_of_two_dims(None),
    "library's operators, f32": lambda: programs.test_after_the_passes(None, torch.float32),
    "library's operators, bf16": lambda: programs.test_after_the_passes(None, torch.bfloat16),
}


@pytest.mark.parametrize("name", ROWS)
def test_kernels_of_rows_compile(name, compiled_only):
    ROWS[name]()
    assert compiled_only
    check_kernels(compiled_only)


ROW_PROGRAMS = {
    "softmax": lambda kind, x: f"  %y = aten._softmax.default(%x, 1, False) : {kind}\n",
    "layer norm": lambda kind, x: f"  %v = aten.var.correction(%x, [1], correction=0, keepdim=True) : {x[0]}[{x[1]},1]\n  %y = aten.mul.Tensor(%x, %v) : {kind}\n",
    "gradient": lambda kind, x: f"  %y = aten._softmax_backward_data.default(%x, %x, 1, {x[0]}) : {kind}\n",
}


@pytest.mark.parametrize("name", ROW_PROGRAMS)
@pytest.mark.parametrize("dtype, columns", [("f32", 50257), ("f32", 130001), ("f16", 128256), ("bf16", 100001), ("f64", 30000)])
def test_rows_longer_than_a_block_has_room_for(name, dtype, columns):
    """Blocks of one cluster keep a row together, where the GPU has clusters; else it is read again."""
    kind = f"{dtype}[300,{columns}]"
    graph = f"graph optimised {{\n  %x = placeholder() : {kind}\n{ROW_PROGRAMS[name](kind, (dtype, 300))}  return %y\n}}\n"
    for arch, clusters, room in (("sm_80", False, 163), ("sm_90", True, 227), ("sm_100", True, 227)):
        kernels = json.loads(tool("json", on_gpu(graph), passes=True, arch=arch))["kernels"]
        assert kernels and all(k["shared"] <= room << 10 for k in kernels)
        assert all(("__cluster_dims__" in k["text"]) == clusters for k in kernels)
        check_kernels(kernels, [arch])


MOVING = {
    "moves": lambda: [moving.test_moves_are_exact(None, name, (3, 4, n), 16) for name in moving.MOVES for n in (37, 64)],
    "picks": lambda: [moving.exactly(g, [make(g, x, i)], None) for make in moving.PICKS.values() for g, x, i in [moving_inputs()]],
    "every type": lambda: [moving.test_moves_of_every_type_are_exact(None, t) for t in moving.DTYPES],
    "picked types": lambda: [moving.test_picked_types(None, t) for t in (torch.float16, torch.int64, torch.bool)],
    "rotate half": lambda: [moving.test_rotate_half_is_one_kernel(None, n, torch.bfloat16) for n in (128, 6)],
    "embeddings and norm": lambda: moving.test_embeddings_and_norm_are_one_kernel(None),
    "mask": lambda: moving.test_causal_mask_from_numbers(None),
    "numbers": lambda: moving.exactly(*counted(), None, 1),
}  # fmt: skip


def moving_inputs():
    g = moving.GraphWriter()
    return g, g.input(torch.randn(3, 4, 64)), g.input(torch.randint(0, 3, (8,)))


def counted():
    g = moving.GraphWriter()
    x = g.input(torch.randn(37))
    return g, [g.op("aten.add.Tensor", x, g.op("aten.arange.default", 37))]


@pytest.mark.parametrize("name", MOVING)
def test_kernels_that_move_elements_compile(name, compiled_only):
    MOVING[name]()
    assert compiled_only


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool], ids=str)
def test_reductions_anywhere(dtype, compiled_only):
    for place in [((1000, 1030), [0]), ((4099, 37), [0]), ((2, 700, 64), [1]), ((6, 5, 9, 11), [0, 2, 3]), ((2, 3, 40000), [0, 2])]:
        reductions.test_reductions_over_any_dimensions(None, place, dtype)
    check_kernels(compiled_only, ["sm_90"])


def test_consumers_of_reductions(compiled_only):
    reductions.test_a_bias_gradient_with_what_makes_it(None, (2049, 100), torch.bfloat16)
    for shape in [(128, 40), (3000, 24), (4, 19, 210)]:
        reductions.test_consumers_of_rows_and_of_elements(None, shape)
    for shape, dim in [((6, 19, 300), 1), ((2, 100000), 1), ((50000, 7), 0)]:
        reductions.test_softmax_anywhere(None, shape, dim)
    reductions.test_products(None)
    for name in ("transposed", "strided", "broadcast", "channels last"):
        reductions.test_layouts(None, name, [0, 2, 3])
    check_kernels(compiled_only, ["sm_90"])


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed, compiled_only):
    programs.test_random_graphs(None, seed)
    check_kernels(compiled_only, ["sm_90"])
