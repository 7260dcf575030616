"""Random little programs over tensors, eager against compiled. A program grows statement by statement and is run eagerly as
it grows, so that most of it makes sense. A failure is made smaller by deleting statements and kept under tests/fuzz/kept/.

    python -m tests.fuzz.program_fuzz [--first 0] [--count 150] [--seconds 30] [--keep] [--sizes]
    python -m tests.fuzz.program_fuzz --show 17            prints the program of one seed
"""

import argparse
import contextlib
import faulthandler
import io
import random
import resource
import sys
import time
import traceback
from pathlib import Path

import torch

from tests.fuzz.programs import MOST_BYTES, TooLong, at_most, minimise
from tests.python.support.same_as_eager import check

HERE = Path(__file__).parent

PRELUDE = '''import torch
import torch.nn.functional as F


class Box:
    scale = 2

    def __init__(self, t):
        self.t = t
        self.n = 0

    def bump(self, by=1):
        self.n += by
        return self

    @property
    def scaled(self):
        return self.t * self.scale


def make_args(call, rows=3):
    base = (torch.arange(rows * 4.0) % 5 - 2).reshape(rows, 4)
    n = 2 + call // 2 % 2
    items = [base[0].clone(), 3, base + 1]
    alias = base[1:] if call == 3 else base[1:].clone()
    return base, alias, n, items, {"k": base * 2, "n": n}, Box(base.t())


'''
# Rows of the inputs by call, with --sizes: the program was made for the first.
ROWS = [3, 5, 4, 3, 7, 2, 1, 5, 6]

CALLS = 5
SIGNATURE = "def f(a, b, n, items, table, box):"


class Program:
    """A tree of statements: each is [line, children]."""

    def __init__(self):
        self.head, self.body = [], []

    def text(self, result):
        lines = []

        def write(body, depth):
            for line, children in body:
                lines.append("    " * depth + line)
                if line.endswith(":"):
                    write(children, depth + 1) if children else lines.append("    " * (depth + 1) + "pass")

        write(self.body, 1)
        return PRELUDE + "\n".join([SIGNATURE, *lines, "    " + result]) + "\n"

    def build(self, result, name="<program>"):
        scope = {}
        source = self.text(result)
        exec(compile(source, name, "exec"), scope)
        return scope, source


RESULT = "return {k: v for k, v in sorted(locals().items()) if not callable(v)}"


