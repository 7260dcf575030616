"""PyTorch calls written as the text form of graphs (core/ir/graph.h): how tests hand programs to the engine."""

import math

import torch

SHORT = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.float16: "f16", torch.float32: "f32", torch.float64: "f64", torch.complex32: "c32",
    torch.complex64: "c64", torch.complex128: "c128", torch.bool: "b1", torch.bfloat16: "bf16",
}


def contiguous_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def type_text(t):
    sizes, strides = list(t.shape), list(t.stride())
    out = f"{SHORT.get(t.dtype, 'other')}[{','.join(map(str, sizes))}]"
    if strides != contiguous_strides(sizes):
        out += "{" + ",".join(map(str, strides)) + "}"
    return out + (f"@{t.storage_offset()}" if t.storage_offset() else "")


class NoText(Exception):
    """The value has no text form: complex numbers, generators, ..."""


def constant_text(value):
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return str(value)
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, torch.dtype):
        return SHORT.get(value, "other")
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return str(value)
    raise NoText(type(value).__name__)


class GraphText:
    """Collects nodes; tensors are known by identity."""

    def __init__(self):
        self.lines, self.names, self.keep = [], {}, []

    def input(self, tensor, kind="placeholder"):
        if id(tensor) not in self.names:
            name = f"in{len(self.names)}"
            self.names[id(tensor)] = name
            self.keep.append(tensor)
            self.lines.append(f"  %{name} = {kind}() : {type_text(tensor)}")
        return "%" + self.names[id(tensor)]

    def arg(self, value):
        if isinstance(value, torch.Tensor):
            return self.input(value)
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.arg(v) for v in value) + "]"
        return constant_text(value)

    def call(self, func, args, kwargs, outputs):
        name = f"n{len(self.lines)}"
        text = [self.arg(a) for a in args] + [f"{k}={self.arg(v)}" for k, v in kwargs.items()]
        types = ", ".join(type_text(t) for t in outputs) or "()"
        self.lines.append(f"  %{name} = {func}({', '.join(text)}) : {types}")
        for i, t in enumerate(outputs):
            self.names[id(t)] = name + (f".{i}" if i else "")
            self.keep.append(t)

    def text(self, results=()):
        returned = ", ".join(self.arg(r) for r in results)
        return "graph aten {\n" + "\n".join(self.lines) + f"\n  return {returned}\n}}\n"
