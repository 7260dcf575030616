"""What python_fuzz.py writes programs with: definitions at their head, and forms of statements.

In a form, {t} and {u} are tensors (of like shapes), {k} a number, {N} a name to set, {c} a counter's name, {e} an error's, {L} a
list, {g} a function's, {E} an expression; a line `$` stands for statements.
"""

HEAD = [
    "import collections\nimport contextlib\nimport dataclasses\nimport enum\nimport functools\nimport itertools\nimport math",
    "import torch\nimport torch.nn.functional as F\nfrom torch import nn",
    "G = 0\nGT = torch.ones(4)\nGL = []\nGD = {'one': 1}",
    '''class Trouble(Exception):
    def __init__(self, text, t=None):
        super().__init__(text)
        self.t = t
''',
    '''class Box:
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

    @scaled.setter
    def scaled(self, value):
        self.t = value / self.scale

    @classmethod
    def of(cls, t):
        return cls(t + cls.scale)

    @staticmethod
    def half(t):
        return t / 2
''',
    '''class Slim:
    __slots__ = ("t", "n")

    def __init__(self, t):
        self.t = t
''',
    '''class Wide(Box):
    def __init__(self, t):
        super().__init__(t)
        self.asked = []

    def __getattr__(self, name):
        if name.startswith("_") or name == "asked":
            raise AttributeError(name)
        self.asked.append(name)
        return self.t + len(name)

    def __getitem__(self, key):
        return self.t[key]

    def __setitem__(self, key, value):
        self.n += 1
        self.t[key] = value

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([self.t, self.n])

    def __contains__(self, item):
        return item == self.n

    def __add__(self, other):
        return self.t + other

    def __radd__(self, other):
        return other - self.t

    def __iadd__(self, other):
        self.n += 1
        self.t = self.t + other
        return self

    def __call__(self, t, *more, **named):
        self.n += len(more) + len(named)
        return t * self.n

    def bump(self, by=2):
        return super().bump(by * 2)
''',
    '''class Key:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, Key) and self.n % 3 == other.n % 3

    def __hash__(self):
        return self.n % 3
''',
    '''class Lazy:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, held, owner):
        if held is None:
            return self
        return held.__dict__.get(self.name, 0) + 1

    def __set__(self, held, value):
        held.__dict__[self.name] = value
''',
    '''class Held:
    lazy = Lazy()

    @functools.cached_property
    def once(self):
        GL.append("once")
        return self.lazy * 2
''',
    '''class Quiet:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.seen = []

    def __enter__(self):
        self.seen.append("in")
        return self

    def __exit__(self, kind, error, tb):
        self.seen.append(kind.__name__ if kind else "out")
        return kind is not None and issubclass(kind, self.kinds)
''',
    '''@contextlib.contextmanager
def tidy(box):
    box.n += 1
    try:
        yield box.t
    except Trouble as error:
        box.n += 10
        if error.t is None:
            raise
    finally:
        box.n -= 1
''',
    "@dataclasses.dataclass\nclass Pair:\n    t: torch.Tensor\n    n: int = 1\n    more: list = dataclasses.field(default_factory=list)\n",
    "Point = collections.namedtuple('Point', 't n')",
    "class Mode(enum.Enum):\n    SUM = 'sum'\n    MEAN = 'mean'\n",
    '''def count_up(t, n):
    for i in range(n):
        got = yield t + i
        if got is not None:
            t = t * got
    return t
''',
    '''def delegate(t, n):
    try:
        last = yield from count_up(t, n)
        yield last - 1
    finally:
        GL.append("closed")
''',
    '''def remember(t, seen=[], *, table={"n": 0}):
    table["n"] += 1
    seen.append(t.shape[0] if t.dim() else 0)
    return t + len(seen)
''',
    '''def make_counter():
    n = 0

    def inc(by=1):
        nonlocal n
        n += by
        return n

    return inc
''',
    "COUNTER = make_counter()",
    "def fact(t, n):\n    return t if n <= 0 else fact(t, n - 1) * n - 1\n",
    '''def traced(function):
    @functools.wraps(function)
    def inner(*args, **named):
        GL.append(len(args))
        return function(*args, **named)

    return inner
''',
    "@traced\ndef twice(t, by=2, *rest, bias=0, **more):\n    return t * by + bias + len(rest) - len(more)\n",
    '''def fails(t, n):
    if n % 2:
        raise Trouble(f"odd {n}", t)
    return t - n
''',
    '''def first_big(ts, k):
    for i, t in enumerate(ts):
        if isinstance(t, torch.Tensor) and t.sum() > k:
            return i, t
    return None
''',
    '''class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(4.0) - 1)
        self.lin = nn.Linear(4, 4)
        with torch.no_grad():
            self.lin.weight.copy_((torch.arange(16.0).view(4, 4) % 3) - 1)
            self.lin.bias.fill_(0.5)
        self.drop = nn.Dropout(0.5)
        self.parts = nn.ModuleList([nn.ReLU(), nn.Identity()])
        self.register_buffer("running", torch.zeros(4))
        self.calls, self.history, self.last, self.options = 0, [], None, {}

    def forward(self, x, how=0):
        self.calls += 1
        if how % 2 == 0:
            self.running.mul_(0.5).add_(x.detach().reshape(-1)[:4].sum() * 0.125)
        if self.last is not None and self.last.shape == x.shape:
            x = x + self.last
        self.last = x.detach()
        for part in self.parts:
            x = part(x)
        return x * self.weight if x.dim() and x.shape[-1] == 4 else x * self.weight[0]
''',
    "def module():\n    return Net()\n",
    '''def make_args(call, rows=3):
    base = (torch.arange(rows * 4.0) % 5 - 2).reshape(rows, 4)
    n = 2 + call // 2 % 2
    x = (3, 3, 2.5, torch.tensor(2.0), True, -2)[call % 6]
    w = torch.ones(4, requires_grad=torch.is_grad_enabled())
    items = [base[0].clone(), 3, base + 1]
    b = base[1:] if call == 3 else base[1:].clone()
    return base, b, n, x, w, items, {"k": base * 2, "n": n}, Box(base.t()), Wide(base + call)
''',
]
SIGNATURE = "def f(a, b, n, x, w, items, table, box, wide, net):"
NAMES = "a b n x w items table box wide net"

