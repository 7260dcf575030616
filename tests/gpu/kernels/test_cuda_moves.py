"""Kernels that move and pick elements on a GPU: every bit as eager has it, over types, odd sizes and slices that begin between accesses."""

import pytest
import torch
import torch.nn.functional as F
from tests.gpu.kernels.test_cuda_kernels import compiled
from vitrine import _engine

pytestmark = pytest.mark.gpu

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool, torch.float64]

MOVES = {
    "cat": lambda x: torch.cat([x, x[:, :1], x], 1),
    "cat of rows": lambda x: torch.cat([x, x[:1]], 0),
    "stack": lambda x: torch.stack([x, x], -1),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "flip": lambda x: x.flip(1),
    "roll": lambda x: x.roll((3, -1), (1, 0)),
    "triangles": lambda x: (x.tril(1), x.triu(-2)),
    "repeat": lambda x: x.repeat(2, 3),
    "scattered slice": lambda x: torch.slice_scatter(x, x[:, :2], 1, 1, 3),
    "scattered row": lambda x: torch.select_scatter(x, x[0], 0, -1),
    "every other": lambda x: torch.cat([x[:, ::2], x[:, 1::2]], 1),
}

PICKS = {
    "embedding": lambda x, i: F.embedding(i, x),
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:, i],
    "pairs": lambda x, i: x[i, i],
    "gather": lambda x, i: x.gather(0, i[:, None].expand(-1, x.shape[1])),
    "index_select": lambda x, i: x.index_select(1, i),
}


def inputs(dtype, size):
    x = torch.randint(0, 100, size, device="cuda")
    return x > 50 if dtype == torch.bool else x.to(dtype)


def same(program, x, *more):
    plan, constants = compiled(program, x, *more)
    facts = _engine.plan_facts(plan)
    assert not facts["problems"], facts["problems"]
    expected = program(x, *more)
    got = _engine.plan_run(plan, [x, *more, *constants])
    for g, e in zip(got, expected if isinstance(expected, tuple) else [expected], strict=True):
        assert g.dtype == e.dtype and g.stride() == e.stride() and torch.equal(g, e)
    return facts


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_moves(name, dtype):
    for size in [(64, 96), (7, 33), (3, 1000), (130, 4096), (5, 4)]:
        facts = same(MOVES[name], inputs(dtype, size))
        assert facts["kernels"] >= 1 and facts["python_calls"] == 0, facts


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PICKS)
def test_picks(name, dtype):
    for size in [(64, 96), (7, 33), (50, 1000)]:
        i = torch.randint(0, 7, (2, 9) if name == "embedding" else (9,), device="cuda")
        facts = same(PICKS[name], inputs(dtype, size), i)
        assert facts["kernels"] >= 1 and facts["python_calls"] == 0, facts


@pytest.mark.parametrize("name", ["cat", "pad", "roll", "triangles"])
def test_a_slice_that_starts_between_accesses(name):
    whole = torch.randn(64 * 96 + 3, device="cuda")
    for offset in (1, 2, 3):
        x = whole[offset : offset + 64 * 96].view(64, 96)
        plan, constants = compiled(MOVES[name], torch.randn(64, 96, device="cuda"))
        expected = MOVES[name](x)
        for g, e in zip(_engine.plan_run(plan, [x, *constants]), expected if isinstance(expected, tuple) else [expected]):
            assert torch.equal(g, e)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("width", [128, 34])
def test_rotate_half_is_one_kernel(width, dtype):
    cos, sin = (torch.randn(17, width, device="cuda").to(dtype) for _ in range(2))

    def rotated(x, cos, sin):
        a, b = x[..., : width // 2], x[..., width // 2 :]
        return x * cos + torch.cat([-b, a], -1) * sin

    x = torch.randn(2, 3, 17, width, device="cuda").to(dtype)
    plan, constants = compiled(rotated, x, cos, sin)
    assert _engine.plan_facts(plan)["kernels"] == 1
    torch.testing.assert_close(_engine.plan_run(plan, [x, cos, sin, *constants])[0], rotated(x, cos, sin))


def test_embeddings_and_norm_are_one_kernel():
    words, places = torch.randn(500, 768, device="cuda"), torch.randn(64, 768, device="cuda")
    ids = torch.randint(0, 500, (4, 64), device="cuda")

    def embedded(words, ids, places):
        return F.layer_norm(F.embedding(ids, words) + F.embedding(torch.arange(64, device="cuda"), places), (768,))

    given = [words, ids, places]
    plan, constants = compiled(embedded, *given)
    assert _engine.plan_facts(plan)["kernels"] == 1
    torch.testing.assert_close(_engine.plan_run(plan, [*given, *constants])[0], embedded(*given), atol=1e-5, rtol=1e-5)


def test_an_index_out_of_range_stops_as_eager_does():
    import subprocess
    import sys

    program = """
import torch, vitrine
f = vitrine.compile(lambda x, i: x[i] * 2)
x = torch.randn(8, 4, device="cuda")
f(x, torch.tensor([1, 2], device="cuda"))
f(x, torch.tensor([1, 9], device="cuda"))
try:
    torch.cuda.synchronize()
except RuntimeError as error:
    print("told:", "assert" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "told: True" in done.stdout, done.stdout + done.stderr
