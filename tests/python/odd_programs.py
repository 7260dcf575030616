"""Odd little programs over tensors. Each @program is run eagerly and compiled, several times, on equal fresh arguments;
values, strides, prints, exceptions, argument mutation and the object graph must be the same. `make` builds the arguments."""

import collections
import contextlib
import dataclasses
import enum
import functools
import math
import random

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS: dict[str, tuple] = {}


def program(*make):
    """Registers a program with its argument makers: one callable an argument, or one value that is used as it is."""

    def register(function):
        PROGRAMS[function.__name__] = (function, make)
        return function

    return register


def vec(n=6):
    return lambda: torch.arange(float(n)) - 2


def mat(*shape):
    return lambda: torch.arange(float(math.prod(shape))).reshape(shape) / 7 - 1


# --- mutation and aliasing ---


@program(vec())
def in_place_argument(x):
    x.add_(1)
    return x * 2


@program(vec())
def returns_its_argument(x):
    return x


@program(vec())
def returns_same_twice(x):
    y = x + 1
    return y, y


@program(mat(3, 4))
def returns_view_of_argument(x):
    return x[1], x.t(), x.view(-1)


@program(mat(3, 4))
def write_through_view(x):
    row = x[1]
    row.mul_(10)
    return x.sum(), row


@program(mat(3, 4))
def slice_assignment(x):
    y = x.clone()
    y[0] = 7
    y[:, 1:3] = y[:, 1:3] * 2
    y[y > 5] = -1
    return y


@program(mat(3, 4))
def slice_assignment_on_argument(x):
    x[0, ::2] = 5
    return x + 0


@program(vec())
def view_then_base_changes(x):
    a = x * 1
    b = a[2:4]
    a += 10
    return b, a


@program(vec())
def swap_halves(x):
    y = x.clone()
    y[:3], y[3:] = y[3:].clone(), y[:3].clone()
    return y


@program(vec(), lambda: [])
def append_to_list_argument(x, log):
    log.append(x + 1)
    log.append(len(log))
    return x * len(log)


@program(vec(), lambda: {"a": 1})
def write_to_dict_argument(x, d):
    d["b"] = x * d["a"]
    d["a"] += 1
    return d["b"] + d["a"]


@program(vec())
def same_tensor_twice(x):
    def f(a, b):
        a.add_(1)
        return a * b

    return f(x, x)


@program(lambda: (lambda t: [t, t])(torch.ones(3)))
def list_with_alias(pair):
    pair[0].mul_(3)
    return pair[1] + 1


@program(mat(4, 4))
def fill_diagonal(x):
    y = x.clone()
    y.fill_diagonal_(0)
    return y @ y


@program(vec())
def relu_in_place(x):
    y = x - 1
    F.relu(y, inplace=True)
    return y, y.relu_()


@program(vec())
def out_argument(x):
    out = torch.empty_like(x)
    torch.add(x, 1, out=out)
    return out


@program(vec(), vec())
def copy_into_argument(x, y):
    x.copy_(y * 2)
    return x.sum()


@program(vec())
def resize_and_set(x):
    y = x + 1
    y = y.reshape(2, 3).contiguous().unsqueeze_(0)
    return y, y.stride()


# --- control flow ---


@program(vec())
def while_on_tensor(x):
    n = 0
    while x.sum() < 100:
        x = x * 2 + 1
        n += 1
    return x, n


@program(vec())
def early_return_in_loop(x):
    for i in range(10):
        x = x + i
        if x.max() > 20:
            return x, i
    return x


@program(vec())
def for_else(x):
    for i in range(3):
        if i == 5:
            break
        x = x * (i + 1)
    else:
        x = -x
    return x


@program(vec())
def nested_breaks(x):
    for i in range(3):
        for j in range(3):
            if x.sum() > 10 * j:
                continue
            if i == 2:
                break
            x = x + j
        print("row", i, x.sum().item())
    return x


@program(vec(), True)
@program(vec(), False)
def chained_comparison(x, flag):
    a = 1 < x.shape[0] <= 6 < 10
    return x if a and flag or not a else -x


