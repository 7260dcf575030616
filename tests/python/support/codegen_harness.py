"""Runs generated programs without the engine: graphs are written down while torch computes them eagerly, sent
through codegen_tool, their kernels compiled by clang++ and run over tensors; results are compared with
torch's."""

import ctypes
import hashlib
import json
import os
import pathlib
import platform
import subprocess

import torch

from tests.python.support.places import ROOT

TOOL = pathlib.Path(os.environ.get("VITRINE_BUILD_DIR", ROOT / "build")) / "bin" / "codegen_tool"
CLANG = os.environ.get("VITRINE_CLANG", "clang++-19")
FLAGS = ["-O3", "-march=native", *["-mno-avx512fp16"] * (platform.machine() == "x86_64"),  # as the engine's (protocol.h)
         "-std=c++20", "-shared", "-fPIC", "-ffp-contract=on",
         "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wno-unused-function",
         "-Wno-unused-variable", "-Wno-unused-const-variable", "-Wno-psabi"]
DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
          torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8",
          torch.bool: "b1",
          torch.complex64: "c64"}
KERNEL, LIBRARY, OPAQUE, VIEW = range(4)
INPUT, CONSTANT, TEMPORARY, OUTPUT, FOREIGN = range(5)


def type_text(t):
    text = DTYPES[t.dtype] + "[" + ",".join(map(str, t.shape)) + "]"
    plain = torch.empty(t.shape, device="meta").stride()
    if t.stride() != plain:
        text += "{" + ",".join(map(str, t.stride())) + "}"
    return text + (f"@{t.storage_offset()}" if t.storage_offset() else "")


class Value:
    def __init__(self, name, tensor):
        self.name, self.tensor = name, tensor


class GraphWriter:
    """g.op("aten.add.Tensor", x, y): computes it, and writes it down."""

    def __init__(self):
        self.lines, self.inputs, self.count = [], [], 0

    def input(self, tensor, kind="placeholder"):
        name = f"x{len(self.inputs)}"
        self.inputs.append(tensor)
        self.lines.append(f"  %{name} = {kind}() [source=\"L['{name}']\"] : {type_text(tensor)}")
        return Value(name, tensor)

    def text_of(self, a):
        if isinstance(a, Value):
            return "%" + a.name
        if isinstance(a, (list, tuple)):
            return "[" + ", ".join(map(self.text_of, a)) + "]"
        if isinstance(a, torch.dtype):
            return DTYPES[a]
        if isinstance(a, str):
            return f'"{a}"'
        if isinstance(a, float):
            return repr(a)
        if isinstance(a, torch.memory_format):
            return str(a)
        return str(a)

    def op(self, name, *args, **kwargs):
        def real(a):
            if isinstance(a, Value):
                return a.tensor
            return [real(x) for x in a] if isinstance(a, (list, tuple)) else a

        packet, overload = name.split(".")[1:]
        out = getattr(getattr(torch.ops.aten, packet), overload)(*map(real, args),
                                                                 **{k: real(v) for k, v in kwargs.items()})
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        label = f"n{self.count}"
        self.count += 1
        call = ", ".join([self.text_of(a) for a in args] + [f"{k}={self.text_of(v)}" for k, v in kwargs.items()])
        self.lines.append(f"  %{label} = {name}({call}) : " + ", ".join(map(type_text, outs)))
        values = [Value(label + (f".{i}" if i else ""), t) for i, t in enumerate(outs)]
        return values if isinstance(out, (tuple, list)) else values[0]

    def text(self, results):
        return "graph optimised {\n" + "\n".join(self.lines) + "\n  return " + \
            ", ".join("%" + r.name for r in results) + "\n}\n"