LINES = """
{N} = {E}
{N} = {E}
{N} = {E}
{N} = {E}
{N} = {E}
{N} = {E}
{t} += {k}
{t} *= {u}
{t}.add_({k})
{t}.mul_(2)
{t}[0] = {k}
{t}[..., 0] += {k}
{t}[1:] *= {k}
{t}[{t} > 1] = {k}
{t}.copy_({u})
{t} = {t}.t(); {t} += 1
torch.add({t}, {k}, out={t})
{N} = {t}.view(-1); {N} += 1
{N} = {t}[0]; {N}.zero_()
{N} = {t}.detach(); {N}.mul_(2)
{N} = {t}.chunk(2)[0]; {N}.neg_()
{t}.unsqueeze_(0)
{t}.data.mul_(2)
a, b = b, a
{t}, *rest = {u}, 1, 2
*rest, {N} = items
(first, *_), last = [items, {t}]
{L}.append({t})
{L}.append({k})
{L} += [{t}]
{L} = {L} + [{k}]
{L}.extend(q for q in ({t}, {k}))
{L}.insert(0, {k})
{L}[0] = {t}
{L}[1:2] = [{t}, {k}]
{N} = {L}.pop()
del {L}[-1]
{L}.reverse()
{L}[:] = {L}[::-1]
alias = items; alias.append({k})
alias = {t}; alias += 1
items.sort(key=lambda q: q.sum().item() if isinstance(q, torch.Tensor) else q)
ordered = sorted(items, key=lambda q: (isinstance(q, torch.Tensor), q.dim() if isinstance(q, torch.Tensor) else q))
ordered = sorted(table, key=lambda q: -ord(q[0]))
table['{s}'] = {t}
table['n'] += 1
table['{s}'] = {k}
{N} = table.pop('{s}', {t})
table.setdefault('z', []).append({t})
table.update(x={t}, y={k})
table |= {{'q': {t}}}
del table['{s}']
{N} = table.get('{s}', {t})
table = {{k: v for k, v in reversed(table.items())}}
table[Key(n)] = {k}
m0 = Key(4) in table
names = {{*table, 'n'}}; m1 = len(names)
m0 = {{str(q) for q in range(n)}} == {{'0', '1'}}
m1 = tuple(table)[0]
box.t = {t}
box.t += {k}
box.n += {k}
box.scale = box.n
box.extra = {t}
del box.extra
box.scaled = {t}
box = Box.of({t})
box.bump({k}).bump()
Box.scale += 1
setattr(box, 'n', len({L}))
m0 = hasattr(box, 'extra')
m0 = getattr(wide, 'missing')
{N} = wide.other
wide[0] = {k}
wide += {k}
m0 = len(wide), 1 in wide, bool(wide)
{N}, m1 = wide
{N} = 1 + wide
{N} = wide({t}, 1, z=2)
wide.bump()
slim = Slim({t}); slim.n = {k}
slim = Slim({t}); m0 = hasattr(slim, 'n')
held = Held(); held.lazy = {k}; m0 = held.lazy + held.once + held.once
pair = Pair({t}); pair.more.append({k}); pair.n += 1
pair = dataclasses.replace(Pair({t}), n={k})
point = Point({t}, {k})._replace(n=3)
m0 = Mode('sum') is Mode.SUM, Mode.MEAN.name, list(Mode)[0].value
G += 1
G = {k}
GT = {t}
GT.add_(1)
GL.append({k})
GL.append({t})
GD['n'] = GD.get('n', 0) + 1
GD[n] = {t}
m0 = COUNTER(), COUNTER(2)
{N} = remember({t})
remember.__defaults__[0].clear()
{N} = fact({t}, 3)
{N} = twice({t}, 3, 4, bias={k})
{N} = twice(*[{t}, 2], **{{'bias': {k}, 'z': 1}})
{N} = fails({t}, n)
{N} = sum(count_up({t}, 3))
{N} = list(delegate({t}, 2))[-1]
gen = count_up({t}, 3); {N} = next(gen); {N} = gen.send({k})
gen = delegate({t}, 2); {N} = next(gen); gen.close()
gen = (q * 2 for q in ({t}, {u})); {N} = next(gen)
gen = iter(items); m0 = next(gen, None)
{N} = functools.reduce(lambda p, q: p + q, [{t}, {u}, {k}])
{N} = functools.partial(twice, {t}, bias=1)({k})
{N} = [q for p in ({t}, {u}) for q in (p, p + 1) if q.dim() > 0][-1]
{N} = {{i: {t} + i for i in range(3)}}[2]
{N} = next(q for q in [{k}, {t}] if isinstance(q, torch.Tensor))
fns = [lambda p: p + i for i in range(3)]; {N} = fns[0]({t})
fns = [lambda p, i=i: p * i for i in range(3)]; {N} = fns[1]({t})
m0 = [y for p in range(5) if (y := p * n) > 2]
m1 = any({t}.sum() > p for p in range(3)), all(isinstance(q, int) for q in items)
m2 = max({L}, key=lambda q: 0 if isinstance(q, torch.Tensor) else q)
m2 = min(n, len(items), 3) + (n if {t}.dim() > 1 else -n)
m0 = dict(zip('abc', {L})); {N} = m0['a']
m0 = list(map(type, {L})), list(filter(None, [n, 0, 2]))
m0 = list(itertools.accumulate(range(n))), list(zip(range(3), 'ab', strict=False))
m0 = divmod(n, 2), n ** 2, -n // 2, n % -3, n << 1, ~n, round(n / 3, 2), abs(-n), int(n * 1.5), bool(n - 2)
m1 = f"{{n:>4}}|{{n / 3:.2f}}|{{tuple({t}.shape)}}|{{'x' * n!r}}|{{len(items)}}"
m1 = "%d %s %5.1f" % (n, 'q', n / 2), "{{}}-{{a}}".format(n, a=1), ','.join(str(i) for i in range(n))
m2 = x == 3, x is None, isinstance(x, (int, float)), type(x).__name__
{N} = {t} * x
{N} = x - {t}
{t} += x
m3 = n + x
m3 = x * 2 if not isinstance(x, torch.Tensor) else n
n += 1
n *= 2
n -= 1
x = n
x += 1
del {t}
del m0
m0: int = 3
assert n > 1, f"n is {{n}}"
assert {t}.dim() < 4
{N} = net({t}, n)
{N} = net({t})
{N} = net.lin({t})
net.calls += 1
net.running += 1
net.history.append({t}.detach())
net.history.append(n)
net.running = {t}.detach()
net.extra = nn.Parameter(torch.ones(2))
net.options['n'] = n
{N} = net.weight * {t}
{N} = net.drop({t})
net.train(n > 2)
net.weight.requires_grad_(n > 2)
net.parts.append(nn.Tanh())
net.parts[0] = nn.Identity()
{N} = sum(p.sum() for p in net.parameters())
m1 = [k for k, _ in net.named_buffers()]
{N} = {t} + net.last if net.last is not None and net.last.shape == {t}.shape else {t}
{N} = {t} * w
w.data.add_(1)
w = w * 2
{N} = torch.rand(4)
{N} = torch.rand_like({t})
{N} = F.dropout({t}, 0.5, True)
{N} = {t}.bernoulli(0.5)
torch.manual_seed(n)
{N} = ({t}.float() * w).sum(); (m1,) = torch.autograd.grad({N}, w)
print('p', {t}.shape, n)
m0 = round({t}.sum().item(), 1) + 0.0
m1 = int({t}.sum().item()) % 7
m2 = {t}.tolist()
m0 = {t}.numel(), {t}.dim(), {t}.dtype, len({t}), {t}.stride(), {t}.is_contiguous()
m0 = id({t}) == id({u}), {t} is {u}, {t} is not None
m0 = bool(({t} > 100).any())
m0 = {t}.equal({u})
m0 = isinstance({t}, torch.Tensor) and {t}.requires_grad, {t}.is_leaf
""".strip().split("\n")