@program(vec())
def tensor_and_or(x):
    y = x.sum() > 0 and x.max() > 1
    z = x.sum() > 1000 or x.min()
    return y, z, not x.sum()


@program(vec(), 3)
def match_statement(x, n):
    match n:
        case 0:
            return x
        case int() if n > 2:
            return x * n
        case [a, b]:
            return x + a + b
    return -x


@program(vec())
def walrus(x):
    if (n := x.numel()) > 4:
        x = x * n
    return [y for k in range(3) if (y := k * 2) > 0], x


@program(vec())
def ternary_on_tensor(x):
    return (x + 1 if x.sum() > 0 else x - 1) * 2


@program(vec(), 5)
def recursion(x, depth):
    if depth == 0:
        return x
    return recursion_step(x, depth) * 1.5


def recursion_step(x, depth):
    return x if depth == 0 else recursion_step(x + depth, depth - 1)


# --- exceptions ---


@program(vec())
def raises_value_error(x):
    y = x + 1
    raise ValueError(f"bad shape {tuple(y.shape)}")


@program(vec(), mat(3, 4))
def shape_mismatch(x, y):
    print("before")
    return x + y


@program(vec())
def catches_shape_error(x):
    try:
        x @ torch.ones(9, 9)
    except RuntimeError as error:
        return x * 2, type(error).__name__
    finally:
        x = x + 100
    return x


@program(vec())
def finally_order(x):
    order = []
    try:
        order.append("try")
        y = x + 1
        if y.sum() > -1000:
            raise KeyError("k")
    except KeyError as e:
        order.append(str(e))
    finally:
        order.append("finally")
    return y, order


@program(vec())
def assert_fails(x):
    assert x.shape[0] == 7, "need seven"
    return x


@program(vec())
def index_out_of_range(x):
    return x[17]


@program(vec())
def exception_after_mutation(x):
    x.add_(5)
    return x[100]


@program(vec())
def attribute_error(x):
    return x.no_such_attribute


@program(vec())
def raise_in_callee(x):
    def inner(t):
        if t.sum() > -100:
            raise ArithmeticError("inner")
        return t

    try:
        return inner(x * 2)
    except ArithmeticError:
        return x - 1


