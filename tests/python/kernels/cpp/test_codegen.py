"""Generated kernels against eager: values, layouts, edge shapes, element types, special numbers."""

import pytest
import torch

from tests.python.support.codegen_harness import GraphWriter, TOOL, check

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="codegen_tool is not built")


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def softmax(g, x, dim=-1):
    m = g.op("aten.amax.default", x, [dim], True)
    e = g.op("aten.exp.default", g.op("aten.sub.Tensor", x, m))
    return g.op("aten.div.Tensor", e, g.op("aten.sum.dim_IntList", e, [dim], True))


def layer_norm(g, x, n, weight, bias, eps=1e-5):
    s = g.op("aten.sum.dim_IntList", x, [-1], True)
    mean = g.op("aten.div.Tensor", s, n)
    d = g.op("aten.sub.Tensor", x, mean)
    var = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", g.op("aten.mul.Tensor", d, d), [-1], True), n)
    r = g.op("aten.rsqrt.default", g.op("aten.add.Tensor", var, eps))
    y = g.op("aten.mul.Tensor", g.op("aten.mul.Tensor", d, r), weight)
    return g.op("aten.add.Tensor", y, bias)


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (17,), (1023,), (4096,), (5, 33), (3, 1, 7), (100003,)])
@pytest.mark.parametrize("stream", [False, True])
def test_chain(folder, shape, lanes, stream):
    g = GraphWriter()
    x, b = g.input(torch.randn(shape)), g.input(torch.randn(shape))
    y = g.op("aten.mul.Tensor", x, 2)
    y = g.op("aten.relu.default", g.op("aten.add.Tensor", y, b))
    y = g.op("aten.mul.Tensor", y, 0.5)
    p = check(g, [y], folder, lanes, stream=stream)
    assert len(p.p["kernels"]) == 1 and len(p.p["steps"]) == 1


def check_softmax(folder, rows, columns, stream):
    g = GraphWriter()
    x = torch.randn(rows, columns)
    x[1, 0] = -torch.inf
    x[2] = -torch.inf
    x[3, columns // 2] = torch.nan
    x[4, 1] = torch.inf
    y = softmax(g, g.op("aten.mul.Tensor", g.input(x), 0.125))
    return check(g, [y], folder, stream=stream)


@pytest.mark.parametrize("columns", [2, 7, 16, 17, 64, 100, 768, 1023, 1024, 20000])
@pytest.mark.parametrize("stream", [False, True])
def test_softmax(folder, columns, stream):
    assert len(check_softmax(folder, 5, columns, stream).p["steps"]) == 1


@pytest.mark.parametrize("columns", [3, 16, 100, 768, 1000])
@pytest.mark.parametrize("stream", [False, True])
def test_layer_norm_with_epilogue(folder, columns, stream):
    g = GraphWriter()
    x, r = g.input(torch.randn(4, 6, columns)), g.input(torch.randn(4, 6, columns))
    w, b = g.input(torch.randn(columns)), g.input(torch.randn(columns))
    h = g.op("aten.add.Tensor", x, r)
    y = layer_norm(g, h, columns, w, b)
    z = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", y, 1.5), x)
    p = check(g, [z, h], folder, stream=stream, rtol=1e-4, atol=1e-4)
    assert len(p.p["steps"]) == 1


UNARY = ["abs", "neg", "sign", "reciprocal", "square", "sqrt", "rsqrt", "exp", "expm1", "log", "log2", "log10",
         "log1p", "tanh", "erf", "sigmoid", "floor", "ceil", "trunc", "round", "relu", "relu6", "leaky_relu", "elu",
         "silu", "softplus", "sin", "cos", "hardtanh", "hardsigmoid", "hardswish", "mish", "isnan", "isinf", "logical_not",
         "hardshrink", "softshrink", "frac", "exp2", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
         "sgn", "isposinf", "isneginf"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_unary(folder, dtype):
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-8, -1e-8, 88.0, 89.0, -87.0, -88.0, -104.0, 1e30, 3e38, 1e15, 4e4,
                            torch.inf, -torch.inf, torch.nan, 3.5, 2.5, -2.5, 1e-30])
    x = torch.cat([special, torch.randn(500) * 4, torch.linspace(-100, 100, 401), torch.randn(300) * 1e5]).to(dtype)
    g = GraphWriter()
    given = g.input(x)
    check(g, [g.op(f"aten.{op}.default", given) for op in UNARY], folder)