def tool(what, text, lanes=16, passes=False, stream=False, arch="", shared=False, more=()):
    words = ["passes"] * passes + ["stream"] * stream + ["shared"] * shared + [arch] * bool(arch) + list(more)
    done = subprocess.run([str(TOOL), what, str(lanes), *words], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "\n" + text
    return done.stdout


def compile_kernel(text, folder):
    source = folder / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cpp")
    library = source.with_suffix(".so")
    if not library.exists():
        source.write_text(text)
        done = subprocess.run([CLANG, *FLAGS, str(source), "-o", str(library)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + "\n" + text
    function = ctypes.CDLL(str(library)).vitrine_kernel
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    return function


class Program:
    """A program of codegen_tool's, run step by step as the engine does."""

    def __init__(self, text, folder, lanes=16, passes=False, stream=False):
        self.text = text
        self.p = json.loads(tool("json", text, lanes, passes, stream))
        self.functions = [compile_kernel(k["text"], folder) for k in self.p["kernels"]]
        self.value_buffer = {(n, o): b for n, o, b in self.p["values"]}

    def like(self, base, type_, offset):
        return torch.as_strided(base, type_["sizes"], type_["strides"], offset)

    def get(self, b):
        if b in self.tensors:
            return self.tensors[b]
        row = self.p["buffers"][b]
        type_ = row["type"]
        dtype = getattr(torch, type_["dtype"])
        if row["view_of"] >= 0:
            base = self.get(row["view_of"])
            offset = base.storage_offset() + type_["offset"] - self.p["buffers"][row["view_of"]]["type"]["offset"]
            if base.dtype != dtype:
                base = base.view(dtype)
            self.tensors[b] = self.like(base, type_, offset)
        elif row["arena_offset"] >= 0:
            start = row["arena_offset"]
            flat = self.arena[start:start + self.bytes_of(type_)].view(dtype)
            self.tensors[b] = self.like(flat, type_, flat.storage_offset())
        else:
            self.tensors[b] = torch.empty_strided(type_["sizes"], type_["strides"], dtype=dtype)
            if dtype.is_floating_point:
                self.tensors[b].fill_(777.0)
        return self.tensors[b]

    @staticmethod
    def bytes_of(type_):
        n = 1
        for s in type_["sizes"]:
            n *= s
        return n * torch.empty(0, dtype=getattr(torch, type_["dtype"])).element_size()

    def arg(self, a):
        if isinstance(a, list):
            return [self.arg(x) for x in a]
        if isinstance(a, dict):
            if "ref" in a:
                return self.get(self.value_buffer[tuple(a["ref"])])
            if "float" in a:
                return float(a["float"])
            if "dtype" in a:
                return getattr(torch, a["dtype"])
            return getattr(torch, a["word"].removeprefix("torch."))
        return a

    def run(self, inputs, chunks=3):
        self.tensors = {}
        self.arena = torch.full((self.p["arena_bytes"] + 64,), 0x55, dtype=torch.uint8)
        start = -self.arena.data_ptr() % 64
        self.arena = self.arena[start:]
        for b, t in zip(self.p["inputs"], inputs):
            self.tensors[b] = t
        for s in self.p["steps"]:
            self.step(s, chunks)
            for b in s["free_after"]:
                self.tensors.pop(b, None)
        return [self.arg(r) for r in self.p["results"]]

    def step(self, s, chunks):
        if s["kind"] == VIEW:
            self.get(s["outs"][0])
            return
        if s["kind"] == KERNEL:
            bad = ctypes.c_int64(0)
            numbers = (ctypes.c_int64 * len(s["numbers"]))(*s["numbers"])
            given = [self.get(b).data_ptr() for b in s["buffers"]] + [ctypes.addressof(numbers), ctypes.addressof(bad)]
            pointers = (ctypes.c_void_p * len(given))(*given)
            work = self.p["kernels"][s["kernel"]]["work"]
            cuts = sorted({0, work, *[work * i // chunks for i in range(chunks)]})
            for a, b in zip(cuts, cuts[1:]):
                self.functions[s["kernel"]](pointers, a, b)
            if bad.value:
                raise IndexError("an index is out of range")
            return
        packet, overload = s["op"].split(".")[1:]
        out = getattr(getattr(torch.ops.aten, packet), overload)(
            *[self.arg(a) for a in s["args"]], **{k: self.arg(v) for k, v in s["kwargs"].items()})
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        for b, t in zip(s["outs"], outs):
            if self.p["buffers"][b]["kind"] == FOREIGN:
                self.tensors[b] = t
            else:
                self.get(b).copy_(t)


def check(g, results, folder, lanes=16, passes=False, stream=False, **tolerance):
    """The program's results equal eager's. Returns the program."""
    program = Program(g.text(results), folder, lanes, passes, stream)
    got = program.run(g.inputs)
    for value, t in zip(results, got):
        torch.testing.assert_close(t, value.tensor, equal_nan=True, **tolerance)
        assert t.stride() == value.tensor.stride()
    return program
