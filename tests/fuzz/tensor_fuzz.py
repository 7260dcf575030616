"""Random graphs of tensor operators, eager against compiled, forward and (odd seeds) gradients. Sizes are 0, 1, odd, of a vector
and a tail; inputs are laid out in all ways; later calls have other sizes. What differs by rounding is judged by eager in f64
and by how far eager's own results move when the inputs do.

    python -m tests.fuzz.tensor_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.tensor_fuzz --show 17            prints the program of one seed
"""

import random
import re
import sys

import torch

from tests.fuzz import tensor_forms as forms
from tests.fuzz.programs import MOST_SECONDS, TooLong, Tree, main, within

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130)
# Which set of sizes each call has; the second call has other numbers, the last ones come back.
CALLS = (0, 0, 1, 2, 0)
SETS = 3
MOST_ELEMENTS = 200_000
ALIASES = 0  # how often an input is a view of another one
LARGEST = 1e4
VIEWS = "same detached behind before turned flat strided column row windows repeated diagonal overlapping by_size apart".split()
LAYOUTS = ["plain"] * 5 + ["turned", "holes", "shifted", "channels_last", "expanded"]
NARROW = re.compile(r"torch\.(float32|bfloat16|float16)\b")
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 4e-3}


covered = {"calls": 0, "views": 0, "shapes": set(), "errors": 0}


def what_was_covered():
    return f"{covered['calls']} calls, {covered['errors']} of them errors, {len(covered['shapes'])} shapes and strides of inputs, {covered['views']} inputs that share memory"


class Maker:
    """Fills forms with names that fit the tensors that are there."""

    def __init__(self, rng):
        self.rng, self.values, self.made = rng, {}, 0

    def __getitem__(self, slot):
        """What a form's {slot} becomes: the same each time within one form, other than a {u} and a {k}."""
        name = getattr(self, "slot_" + slot, None)
        if slot in "uk" or slot not in self.filled:
            self.filled[slot] = name() if name else self.rng.choice(forms.SLOTS[slot])
        return self.filled[slot]

    def fill(self, form):
        self.filled = {}
        return form.format_map(self)

    def names(self, fits):
        return [k for k, v in self.values.items() if fits(v)]

    def recent(self, names):
        """One of them, the last ones most often."""
        return names[-1 - min(int(self.rng.expovariate(0.5)), len(names) - 1)] if names else "none"

    def slot_t(self):
        return self.recent(self.names(lambda v: v.is_floating_point()))

    def slot_m(self):
        return self.recent(self.names(lambda v: v.is_floating_point() and v.dim() > 1))

    def slot_u(self):
        shape = self.base().shape
        return self.recent(self.names(lambda v: v.is_floating_point() and _broadcasts(v.shape, shape)) or self.names(lambda v: v.is_floating_point()))

    def slot_i(self):
        return self.recent(self.names(lambda v: v.dtype == torch.int64))

    def slot_b(self):
        shape = self.base().shape
        return self.recent(self.names(lambda v: v.dtype == torch.bool and v.shape == shape) or self.names(lambda v: v.dtype == torch.bool))

    def base(self):
        return self.values.get(self.filled.get("t") or self.filled.get("m"), torch.zeros(()))

    def slot_d(self):
        dims = self.base().dim() or 1
        return str(self.rng.randrange(-dims, dims))

    slot_d2 = slot_d

    def slot_p(self):
        dims = list(range(self.base().dim()))
        self.rng.shuffle(dims)
        return ", ".join(map(str, dims))

    def statement(self):
        self.made += 1
        roll = self.rng.random()
        if roll < 0.15:
            return self.fill(self.rng.choice(forms.IN_PLACE))
        if roll < 0.2:
            return f"b{self.made} = {self.fill('{t} {c} {k}')}"
        if roll < 0.23:
            return f"i{self.made} = {self.fill('{t}.argmax({d})')}"
        return f"t{self.made} = {self.fill(self.rng.choice(forms.FLOATS))}"


def _broadcasts(a, b):
    try:
        return torch.broadcast_shapes(a, b) == b or len(b) == 0
    except RuntimeError:
        return False


def shape_of(rng, dims):
    """A shape as a program's text, of sizes that may change and fixed ones."""
    one = lambda: rng.choice(["A", "B", "C", "A", "B", "C", str(rng.choice((1, 2, 3, 4)))])  # noqa: E731
    return "(" + "".join(one() + ", " for _ in range(dims)) + ")"


