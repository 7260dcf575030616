"""Random training steps whose sizes change: a network, statements of tensor_fuzz and of step_forms, a backward pass and an
optimizer, compiled as one function or around a compiled forward. Compared after each step are results, parameters, gradients,
the optimizer's state, buffers and what the inputs hold; each step begins where eager's last one ended.

    python -m tests.fuzz.step_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.step_fuzz --show 17            prints the program of one seed
"""

import copy
import random
import sys
import warnings

import torch

from tests.fuzz import step_forms as forms, tensor_fuzz as tensors
from tests.fuzz.programs import MOST_SECONDS, TooLong, Tree, main, within
from tests.fuzz.training_fuzz import shown

CALLS = (0, 0, 1, 2, 3, 4, 0, 3)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)  # a step is long
TRIED = (0, 2, 3)  # of them, those that statements must fit

covered = {"steps": 0, "errors": 0, "whole": 0, "shapes": set(), "optimizers": set(), "views": 0}


def what_was_covered():
    c = covered
    return (
        f"{c['steps']} steps, {c['whole']} of them in one function, {c['errors']} errors, {len(c['optimizers'])} kinds of optimizer, "
        f"{len(c['shapes'])} shapes and strides of inputs, {c['views']} inputs that share memory"
    )


class Maker(tensors.Maker):
    def statement(self):
        roll = self.rng.random()
        if roll > 0.45:
            return super().statement()
        self.made += 1
        if roll < 0.08:
            return self.fill(self.rng.choice(forms.IN_PLACE))
        return f"t{self.made} = {self.fill(self.rng.choice(forms.FLOATS))}"


def four_wide(rng, lines):
    """The last size of most inputs is the network's."""
    return [line.replace(", ), ", ", 4, ), ", 1) if "floats(" in line and rng.random() < 0.7 else line for line in lines]


def scope_of(source):
    scope = {}
    exec(compile(source, "<program>", "exec"), scope)
    return scope


class Side:
    """A network and its optimizer on the way through the steps, eagerly or compiled."""

    def __init__(self, source, wrap=None):
        self.scope = scope_of(source)
        self.net = self.scope["Net"]()
        self.opt = self.scope["optimizer"](list(self.net.parameters()))
        name = "step" if self.scope["WHOLE"] else "f"
        if wrap:
            self.scope[name] = wrap(self.scope[name])

    def step(self, call, change=None):
        """(results or an error, what there is afterwards, facts)"""
        if change:
            self.scope["change"] = change
        args = list(self.scope["make_args"](call))
        torch.manual_seed(call)
        try:
            results, loss = self.scope["step"](self.net, self.opt, *args)
        except Exception as error:
            return error, self.state(), args
        facts = [(str(r.dtype), tuple(r.shape), r.requires_grad, tensors._steps(r)) for r in results]
        made = [torch.as_tensor(loss, dtype=torch.float64) if isinstance(loss, float) else loss, *results]
        return [t.detach().clone() for t in (*made, *args)] + [t.grad for t in args], self.state(), facts

    def state(self):
        """Tensors by name."""
        named = {f"{n}": p for n, p in [*self.net.named_parameters(), *self.net.named_buffers()]}
        named |= {f"{n}.grad": p.grad for n, p in self.net.named_parameters()}
        for n, p in self.net.named_parameters():
            named |= {f"{n} {key}": value for key, value in self.opt.state.get(p, {}).items()}
        return {n: t.detach().clone() if isinstance(t, torch.Tensor) else t for n, t in named.items()}

    def settle(self):
        """Numbers stay such that the next step says something."""
        with torch.no_grad():
            for t in [*self.net.parameters(), *self.net.buffers(), *(v for s in self.opt.state.values() for v in s.values())]:
                if isinstance(t, torch.Tensor) and t.is_floating_point():
                    t.nan_to_num_(0.5, 2, -2).clamp_(-9, 9)
            for p in self.net.parameters():
                p.grad = None if p.grad is None else p.grad.nan_to_num(0, 1, -1)

    def begin_as(self, other):
        """What is there already is written over, as by a program that loads a checkpoint."""
        with torch.no_grad():
            for p, q in zip([*self.net.parameters(), *self.net.buffers()], [*other.net.parameters(), *other.net.buffers()]):
                p.copy_(q)
            for p, q in zip(self.net.parameters(), other.net.parameters()):
                p.grad = None if q.grad is None else q.grad.to(p.dtype, copy=True)
                for key, value in other.opt.state.get(q, {}).items():
                    mine = self.opt.state[p].get(key)
                    if isinstance(value, torch.Tensor) and mine is not None:
                        mine.copy_(value)
                    else:
                        wide = isinstance(value, torch.Tensor) and value.is_floating_point() and key != "step"
                        self.opt.state[p][key] = value.to(p.dtype) if wide else copy.deepcopy(value)


def variations(source, start, call):
    """What eager gives in f64, and for inputs a little beside, from where this step began."""
    draw = torch.Generator().manual_seed(1)

    def beside(t):
        little = max(3e-6, torch.finfo(t.dtype).eps) if t.dtype != torch.float64 else 1e-12
        return (t.double() * (1 + little * torch.randn(t.shape, generator=draw, dtype=torch.float64))).to(t.dtype)

    for k in range(9):
        side = Side(source if k else source.replace("torch.float32", "torch.float64"))
        side.begin_as(start)
        yield side.step(call, beside if k else None)


def _all(outcome):
    return [*outcome[0], *outcome[1].values()]


