"""What element-wise kernels that are generated for a GPU compute where they turn tensors or draw numbers, on a machine that may have none."""

import math
import platform
import shutil
import struct

import pytest
import torch
from tests.python.support.codegen_harness import CLANG, DTYPES, TOOL, GraphWriter
from tests.python.support.cuda_on_cpu import GpuProgram, check

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built"),
    pytest.mark.skipif(not shutil.which(CLANG), reason="clang++ is not here"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the GPU's threads are played on x86-64 only"),
]


# Whole tiles, ends of tiles on either side, accesses of one element, tiles that one side fills, small types.
@pytest.mark.parametrize("rows, columns, dtype", [(128, 192, torch.float32), (130, 98, torch.float32), (33, 147, torch.bfloat16), (20, 300, torch.float16), (96, 24, torch.int8), (70, 66, torch.int64)])
def test_what_lies_the_other_way_is_turned_in_tiles(rows, columns, dtype, tmp_path):
    g = GraphWriter()
    x = g.input(torch.randint(-50, 50, (rows, columns)).to(dtype))
    y = g.input(torch.randint(-50, 50, (columns, rows)).to(dtype))
    turned = g.op("aten.t.default", x)
    program = check(g, [g.op("aten.add.Tensor", y, g.op("aten.mul.Tensor", turned, 2))], tmp_path, kernels=1)
    assert "__shared__" in program.p["kernels"][0]["text"]


def test_heads_and_channels_are_turned(tmp_path):
    g = GraphWriter()
    x, image = g.input(torch.randn(3, 40, 5, 16)), g.input(torch.randn(2, 36, 7, 9).half())
    heads = g.op("aten.clone.default", g.op("aten.permute.default", x, [0, 2, 3, 1]), memory_format=torch.contiguous_format)
    last = g.op("aten.clone.default", image, memory_format=torch.channels_last)
    assert "tile_" in check(g, [heads, last], tmp_path).p["kernels"][0]["text"]


# The taps of a weight lie beside each other, a few of them: a tile is one piece of memory.
@pytest.mark.parametrize("sizes, dtype", [((6, 40, 3, 3), torch.float16), ((3, 600, 3, 3), torch.bfloat16), ((4, 130, 1, 7), torch.float32), ((2, 17, 5, 3), torch.float16)])
def test_weights_get_their_channels_innermost(sizes, dtype, tmp_path):
    g = GraphWriter()
    weight = g.input(torch.randn(sizes).to(dtype))
    program = check(g, [g.op("aten.clone.default", g.op("aten.mul.Tensor", weight, 2), memory_format=torch.channels_last)], tmp_path, kernels=1)
    assert f"[{sizes[2] * sizes[3]}][" in program.p["kernels"][0]["text"]


def test_what_is_joined_lies_the_other_way(tmp_path):
    g = GraphWriter()
    first, rest = g.input(torch.randn(2, 1, 48)), g.input(torch.randn(2, 48, 40))
    joined = g.op("aten.cat.default", [first, g.op("aten.transpose.int", rest, 1, 2)], 1)
    assert "tile_" in check(g, [g.op("aten.mul.Tensor", joined, 2)], tmp_path, kernels=1).p["kernels"][0]["text"]


def test_gradients_of_relu_lie_as_what_was_limited(tmp_path):
    g = GraphWriter()
    grad, x = g.input(torch.randn(6, 40)), g.input(torch.randn(40, 6).t())
    relu = g.op("aten.threshold_backward.default", grad, x, 0)
    leaky = g.op("aten.leaky_relu_backward.default", grad, x, 0.1, False)
    check(g, [relu, leaky], tmp_path)


def test_the_sign_of_what_has_none(tmp_path):
    g = GraphWriter()
    x = g.input(torch.tensor([float("nan"), -0.0, 0.0, -2.0, float("inf"), float("-inf")]))
    check(g, [g.op("aten.reciprocal.default", g.op("aten.sign.default", x))], tmp_path)


@pytest.mark.parametrize("name", ["sigmoid", "exp", "log1p", "tanh", "erf", "sin"])
def test_functions_of_doubles_compute_in_double(name, tmp_path):
    g = GraphWriter()
    x = g.input(torch.rand(6, 40, dtype=torch.float64))
    check(g, [g.op(f"aten.{name}.default", x)], tmp_path, tolerance=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["silu", "sigmoid"])
def test_rough_quotients_of_every_16_bit_number(name, dtype, tmp_path):
    """An f32 that is rounded to 16 bits is divided roughly; infinities and NaN come out as eager's."""
    g = GraphWriter()
    x = g.input(torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype))
    y = g.op(f"aten.{name}.default", x)
    program = GpuProgram(g.text([y]), tmp_path)
    assert "_narrow(" in program.p["kernels"][0]["text"].rpartition("end of prelude")[2]
    got, eager = program.run(g.inputs)[0], y.tensor
    torch.testing.assert_close(got, eager, rtol=2 * torch.finfo(dtype).eps, atol=1e-6, equal_nan=True)