BINARY = ["add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum.default", "minimum.default", "eq.Tensor",
          "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "logical_and.default",
          "logical_or.default", "logical_xor.default"]


# Of floating tensors; and of tensors of any type by a number.
OF_TWO = ["fmod.Tensor", "remainder.Tensor", "floor_divide.default", "atan2.default", "copysign.Tensor", "fmax.default", "fmin.default",
          "logaddexp.default", "heaviside.default"]
BY_A_NUMBER = {"fmod.Scalar": (3, -7), "remainder.Scalar": (3, -7), "floor_divide.default": (3, -7), "__lshift__.Scalar": (2,), "__rshift__.Scalar": (2,)}


def random(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(-5 if dtype != torch.uint8 else 0, 6, shape).to(dtype)
    return torch.randn(shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_functions_of_two(folder, dtype):
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.7, -2.5, 3.0, 1e4, torch.inf, -torch.inf, torch.nan])
    x = torch.cat([special.repeat_interleave(11), torch.randn(600) * 4]).to(dtype)
    y = torch.cat([special.repeat(11), torch.randn(600)]).to(dtype)
    g = GraphWriter()
    a, b = g.input(x), g.input(y)
    check(g, [g.op(f"aten.{op}", a, b) for op in OF_TWO], folder)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_integers_by_a_number(folder, dtype):
    ends = torch.iinfo(dtype)
    x = torch.cat([torch.tensor([ends.min, ends.max, ends.min + 1], dtype=dtype), torch.arange(100, dtype=dtype) - (ends.min < 0) * 50])
    g = GraphWriter()
    given = g.input(x)
    check(g, [g.op(f"aten.{op}", given, n) for op, numbers in BY_A_NUMBER.items() for n in numbers if n > ends.min], folder)


@pytest.mark.parametrize("types", [(torch.float32, torch.float32), (torch.int64, torch.int64),
                                   (torch.int32, torch.float32), (torch.uint8, torch.int8),
                                   (torch.bool, torch.float32), (torch.bfloat16, torch.float32),
                                   (torch.float16, torch.float16), (torch.float64, torch.int64),
                                   (torch.bool, torch.bool), (torch.uint8, torch.uint8), (torch.int16, torch.int16)])
def test_binary(folder, types):
    g = GraphWriter()
    a, b = g.input(random((13, 37), types[0])), g.input(random((13, 37), types[1]))
    results = []
    for op in BINARY:
        if op == "sub.Tensor" and torch.bool in types:
            continue  # PyTorch refuses it
        y = g.op("aten." + op, a, b)
        results += [y, g.op("aten.where.self", g.op("aten.gt.Tensor", a, b), a, y)]
    check(g, results, folder)


def layouts():
    x = torch.randn(6, 8, 10)
    return {"plain": x, "transposed": torch.randn(10, 8, 6).permute(2, 1, 0), "sliced": torch.randn(6, 16, 20)[:, ::2, 3:13],
            "expanded": torch.randn(6, 1, 10).expand(6, 8, 10), "row": torch.randn(10), "column": torch.randn(8, 1),
            "scalar": torch.tensor(1.5), "first": torch.randn(6, 1, 1)}


@pytest.mark.parametrize("first", layouts())
def test_layouts(folder, first):
    g = GraphWriter()
    a = g.input(layouts()[first])
    results = []
    for second in layouts().values():
        b = g.input(second)
        y = g.op("aten.add.Tensor", g.op("aten.mul.Tensor", a, b), a)
        results += [y, g.op("aten.exp.default", y)]
    check(g, results, folder)


def steps(p, kind):
    return [s for s in p.p["steps"] if s["kind"] == kind]


