"""A program's text is run twice, each in a world of its own (globals, defaults, modules that live from call to call): one world
eagerly, one compiled. After each call everything that can be seen of either is written down and compared.

A program defines `make_args(call)` and `f`; `module()`, if it is there, makes what lives from call to call and comes last among
f's arguments. `backward` says whether what f returns is differentiated after the call.
"""

import contextlib
import io
import math
import traceback
import types
import warnings

import torch

# At most this far apart, relative to the largest number of a tensor.
CLOSE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


class Seen:
    """Writes values down as nests of plain data; an object that was met before is named by its number."""

    def __init__(self):
        self.objects, self.storages, self.kept = {}, {}, []

    def write(self, value):
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, type, torch.dtype, torch.device)):
            return value if not isinstance(value, type) else value.__name__
        if isinstance(value, tuple) and all(isinstance(v, (bool, int, float, str)) for v in value) and type(value) is tuple:
            return value  # Python may make one object of equal ones
        if id(value) in self.objects:
            return f"object {self.objects[id(value)]} again"
        self.objects[id(value)] = len(self.objects)
        self.kept.append(value)
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        kind = type(value).__name__
        parts = {}
        if isinstance(value, dict):
            parts["items"] = [(self.write(k), self.write(v)) for k, v in value.items()]
        elif isinstance(value, (list, tuple, types.MappingProxyType)) or kind == "deque":
            parts["items"] = [self.write(v) for v in value]
        elif isinstance(value, (set, frozenset)):
            parts["items"] = sorted(str(self.write(v)) for v in value)
        elif isinstance(value, BaseException):
            parts["error"] = self.error(value)
        elif isinstance(value, types.FunctionType):
            parts["function"] = self.function(value)
        elif isinstance(value, types.MethodType):
            parts["method"] = [self.write(value.__self__), value.__name__]
        elif isinstance(value, types.GeneratorType):
            parts["generator"] = value.gi_frame is None
        elif isinstance(value, range):
            parts["range"] = repr(value)
        if not isinstance(value, types.FunctionType):
            parts.update(self.attributes(value))
        return (kind, parts)

    def attributes(self, value):
        names = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()) if n not in ("__dict__", "__weakref__")]
        slots = {n: self.write(getattr(value, n)) for n in names if hasattr(value, n)} if type(value).__module__ != "builtins" else {}
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            # Hooks are kept by numbers that the process counts.
            plain = {k: list(v.values()) if "hooks" in k and isinstance(v, dict) else v for k, v in held.items() if k[:2] != "__"}
            slots.update((k, self.write(v)) for k, v in plain.items())
        return slots

    def function(self, value):
        cells = [self.cell(c) for c in value.__closure__ or ()]
        return [value.__name__, self.write(value.__defaults__), self.write(value.__kwdefaults__), cells]

    def cell(self, cell):
        try:
            return self.write(cell.cell_contents)
        except ValueError:
            return "empty"

    def error(self, value):
        if isinstance(value, RecursionError):
            return "too deep"  # how deep is not the program's
        # CPython 3.11 itself names the line before for an unbound name that two instructions in one load.
        line = not isinstance(value, UnboundLocalError)
        frames = [(f.name, line and f.lineno) for f in traceback.extract_tb(value.__traceback__) if f.filename == "<program>"]
        return [str(value), frames, self.write(value.__cause__), self.write(value.__context__), value.__suppress_context__]

    def tensor(self, t):
        storage = self.storages.setdefault(t.untyped_storage().data_ptr() if t.numel() else ("none", len(self.storages)), len(self.storages))
        strides = [step for step, size in zip(t.stride(), t.shape) if size > 1] if t.numel() else []
        facts = [str(t.dtype), tuple(t.shape), strides, t.storage_offset() if t.numel() > 1 else 0, storage if t.numel() else None]
        try:
            grads = [t.requires_grad, t.is_leaf, self.write(t.grad) if t.is_leaf else None]
        except RuntimeError as error:  # a view that may not be looked at any more
            grads = [str(error)]
        return (type(t).__name__, {"facts": facts, "grads": grads, "values": Values(t)})


class Values:
    """A tensor's numbers as they were when it was written down."""

    def __init__(self, t):
        self.t = t.detach().clone()


