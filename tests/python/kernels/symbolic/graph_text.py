"""A function's ATen operators as a graph's text, recorded by PyTorch's own tracer with symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

WORDS = {torch.contiguous_format: "torch.contiguous_format", torch.preserve_format: "torch.preserve_format",
         torch.channels_last: "torch.channels_last", torch.strided: "torch.strided"}


class Writer:
    """hints: of the symbols; an input's dim that has such a size is that symbol."""

    def __init__(self, hints: list[int]):
        self.hints = hints
        self.names: dict[sympy.Symbol, str] = {}

    def expression(self, e: Any) -> str:
        if isinstance(e, torch.SymInt):
            e = e.node.expr
        if isinstance(e, (int, sympy.Integer)):
            return str(int(e))
        if isinstance(e, sympy.Symbol):
            return self.names[e]
        parts = [self.expression(a) for a in e.args]
        kind = type(e).__name__
        if kind == "Add":
            return "(" + "+".join(parts) + ")"
        if kind == "Mul":
            return "*".join(f"({p})" for p in parts)
        if kind == "Pow":
            return "*".join([f"({parts[0]})"] * int(e.args[1]))
        if kind in ("FloorDiv", "CleanDiv"):
            return f"(({parts[0]})//({parts[1]}))"
        if kind in ("Mod", "PythonMod"):
            return f"(({parts[0]})%({parts[1]}))"
        if kind in ("Min", "Max"):
            return f"{kind.lower()}({','.join(parts)})"
        raise NotImplementedError(f"{kind}: {e}")

    def type(self, t: torch.Tensor) -> str:
        name = str(t.dtype).removeprefix("torch.")
        sizes = ",".join(self.expression(s) for s in t.shape)
        strides = ",".join(self.expression(s) for s in t.stride())
        offset = self.expression(t.storage_offset())
        return f"{name}[{sizes}]{{{strides}}}" + ("" if offset == "0" else f"@{offset}")

    def argument(self, a: Any) -> str:
        if isinstance(a, torch.fx.Node):
            value = a.meta["val"]
            if isinstance(value, (torch.SymInt, int)):
                return self.expression(value)
            if a.target is __import__("operator").getitem:
                return f"%{a.args[0].name}.{a.args[1]}" if a.args[1] else f"%{a.args[0].name}"
            return f"%{a.name}"
        if isinstance(a, (list, tuple)):
            return "[" + ", ".join(self.argument(x) for x in a) + "]"
        if a is None or isinstance(a, bool):
            return str(a)
        if isinstance(a, (int, torch.SymInt)):
            return self.expression(a)
        if isinstance(a, float):
            return repr(a)
        if isinstance(a, str):
            return '"' + a + '"'
        if isinstance(a, torch.dtype):
            return str(a).removeprefix("torch.")
        if isinstance(a, torch.device):
            return a.type
        return WORDS[a]

    def node(self, n: torch.fx.Node) -> str | None:
        value = n.meta.get("val")
        if n.op == "placeholder":
            return f'  %{n.name} = placeholder() [source="{n.name}"] : {self.type(value)}'
        if not isinstance(n.target, torch._ops.OpOverload) or isinstance(value, (torch.SymInt, int)):
            return None
        args = [self.argument(a) for a in n.args]
        args += [f"{key}={self.argument(a)}" for key, a in n.kwargs.items()]
        op = str(n.target)
        outputs = [value] if isinstance(value, torch.Tensor) else [v for v in value or []]
        types = ", ".join(self.type(v) if isinstance(v, torch.Tensor) else "other[]" for v in outputs)
        return f"  %{n.name} = {op}({', '.join(args)}) : {types or '()'}"

    def record(self, f: Callable[..., Any], inputs: list[torch.Tensor]) -> str:
        env = ShapeEnv()
        mode = FakeTensorMode(shape_env=env, static_shapes=False)
        fakes = []
        for t in inputs:
            dims = [DimDynamic.DUCK if s in self.hints else DimDynamic.STATIC for s in t.shape]
            context = StatelessSymbolicContext(dynamic_sizes=dims)
            fakes.append(mode.from_tensor(t, symbolic_context=context))
        for fake in fakes:
            for s in fake.shape:
                if isinstance(s, torch.SymInt) and isinstance(s.node.expr, sympy.Symbol):
                    self.names[s.node.expr] = f"s{self.hints.index(s.node.hint)}"
        with mode, enable_python_dispatcher():
            graph = make_fx(f)(*fakes).graph
        graph.eliminate_dead_code()
        lines = [self.node(n) for n in graph.nodes if n.op != "output"]
        (results,) = [n.args[0] for n in graph.nodes if n.op == "output"]
        if not isinstance(results, (list, tuple)):
            results = [results]
        body = "\n".join(line for line in lines if line)
        return f"graph aten {{\n{body}\n  return {', '.join(self.argument(r) for r in results)}\n}}\n"