EXPRESSIONS = """
{t} {o} {u}
{t} {o} {u}
{t} {o} {k}
{k} {o} {t}
torch.{f}({t})
torch.{f}({t})
{t}.{m}
{t}.{m}
{t}{i}
{t}.{v}
torch.where({t} > {k}, {t}, {u})
({t} > {k}).float()
torch.cat([{t}, {u}])
torch.stack([{t}, {t}]).sum(0)
torch.maximum({t}, {u})
F.relu({t}, inplace={B})
box.t
box.scaled
box.bump().t
wide.t
items[0]
table['k']
Box.half({t})
GT
net.running
net.weight
w
torch.full((3, 4), float({k}))
torch.tensor([1.0, 2, n, 4])
torch.arange(n)
{t} if n > 2 else {u}
{t} if {t}.sum() > {k} else -{t}
({t} if x else {u})
(lambda q, z={k}: q + z)({t})
torch.stack([q for q in items if isinstance(q, torch.Tensor)][:1])
{t}.to(torch.{d}) + 1
{t} / 2 + {k}
{t} // 2
{t} % 3
{t} ** 2
-{t}
{t}.int() + {k}
({t} > 0) & ({u} < 2)
""".strip().split("\n")

SLOTS = {
    "o": "+ - * + - *".split(),
    "f": "relu abs neg sign floor clone zeros_like ones_like square".split(),
    "m": "sum() amax() mean() sum(0) sum(-1,keepdim=True) amax(0) argmax().float() cumsum(0) flip(0) sort(0).values clamp(-1,2) double().float() int().float() detach() contiguous() tanh() softmax(0) clone() max(0)[0]".split(),
    "i": "[0] [1:] [...,0] [...,::2] [:,1:3] [-1] [None] [:2] [...] [[0,1]] [:,None] [n-2] [-n:]".split(),
    "v": "t() mT reshape(-1) unsqueeze(0) squeeze() view(-1) transpose(0,1) diagonal() flatten() narrow(0,0,1) view_as({u}) expand(2,*{t}.shape) unbind(0)[0] split(1)[0]".split(),
    "d": "float64 int64 bfloat16 float32 bool".split(),
    "s": list("kxyn"),
    "B": ["True", "False"],
}  # fmt: skip