class Maker:
    """Picks statements that fit the values that the names have at this point."""

    def __init__(self, rng):
        self.rng = rng
        self.values = {}
        self.made = 0

    def names(self, kind):
        return [k for k, v in self.values.items() if isinstance(v, kind) and not (kind is int and isinstance(v, bool))]

    def tensor(self):
        return self.rng.choice(self.names(torch.Tensor) or ["a"])

    def number(self):
        names = self.names(int)
        return self.rng.choice(names) if names and self.rng.random() < 0.6 else str(self.rng.choice([0, 1, 2, 3, -1, 0.5]))

    def new(self):
        self.made += 1
        return f"v{self.made}" if self.rng.random() < 0.7 else self.tensor()

    def like(self, name):
        """Another tensor of a shape that broadcasts with this one, if there is one."""
        shape = getattr(self.values.get(name), "shape", ())
        fits = [k for k in self.names(torch.Tensor) if self.values[k].shape == shape or self.values[k].dim() == 0]
        return self.rng.choice(fits or [name])

    def expression(self):
        r, t = self.rng, self.tensor()
        return r.choice([
            lambda: f"{t} {r.choice('+-*')} {self.like(t)}",
            lambda: f"{t} {r.choice('+-*')} {self.number()}",
            lambda: f"torch.{r.choice(['relu', 'abs', 'neg', 'tanh', 'sigmoid', 'sign', 'floor', 'clone', 'zeros_like', 'ones_like', 'square'])}({t})",
            lambda: f"{t}.{r.choice(['sum()', 'amax()', 'mean()', 'sum(0)', 'sum(-1, keepdim=True)', 'amax(0)', 'argmax().float()', 'cumsum(0)', 'softmax(0)', 'flip(0)', 'sort(0).values', 'clamp(-1, 2)', 'double().float()', 'int().float()', 'detach()', 'contiguous()'])}",
            lambda: f"{t}{r.choice(['[0]', '[1:]', '[..., 0]', '[..., ::2]', '[:, 1:3]', '[-1]', '[None]', '[:2]', '[...]', '[[0, 1]]'])}",
            lambda: f"{t}.{r.choice(['t()', 'mT', 'reshape(-1)', 'unsqueeze(0)', 'squeeze()', 'view(-1)', 'transpose(0, 1)', 'expand(2, *' + t + '.shape)', 'diagonal()', 'flatten()', 'narrow(0, 0, 1)', 'view_as(' + self.like(t) + ')'])}",
            lambda: f"torch.where({t} > {self.number()}, {t}, {self.like(t)})",
            lambda: f"({t} > {self.number()}).float()",
            lambda: f"torch.cat([{t}, {self.like(t)}])",
            lambda: f"torch.stack([{t}, {t}]).sum(0)",
            lambda: f"torch.maximum({t}, {self.like(t)})",
            lambda: f"{t} @ {self.like(t)}.mT",
            lambda: f"F.relu({t}, inplace={r.choice(['True', 'False'])})",
            lambda: "box.t", lambda: "box.scaled", lambda: "box.bump().t", lambda: "items[0]", lambda: "items[-1]", lambda: "table['k']",
            lambda: f"torch.rand({r.choice([2, 4])}).round()", lambda: f"torch.full((3, 4), float({self.number()}))",
            lambda: f"sum(q for q in ({t}, {self.number()}))", lambda: f"[q * 2 for q in {t}][0]", lambda: f"(lambda q, z={self.number()}: q + z)({t})",
        ])()  # fmt: skip

    def plain(self):
        r, t = self.rng, self.tensor()
        return r.choice([
            *[lambda: f"{self.new()} = {self.expression()}"] * 8,
            lambda: f"{t} {r.choice(['+=', '-=', '*='])} {r.choice([self.number(), self.like(t)])}",
            lambda: f"{t}.{r.choice(['add_', 'mul_', 'sub_', 'fill_'])}({self.number()})",
            lambda: f"{t}.{r.choice(['relu_()', 'abs_()', 'zero_()', 'neg_()', 'clamp_(-3, 3)', 't_()', 'unsqueeze_(0)', 'squeeze_()', 'tanh_()'])}",
            lambda: f"{t}{r.choice(['[0]', '[..., 0]', '[1:]', '[:, ::2]', '[' + t + ' > 1]', '[...]'])} {r.choice(['=', '+=', '*='])} {self.number()}",
            lambda: f"{t}[0] = {t}[-1]", lambda: f"{t}.copy_({self.like(t)})", lambda: f"torch.add({t}, {self.number()}, out={t})",
            lambda: f"items.append({r.choice([t, self.number()])})", lambda: "items.reverse()", lambda: f"items[0] = {t}", lambda: f"{self.new()} = items.pop()", lambda: "items *= 2",
            lambda: f"table['{r.choice('kxy')}'] = {t}", lambda: "table['n'] += 1", lambda: f"{self.new()} = table.pop('{r.choice('kx')}', {t})", lambda: f"table.setdefault('z', []).append({t})",
            lambda: f"box.t = {t}", lambda: f"box.bump({self.number()})", lambda: f"box.extra = {t}", lambda: "box.scale = box.n",
            lambda: f"n {r.choice(['+=', '*=', '-='])} {r.choice([1, 2])}", lambda: f"m{r.randrange(2)} = {self.number()} if n > 2 else len(items)",
            lambda: f"{t}, {self.new()} = {self.tensor()}, {t}", lambda: f"v_first, *v_rest = {t}", lambda: f"(w{r.randrange(3)} := {t}).add_(1)", lambda: f"del {t}",
            # breaks
            lambda: f"print('p', {t}.shape, n)", lambda: f"print(round({t}.sum().item(), 1) + 0.0)", lambda: f"m{r.randrange(2)} = int({t}.sum().item()) % 7", lambda: f"m2 = {t}.tolist()[0] == 1",
        ])()  # fmt: skip

    def statement(self, depth=0):
        r, t = self.rng, self.tensor()
        if depth > 2 or r.random() < 0.75:
            return [[self.plain(), []]]
        body = lambda: [s for _ in range(r.randint(1, 3)) for s in self.statement(depth + 1)]  # noqa: E731
        g, k = f"g{r.randrange(3)}", self.number()
        self.made += 1
        i = f"i{self.made}"  # of this loop alone: an inner loop must not set back the outer one's counter
        return r.choice([
            lambda: [[f"if n > {r.choice([1, 2, 3])}:", body()], ["else:", body()]],
            lambda: [[f"if {t}.sum() > {k}:", body()], *([["else:", body()]] if r.random() < 0.5 else [])],
            lambda: [[f"if {t}.dim() == {r.randrange(3)} and len(items) > 2:", body()]],
            lambda: [[f"for {i} in range({r.choice(['n', '3', 'len(items)'])}):", [*body(), *([[f"if {i} == 1 or {t}.amax() > 50:", [[r.choice(["break", "continue"]), []]]]] if r.random() < 0.4 else [])]]],
            lambda: [[f"for {i}, q in enumerate({r.choice([t, 'items[:3]', 'list(table.values())'])}):", [*body(), [f"if {i} > 2:", [["break", []]]]]]],
            lambda: [["for key, q in sorted(table.items(), key=lambda p: p[0]):", body()]],
            lambda: [[f"{i} = 0", []], [f"while {i} < 3:", [[f"{i} += 1", []], *body()]]],
            lambda: [["try:", [*body(), [f"{t}.view(1000)", []]]], ["except RuntimeError as e:", [["m3 = str(e)", []], *body()]], *([["finally:", body()]] if r.random() < 0.4 else [])],
            lambda: [["try:", body()], ["except (IndexError, KeyError, AttributeError):", body()]],
            lambda: [[f"with torch.{r.choice(['no_grad()', 'enable_grad()', 'set_grad_enabled(n > 2)'])}:", body()]],
            lambda: [[f"def {g}(p, s={k}):", [*([["nonlocal n", []]] if False else []), [f"p = p + s{r.choice(['', ' * n', ' + len(items)'])}", []], *([[f"{r.choice(['print(n)', 'items.append(s)', 'p.mul_(2)', 'box.bump()'])}", []]]), ["return p", []]]], [f"{self.new()} = {g}({self.tensor()})", []]],
            lambda: [[f"def {g}(p):", [["for z in range(2):", [["yield p * z", []]]]]], [f"{self.new()} = sum({g}({self.tensor()}))", []]],
        ])()  # fmt: skip