def test_mlp_with_library_calls(folder):
    """Bias and activation run in place of the product, the last one in the memory of the result."""
    g = GraphWriter()
    x = g.input(torch.randn(4, 8, 64))
    w1, b1 = g.input(torch.randn(96, 64), "parameter"), g.input(torch.randn(96), "parameter")
    w2, b2 = g.input(torch.randn(64, 96), "parameter"), g.input(torch.randn(64), "parameter")
    h = g.op("aten.mm.default", g.op("aten.view.default", x, [32, 64]), g.op("aten.t.default", w1))
    h = g.op("aten.view.default", h, [4, 8, 96])
    h = g.op("aten.tanh.default", g.op("aten.add.Tensor", h, b1))
    y = g.op("aten.addmm.default", b2, g.op("aten.view.default", h, [32, 96]), g.op("aten.t.default", w2))
    z = g.op("aten.add.Tensor", g.op("aten.view.default", y, [4, 8, 64]), x)
    p = check(g, [z], folder, rtol=1e-4, atol=1e-5)
    assert len(steps(p, 0)) == 2 and len(steps(p, 1)) == 2
    # One temporary place for the first product and its activation; the second product lies in the result.
    assert p.p["arena_bytes"] == 32 * 96 * 4


def test_group_norm_rows_of_two_dims(folder):
    """Columns that do not join: a weight a channel inside each row."""
    g = GraphWriter()
    x = g.input(torch.randn(3, 8, 5, 7))
    w, b = g.input(torch.randn(8, 1, 1)), g.input(torch.randn(8, 1, 1))
    r = g.op("aten.view.default", x, [3, 2, 140])
    mean = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", r, [2], True), 140)
    d = g.op("aten.sub.Tensor", r, mean)
    var = g.op("aten.div.Tensor", g.op("aten.sum.dim_IntList", g.op("aten.mul.Tensor", d, d), [2], True), 140)
    n = g.op("aten.mul.Tensor", d, g.op("aten.rsqrt.default", g.op("aten.add.Tensor", var, 1e-5)))
    y = g.op("aten.mul.Tensor", g.op("aten.view.default", n, [3, 8, 5, 7]), w)
    y = g.op("aten.add.Tensor", y, b)
    p = check(g, [y, mean], folder, rtol=1e-4, atol=1e-4)
    assert len(p.p["kernels"]) == 1


def test_channels_last(folder):
    """Dims run in the order of the memory, not of the sizes."""
    g = GraphWriter()
    x = g.input(torch.randn(2, 16, 6, 5).to(memory_format=torch.channels_last))
    s, b = g.input(torch.randn(16)), g.input(torch.randn(16))
    s3, b3 = g.op("aten.view.default", s, [1, 16, 1, 1]), g.op("aten.view.default", b, [1, 16, 1, 1])
    y = g.op("aten.relu.default", g.op("aten.add.Tensor", g.op("aten.mul.Tensor", x, s3), b3))
    p = check(g, [y], folder)
    assert len(p.p["kernels"]) == 1 and "gather" not in p.p["kernels"][0]["text"].split("// end of prelude")[1]