def inputs(rng, grad):
    """Lines of make_args, and the names of what it makes."""
    lines, names = [], []
    dims = rng.choice([1, 2, 2, 3, 3, 4])
    shape = shape_of(rng, dims)
    for k in range(rng.randint(2, 4)):
        kind, how = rng.choice(["normal", "normal", "small", "whole"]), rng.choice(LAYOUTS)
        dtype = ", torch." + rng.choice(["bfloat16", "float16", "float64"]) if rng.random() < 0.08 else ""
        needs = ".requires_grad_()" if grad and rng.random() < 0.7 else ""
        lines.append(f'x{k} = laid_out(floats(draw, {shape}, "{kind}"{dtype}), "{how}"){needs}')
        if ALIASES and k and rng.random() < ALIASES:
            hows = [rng.choice(VIEWS) for _ in range(rng.choice([1, 1, 2, 3]))]
            lines[-1] = f"x{k} = viewed(x{rng.randrange(k)}, {hows}[call % {len(hows)}], {rng.choice('ABC')})"
        names.append(f"x{k}")
        if rng.random() < 0.6:
            shape = shape_of(rng, rng.choice([0, 1, 2, 2, 3, dims]))
    lines.append(f"i0 = torch.randint(0, 7, {shape_of(rng, rng.choice([1, 1, 2]))}, generator=draw)")
    lines.append(f"b0 = torch.rand({shape}, generator=draw) > 0.5")
    return lines, names + ["i0", "b0"]


def sizes(rng):
    """Sets of three sizes, products bounded; rarely with a 0. A program is tried with three of them; others are small."""
    sets = [[rng.choice((SIZES[:-1] if i else SIZES)[: 12 if k > 2 else None]) for i in range(3)] for k in range(SETS)]
    if rng.random() < 0.15:
        sets[rng.randrange(SETS)][rng.randrange(3)] = 0
    return repr(sets)


def run(scope, call, change=None):
    """(results, gradients) of f, or the exception. change(t) is applied to the numbers that inputs are made of."""
    own = scope.get("change")
    scope["change"] = change or own
    args = list(scope["make_args"](call))
    scope["change"] = own
    leaves = [t for t in args if t.requires_grad]
    torch.manual_seed(call)
    try:
        results = scope["f"](*args)
        before = [r.detach().clone() for r in results]
        wanted = [r for r in results if r.requires_grad]
        grads = []
        if wanted and leaves:
            draw = torch.Generator().manual_seed(9)
            tangents = [torch.randn(r.shape, generator=draw, dtype=torch.float64).to(r.dtype) for r in wanted]
            grads = list(torch.autograd.grad(wanted, leaves, tangents, allow_unused=True))
    except Exception as error:
        return error
    roots = [r.untyped_storage().data_ptr() if r.numel() else None for r in [*results, *args]]
    facts = [[(str(r.dtype), tuple(r.shape), r.requires_grad, _steps(r)) for r in results], [[a is not None and a == b for b in roots] for a in roots]]
    return [*before, *(t.detach().clone() for t in args), *grads], facts


def _steps(t):
    return [step for step, size in zip(t.stride(), t.shape) if size > 1] if t.numel() else []


def scope_of(source, wrap=lambda f: f):
    scope = {}
    exec(compile(source, "<program>", "exec"), scope)
    scope["f"] = wrap(scope["f"])
    return scope


def difference(source):
    """How compiled differs from eager; "" if only by rounding."""
    import vitrine

    vitrine.reset()
    eager, compiled = scope_of(source), scope_of(source, vitrine.compile)
    for call in range(len(CALLS)):
        a, b = run(eager, call), run(compiled, call)
        cover(eager["make_args"](call), a)
        if isinstance(a, Exception) or isinstance(b, Exception):
            if type(a) is not type(b) or str(a).split("\n")[0] != str(b).split("\n")[0]:
                return f"call {call}: eager {_text(a)}, compiled {_text(b)}"
            continue
        if a[1] != b[1]:
            return f"call {call}: eager {a[1]}, compiled {b[1]}"
        wrong = [k for k, (x, y) in enumerate(zip(a[0], b[0])) if not near(x, y)]
        if wrong:
            again = run(eager, call)
            wrong = [k for k in wrong if same_numbers(again[0][k], a[0][k])]  # else eager reads what nobody wrote
            others = variations(source, eager, call)
            for k in wrong:
                text = judged(a[0][k], b[0][k], [o[0][k] for o in others if not isinstance(o, Exception)])
                if text:
                    return f"call {call}, tensor {k} of {len(a[1][0])} results: {text}"
    return ""


def cover(args, outcome):
    covered["calls"] += 1
    covered["errors"] += isinstance(outcome, Exception)
    covered["shapes"].update((t.shape, t.stride()) for t in args)
    covered["views"] += len(args) - len({t.untyped_storage().data_ptr() for t in args})


def _text(outcome):
    return f"raised {type(outcome).__name__}: {outcome!s:.300}" if isinstance(outcome, Exception) else "did not raise"


def near(x, y):
    if (x is None) != (y is None):
        return False
    if x is None:
        return True
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if not x.is_floating_point():
        return torch.equal(x, y)
    return bool(_within(x.double(), y.double(), 0, ROUNDING[x.dtype]).all())