def difference(a, b, where=""):
    """The first place where two written-down values differ, as a text; "" if there is none."""
    if type(a) is not type(b):
        return f"{where}: eager {a!r:.300}, compiled {b!r:.300}"
    if isinstance(a, Values):
        return tensors_differ(a.t, b.t, where)
    if isinstance(a, float):
        close = a == b or (a != a and b != b) or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 2e-5 * max(1, abs(a)))
        return "" if close else f"{where}: eager {a!r}, compiled {b!r}"
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: eager has {list(a)}, compiled {list(b)}"
        return next(filter(None, (difference(a[k], b[k], f"{where}.{k}") for k in a)), "")
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{where}: eager {a!r:.300}, compiled {b!r:.300}"
        return next(filter(None, (difference(x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), "")
    return "" if a == b else f"{where}: eager {a!r:.300}, compiled {b!r:.300}"


def tensors_differ(a, b, where):
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{where}: eager {a.dtype} {tuple(a.shape)}, compiled {b.dtype} {tuple(b.shape)}"
    if not a.is_floating_point():
        return "" if torch.equal(a, b) else f"{where}: eager {a.tolist()}, compiled {b.tolist()}"
    x, y = a.double(), b.double()
    scale = x[x.isfinite()].abs().max().item() if x.isfinite().any() else 1
    far = ~((x - y).abs() <= CLOSE[a.dtype] * max(scale, 1e-3)) & ~((x == y) | (x.isnan() & y.isnan()))
    return f"{where}: eager {a.tolist()!r:.300}, compiled {b.tolist()!r:.300}" if far.any() else ""


@contextlib.contextmanager
def silent():
    """What is printed meanwhile, and the warnings."""
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield out, said


class World:
    def __init__(self, source, wrap, backward):
        self.scope, self.backward = {"__name__": "program"}, backward
        exec(compile(source, "<program>", "exec"), self.scope)
        self.module = [self.scope["module"]()] if "module" in self.scope else []
        self.f = wrap(self.scope["f"])

    def call(self, call):
        """What can be seen of one call and after it, written down."""
        torch.manual_seed(call)
        args = [*self.scope["make_args"](call), *self.module]
        value = error = None
        with silent() as (out, said):
            try:
                value = self.f(*args)
            except Exception as e:
                error = e
        seen = Seen()
        facts = {"error": seen.write(error), "printed": out.getvalue(), "random": torch.rand(()).item(), "result": seen.write(value), "args": seen.write(args)}
        if self.backward and error is None:
            facts["backward"] = self.differentiate(value)
            if facts["backward"] == "done":
                facts["args after backward"] = Seen().write(args)
        state = {k: v for k, v in self.scope.items() if self.kept(k, v)}
        seen = Seen()
        facts["globals"] = {k: seen.write(v) for k, v in sorted(state.items())}
        self.warnings = [str(w.message) for w in said]
        return facts

    def kept(self, name, value):
        """Whether a global is state of the program's: neither a module nor a class."""
        return not isinstance(value, (types.ModuleType, type)) and not name.startswith("__")

    def differentiate(self, value):
        try:
            parts = [t.double().sum() * k for k, t in enumerate(tensors_in(value), 1) if t.requires_grad]
            if parts:
                sum(parts).backward()
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return "done"


def tensors_in(value, met=None):
    met = set() if met is None else met
    if id(value) in met:
        return
    met.add(id(value))
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v, met)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v, met)


def compare(source, calls=6, grad=False, **how):
    """How a program's compiled world (`how`: options of vitrine.compile) differs from its eager one; "" if it does not. A
    warning that asks to be reported is a difference."""
    import vitrine

    vitrine.reset()
    eager, compiled = World(source, lambda f: f, grad), World(source, lambda f: vitrine.compile(f, **how), grad)
    with torch.set_grad_enabled(grad):
        for call in range(calls):
            expected, found = eager.call(call), compiled.call(call)
            wrong = difference(expected, found, f"call {call}")
            if wrong:
                return wrong
            own = [w for w in compiled.warnings if "report it" in w]
            if own:
                return f"call {call}: warned {own[0]}"
            if expected.get("backward", "done") != "done":
                return ""  # which gradients such a pass has added to is chance
    return ""


def runs(source, calls=6, grad=False, guard=contextlib.nullcontext):
    """What eager alone does within guard(): the error of the first call, written down; None if it has none."""
    world = World(source, lambda f: f, grad)
    first = None
    with torch.set_grad_enabled(grad):
        for call in range(calls):
            with guard():
                facts = world.call(call)
            first = facts["error"] if call == 0 else first
    return first