@pytest.mark.parametrize("sizes", [(3, 8, 5, 7), (2, 16, 1, 1), (2, 17, 4, 4), (5, 1, 3, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_factors_of_a_batch_norm(folder, sizes, dtype):
    """Small values are computed again where they are read, rounded as a tensor of them would be."""
    g = GraphWriter()
    c = sizes[1]
    x, shift = g.input(torch.randn(sizes, dtype=dtype)), g.input(torch.randn(c, dtype=dtype))
    var, weight = g.input(torch.rand(c, dtype=dtype) + 0.5), g.input(torch.randn(c, dtype=dtype))
    factor = g.op("aten.sqrt.default", g.op("aten.add.Tensor", var, 1e-3))
    factor = g.op("aten.mul.Tensor", g.op("aten.mul.Tensor", factor, weight), 3.0)
    f3, s3 = (g.op("aten.view.default", v, [1, c, 1, 1]) for v in (factor, shift))
    y = g.op("aten.relu.default", g.op("aten.add.Tensor", g.op("aten.mul.Tensor", x, f3), s3))
    p = check(g, [y], folder)
    assert len(p.p["kernels"]) == (2 if sizes == (2, 16, 1, 1) else 1)  # a root an element is dear


def test_a_small_value_between_a_write(folder):
    """What a write stands between is computed when it was asked for."""
    g = GraphWriter()
    x, w, new = g.input(torch.randn(6, 40)), g.input(torch.randn(40)), g.input(torch.randn(40))
    twice = g.op("aten.mul.Tensor", w, 2)
    old = w.tensor.clone()
    g.op("aten.copy_.default", w, new)
    sums = [g.op("aten.add.Tensor", x, twice), g.op("aten.add.Tensor", x, w)]
    w.tensor.copy_(old)
    check(g, sums, folder)


def test_reads_do_not_cross_a_write(folder):
    """What is computed before x.add_(1) must see the old values, what comes after the new ones."""
    g = GraphWriter()
    x = g.input(torch.randn(40))
    before = g.op("aten.mul.Tensor", x, 2)
    old = x.tensor.clone()
    g.op("aten.add_.Tensor", x, 1)
    after = g.op("aten.mul.Tensor", x, 2)
    both = g.op("aten.add.Tensor", before, after)
    x.tensor.copy_(old)
    check(g, [before, after, both], folder)


def test_write_to_a_temporary_and_its_views(folder):
    g = GraphWriter()
    x = g.input(torch.randn(6, 10))
    y = g.op("aten.mul.Tensor", x, 3)
    row = g.op("aten.select.int", y, 0, 2)
    before = g.op("aten.exp.default", row)
    g.op("aten.zero_.default", row)
    z = g.op("aten.add.Tensor", y, 1)
    fresh = GraphWriter()  # eager has written y already: compute what it must be
    del fresh
    check(g, [z, before, row], folder)


def test_views_and_inputs_as_results(folder):
    g = GraphWriter()
    x = g.input(torch.randn(4, 6))
    y = g.op("aten.exp.default", x)
    t = g.op("aten.permute.default", y, [1, 0])
    s = g.op("aten.slice.Tensor", t, 0, 1, 4)
    check(g, [t, s, x, g.op("aten.view.default", x, [24])], folder)


def test_split_reads_parts_of_a_product(folder):
    g = GraphWriter()
    x, w = g.input(torch.randn(5, 8)), g.input(torch.randn(8, 24))
    q, k, v = g.op("aten.split.Tensor", g.op("aten.mm.default", x, w), 8, 1)
    y = g.op("aten.mul.Tensor", g.op("aten.add.Tensor", q, k), g.op("aten.sigmoid.default", v))
    check(g, [y], folder, rtol=1e-4, atol=1e-5)


def test_operators_without_elements_or_lanes(folder):
    g = GraphWriter()
    e, c = g.input(torch.randn(0, 4)), g.input(torch.randn(3, dtype=torch.complex64))
    y = g.op("aten.mul.Tensor", e, 2)
    p = check(g, [y, g.op("aten.add.Tensor", c, c)], folder)
    assert not p.p["kernels"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32])
@pytest.mark.parametrize("dims", [[-1], [1, 2], [0, 1, 2], [0]])
def test_reductions(folder, dtype, dims):
    g = GraphWriter()
    x = g.op("aten.mul.Tensor", g.input(random((5, 9, 33), dtype)), 3)
    results = []
    for op in ("sum.dim_IntList", "amax.default", "amin.default"):
        y = g.op("aten." + op, x, dims, False)
        results += [y, g.op("aten.add.Tensor", y, 1)]
    check(g, results, folder)


def test_value_used_by_a_later_phase_is_not_overwritten(folder):
    """The row is read again after the first output is written: their memory must differ."""
    g = GraphWriter()
    x, w = g.input(torch.randn(6, 64)), g.input(torch.randn(64, 64))
    h = g.op("aten.mm.default", x, w)
    e = g.op("aten.exp.default", g.op("aten.mul.Tensor", h, 0.1))
    s = g.op("aten.sum.dim_IntList", e, [-1], True)
    y = g.op("aten.add.Tensor", g.op("aten.div.Tensor", e, s), h)
    check(g, [y, e], folder, rtol=1e-4, atol=1e-5)


class RandomGraph:
    """A graph of random operators over a few shapes that meet by broadcasting, reshaping and reductions."""

    def __init__(self, seed):
        import random as python_random
        self.r = python_random.Random(seed)
        torch.manual_seed(seed)
        self.g = GraphWriter()
        self.b, self.c = self.r.choice([1, 2, 3, 6]), self.r.choice([1, 2, 7, 16, 33, 64])
        self.a = self.r.choice([1, 2, 5])
        shapes = [(self.a, self.b, self.c), (self.a * self.b, self.c), (self.c,), (self.b, 1), (self.a, self.b, 1), ()]
        self.values = [self.g.input(torch.randn(s)) for s in shapes]
        if self.r.random() < 0.5:
            self.values.append(self.g.input(torch.randn(self.c, self.b, self.a).permute(2, 1, 0)))

    def grow(self, n):
        for _ in range(n):
            v = self.step()
            if v is not None and v.tensor.numel() <= 100000:
                self.values.append(v)
        wanted = self.r.sample(self.values, min(3, len(self.values))) + [self.values[-1]]
        return list(dict.fromkeys(wanted))

    def step(self):
        g, r = self.g, self.r
        x = r.choice(self.values)
        kind = r.choice(["unary", "binary", "binary", "reduce", "view", "library", "opaque", "where"])
        if kind == "unary":
            return g.op(f"aten.{r.choice(['tanh', 'sigmoid', 'abs', 'relu', 'neg', 'erf'])}.default", x)
        if kind in ("binary", "where"):
            fits = [y for y in self.values if self.broadcasts(x.tensor.shape, y.tensor.shape)]
            y = r.choice(fits)
            if kind == "where":
                return g.op("aten.where.self", g.op("aten.gt.Tensor", x, y), x, y)
            return g.op(f"aten.{r.choice(['add.Tensor', 'sub.Tensor', 'mul.Tensor', 'maximum.default'])}", x, y)
        rank = x.tensor.dim()
        if kind == "reduce" and rank:
            dims = r.choice([[-1], [0], list(range(rank))])
            return g.op(r.choice(["aten.sum.dim_IntList", "aten.amax.default"]), x, dims, r.random() < 0.7)
        if kind == "view" and rank >= 2:
            which = r.choice(["permute", "flatten", "slice", "unsqueeze", "select"])
            if which == "permute":
                order = list(range(rank))
                r.shuffle(order)
                return g.op("aten.permute.default", x, order)
            if which == "flatten" and x.tensor.is_contiguous():
                return g.op("aten.view.default", x, [-1, x.tensor.shape[-1]])
            if which == "slice" and x.tensor.shape[-1] > 2:
                return g.op("aten.slice.Tensor", x, -1, 1, x.tensor.shape[-1] - 1)
            if which == "unsqueeze" and rank < 4:
                return g.op("aten.unsqueeze.default", x, r.randrange(rank))
            if which == "select" and x.tensor.shape[0] > 0:
                return g.op("aten.select.int", x, 0, r.randrange(x.tensor.shape[0]))
        if kind == "library" and rank == 2:
            t = g.op("aten.t.default", x)
            return g.op("aten.tanh.default", g.op("aten.mm.default", x, t))
        if kind == "opaque" and rank:
            return g.op("aten.flip.default", x, [rank - 1])
        return None

    @staticmethod
    def broadcasts(a, b):
        return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(folder, seed):
    graph = RandomGraph(seed)
    results = graph.grow(14)
    check(graph.g, results, folder, lanes=graph.r.choice([8, 16]), rtol=2e-4, atol=2e-4)


def test_erf_is_exactly_one_far_out(folder):
    """1 + erf(x) is 0 for a large negative x, so that gelu of it is 0 and not a small part of x."""
    g = GraphWriter()
    x = g.input(torch.tensor([-1e30, -1e10, -50.0, -8.0, 8.0, 1e10] * 8))
    results = [g.op("aten.add.Scalar", g.op("aten.erf.default", x), 1), g.op("aten.gelu.default", x)]
    check(g, results, folder, passes=True, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_after_the_passes(folder, dtype):
    """The library's own operators, decomposed by the passes: one kernel each, equal to PyTorch's kernels."""
    g = GraphWriter()
    x = g.input(torch.randn(6, 5, 40).to(dtype))
    w, b = g.input(torch.randn(40).to(dtype)), g.input(torch.randn(40).to(dtype))
    y = g.op("aten._softmax.default", x, -1, False)
    z, mean, rstd = g.op("aten.native_layer_norm.default", x, [40], w, b, 1e-5)
    results = [y, z, g.op("aten.gelu.default", x), g.op("aten.gelu.default", x, approximate="tanh"),
               g.op("aten._log_softmax.default", x, 2, False), g.op("aten.silu.default", x),
               g.op("aten.mean.dim", x, [-1], True), g.op("aten.clamp.default", x, -0.5, 0.25),
               g.op("aten.var_mean.correction", x, [2], correction=1)[0]]
    p = check(g, results, folder, passes=True)
    assert not steps(p, 2)