# ---- numbers that are drawn ------------------------------------------------------------------------------
def philox(seed, call, thread):
    """Philox 4x32 of ten rounds, as its authors wrote it down."""
    c = [call & 0xFFFFFFFF, call >> 32, thread & 0xFFFFFFFF, thread >> 32]
    a, b = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        x, y = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(y >> 32) ^ c[1] ^ a, y & 0xFFFFFFFF, (x >> 32) ^ c[3] ^ b, x & 0xFFFFFFFF]
        a, b = (a + 0x9E3779B9) & 0xFFFFFFFF, (b + 0xBB67AE85) & 0xFFFFFFFF
    return c


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def unit(x):
    return single(single(x) * 2.0**-32 + 2.0**-33)


def drawn(n, beside, seed, offset):
    """Numbers of n elements: threads of up to 1056 blocks of 256 take turns of `beside` neighbours; of 1: four, a grid apart."""
    threads = 256 * min(1056, -(-n // 256))
    out = []
    for i in range(n):
        turn, thread = divmod(i // beside, threads)
        call = turn // 4 if beside == 1 else turn * max(1, beside // 4) + i % beside // 4
        part = turn % 4 if beside == 1 else i % beside % 4
        out.append(unit(philox(seed, offset // 4 + call, thread)[part]))
    return torch.tensor(out)


def test_the_stream_is_philox():
    assert [hex(x) for x in philox(0, 0, 0)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


# Sizes that 8, 4, 2 and no neighbours divide; the second of two dropouts goes on where the first stopped.
@pytest.mark.parametrize("n, dtype, beside", [(1024, torch.float32, 4), (1024, torch.float16, 8), (1028, torch.float16, 4), (770, torch.float32, 2), (771, torch.float32, 1), (512, torch.float64, 2)])
def test_dropout_draws_by_place(n, dtype, beside, tmp_path):
    x, kind = torch.randn(n).to(dtype), f"{DTYPES[dtype]}[{n}]"
    text = f"""graph optimised {{
  %x = placeholder() [source="L['x']"] : {kind}
  %y = aten.neg.default(%x) : {kind}
  %first = aten.native_dropout.default(%y, 0.25, True) : {kind}, b1[{n}]
  %second = aten.native_dropout.default(%first.0, 0.25, True) : {kind}, b1[{n}]
  return %second.0, %first.1, %second.1
}}
"""
    program = GpuProgram(text, tmp_path, passes=False)
    program.seed, program.offset = 0x1234567890ABCDEF, 40
    got = program.run([x])
    kept = [drawn(n, beside, program.seed, program.offset + 4 * i) < 0.75 for i in range(2)]
    assert torch.equal(got[1], kept[0]) and torch.equal(got[2], kept[1])
    scale = (1 / 0.75) ** 2
    torch.testing.assert_close(got[0], torch.where(kept[0] & kept[1], -x * scale, 0).to(dtype), rtol=2e-3, atol=1e-6)


def normal(n, seed, offset):
    """Two of two numbers, by Box and Muller, where each call of a thread gives four."""
    threads = 256 * min(1056, -(-n // 256))
    out = []
    for i in range(n):
        turn, thread = divmod(i, threads)
        x = philox(seed, offset // 4 + turn // 4, thread)
        part = turn % 4
        angle, size = unit(x[part // 2 * 2 + 1]) * 2 * math.pi, math.sqrt(-2 * math.log(unit(x[part // 2 * 2])))
        out.append(size * (math.cos(angle) if part % 2 else math.sin(angle)))
    return torch.tensor(out)


@pytest.mark.parametrize("n", [1028, 771])
def test_other_distributions_draw_by_place(n, tmp_path):
    text = f"""graph optimised {{
  %x = placeholder() [source="L['x']"] : f32[{n}]
  %kept = aten.bernoulli.p(%x, 0.3) : f32[{n}]
  %even = aten.rand_like.default(%x) : f32[{n}]
  %wide = aten.randn_like.default(%x) : f32[{n}]
  %more = aten.mul.Tensor(%wide, %x) : f32[{n}]
  return %kept, %even, %more
}}
"""
    program = GpuProgram(text, tmp_path, passes=False)
    program.seed, program.offset = 0x1234567890ABCDEF, 40
    x = torch.randn(n)
    kept, even, more = program.run([x])
    assert torch.equal(kept, (drawn(n, 1, program.seed, 40) < 0.3).float())
    assert torch.equal(even, drawn(n, 1, program.seed, 44))
    torch.testing.assert_close(more, normal(n, program.seed, 48) * x, rtol=1e-4, atol=1e-4)
