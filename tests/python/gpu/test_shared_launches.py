"""Small kernels that share a launch on a GPU, whose threads are played here: what they compute, and what must stay apart."""

import platform
import re
import shutil

import pytest
import torch
from tests.python.support.codegen_harness import CLANG, TOOL, GraphWriter
from tests.python.support.cuda_on_cpu import check

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(not shutil.which(CLANG), reason="clang++ is not here"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the GPU's threads are played on x86-64 only"),
]


def rows(g, *sizes):
    return g.input(torch.randn(sizes))


def total(g, x):
    return g.op("aten.sum.dim_IntList", x, [-1], True)


def test_kernels_of_different_sizes(tmp_path):
    g = GraphWriter()
    results = [total(g, rows(g, *sizes)) for sizes in ((64, 500), (9, 500), (33, 470))]
    program = check(g, results, tmp_path, kernels=1, shared=True)
    assert program.p["steps"][0]["label"] == "K0+K1+K2"
    check(g, results, tmp_path, kernels=3)


def test_different_kernels(tmp_path):
    g = GraphWriter()
    x, half, index = rows(g, 40, 256), g.input(torch.randn(70, 64).half()), g.input(torch.randint(0, 40, (30,)))
    results = [
        g.op("aten.relu.default", g.op("aten.mul.Tensor", x, 2.0)),
        g.op("aten.index_select.default", x, 0, index),
        g.op("aten.t.default", g.op("aten.neg.default", half)),
        g.op("aten.exp.default", rows(g, 1000)),
    ]
    program = check(g, results, tmp_path, shared=True)
    assert len(program.p["kernels"]) < 4


def test_what_needs_another_waits_for_it(tmp_path):
    g = GraphWriter()
    x, y = rows(g, 50, 300), rows(g, 300, 50)
    a = total(g, x)
    b = total(g, g.op("aten.t.default", g.op("aten.clone.default", y)))
    c = total(g, g.op("aten.mul.Tensor", y, g.op("aten.t.default", a)))
    results = [a, b, c, total(g, g.op("aten.t.default", c))]
    program = check(g, results, tmp_path, shared=True)
    assert 3 <= len(program.p["kernels"])


def test_what_is_written_is_read_before(tmp_path):
    """The copy to an input stays behind what reads the input."""
    g = GraphWriter()
    x, y, cache = rows(g, 64, 500), rows(g, 64, 500), rows(g, 64, 1)
    first = cache.tensor.clone()
    before = total(g, g.op("aten.mul.Tensor", x, cache))
    other = total(g, y)
    g.op("aten.copy_.default", cache, total(g, g.op("aten.add.Tensor", x, y)))
    cache.tensor.copy_(first)  # the writer has run the program
    check(g, [before, other], tmp_path, shared=True)
    torch.testing.assert_close(cache.tensor, (x.tensor + y.tensor).sum(-1, keepdim=True), rtol=1e-4, atol=1e-4)


def test_what_operators_write_is_read_behind_them(tmp_path):
    """Each matrix is written part by part, by PyTorch, before its copy is made."""
    g = GraphWriter()
    results = []
    for n in range(3):
        zeros = g.op("aten.new_zeros.default", rows(g, 4, 4), [14, 14])
        for at in range(3):
            g.op("aten.copy_.default", g.op("aten.slice.Tensor", zeros, 0, at, at + 7), g.input(torch.full((7, 14), n + at + 1.0)))
        parts = g.op("aten.permute.default", g.op("aten.view.default", zeros, [2, 7, 2, 7]), [0, 2, 1, 3])
        results.append(total(g, g.op("aten.clone.default", parts)))
    check(g, results, tmp_path, shared=True)


def test_unlike_blocks_stay_apart(tmp_path):
    g = GraphWriter()
    results = [total(g, rows(g, 40, 20)), total(g, rows(g, 4, 30000))]
    check(g, results, tmp_path, shared=True)


def test_memory_that_blocks_share_adds_up(tmp_path):
    """A tile that turns f32 holds 17 KB, and a launch has 48."""
    g = GraphWriter()
    results = [g.op("aten.add.Tensor", g.op("aten.t.default", rows(g, 256, n)), rows(g, n, 256)) for n in (256, 320, 384)]
    program = check(g, results, tmp_path, kernels=2, shared=True)
    assert all("__shared__" in k["text"] for k in program.p["kernels"])


def test_kernels_alike_are_one_text(tmp_path):
    """What differs in names alone takes its memory once."""
    g = GraphWriter()
    results = [g.op("aten.add.Tensor", g.op("aten.t.default", rows(g, 256, 64)), rows(g, 64, 256)) for _ in range(4)]
    results.append(total(g, rows(g, 64, 500)))
    program = check(g, results, tmp_path, shared=True)
    text = next(k["text"] for k in program.p["kernels"] if "4 times" in k["text"])
    assert text.count("__device__ void run(") == len(re.findall(r"^namespace body\d", text, re.M)) < 5


def test_far_kernels_alike_share_launches(tmp_path):
    """The gradients of many tables: each is sorted, merged, summed up and joined."""
    g = GraphWriter()
    results = []
    for _ in range(7):
        index, grad = g.input(torch.randint(0, 900, (600,))), rows(g, 600, 16)
        results.append(g.op("aten.embedding_dense_backward.default", grad, index, 900, -1, False))
    program = check(g, results, tmp_path, shared=True)
    assert len(program.p["steps"]) == 4, [k["name"] for k in program.p["kernels"]]


def test_a_launch_passes_so_many_arguments(tmp_path):
    g = GraphWriter()
    results = []
    for count in range(64, 70):
        x = rows(g, count, 100)
        for _ in range(99):
            x = g.op("aten.add.Tensor", x, rows(g, count, 100))
        results.append(total(g, x))
    program = check(g, results, tmp_path, shared=True)
    assert 128 < max(len(s["buffers"]) for s in program.p["steps"]) <= 500


def test_what_runs_earlier_holds_little(tmp_path):
    """The second sum's operand is 2 MB: made before the first it would be held for longer."""
    g = GraphWriter()
    first = g.op("aten.relu.default", rows(g, 64, 500))
    large = g.op("aten.mm.default", g.op("aten.relu.default", rows(g, 1024, 512)), g.input(torch.randn(512, 8)))
    program = check(g, [first, large], tmp_path, shared=True)
    assert len([k for k in program.p["kernels"] if "_more" in k["name"]]) == 0