def difference(source):
    import vitrine

    vitrine.reset()
    eager, compiled, start = Side(source), Side(source, vitrine.compile), Side(source)
    for call in range(len(CALLS)):
        start.begin_as(eager)
        a, b = eager.step(call), compiled.step(call)
        cover(eager, a, call)
        if why := other_facts(a, b) or wrong_numbers(source, start, call, a, b):
            return f"call {call}: {why}"
        eager.settle()
        compiled.begin_as(eager)
    return ""


def cover(eager, outcome, call):
    args = list(eager.scope["make_args"](call))
    covered["steps"] += 1
    covered["errors"] += isinstance(outcome[0], Exception)
    covered["whole"] += eager.scope["WHOLE"]
    covered["optimizers"].add(type(eager.opt))
    covered["shapes"].update((t.shape, t.stride()) for t in args)
    covered["views"] += len(args) - len({t.untyped_storage().data_ptr() for t in args})


def other_facts(a, b):
    if isinstance(a[0], Exception) or isinstance(b[0], Exception):
        return "" if shown(a[0]) == shown(b[0]) else f"eager {tensors._text(a[0])}, compiled {tensors._text(b[0])}"
    if a[2] != b[2]:
        return f"eager {a[2]}, compiled {b[2]}"
    return f"state {set(a[1]) ^ set(b[1])} on one side" if set(a[1]) != set(b[1]) else ""


def wrong_numbers(source, start, call, a, b):
    if isinstance(a[0], Exception):
        return ""
    names = [f"tensor {k}" for k in range(len(a[0]))] + list(a[1])
    b = (b[0], {name: b[1][name] for name in a[1]}, b[2])
    x, y = _all(a), _all(b)
    wrong = [k for k in range(len(x)) if not _alike(x[k], y[k])]
    if not wrong:
        return ""
    others = [_all(o) for o in variations(source, start, call) if not isinstance(o[0], Exception) and list(o[1]) == list(a[1])]
    for k in wrong:
        if not isinstance(x[k], torch.Tensor) or not isinstance(y[k], torch.Tensor):
            return f"{names[k]}: eager {x[k]}, compiled {y[k]}"
        if text := tensors.judged(x[k], y[k], [o[k] for o in others if len(o) == len(x)]):
            return f"{names[k]}: {text}"
    return ""


def _alike(x, y):
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        return tensors.near(x, y)
    return x == y if not isinstance(x, torch.Tensor) and not isinstance(y, torch.Tensor) else False


def generate(seed):
    rng = random.Random(seed)
    tensors.SETS, tensors.ALIASES, tensors.SIZES = 5, 0.2, SIZES
    maker = Maker(rng)
    program = Tree([forms.HEAD.replace("@SIZES@", tensors.sizes(rng))])
    lines, names = tensors.inputs(rng, rng.random() < 0.3)
    lines = four_wide(rng, lines)
    head = ["draw = torch.Generator().manual_seed(call)", f"A, B, C = SIZES[{CALLS}[call]]", *lines, f"return {', '.join(names)}"]
    f = [["return ()", []]]
    steps = [rng.choice(forms.FIRST), f"results = f(net, {', '.join(names)})", "loss = sum((r.clamp(-3, 3).double().sum() for r in results if r.requires_grad), net.p2.double().sum())"]
    steps += [rng.choice(forms.BACKWARD), rng.choice(forms.BETWEEN), rng.choice(forms.LAST), f"return {rng.choice(forms.GIVEN)}"]
    steps.insert(0, "parameters = list(net.parameters())")
    whole = rng.random() < 0.7
    program.head.append(f"WHOLE = {whole}\n\n\ndef optimizer(parameters):\n    return torch.optim.{rng.choice(forms.OPTIMIZERS)}")
    program.body = [
        ["def make_args(call):", [[line, []] for line in head]],
        [f"def f(net, {', '.join(names)}):", f],
        [f"def step(net, opt, {', '.join(names)}):", [[line, []] for line in steps]],
    ]
    scopes = [scope_of(program.text()) for _ in TRIED]
    made = written(rng, maker, names, scopes, f)
    keep = list(dict.fromkeys(made[-2:] + [m for m in made if rng.random() < 0.3])) or ["x0 * net.p2"]
    f[-1][0] = f"return ({', '.join(keep)},)"
    return program


def written(rng, maker, names, scopes, f):
    """Statements that fit all sizes; the names that they make."""

    def begin():
        for call, scope in zip(TRIED, scopes):
            scope["globals"] = {"torch": torch, "F": torch.nn.functional, "net": scope["Net"]()}
            scope["values"] = dict(zip(names, scope["make_args"](call)))

    begin()
    made, length = [], rng.randint(2, 12)
    for _ in range(8 * length):
        if len(f) > length:
            break
        maker.values = scopes[0]["values"]
        line = maker.statement()
        if all(tensors._fits(line, scope) for scope in scopes):
            f.insert(-1, [line, []])
            made += [line.split(" ")[0]] if " = " in line and "[" not in line.split(" = ")[0] else []
        else:  # what was written in vain
            begin()
            for scope in scopes:
                for done, _ in f[:-1]:
                    exec(done, scope["globals"], scope["values"])
    return made


def failure(program, seed, rest=False):
    source = program.text()
    try:
        if rest:
            side = Side(source, lambda f: f)  # raises where what is compiled is missing
            found = [side.step(call)[0] for call in range(len(CALLS))]
            if any(isinstance(r, (NameError, TypeError, SyntaxError, AttributeError)) for r in found):
                return ""
    except Exception:
        return ""  # a part of the program's frame is missing
    try:
        with within(MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return difference(source)
    except TooLong as error:
        return str(error)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(__doc__, generate, failure, "steps", what_was_covered))