BLOCKS = """
if n > {k}:
    $
else:
    $
---
if {t}.sum() > {k}:
    $
else:
    $
---
if {t}.sum() > {k}:
    $
elif {t}.dim() == 2:
    $
---
if x:
    $
---
for {c} in range(n):
    $
    if {c} == 1 or {t}.amax() > 50:
        break
else:
    $
---
for {c} in range(3):
    if {t}.sum() > {k}:
        continue
    $
---
for {c}, q in enumerate({t}):
    $
    if {c} > 2:
        break
---
for {c} in list(items):
    $
---
for key, q in list(table.items()):
    $
    if isinstance(q, torch.Tensor):
        table[key] = q + 1
---
for key in sorted(map(str, table)):
    $
---
for p, q in zip({t}, reversed([1, 2, 3])):
    $
---
{c} = 0
while {c} < 3:
    {c} += 1
    $
    if {t}.sum() > {k}:
        break
---
{c} = 0
while True:
    {c} += 1
    try:
        $
        if {c} > 2:
            break
    finally:
        m3 = {c}
---
try:
    $
    {t}.view(1000)
except RuntimeError as {e}:
    m3 = str({e})
    $
else:
    $
finally:
    $
---
try:
    $
except (IndexError, KeyError, AttributeError, TypeError):
    $
---
try:
    $
    {N} = fails({t}, n)
    $
except Trouble as {e}:
    {N} = {e}.t * 2
    $
---
try:
    if {t}.sum() > {k}:
        raise Trouble('big', {t})
    $
except Trouble as {e}:
    m3 = str({e})
    $
---
try:
    try:
        $
        raise KeyError('inner')
    except KeyError as {e}:
        $
        raise Trouble('outer') from {e}
except Trouble as {e}:
    m3 = repr({e}.__cause__), str({e})
---
try:
    try:
        raise ValueError(n)
    finally:
        $
except ValueError:
    $
---
try:
    $
except Exception as {e}:
    m3 = type({e}).__name__
    raise
---
with torch.{G}:
    $
---
with Quiet(Trouble, RuntimeError) as quiet:
    $
    {N} = fails({t}, n)
    $
---
with Quiet(ValueError) as quiet, tidy(box) as {N}:
    $
    if {t}.sum() > {k}:
        raise Trouble('inside', {t})
---
with tidy(box) as q:
    $
---
with contextlib.suppress(IndexError, RuntimeError):
    $
    {t}[100]
---
with contextlib.ExitStack() as stack:
    stack.callback(items.append, n)
    $
---
def {g}(p, s={k}):
    nonlocal n
    n += 1
    p = p + s + len(items)
    $
    return p
{N} = {g}({t})
m3 = {g}({u}) is {u}
---
def {g}(p, *rest, s={k}, **named):
    if p.sum() > {k}:
        items.append(s)
        return p
    $
    return p * len(rest)
{N} = {g}({t}, 1, 2, z=3)
---
def {g}(p):
    for z in range(2):
        if p.sum() > {k}:
            p = p - 1
        yield p * z
{N} = sum({g}({t}))
---
def {g}(p):
    try:
        z = yield p
        $
        yield z
    except Trouble as {e}:
        yield {e}.t
    finally:
        items.append('end')
gen = {g}({t})
{N} = next(gen)
{N} = gen.throw(Trouble('thrown', {u}))
---
def {g}(p, d):
    if d == 0 or p.sum() > 50:
        return p
    p = {g}(p + d, d - 1)
    $
    return p
{N} = {g}({t}, 3)
---
fns = []
for {c} in range(3):
    def {g}(p):
        return p * {c}
    fns.append({g})
    $
{N} = fns[0]({t}) + fns[-1]({t})
---
class Local:
    t = {t}
    def __init__(self):
        self.u = self.t + n
    def go(self, p):
        $
        return self.u
{N} = Local().go({t})
---
match {M}:
    case 3:
        $
    case [p, *_] if len(items) > 2:
        $
    case {{'k': q}}:
        $
    case float() | bool():
        $
    case Box(t=q, n=0):
        $
    case torch.Tensor():
        $
    case _:
        $
---
{N} = helper0({t}, n, items)
$
---
{N} = helper1({t}, n, items)
$
---
items.append(helper0({t}, x, items))
---
for {c} in range(2):
    {N} = helper1({t}, {c}, items)
    $
---
try:
    {N} = helper0({t}, n, items)
    $
except (RuntimeError, IndexError, TypeError) as {e}:
    m3 = str({e})
---
with tidy(box):
    {N} = helper1({t}, n, items)
    $
---
if (q := {t}.sum()) > {k}:
    {N} = q + 1
    $
---
handle = net.register_forward_hook(lambda m, args, out: out + n)
{N} = net({t})
$
handle.remove()
"""
BLOCKS = [b.strip("\n") for b in BLOCKS.split("---\n")]
SLOTS["G"] = ["no_grad()", "enable_grad()", "set_grad_enabled(n > 2)", "inference_mode(False)", "autocast('cpu', enabled=False)"]
SLOTS["M"] = ["x", "n", "items", "table", "box", "a"]
