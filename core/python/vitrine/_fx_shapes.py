"""The sizes of a captured graph as compilers of PyTorch know them: one ShapeEnv, its SymInts and FakeTensors.

What a backend asks of a SymInt becomes a guard of the ShapeEnv, and is read back from there in the words of Vitrine's
own symbols.
"""

import sympy
import torch
from torch._dynamo.source import AttrSource, ConstantSource, LocalSource, RandomValueSource, TensorProperty, TensorPropertySource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatefulSymbolicContext
from torch.utils._sympy import functions


class Unspellable(Exception):
    """An expression of sympy that Vitrine's sizes have no words for."""


class Shapes:
    """Of one graph. A symbol is called by the name that Vitrine gave it."""

    def __init__(self):
        self.env = ShapeEnv()
        self.mode = self.new_mode()
        self.ints = {}  # name -> SymInt, or an int that is always the same
        self._names = {}  # sympy symbol -> name
        self._contexts = []  # (tensor, its symbolic context)

    def new_mode(self) -> FakeTensorMode:
        return FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)

    def add_symbol(self, name: str, hint: int, is_size: bool):
        source = ConstantSource(name)
        # A size below 2 is never a symbol.
        symbol = self.env.create_symbol(hint, source, DimDynamic.DYNAMIC, None, positive=is_size or None, do_not_specialize_zero_one=not is_size)
        self._names[symbol] = name
        self.ints[name] = self.env.create_symintnode(symbol, hint=hint, source=source)
        return self.ints[name]

    def fake(self, name: str, tensor, sizes):
        """`sizes`: by dim the name of the symbol that it is, or None."""
        # PyTorch takes a number from a 0-d tensor for one that guards know, but where it was drawn at random. No guard of
        # Vitrine's knows what a tensor holds.
        source = LocalSource(name) if tensor.dim() > 0 else RandomValueSource(len(self._contexts))
        context = self._context(source, tensor, sizes)
        self._contexts.append((tensor, context))
        return self.mode.from_tensor(tensor, source=source, symbolic_context=context)

    def tracing_context(self):
        """What compilers find of this graph: torch._guards.tracing(...) puts it in place."""
        context = torch._guards.TracingContext(self.new_mode())  # fakes of its own, which it may write to
        for tensor, symbolic in self._contexts:
            context.tensor_to_context[tensor] = symbolic
        return context

    def strides(self, fake) -> list[str]:
        """By dim, as an expression over the symbols."""
        return [self._text(s.node.expr) if isinstance(s, torch.SymInt) else str(s) for s in fake.stride()]

    def guards(self) -> list[tuple[str, str, str]]:
        """What must hold wherever the graph is used again: (relation, left, right), or ("fix", name, "")."""
        out = []
        for guard in self.env.guards:
            self._add_guard(guard.expr, out)
        return list(dict.fromkeys(out))

    def _context(self, source, tensor, sizes):
        is_open = any(name is not None for name in sizes)
        kinds = [DimDynamic.DYNAMIC if is_open else DimDynamic.STATIC] * tensor.dim()
        base = tensor._base if tensor._is_view() else None
        if base is not None:
            kinds_of_base = [DimDynamic.DYNAMIC if is_open else DimDynamic.STATIC] * base.dim()
            base = StatefulSymbolicContext(dynamic_sizes=kinds_of_base, tensor_source=AttrSource(source, "_base"))
        context = StatefulSymbolicContext(dynamic_sizes=kinds, tensor_source=source, view_base_context=base)
        known = context.shape_env_to_source_to_symbol_cache.setdefault(id(self.env), {})
        for i, (name, size, stride) in enumerate(zip(sizes, tensor.shape, tensor.stride())):
            value = size if name is None else self.ints[name]
            known[TensorPropertySource(source, TensorProperty.SIZE, i).name] = _expression(value)
            # One that does not follow from the sizes is always the same.
            known[TensorPropertySource(source, TensorProperty.STRIDE, i).name] = sympy.Integer(stride)
        known[TensorPropertySource(source, TensorProperty.STORAGE_OFFSET).name] = sympy.Integer(tensor.storage_offset())
        return context

    def _add_guard(self, condition, out: list) -> None:
        try:
            self._add_spelt(condition, out)
        except Unspellable:
            out.extend(("fix", self._names[s], "") for s in condition.free_symbols if s in self._names)

    def _add_spelt(self, condition, out: list) -> None:
        if condition is sympy.true:
            return
        if isinstance(condition, sympy.Not) and isinstance(condition.args[0], (sympy.And, sympy.Or)):
            (joined,) = condition.args
            condition = (sympy.Or if isinstance(joined, sympy.And) else sympy.And)(*map(sympy.Not, joined.args))
        if isinstance(condition, sympy.And):
            for part in condition.args:
                self._add_guard(part, out)
        elif isinstance(condition, sympy.Or):  # a part that holds now, which is more than was asked
            holding = [part for part in condition.args if part.xreplace(self.env.backed_var_to_val) is sympy.true]
            if not holding:
                raise Unspellable(condition)
            self._add_guard(holding[0], out)
        else:
            out.append(self._relation(condition))

    def _relation(self, condition) -> tuple[str, str, str]:
        if not isinstance(condition, sympy.core.relational.Relational):
            raise Unspellable(condition)
        left, right = self._text(condition.lhs), self._text(condition.rhs)
        match condition:
            case sympy.Eq():
                return "==", left, right
            case sympy.Ne():
                return "!=", left, right
            case sympy.Le():
                return "<=", left, right
            case sympy.Ge():
                return "<=", right, left
            case sympy.Lt():
                return "<=", f"{left}+1", right
            case sympy.Gt():
                return "<=", f"{right}+1", left
        raise Unspellable(condition)

    def _text(self, e) -> str:
        if e in self._names:
            return self._names[e]
        if isinstance(e, sympy.Integer):
            return str(e)
        if isinstance(e, functions.ModularIndexing):
            base, divisor, modulus = map(self._text, e.args)
            return f"((({base})//({divisor}))%({modulus}))"
        if isinstance(e, sympy.Pow) and isinstance(e.exp, sympy.Integer) and 1 < e.exp <= 4:
            return "*".join([f"({self._text(e.base)})"] * int(e.exp))
        for kinds, sign in _SIGNS:
            if isinstance(e, kinds):
                return "(" + sign.join(f"({self._text(a)})" for a in e.args) + ")"
        for kinds, word in _WORDS:
            if isinstance(e, kinds):
                first, *others = map(self._text, e.args)
                for other in others:
                    first = f"{word}({first},{other})"
                return first
        raise Unspellable(e)


_SIGNS = [(sympy.Add, "+"), (sympy.Mul, "*"), (functions.FloorDiv, "//"), ((functions.PythonMod, functions.Mod), "%")]
_WORDS = [((sympy.Max, functions.Max), "max"), ((sympy.Min, functions.Min), "min")]


def _expression(value):
    return value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(value)