@program(vec())
def zero_division(x):
    return x * (1 // (x.shape[0] - 6))


@program(vec())
def unbound_local(x):
    if x.shape[0] > 100:
        y = 1
    return x + y


# --- closures, globals, defaults ---

COUNTER = {"calls": 0}
SCALE = 2.5


@program(vec())
def global_counter(x):
    COUNTER["calls"] += 1
    return x * SCALE


GLOBAL_NUMBER = 0


@program(vec())
def global_statement(x):
    global GLOBAL_NUMBER
    GLOBAL_NUMBER += 1
    return x + GLOBAL_NUMBER


@program(vec())
def nonlocal_counter(x):
    n = 0

    def bump(t):
        nonlocal n
        n += 1
        return t + n

    return bump(bump(x)), n


@program(vec())
def returns_closure_result(x):
    fs = [lambda t, k=k: t * k for k in range(3)]
    return [f(x) for f in fs]


@program(vec())
def late_binding(x):
    fs = [lambda t: t * k for k in range(3)]
    return sum(f(x) for f in fs)


@program(vec())
def mutable_default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


@program(vec())
def keyword_only(x):
    def f(a, /, b=2, *args, c, d=4, **kw):
        return a * b + c + d + len(args) + sum(kw.values())

    return f(x, 1, 2, 3, c=x, e=5), f(x, c=1)


@program(vec())
def star_args(x):
    def f(*a, **k):
        return a[0] + k["z"] * len(a)

    return f(*[x, 1, 2], **{"z": 3})


@program(vec())
def decorated_inside(x):
    def twice(f):
        @functools.wraps(f)
        def g(*a):
            return f(f(*a))

        return g

    @twice
    def inc(t):
        return t + 1

    return inc(x)


@program(vec())
def partial_call(x):
    return functools.partial(torch.add, x, alpha=3)(x)


@functools.lru_cache(None)
def cached_factor(n):
    return n * 2


@program(vec())
def lru_cache_inside(x):
    return x * cached_factor(3)


# --- containers ---


@program(lambda: {"b": torch.ones(2), "a": torch.zeros(2)})
def dict_iteration(d):
    return {k: v + i for i, (k, v) in enumerate(d.items())}, list(d)


@program(vec())
def comprehensions(x):
    parts = [x[i] * i for i in range(3)]
    table = {i: p for i, p in enumerate(parts)}
    unique = {i % 2 for i in range(5)}
    return torch.stack(parts), table, sorted(unique)


@program(vec())
def generator_expression(x):
    return sum(t for t in (x * i for i in range(4)))


@program(vec())
def generator_function(x):
    def gen():
        yield x
        yield x + 1

    return [g * 2 for g in gen()]


@program(vec())
def zip_enumerate_reversed(x):
    out = 0
    for i, (a, b) in enumerate(zip(reversed([x, x + 1]), (1, 2, 3))):
        out = out + a * b + i
    return out


@program(vec())
def unpacking(x):
    first, *middle, last = x.unbind()
    a, (b, c) = 1, (2, 3)
    return first + last, len(middle), a + b + c


@program(vec())
def sorted_with_key(x):
    names = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    return x * len(names[0]), names


@program(vec())
def min_max_any_all(x):
    n = [3, 1, 2]
    return x + max(n) - min(n), any(k > 2 for k in n), all(n), max(x.shape[0], 3)


@program(vec())
def list_methods(x):
    a = [1, 2]
    a.extend([3, 4])
    a.insert(0, 0)
    b = a.pop()
    a.reverse()
    a += [9]
    del a[0]
    return x * b, a, a.index(9), a[1:3], a * 2


@program(vec())
def dict_methods(x):
    d = dict(a=1, b=2)
    d.update(c=3)
    e = d.pop("a")
    f = d.get("zz", 7)
    d.setdefault("q", []).append(1)
    return x + e + f, {**d, "z": 1}, d.keys() & {"b"}


@program(vec())
def default_and_ordered_dict(x):
    d = collections.defaultdict(list)
    d["k"].append(x)
    o = collections.OrderedDict(a=x + 1)
    o.move_to_end("a")
    return d["k"][0] + o["a"]


Point = collections.namedtuple("Point", "x y")


@program(vec())
def named_tuple(x):
    p = Point(x, y=2)
    q = p._replace(y=p.y + 1)
    return q.x * q.y, q


@dataclasses.dataclass
class Box:
    value: torch.Tensor
    count: int = 0

    def bump(self):
        self.count += 1
        return self


@program(vec())
def data_class(x):
    b = Box(x).bump().bump()
    return b.value * b.count, dataclasses.replace(b, count=9).count


@program(lambda: Box(torch.ones(3), 1))
def mutates_object(box):
    box.bump()
    box.value = box.value * 2
    return box.value + box.count


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@program(vec(), Colour.BLUE)
def enum_argument(x, colour):
    return x * colour.value if colour is Colour.BLUE else x


class Weird:
    def __init__(self):
        self.hidden = 3

    def __getattr__(self, name):
        if name == "magic":
            return 4
        raise AttributeError(name)

    @property
    def prop(self):
        return self.hidden * 2

    def __getitem__(self, key):
        return key + self.hidden

    def __len__(self):
        return 5

    def __call__(self, t):
        return t * self.prop

    def __bool__(self):
        return False

    def __eq__(self, other):
        return isinstance(other, Weird)

    __hash__ = None


@program(vec(), lambda: Weird())
def operator_overloads(x, w):
    return w(x) + w.magic + w[2] + len(w), bool(w), w == Weird(), getattr(w, "missing", 11), hasattr(w, "magic")


class Setter:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)


@program(vec(), lambda: Setter())
def custom_setattr(x, s):
    s.a = 3
    return x + s.a


class Base:
    factor = 2

    def scale(self, x):
        return x * self.factor

    @staticmethod
    def shift(x):
        return x + 1

    @classmethod
    def make(cls):
        return cls()


class Derived(Base):
    factor = 3

    def scale(self, x):
        return super().scale(x) - 1


@program(vec())
def classes_and_super(x):
    d = Derived.make()
    d.factor = d.factor + 1
    return d.scale(Base.shift(x)), isinstance(d, Base), type(d).__name__