def attempt(program, calls=(0,)):
    """Locals after running the program eagerly; None if it raises."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for call in calls:
                torch.manual_seed(call)
                scope, _ = program.build("return locals()")
                with at_most(lines=3000):
                    values = scope["f"](*scope["make_args"](call))
    except (Exception, TooLong):
        return None
    if sum(v.numel() for v in values.values() if isinstance(v, torch.Tensor)) > 5000 or any(
        isinstance(v, list) and len(v) > 60 for v in values.values()
    ):
        return None
    return values


def generate(seed):
    rng = random.Random(seed)
    maker, program = Maker(rng), Program()
    maker.values = attempt(program)
    for _ in range(rng.randint(4, 22)):
        added = maker.statement()
        program.body += added
        values = attempt(program)
        if values is None and rng.random() < 0.97:
            del program.body[-len(added) :]
        elif values is not None:
            maker.values = values
        else:
            break  # the program ends in this error
    return program


def bounded(program, grad, sizes):
    """Whether all calls come to an end with values of bounded size: the program was made for the first alone."""
    scope, _ = program.build(RESULT)
    for call in range(len(ROWS) if sizes else CALLS):
        try:
            with torch.set_grad_enabled(grad), contextlib.redirect_stdout(io.StringIO()), at_most(lines=20000):
                scope["f"](*scope["make_args"](call, *([ROWS[call]] if sizes else [])))
        except TooLong:
            return False
        except Exception:
            continue
    return True


def failure(program, grad, name="<program>", sizes=False):
    """Why eager and compiled differ; None when they do not. With `sizes`, the inputs have other ones from call to call."""
    import vitrine

    if not bounded(program, grad, sizes):
        return None
    scope, _ = program.build(RESULT, name)
    vitrine.reset()
    calls = iter(range(100))

    def arguments():
        call = next(calls)
        return scope["make_args"](call, *([ROWS[call % len(ROWS)]] if sizes else []))

    try:
        with torch.set_grad_enabled(grad):
            torch.manual_seed(0)
            check(scope["f"], vitrine.compile(scope["f"]), arguments, calls=len(ROWS) if sizes else CALLS)
    except Exception as error:
        cause = f"\n{''.join(traceback.format_exception(error.__cause__))}" if error.__cause__ else ""
        return f"{type(error).__name__}: {error}{cause}"
    return None


def still_fails(program, grad, sizes):
    """Whether a program of which parts were deleted fails, and not because of what it lacks now."""
    try:
        why = failure(program, grad, sizes=sizes)
    except SyntaxError:
        return False
    return bool(why) and "NameError" not in why


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--show", type=int)
    parser.add_argument("--keep", action="store_true", help="write minimised failures to tests/fuzz/kept/")
    parser.add_argument("--sizes", action="store_true", help="inputs of other sizes from call to call")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    if options.show is not None:
        print(generate(options.show).text(RESULT))
        return 0
    faulthandler.enable()
    torch.set_num_threads(1)  # on a busy machine two wait for each other
    start, failed, tried = time.monotonic(), [], 0
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() - start > options.seconds:
            break
        print(f"\rseed {seed}", end="", flush=True)  # the last line of a crash
        program, grad = generate(seed), seed % 2 == 1
        tried += 1
        why = failure(program, grad, sizes=options.sizes)
        if why is None:
            continue
        failed.append(seed)
        print(f"\nseed {seed} (grad {grad}) fails: {why}", flush=True)
        source = minimise(program, lambda p: still_fails(p, grad, options.sizes)).text(RESULT)
        print(source[len(PRELUDE) :], failure(program, grad, sizes=options.sizes), flush=True)
        if options.keep:
            (HERE / "kept" / f"seed_{seed}.py").write_text(source)
    print(f"\n{tried} programs in {time.monotonic() - start:.0f} s, {len(failed)} failed: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