def same_numbers(x, y):
    return x is y or torch.equal(x.nan_to_num(), y.nan_to_num())


def _within(x, y, spread, rounding):
    finite = x[x.isfinite()].abs()
    scale = finite.max().item() if finite.numel() else 0
    return ((x - y).abs() <= 16 * spread + rounding * x.abs() + rounding * 0.1 * scale + 1e-30) | (x == y) | (x.isnan() & y.isnan())


def variations(source, eager, call):
    """What eager gives in f64, and for inputs a little beside."""
    draw = torch.Generator().manual_seed(1)
    wide = scope_of(NARROW.sub("torch.float64", source))

    def beside(t):
        little = max(3e-6, torch.finfo(t.dtype).eps) if t.dtype != torch.float64 else 1e-12
        return (t.double() * (1 + little * torch.randn(t.shape, generator=draw, dtype=torch.float64))).to(t.dtype)

    return [run(wide, call), *(run(eager, call, beside) for _ in range(8))]


def judged(x, y, others):
    """Says how y is wrong where x and the others agree better; "" if it is not."""
    if x is None or y is None:
        return f"eager {x}, compiled {y}"
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"eager {x.dtype} {tuple(x.shape)}, compiled {y.dtype} {tuple(y.shape)}"
    if not others or any(o is None or o.shape != x.shape for o in others):
        return ""  # its shape hangs on rounding
    x, y = x.double(), y.double()
    spread = torch.stack([(o.double() - x).abs().nan_to_num(torch.inf, torch.inf) for o in others]).amax(0)
    same = torch.stack([(o.double() == x) | (o.double().isnan() & x.isnan()) for o in others]).all(0)
    spread = torch.where(same, 0.0, spread)
    rounding = 1e-4 if not others or others[-1].dtype not in ROUNDING else ROUNDING[others[-1].dtype]
    bad = ~_within(x, y, spread, rounding)
    if not bad.any() or ((x - y).abs()[bad] <= 8 * spread.max()).all():
        return ""
    at = tuple(bad.nonzero()[0].tolist())
    return f"{int(bad.sum())} of {x.numel()} differ, at {at} eager {x[at].item()}, compiled {y[at].item()}"


def generate(seed):
    rng = random.Random(seed)
    maker, grad = Maker(rng), seed % 2 == 1
    program = Tree([forms.HEAD.replace("@SIZES@", sizes(rng))])
    lines, names = inputs(rng, grad)
    head = ["draw = torch.Generator().manual_seed(call)", f"A, B, C = SIZES[{CALLS}[call]]", *lines, f"return {', '.join(names)}"]
    f = [["return ()", []]]
    program.body = [["def make_args(call):", [[line, []] for line in head]], [f"def f({', '.join(names)}):", f]]
    scopes = [dict(scope_of(program.text())) for _ in range(3)]
    for call, scope in zip((0, 2, 3), scopes):
        scope["values"] = dict(zip(names, scope["make_args"](call)))
    made = []
    length = rng.randint(2, 16)
    for _ in range(8 * length):
        if len(f) > length:
            break
        maker.values = scopes[0]["values"]
        line = maker.statement()
        if all(_fits(line, scope) for scope in scopes):
            f.insert(-1, [line, []])
            made += [line.split(" ")[0]] if " = " in line and "[" not in line.split(" = ")[0] else []
        else:  # what was written in vain
            for call, scope in zip((0, 2, 3), scopes):
                scope["values"] = dict(zip(names, scope["make_args"](call)))
                for done, _ in f[:-1]:
                    exec(done, scope["globals"], scope["values"])
    keep = [n for n in dict.fromkeys(made[-2:] + [m for m in made if rng.random() < 0.3])] or ["x0 * 2"]
    f[-1][0] = f"return ({', '.join(keep)},)"
    return program


def _fits(line, scope):
    """Runs one statement; whether what it makes is of bounded size and numbers."""
    values = scope["values"]
    scope.setdefault("globals", {"torch": torch, "F": torch.nn.functional})
    try:
        exec(line, scope["globals"], values)
    except Exception:
        return False
    for v in values.values():
        if not isinstance(v, torch.Tensor) or v.numel() > MOST_ELEMENTS or v.dim() > 6:
            return False
        if v.is_floating_point() and not bool((v.detach().abs() < LARGEST).all()):
            return False
    return True


def failure(program, seed, rest=False):
    source = program.text()
    try:
        if rest:
            results = [run(scope_of(source), call) for call in range(len(CALLS))]
            if any(isinstance(r, Exception) and isinstance(r, (NameError, TypeError, SyntaxError)) for r in results):
                return ""
    except Exception:
        return ""
    try:
        with within(MOST_SECONDS), torch.set_grad_enabled(True):
            return difference(source)
    except TooLong as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main(__doc__, generate, failure, "tensors", what_was_covered))