# --- strings and numbers ---


@program(vec())
def f_strings(x):
    text = f"{x.shape[0]:>4}|{x.dtype}|{'a' * 2!r}|{3.14159:.2f}|{list(x.shape)}"
    return x * len(text), text, "%d-%s" % (3, "z"), "{}".format(4)


@program(vec())
def print_tensor(x):
    y = x * 2
    print(y)
    print(f"{y.sum():.3f}", y.shape, sep="; ", end="!\n")
    return y


@program(vec(), 3, 2.5, True, None, "s", 2**70)
def python_scalars(x, i, f, b, n, s, big):
    return x * i + f - b, n is None, s + "t", big // 3, i**2 % 5, -i // 2, divmod(i, 2), round(f), i & 1 | 4, ~i


@program(vec(), float("nan"))
def nan_argument(x, f):
    return x * f, f != f


@program(vec(), -0.0)
def negative_zero(x, f):
    return x * f, math.copysign(1, f)


@program(vec())
def math_on_sizes(x):
    return x / math.sqrt(x.shape[0]) + math.pi + math.ceil(x.numel() / 4) + int(3.9) + float("2.5")


@program(vec(), 1j)
def complex_numbers(x, c):
    y = x * c
    return y.real, y.imag, torch.view_as_real(y), y.abs()


# --- dtypes and shapes ---


@program(lambda: torch.tensor([1, 2, 3]), lambda: torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64))
def promotion(i, d):
    return i + 1, i / 2, i // 2, i * 1.5, i + d, d.float() + i, i > 1, (i > 1) + 1, i % 2, -i, i**2, 2**i, i << 1


@program(lambda: torch.tensor([-7, 7, 5, -5]), lambda: torch.tensor([2, -2, 3, 3]))
def integer_division(a, b):
    return a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a / b


@program(lambda: torch.tensor([250, 3, 7], dtype=torch.uint8), lambda: torch.tensor([100, 100, 28], dtype=torch.int8))
def small_integers(u, s):
    return u + 10, s + 100, u * 2, u + s, -s, u.float() / 3, u >> 1, u & 3


@program(lambda: torch.tensor([True, False, True]))
def booleans(b):
    return b & ~b, b | True, b ^ b, b.sum(), b.float(), b.any(), b.all(), b * 2, b == False  # noqa: E712


@program(lambda: torch.randn(4, 5, generator=torch.Generator().manual_seed(1)).half())
def half_precision(x):
    return x * 2 + 1, x.softmax(-1), x.float().sum(), (x > 0).to(x.dtype), x.to(torch.bfloat16) * 3


@program(lambda: torch.empty(0, 4), lambda: torch.empty(3, 0))
def zero_sizes(a, b):
    return a * 2, a.sum(), a.sum(0), b.softmax(-1), torch.cat([a, a]), b @ torch.empty(0, 2), a.t() + 1, a.mean()


@program(lambda: torch.tensor(3.0))
def zero_dim(x):
    return x + 1, x * x, x.view(1), x.expand(4) * 2, x.item() + 1, x.sum(), torch.stack([x, x]), x.softmax(0)


@program(mat(2, 3, 4))
def layouts(x):
    t = x.transpose(0, 2)
    return t + 1, t.contiguous(), t.reshape(-1) * 2, x.permute(1, 2, 0).sum(-1), t[1:, ::2] * 3, x.flip(0), x[..., -1], x[None]


@program(mat(1, 1, 5))
def broadcasting(x):
    return x + torch.ones(3, 1), x * torch.arange(4.0).view(4, 1, 1), x.expand(2, 3, 5).sum(1), torch.broadcast_to(x, (2, 2, 5)) - 1


@program(lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]))
def special_values(x):
    return (
        torch.relu(x), x.clamp(-1, 1), x.max(), torch.maximum(x, -x), x.exp(), x.sigmoid(), x.tanh(), F.gelu(x), x.softmax(0),
        x == x, x.isnan(), 1 / x, x.sign(), x.abs(), F.silu(x), x.sum(), torch.where(x > 0, x, -x), x.nan_to_num(),
    )  # fmt: skip


