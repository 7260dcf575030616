"""Kernels that are generated for a GPU, run on the CPU: tests/tools/cuda_threads.h plays the GPU's threads. What they
compute is known so without a GPU; how fast they are is not."""

import ctypes
import functools
import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path

import torch
from tests.python.support.codegen_harness import CLANG, KERNEL, ROOT, Program, tool

SHIM = ROOT / "tests/tools/cuda_threads.h"
FLAGS = ["-O1", "-std=c++20", "-fPIC", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-w"]
# What the prelude writes as PTX.
CONVERSIONS = {
    r'asm\("cvt.f32.f16.*?\)\);': "y = half_to_float(x.bits);",
    r'asm\("cvt.rn.f16.f32.*?\)\);': "y.bits = float_to_half(x);",
    r'asm\("cvt.rn.bf16.f32.*?\)\);': "y.bits = float_to_bfloat(x);",
    r'asm volatile\("red.global.add.noftz.f16 .*?\);': "to = to_f16(wide(to) + wide(more));",
    r'asm\("rcp.approx.f32.*?\);': "y = 1.0f / b;",
    r'asm\("ex2.approx.ftz.f32.*?\)\);': "y = exp2f(x * 1.44269504f);",
    r"extern __shared__ __align__\(16\) char kept\[\]": "alignas(1024) static thread_local char kept[1 << 18]; tiles::shared = kept",
    r'asm volatile\("barrier.cluster.arrive.relaxed.*?\);': "",
    r'asm volatile\("barrier.cluster.*?\);': "threads::meet_cluster();",
    r'asm\("mapa.u64.*?\);': "its = threads::of_block(mine, block);",
    r'asm volatile\("cp.async.cg.*?\);': "*to = inside ? load_pack<false, 8>(from) : Pack<T, 8>{};",
    r'asm volatile\("cp.async.commit_group.*?\);': "",
    r'asm volatile\("cp.async.wait_group.*?\);': "",
    r'asm\("mma.sync.aligned.m16n8k16.row.col.f32.bf16.*?\);': "multiply_16_by_8(sums, {a, b, c, d}, {x, y}, bfloat_to_float);",
    r'asm\("mma.sync.aligned.m16n8k16.row.col.f32.f16.*?\);': "multiply_16_by_8(sums, {a, b, c, d}, {x, y}, half_to_float);",
    r'asm volatile\("mbarrier.init.*?\);': "tiles::make_barrier(at, arrivals);",
    r'asm volatile\("mbarrier.arrive.expect_tx.*?\);': "tiles::expect(at, bytes);",
    r'asm volatile\("mbarrier.arrive.shared.*?\);': "tiles::arrive(at);",
    r'asm volatile\("\{\\n.reg .pred p;\\nmbarrier.try_wait.*?\);': "turned = tiles::has_turned(at, phase);",
    r'asm volatile\("cp.async.bulk.tensor.*?\);': "tiles::copy(to, &map, barrier, along, row, image);",
    r'asm volatile\("\{\\n.reg .pred p;\\nsetp.*?\n.*?\);': "tiles::multiply(sums, a, b, keep, turned_a, turned_b, [](unsigned short x) { return wide(type{x}); });",
    r'asm volatile\("(fence.proxy|wgmma|setmaxnreg).*?\);': "",
    r'asm volatile\("" : "\+f".*?\);': ";",
    "#pragma unroll.*": "",
}


def on_gpu(text):
    """The same graph with every tensor on a GPU."""
    lines = []
    for line in text.splitlines():
        head, colon, types = line.rpartition(" : ")
        if colon:
            types = ", ".join(t if "cuda" in t else t + "cuda:0" for t in split_types(types))
        lines.append(head + colon + types if colon else line)
    return "\n".join(lines) + "\n"


def split_types(types):
    """ "f32[2,3], f32[2]" -> its types; commas inside brackets do not separate."""
    out, depth, part = [], 0, ""
    for c in types:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            out.append(part.strip())
            part = ""
        else:
            part += c
    return [*out, part.strip()]


@functools.cache
def precompiled_shim():
    """The shim, parsed once a process: its headers take a kernel's compilation far longer than the kernel itself."""
    folder = tempfile.TemporaryDirectory(prefix="vitrine-shim-")
    path = Path(folder.name) / "shim.pch"
    done = subprocess.run([CLANG, *FLAGS, "-x", "c++-header", str(SHIM), "-o", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return folder, path  # the folder goes with the process


def compile_kernel(kernel, folder):
    text = kernel["text"]
    for ptx, plain in CONVERSIONS.items():
        text = re.sub(ptx, plain, text)
    cluster = re.search(r"__cluster_dims__\((\d+)", text)
    types = [p.strip().rpartition(" ")[0] for p in re.search(r"vitrine_kernel\((.*?)\) {", text).group(1).split(",")]
    arguments = ", ".join(f"*(const TensorMap*)given[{i}]" if t.endswith(" TensorMap") else f"({t})given[{i}]" for i, t in enumerate(types))
    if len(types) == 1 and types[0].startswith("const __grid_constant__ "):  # one struct of all
        arguments = f"*(const {types[0].split()[-1]}*)given"
    source = f"""{text}
static void** given;
static void one() {{ vitrine_kernel({arguments}); }}
extern "C" void run_kernel(void** arguments) {{
  given = arguments;
  threads::start = one;
  threads::run_grid({kernel["blocks"]}u, {kernel["threads"]}u, {cluster.group(1) if cluster else 1}u);
}}
"""
    path = folder / (hashlib.sha256(source.encode()).hexdigest()[:16] + ".cpp")
    library = path.with_suffix(".so")
    if not library.exists():
        path.write_text(source)
        shim = ["-include-pch", str(precompiled_shim()[1])]
        done = subprocess.run([CLANG, *FLAGS, *shim, "-shared", str(path), "-o", str(library)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000] + "\n" + text
    return ctypes.CDLL(str(library)).run_kernel


def tensor_map(data, m):
    """As tests/tools/played_tiles.h has it."""
    fields = (data, *(m[k] for k in ("along", "rows", "images", "row_step", "image_step", "tile_along", "tile_rows")))
    room = torch.zeros(24, dtype=torch.int64)
    at = -room.data_ptr() % 64 // 8
    room[at:at + 8] = torch.tensor(fields)
    return room[at:]


class GpuProgram(Program):
    """codegen_tool's program for a GPU. seed, offset: of the generator that its kernels draw from."""

    seed = offset = 0

    def __init__(self, text, folder, passes=True, arch="", shared=False, more=()):
        self.text = text
        self.p = json.loads(tool("json", on_gpu(text), passes=passes, arch=arch, shared=shared, more=more))
        assert all("__global__" in k["text"] for k in self.p["kernels"])
        self.functions = [compile_kernel(k, folder) for k in self.p["kernels"]]
        self.value_buffer = {(n, o): b for n, o, b in self.p["values"]}

    def step(self, s, chunks):
        if s["kind"] != KERNEL:
            return super().step(s, chunks)
        given = [self.get(b).data_ptr() for b in s["buffers"]]
        maps = [(m["argument"], tensor_map(given[m["argument"]], m)) for m in self.p["kernels"][s["kernel"]]["maps"]]
        for argument, made in maps:
            given[argument] = made.data_ptr()
        given += s["numbers"]
        if "u64 seed, u64 offset" in self.p["kernels"][s["kernel"]]["text"]:
            given += [self.seed, self.offset]
        self.functions[s["kernel"]]((ctypes.c_void_p * len(given))(*given))


def check(g, results, folder, kernels=None, tolerance=1e-5, reference=None, arch="", shared=False, more=(), passes=True):
    """Every result is eager's, or the reference, up to so much of its largest element. shared: small kernels share launches."""
    program = GpuProgram(g.text(results), folder, passes=passes, arch=arch, shared=shared, more=more)
    if kernels is not None:
        assert len(program.p["kernels"]) == kernels, [k["name"] for k in program.p["kernels"]]
    expected = [value.tensor for value in results]
    for got, eager, exact in zip(program.run(g.inputs), expected, reference or expected):
        assert got.dtype == eager.dtype and got.shape == eager.shape and got.stride() == eager.stride()
        if not got.is_floating_point():
            assert torch.equal(got, exact), program.text
            continue
        scale = float(exact.double().nan_to_num(0, 0, 0).abs().amax()) + 1e-30
        torch.testing.assert_close(got.double(), exact.double(), rtol=0, atol=tolerance * scale, equal_nan=True)
    return program
