"""Random programs of all that Python has, with a few tensors in between: exceptions, generators, classes, closures, context
managers, matches, globals and modules that change from call to call. Eager against compiled, each in a world of its own.

    python -m tests.fuzz.python_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.python_fuzz --show 17            prints the program of one seed

Odd seeds run with gradients, and differentiate what f returns. A third of the seeds have other sizes from call to call.
Most run without generated kernels.
"""

import random
import re
import sys

import torch

from tests.fuzz import python_forms as forms
from tests.fuzz import two_worlds
from tests.fuzz.programs import MOST_SECONDS, TooLong, Tree, at_most, main, parsed, within

CALLS = 6
# Kernels take most of a compilation's time and know nothing of Python: most programs run without any.
HOW = [{}, {"backend": "eager"}, *[{"options": {"fuse": False}}] * 6]
ROWS = (3, 5, 4, 3, 2, 1)
ALL = "return {k: v for k, v in sorted(locals().items()) if k not in 'fns gen stack quiet handle held'.split() and not callable(v)}"
RESULTS = [ALL, "return [v for v in (a, b, n, x, w, box.t, items) if v is not None]", "return a, b * n, box.t, wide.t, table.get('k')"]

# What a helper's statements may name besides its arguments.
HELPER = ["a = w = p", "q = x = n", "box, wide, table, net = Box(p), Wide(p), {'k': p, 'n': n}, nn.Identity()"]


class Maker:
    """Fills forms with names that fit the values that are there at this point."""

    def __init__(self, rng):
        self.rng, self.values, self.made = rng, {}, 0

    def __getitem__(self, slot):
        """What a form's {slot} becomes; the same each time within one form."""
        if slot not in self.filled:
            r = self.rng
            name = getattr(self, "slot_" + slot, None)
            self.filled[slot] = name() if name else self.within(r.choice(forms.SLOTS[slot]))
        return self.filled[slot]

    def within(self, form):
        return form.format_map(self) if "{" in form else form

    def fill(self, form):
        self.filled = {}
        return form.format_map(self)

    def names(self, kind):
        return [k for k, v in self.values.items() if isinstance(v, kind) and not (kind is int and isinstance(v, bool))]

    def slot_t(self):
        return self.rng.choice(self.names(torch.Tensor) or ["a"])

    def slot_u(self):
        name = self["t"]
        shape = getattr(self.values.get(name), "shape", ())
        return self.rng.choice([k for k in self.names(torch.Tensor) if self.values[k].shape == shape or self.values[k].dim() == 0] or [name])

    def slot_k(self):
        names = self.names(int)
        return self.rng.choice(names) if names and self.rng.random() < 0.5 else str(self.rng.choice([0, 1, 2, 3, -1, 0.5]))

    def slot_L(self):
        return self.rng.choice(self.names(list) or ["items"])

    def slot_N(self):
        self.made += 1
        return f"v{self.made}" if self.rng.random() < 0.7 else self.slot_t()

    def slot_c(self):
        self.made += 1
        return f"i{self.made}"  # of this loop alone: an inner loop must not set back the outer one's counter

    def slot_e(self):
        return f"e{self.rng.randrange(2)}"

    def slot_g(self):
        return f"g{self.rng.randrange(3)}"

    def slot_E(self):
        return self.within(self.rng.choice(forms.EXPRESSIONS))

    def statement(self, depth=0):
        r = self.rng
        if depth > 2 or r.random() < 0.7:
            return [[self.fill(r.choice(forms.LINES)), []]]
        block = self.fill(r.choice(forms.BLOCKS))
        return parsed(block, lambda: [s for _ in range(r.randint(1, 2)) for s in self.statement(depth + 1)])

    def helper(self, name):
        """A function of the module's, into which f's calls are followed."""
        kept = self.values
        self.values = {"p": torch.zeros(3, 4), "q": 2, "items": [], "a": torch.zeros(3, 4)}
        body = [s for _ in range(self.rng.randint(1, 4)) for s in self.statement(1)]
        self.values = kept
        return [f"def {name}(p, n, items):", [["global G, GT", []], *([line, []] for line in HELPER), *body, ["return p", []]]]


def built(rng, sizes):
    program = Tree(forms.HEAD)
    if sizes:
        program.head[-1] = program.head[-1].replace("rows=3", "rows=None").replace("    base =", f"    rows = {ROWS}[call]\n    base =", 1)
    result = rng.choice(RESULTS)
    f = [forms.SIGNATURE, [["global G, GT", []], [result, []]]]
    program.body = [f]
    return program, f[1]


def attempt(program, grad):
    """f's locals at the end of the first call, run eagerly; None if it raises or does not end."""
    source = re.sub(r"\n    return [^\n]*\n\Z", "\n    return locals()\n", program.text())
    try:
        world = two_worlds.World(source, lambda f: f, False)
        with torch.set_grad_enabled(grad):
            torch.manual_seed(0)
            with at_most(lines=3000), two_worlds.silent():
                return world.f(*world.scope["make_args"](0), *world.module)
    except (Exception, TooLong):
        return None


def generate(seed):
    rng = random.Random(seed)
    maker, grad = Maker(rng), seed % 2 == 1
    program, f = built(rng, seed % 3 == 0)
    for i in range(2):
        program.body[i:i] = [maker.helper(f"helper{i}")]
        while attempt(program, grad) is None:  # not a function at all
            program.body[i] = maker.helper(f"helper{i}")
    maker.values = attempt(program, grad)
    for _ in range(rng.randint(3, 16)):
        added = maker.statement()
        f[-1:-1] = added
        values = attempt(program, grad)
        if values is not None:
            maker.values = values
        elif rng.random() < 0.97:
            del f[-1 - len(added) : -1]
        else:
            break  # the program ends in this error
    return program


def failure(program, seed, rest=False):
    """Why eager and compiled differ; "" when they do not. rest: of a program whose parts were deleted, that has to run."""
    source, grad = program.text(), seed % 2 == 1
    try:
        error = two_worlds.runs(source, CALLS, grad, lambda: at_most(lines=20000))
        if rest and error and "NameError" in str(error[0]):
            return ""
    except (Exception, TooLong):
        return ""
    try:
        with within(MOST_SECONDS):
            return two_worlds.compare(source, CALLS, grad, **HOW[seed // 2 % 8])
    except TooLong as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main(__doc__, generate, failure, "python"))