@program(mat(3, 4))
def masked_rows(x):
    mask = torch.full((3, 4), float("-inf")).triu(1)
    return (x + mask).softmax(-1), (x + float("-inf")).softmax(-1), x.masked_fill(x > 0, -1e9).softmax(-1)


@program(mat(5, 6))
def indexing(x):
    i = torch.tensor([0, 2, 2])
    return x[i], x[:, i], x[i, i], x[x > 0], x[-1, None, 2:], x.index_select(0, i), x.gather(1, i.view(3, 1)), x.take(i), x[i.tolist()]


@program(mat(3, 4))
def data_dependent_shapes(x):
    n = (x > 0).nonzero()
    u = x.round().unique()
    return n * 2, u + 1, x[x > 0].sum(), torch.where(x > 0)[0].float()


@program(mat(4, 6))
def splits_and_joins(x):
    a, b = x.chunk(2)
    c = torch.cat([b, a], dim=1)
    return c, torch.stack([a, b], -1), x.split([1, 3], 0)[1] + 1, [t * 2 for t in x.unbind(1)][2], torch.hstack([a, b])


@program(mat(3, 5))
def reductions(x):
    return (
        x.sum(0), x.mean(1, keepdim=True), x.var(-1), x.std(0, correction=0), x.amax((0, 1)), x.argmax(1), x.max(1), x.min(0).values,
        x.prod(1), x.norm(), x.logsumexp(-1), x.cumsum(1), x.median(), x.sort(1).values, x.topk(2), x.any(1), x.count_nonzero(),
    )  # fmt: skip


# --- modules ---


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.LayerNorm(6), nn.ReLU(), nn.Dropout(0.5)])
        self.extra = nn.ParameterDict({"w": nn.Parameter(torch.ones(6))})
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x, *, twice=False):
        for layer in self.layers:
            x = layer(x)
        self.calls += 1
        if twice:
            x = x * 2
        return {"out": x * self.extra["w"], "calls": self.calls, "seen": self.seen + 1}


@program(lambda: Net().eval().requires_grad_(False), mat(2, 6))
def module_attributes(net, x):
    return net(x), net(x, twice=True)


@program(lambda: Net().train().requires_grad_(False), mat(2, 6))
def module_dropout_random(net, x):
    torch.manual_seed(5)
    return net(x), torch.rand(2), random.Random(3).random()


@program(lambda: nn.BatchNorm1d(6).train().requires_grad_(False), mat(4, 6))
def batch_norm_training(bn, x):
    y = bn(x)
    return y, bn.running_mean, bn.num_batches_tracked


@program(lambda: nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2)).requires_grad_(False), mat(3, 6))
def sequential_slicing(net, x):
    return net[:2](x), net[-1].weight.shape, len(net), [type(m).__name__ for m in net]


@program(lambda: nn.Linear(6, 6), mat(2, 6))
def gradients(lin, x):
    y = lin(x).relu().sum()
    y.backward()
    g = lin.weight.grad.clone(), lin.bias.grad.clone()
    lin.zero_grad()
    return y.detach(), g


@program(lambda: nn.Linear(6, 6), mat(2, 6))
def grad_modes(lin, x):
    with torch.no_grad():
        a = lin(x)
    b = lin(x)
    with torch.enable_grad():
        c = lin(x).detach()
    return a.requires_grad, b.requires_grad, a + c, torch.is_grad_enabled()


@program(lambda: nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False), mat(2, 3, 8))
def attention_module(mha, x):
    return mha(x, x, x, need_weights=True)


@program(lambda: nn.LSTM(4, 5, batch_first=True).eval().requires_grad_(False), mat(2, 3, 4))
def recurrent_module(lstm, x):
    out, (h, c) = lstm(x)
    return out + 1, h * c


@program(lambda: nn.Embedding(10, 4).requires_grad_(False), lambda: torch.tensor([[1, 2], [3, 9]]))
def embedding_lookup(emb, ids):
    return emb(ids).mean(1) * 2, F.one_hot(ids, 10).sum()


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6).requires_grad_(False)
        nn.init.ones_(self.inner.weight)
        self.inner.register_forward_hook(lambda m, a, out: out * 10)
        self.inner.register_forward_pre_hook(lambda m, a: (a[0] + 1,))

    def forward(self, x):
        return self.inner(x) - self.inner.bias * 10


