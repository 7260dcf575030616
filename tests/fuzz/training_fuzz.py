"""Random training programs, eager against compiled: a function with hooks, autograd.Functions, checkpoints, modules and writes, and
what goes on around it: several backward passes, autograd.grad, hooks, optimizers, changes between forward and backward.
Every fourth program has derivatives that PyTorch writes, of each region as a whole.
Compared are results, gradients, the order in which hooks run and what they see, modules' buffers, and errors.

    python -m tests.fuzz.training_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.training_fuzz --show 17          prints the program of one seed
"""

import random
import re
import sys
import warnings

import torch

from tests.fuzz import training_forms as forms
from tests.fuzz.programs import MOST_SECONDS, TooLong, Tree, main, within

LEAVES = ("p", "q", "r")


class Maker:
    """Fills forms with names of tensors that are there."""

    def __init__(self, rng):
        self.rng, self.names, self.made = rng, ["x"], 0

    def fill(self, form):
        self.made += 1
        own = [n for n in self.names if n != "x"]
        recent = lambda names: names[-1 - min(int(self.rng.expovariate(0.5)), len(names) - 1)]  # noqa: E731
        slots = {"new": f"t{self.made}", "other": f"i{self.made}", "last": f"u{self.made}", "o": recent(own) if own else "x"}
        out = form
        while "{t}" in out:
            out = out.replace("{t}", recent(self.names), 1)
        while "{p}" in out:
            out = out.replace("{p}", self.rng.choice(LEAVES), 1)
        for slot, name in slots.items():
            out = out.replace("{" + slot + "}", name)
        made = [name for name in (slots["new"], slots["last"]) if out.startswith(name + " =") or f"{name} = " in out or f" {name}, " in out or out.startswith(name + ",")]
        self.names += made
        return out.replace("{{", "{").replace("}}", "}"), made

    def statement(self, depth=0):
        roll = self.rng.random()
        if roll < 0.1:
            return [[self.fill(self.rng.choice(forms.WRITES))[0], []]]
        if roll < 0.17:
            return [[self.fill(self.rng.choice(forms.HOOKS))[0], []]]
        if roll < 0.25 and not depth:
            before = list(self.names)
            block = [self.rng.choice(forms.BLOCKS), [s for _ in range(self.rng.randint(1, 3)) for s in self.statement(1)]]
            if block[0].startswith("if"):
                self.names = before
            return [block]
        return [[self.fill(self.rng.choice(forms.FORWARD))[0], []]]


def generate(seed):
    rng = random.Random(seed)
    maker = Maker(rng)
    body = [s for _ in range(rng.randint(1, 8)) for s in maker.statement()]
    own = [n for n in maker.names if n != "x"] or ["x * p"]
    results = list(dict.fromkeys([own[-1], *(n for n in own if rng.random() < 0.2)]))
    whole = rng.random() < 0.2
    f = ["def f(x, p, q, r, v, block, log):", [*body, [f"return ({', '.join(results)},)", []]]]
    steps = []
    for _ in range(rng.randint(2, 9)):
        form = rng.choice(forms.DRIVER)
        while "{p}" in form:
            form = form.replace("{p}", f"leaves[{rng.randrange(3)}]", 1)
        steps.append([form.replace("{k}", rng.choice(["2", "0.5", "-1"])), []])
    if not any(".backward" in line or "grad(" in line for line, _ in steps):
        steps.append(["loss.backward()", []])
    optimizer = rng.choice(["SGD(leaves, 0.1, momentum=0.9)", "AdamW(leaves, 0.01)", "Adam(leaves, 0.01, amsgrad=True)", "RMSprop(leaves, 0.01)"])
    guarded = [["try:", [[line, []]]] for line, _ in steps]
    drive = [line for one in guarded for line in (one, ["except Exception as error:", [["log.append(error)", []]]])]
    begin = ["ys = f(x, *leaves, block, log)", "loss = sum(y.sum() for y in ys if y.requires_grad)"]
    program = Tree([forms.HEAD])
    program.body = [f, ["def drive(f, x, leaves, block, opt, log):", [["v = leaves[3]", []], *[[line, []] for line in begin], *drive, ["return ys", []]]]]
    program.head.append(f"KIND, GRAD, WHOLE = {rng.choice([0, 0, 1, 2, 3, 4])}, {rng.random() < 0.4}, {whole}\n\n\ndef optimizer(leaves):\n    return torch.optim.{optimizer}")
    return program


def scope_of(source):
    scope = {}
    exec(compile(source, "<program>", "exec"), scope)
    return scope


def run(scope, call, compiled):
    """What is to be seen of a call; an error is its type and the first line of its text."""
    x, leaves = scope["values"](call, scope["GRAD"])
    block, log, seen = scope["Block"](scope["KIND"]), [], []
    torch.manual_seed(call)
    f, drive = scope["f"], scope["drive"]
    if compiled:
        f, drive = (f, compiled) if scope["WHOLE"] else (compiled, drive)
    try:
        seen.append(drive(f, x, leaves, block, scope["optimizer"](leaves), log))
    except Exception as error:
        seen.append(error)
    grads = [t.grad for t in (x, *leaves, *block.parameters())]
    # Whether a result's own gradient was asked for is its affair; strides of gradients are the program's.
    facts = [None if g is None else ("lies", [s for s, n in zip(g.stride(), g.shape) if n > 1]) for g in grads]
    return shown([seen, log, grads, facts, leaves, list(block.buffers()), torch.rand(1)])


def shown(value):
    """Tensors as they are then, errors as texts."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, Exception):
        # Which of the saved tensors it names first is autograd's own affair.
        text = re.sub(r"(inplace operation: ).*(; expected)", r"\1\2", str(value).split("\n")[0])
        return f"{type(value).__name__}: {text.split('; expected')[0]}"
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return value


def differs(a, b, path=""):
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((why for k, (x, y) in enumerate(zip(a, b)) if (why := differs(x, y, f"{path}.{k}"))), "")
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{path}: {a.dtype} {tuple(a.shape)} is {b.dtype} {tuple(b.shape)}"
        rounding = 1e-6 if a.dtype == torch.float64 else 2e-2
        return "" if torch.allclose(a, b, rounding, rounding * 0.1, equal_nan=True) else f"{path}: {a.tolist()} is {b.tolist()}"
    return "" if type(a) is type(b) and not isinstance(a, list) and a == b else f"{path}: {a!s:.500} is {b!s:.500}"


# Derivatives of a region's derivatives are refused by name; eager has them.
REFUSED = ("create_graph=True", "backward of the region")


def failure(program, seed, rest=False):
    import vitrine

    source = program.text()
    try:
        eager = scope_of(source)
        expected = [run(eager, call, None) for call in range(3)]
    except Exception as error:
        return "" if rest else f"the program fails: {error!r}"
    if rest and any(isinstance(e[0][0], str) and e[0][0].startswith(("NameError", "UnboundLocalError", "TypeError", "SyntaxError")) for e in expected):
        return ""
    vitrine.reset()
    scope = scope_of(source)
    options = {"gradients": "borrowed"} if seed % 4 == 3 else None
    compiled = vitrine.compile(scope["drive"] if scope["WHOLE"] else scope["f"], options=options)
    try:
        with within(MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in (0, 1, 2):
                found = run(scope, call, compiled)
                why = differs(expected[call], found)
                if why and not any(text in str(found) for text in REFUSED):
                    return f"call {call}: {why}"
    except TooLong as error:
        return str(error)
    finally:
        torch.set_default_dtype(torch.float32)
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(__doc__, generate, failure, "training"))