@program(lambda: Hooked(), mat(2, 6))
def forward_hooks(net, x):
    return net(x)


# --- context managers and the world outside ---


@contextlib.contextmanager
def scaled(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


@program(vec())
def context_manager(x):
    log = []
    with scaled(log) as k:
        x = x * k
    with contextlib.suppress(ZeroDivisionError):
        x = x + 1 // 0
    return x, log


@program(vec())
def numpy_round_trip(x):
    import numpy as np

    a = np.sin((x * 2).numpy())
    return torch.from_numpy(a) + 1, float(a.sum()) > 0


@program(vec())
def python_random(x):
    random.seed(4)
    return x * random.random() + random.randint(1, 5)


@program(vec())
def torch_random(x):
    torch.manual_seed(7)
    noise = torch.randn_like(x) * 0.5
    return x + noise, torch.rand(3), F.dropout(x, 0.5, True), torch.randperm(4), torch.bernoulli(torch.full((3,), 0.5))


@program(vec())
def locals_and_frames(x):
    y = x + 1
    names = sorted(locals())
    return y, names


@program(vec())
def type_checks(x):
    return (
        isinstance(x, torch.Tensor), type(x) is torch.Tensor, x.is_floating_point(), x.dim(), x.size(), x.dtype is torch.float32,
        x.device.type, x.is_contiguous(), x.element_size(), x.requires_grad, torch.is_tensor(x), callable(x.add), x.data_ptr() != 0,
    )  # fmt: skip


@program(vec())
def tolist_and_item(x):
    values = x.tolist()
    return sum(values), x.max().item(), int(x[3]), float(x[0]), [v for v in values if v > 0]


@program(vec())
def deletes(x):
    y = x + 1
    z = [y, x]
    del y
    del z[0]
    return z[0] * 2


@program(vec(), lambda: iter([1, 2, 3]))
def consumes_iterator(x, it):
    x = x * next(it)
    for k in it:
        x = x + k
    return x, next(it, "empty")


@program(vec())
def string_dispatch(x):
    for name in ("sin", "cos"):
        x = getattr(torch, name)(x)
    return getattr(x, "clamp")(min=0.1)


@program(vec())
def identity_checks(x):
    y = x
    z = x + 0
    return y is x, z is x, [x] == [x], x in [x], None is not x


@program(vec(), vec())
def tensor_equality(x, y):
    if torch.equal(x, y):
        return x + 1
    return x - 1


@program(vec())
def sort_tensors_by_value(x):
    low, high = sorted([x + 1, x - 1], key=lambda t: t.sum().item())
    return low, high


@program(vec())
def set_default_dtype_inside(x):
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.zeros(2) + 1
    finally:
        torch.set_default_dtype(torch.float32)
    return y, x + torch.ones(6)


def world():
    """What programs change outside their arguments."""
    return GLOBAL_NUMBER, dict(COUNTER), len(mutable_default.__defaults__[0])


def reset_world():
    global GLOBAL_NUMBER
    GLOBAL_NUMBER = 0
    COUNTER["calls"] = 0
    mutable_default.__defaults__[0].clear()


# --- loops that go on after a break ---


@program(vec())
def enumerate_with_break(x):
    for i, scale in enumerate([1.0, 2.0, 3.0, 4.0], start=2):
        x = torch.relu(x * scale) + i
        if i == 3:
            print("at", i)
    return x


@program(vec())
def zip_with_break(x):
    for a, b in zip([1.0, 2.0, 3.0], (4.0, 5.0)):
        print("zip")
        x = x * a + b
    return x


@program(vec())
def strict_zip_with_break(x):
    for a, b in zip([1.0, 2.0, 3.0], (4.0, 5.0), strict=True):
        print("zip")
        x = x * a + b
    return x


@program(vec())
def map_with_break(x):
    seen = []

    def step(n):
        seen.append(n)
        return n + 1

    for a in map(step, [1.0, 2.0, 3.0]):
        print(len(seen))
        x = x * a + len(seen)
    return x, seen


@program(vec())
def filter_with_break(x):
    for a in filter(None, [0.0, 2.0, 0.0, 3.0]):
        print("filter")
        x = x * a
    return x


@program(vec())
def reversed_with_break(x):
    for a in reversed([1.0, 2.0, 3.0]):
        print("reversed")
        x = x * a + a
    for a in reversed((1.0, 2.0)):
        print("reversed")
        x = x - a
    return x


@program(vec())
def dict_items_with_break(x):
    for i, (name, a) in enumerate({"a": 1.0, "b": 2.0, "c": 3.0}.items()):
        print(name)
        x = x * a + i
    return x


@program(vec())
def nested_wrappers_with_break(x):
    for i, ((a, b), c) in enumerate(zip(zip([1.0, 2.0], [3.0, 4.0]), "ab")):
        print(i, c)
        x = x * a + b
    return x


@program(vec())
def enumerate_over_map_with_break(x):
    for i, a in enumerate(map(abs, [-1.0, 2.0, -3.0])):
        print(i)
        x = x * a
    return x


@program(vec())
def shared_iterator_with_break(x):
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    for i, a in enumerate(it):
        print(i)
        x = x * a + next(it, 7.0)
    return x, list(it), i


@program(vec())
def iterator_is_left_advanced(x):
    it = enumerate([1.0, 2.0, 3.0, 4.0])
    print("made")
    i, a = next(it)
    y = x * a + i
    print("again")
    _, b = next(it)
    return y * b, list(it)


@program(vec())
def exhausted_iterator_stays_exhausted(x):
    data = [1.0]
    it = iter(data)
    print("made")
    for a in it:
        x = x * a
    data.append(2.0)
    return x, list(it)


@program(vec())
def generator_with_break(x):
    for a in (n * 2.0 for n in range(3)):
        print("generator")
        x = x * a + 1
    return x


@program(vec())
def list_grows_while_iterated(x):
    data = [1.0, 2.0]
    for a in data:
        print(a)
        x = x * a
        if len(data) < 4:
            data.append(a + 2)
    return x, data


@program(vec())
def dict_changes_while_iterated(x):
    data = {"a": 1.0, "b": 2.0}
    for name in data:
        print(name)
        data[name + "2"] = 3.0
        x = x * 2
    return x


@program(vec())
def dict_values_change_while_iterated(x):
    data = {"z": 0.0, "a": 1.0, "b": 2.0, "c": 3.0}
    del data["z"]
    for name in data:
        data[name] = x * data[name]
        print(name)
    return data


@program(vec())
def set_with_break(x):
    for a in {2.0, 3.0}:
        print("set")
        x = x * a
    return x


SOME_NUMBERS = {3, 1, 2}
BACKWARDS = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])


@program(vec())
def sets_in_their_order(x):
    for a in SOME_NUMBERS:
        x = x * 2 + a
    for a in {5, 6, 7}:
        x = x * 2 + a
    return x, [a for a in SOME_NUMBERS]


@program(vec())
def reversed_modules(x):
    for layer in reversed(BACKWARDS):
        x = layer(x)
    for i, layer in enumerate(reversed(BACKWARDS)):
        x = layer(x) + i
        print(i)
    return x


@program(vec(), lambda: {"a": 2.0, "b": [1.0, 3.0]})
def match_statements(x, d):
    out = []
    for subject in (d, [1.0, 2.0], (x, 3.0), "text", 5, {"a": 7.0}, x, {}):
        match subject:
            case {"a": n, "b": [first, *rest], **others}:
                out.append(x * n + first + sum(rest) + len(others))
            case {"a": n}:
                out.append(x * n)
            case [float() as a, b]:
                out.append(x * a + b)
            case [torch.Tensor() as t, b]:
                out.append(t + b)
            case str() | int():
                out.append(x * 4)
            case {}:
                out.append(x * 5)
            case _:
                out.append(subject + 1)
    return out


@program(vec())
def matched_shapes(x):
    match (x.view(2, 3).shape, {"k": x}):
        case ([rows, 3], {"k": y}):
            return y * rows
    return x
