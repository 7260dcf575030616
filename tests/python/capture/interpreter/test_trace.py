"""The symbolic interpreter: what it captures, where it stops, and that the program behaves as eager does."""

import contextlib
import copy
import functools
import itertools
import logging
import math
import operator
from collections import OrderedDict

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import vitrine
from torch import nn
from vitrine import _engine


def traced(function, *args, **kwargs):
    """The description of the trace at the start of function(*args, **kwargs), gradients off."""
    with torch.no_grad():
        description, _ = _engine.trace_call(function, args, kwargs)
    assert description["end"] != "error", description
    return description


def whole(function, *args, **kwargs):
    """Traces without a break; returns the operators of the captured graph."""
    d = traced(function, *args, **kwargs)
    assert d["end"] == "return", d["broke"]
    return operators(d)


def operators(description):
    lines = [line.strip() for line in description["captured"].splitlines()]
    calls = [line.split(" = ", 1)[1].split("(", 1)[0] for line in lines if " = " in line]
    return [c for c in calls if c not in ("placeholder", "parameter", "buffer", "constant")]


def guards(description, kind):
    return [(source, name) for k, source, name, _ in description["guards"] if k == kind]


def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif hasattr(a, "__dict__") and not callable(a):
        same(vars(a), vars(b))
    elif not callable(a):
        assert a == b


def agrees(function, *calls):
    """Every call, in order, gives what eager gives and leaves its arguments as eager does; one compilation of all."""
    vitrine.reset()
    compiled = vitrine.compile(function)
    with torch.no_grad():
        for args in calls:
            for _ in range(2):
                expected_args, actual_args = copy.deepcopy(args), copy.deepcopy(args)
                try:
                    expected = function(*expected_args)
                except Exception as error:
                    with pytest.raises(type(error)):
                        compiled(*actual_args)
                else:
                    same(expected, compiled(*actual_args))
                same(expected_args, actual_args)


X = torch.arange(12.0).reshape(3, 4)
Y = torch.linspace(-1, 1, 4)


def test_arithmetic_and_constants():
    def f(x, y, n=2):
        return torch.relu(x * n + y) / 3

    assert whole(f, X, Y) == ["operator.mul", "operator.add", "torch.relu", "operator.truediv"]
    agrees(f, (X, Y), (X, Y, 3), (X, Y, 2.5), (X[:2], Y))


def test_metadata_is_constant():
    def f(x):
        batch, width = x.shape
        if x.dtype == torch.float32 and x.dim() == 2 and len(x) == batch and not x.is_cuda:
            return x.reshape(width, -1) * x.size(-1) + x.numel()
        return x

    assert whole(f, X) == ["Tensor.reshape", "operator.mul", "operator.add"]
    agrees(f, (X,), (X[:1],), (X.double(),))


def test_unused_arguments_are_not_guarded():
    def f(x, n, flag):
        return x + 1, n

    d = traced(f, X, 5, True)
    assert all("'n'" not in source and "'flag'" not in source for _, source, _, _ in d["guards"])
    agrees(f, (X, 5, True), (X, 6, None), (X, "text", []))


def test_none_check_keeps_the_number_open():
    def f(x, n):
        return x if n is None else x + 1

    assert guards(traced(f, X, 5), "ConstEquals") == []
    agrees(f, (X, 5), (X, 6), (X, None))


def test_closures_and_defaults():
    scale = 3.0

    def outer(x, shift=1.0):
        def inner(y, *, power=2):
            return y**power * scale

        return inner(x) + inner(x, power=3) + shift

    assert len(whole(outer, X)) == 7 - 1
    agrees(outer, (X,), (X, 2.0))


def test_nonlocal_and_generated_functions():
    def f(x):
        count = 0

        def bump(v):
            nonlocal count
            count += 1
            return v + count

        return bump(bump(x)), count, (lambda a: a * 2)(x)

    whole(f, X)
    agrees(f, (X,))


def test_returned_closure_works():
    def f(x):
        y = x + 1

        def later(z):
            return y + z

        return later

    vitrine.reset()
    with torch.no_grad():
        torch.testing.assert_close(vitrine.compile(f)(X)(Y), X + 1 + Y)


def test_arguments_of_every_kind():
    def g(a, /, b, *rest, c=1, **more):
        return a * b + sum(rest) + c + more.get("d", 0)

    def f(x):
        pack = (1, 2, 3)
        return g(x, 2, *pack, **{"c": 4, "d": 5}) + g(x, b=3)

    whole(f, X)
    agrees(f, (X,))


def test_containers_are_followed():
    def f(x):
        items = [x, x + 1]
        items.append(x * 2)
        items.insert(0, x - 1)
        first, *middle, last = items
        table = {"a": first, **{"b": last}}
        table.setdefault("c", middle[0])
        table.update(d=1)
        total = sum(table[k] for k in ("a", "b", "c"))
        return total, [v for v in items[1:]], {k: v for k, v in table.items()}, items.pop(), tuple(reversed(middle))

    whole(f, X)
    agrees(f, (X,))


def test_iterators():
    def f(x):
        out = []
        for i, (a, b) in enumerate(zip([x, x + 1], (2, 3)), start=1):
            out.append(a * b * i)
        for t in map(torch.sin, out):
            out = out + [t]
            if len(out) > 4:
                break
        out.extend(itertools.chain([x], filter(None, [0, 1])))
        while len(out) > 5:
            out.pop()
        return out, any(n > 1 for n in range(3)), max(2, 5, 3), min([4, 1], key=lambda v: -v), sorted([3, 1, 2])

    whole(f, X)
    agrees(f, (X,))


def test_generators():
    def pairs(x):
        for i in range(3):
            y = yield x * i
            assert y is None

    def f(x):
        return list(pairs(x)), sum(v for v in pairs(x))

    whole(f, X)
    agrees(f, (X,))


def test_texts_are_followed():
    def f(x, n):
        name = f"{n:03d}|{'a'!r}|{x.shape[0]}" + "-".join(["p", str(n)]).upper()
        return x + len(name), name, "%s/%d" % (name, 3), name.startswith("0")

    whole(f, X, 7)
    agrees(f, (X, 7), (X, 8))


def test_numbers():
    def f(x):
        a = math.sqrt(x.shape[1]) + int(3.7) ** 2 // 4 - round(2.5) + abs(-3) + divmod(7, 2)[1]
        return x * a * operator.mul(2, 3) + functools.reduce(lambda p, q: p + q, [1, 2, 3])

    whole(f, X)
    agrees(f, (X,))


def test_exceptions_inside_are_followed():
    def f(x, key):
        table = {"a": 1}
        try:
            n = table[key]
        except KeyError:
            n = 10
        finally:
            x = x + 1
        return x * n

    whole(f, X, "b")
    agrees(f, (X, "a"), (X, "b"))


def test_raise_ends_the_segment():
    def f(x, n):
        y = x + 1
        if n > 2:
            raise ValueError("too large")
        return y

    assert traced(f, X, 3)["broke"]["kind"] == "exception"
    agrees(f, (X, 1), (X, 3))


def test_shape_error_is_eagers():
    def f(x, y):
        return x @ y

    assert traced(f, X, torch.ones(5, 2))["broke"]["kind"] == "exception"
    agrees(f, (X, torch.ones(5, 2)), (X, torch.ones(4, 2)))


@pytest.mark.parametrize(
    "kind, function",
    [
        ("data_dependent_branch", lambda x: x + 1 if x.sum() > 0 else x - 1),
        ("data_dependent_branch", lambda x: not x.any()),
        ("scalar_read", lambda x: x * x.sum().item()),
        ("scalar_read", lambda x: x * int(x[0, 1])),
        ("scalar_read", lambda x: (x * 2).tolist()),
        ("scalar_read", lambda x: math.floor(x.sum())),
        ("side_effect", lambda x: print(end="") or x + 1),
    ],
)
def test_break_names_its_kind(kind, function):
    assert traced(function, X)["broke"]["kind"] == kind
    agrees(function, (X,), (-X,))


def test_break_inside_a_call_stops_before_it():
    def inner(x, out):
        out.append(1)
        return x * x.sum().item()

    def f(x):
        out = []
        y = x + 1
        z = inner(y, out)
        return z + 1, out

    d = traced(f, X)
    assert d["broke"]["kind"] == "scalar_read" and operators(d) == ["operator.add"]
    assert [place.split()[-1].split(".")[-1] for place in d["broke"]["stack"]] == ["inner", "f"]
    agrees(f, (X,), (X + 1,))


def test_break_in_loops():
    def f(x, n):
        for i in range(n):
            x = x + i
            print(end="")
            x = torch.sin(x)
        return x

    def g(x):
        total = 0
        for i, w in enumerate([x, x + 1, x * 2]):
            total = total + w
            print(end="")
            total = total * i
        return total

    agrees(f, (X, 3), (X, 5), (X, 0))
    agrees(g, (X,))


def test_gradient_mode_inside():
    weight = torch.ones(4, requires_grad=True)

    def f(x):
        with torch.no_grad():
            y = x * weight
        return y, torch.is_grad_enabled()

    @torch.no_grad()
    def g(x):
        return x * weight

    vitrine.reset()
    for function in (f, g):
        expected, actual = function(X), vitrine.compile(function)(X)
        same(expected, actual)
    assert not vitrine.compile(f)(X)[0].requires_grad
    assert torch.is_grad_enabled()


class Block(nn.Module):
    def __init__(self, width, bias=True):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, width, bias=bias)
        self.drop = nn.Dropout(0.5)
        self.gain = 2.0
        self.register_buffer("offset", torch.ones(width))

    def forward(self, x):
        return x + self.drop(F.gelu(self.fc(self.norm(x)))) * self.gain + self.offset


def test_modules():
    model = nn.Sequential(Block(4), Block(4, bias=False), nn.ModuleList([nn.ReLU()])[0]).eval()
    assert whole(model.forward, X).count("torch.nn.functional.linear") == 2
    vitrine.reset()
    compiled = vitrine.compile(model)
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), model(X))
        model[0].gain = 3.0
        torch.testing.assert_close(compiled(X), model(X))
        model[1].fc = nn.Linear(4, 4)
        torch.testing.assert_close(compiled(X), model(X))
        model[0].fc.weight.data = torch.zeros(4, 4)
        torch.testing.assert_close(compiled(X), model(X))
        model[2].register_forward_hook(lambda module, args, out: out + 1)
        torch.testing.assert_close(compiled(X), model(X))


def test_one_code_for_many_layers():
    """A layer's own frame is compiled for its class, not for the object."""
    layers = [Block(4).eval() for _ in range(3)]

    def f(x):
        for layer in layers:
            print(end="")
            x = layer(x)
        return x

    agrees(f, (X,))


@pytest.mark.parametrize("name", ["bert", "bert_mask", "vit", "resnet", "llama", "gpt2", "t5"])
def test_transformers_are_one_graph(name):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    ids = torch.randint(0, 99, (2, 7))
    image = torch.randn(2, 3, 32, 32)
    small = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    bert = lambda: transformers.BertModel(transformers.BertConfig(**small, max_position_embeddings=64))
    models = {
        "bert": (bert, {"input_ids": ids}),
        "bert_mask": (bert, {"input_ids": ids, "attention_mask": torch.ones(2, 7, dtype=torch.long)}),
        "vit": (
            lambda: transformers.ViTModel(
                transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8)
            ),
            {"pixel_values": image},
        ),
        "resnet": (
            lambda: transformers.ResNetModel(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2])),
            {"pixel_values": image},
        ),
        "llama": (
            lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**small, num_key_value_heads=1, max_position_embeddings=64)),
            {"input_ids": ids},
        ),
        "gpt2": (
            lambda: transformers.GPT2LMHeadModel(
                transformers.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64, bos_token_id=1, eos_token_id=2)
            ),
            {"input_ids": ids},
        ),
        "t5": (
            lambda: transformers.T5ForConditionalGeneration(
                transformers.T5Config(vocab_size=100, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2)
            ),
            {"input_ids": ids, "decoder_input_ids": ids},
        ),
    }
    make, inputs = models[name]
    model = make().eval()
    whole(model.forward, **inputs)
    vitrine.reset()
    compiled = vitrine.compile(model)
    with torch.no_grad():
        for _ in range(2):
            expected, actual = model(**inputs), compiled(**inputs)
            assert type(actual) is type(expected) and list(actual) == list(expected)
            for key in expected:
                if isinstance(expected[key], torch.Tensor):
                    torch.testing.assert_close(actual[key], expected[key], rtol=1e-4, atol=1e-5)


class Loud:
    @vitrine.disable
    def scale(self, x):
        return x * 3

    def run(self, x):
        return self.scale(x + 1) + 1


@vitrine.disable
def left_alone(x):
    return x * 2


@vitrine.compile
def compiled_already(x):
    return x * 2


def test_disabled_functions_break_by_name():
    for function in (lambda x: left_alone(x + 1) + 1, Loud().run):
        broke = traced(function, torch.ones(3))["broke"]
        assert broke["kind"] == "disabled"
        assert ("left_alone" in broke["reason"]) or ("Loud.scale" in broke["reason"])
    broke = traced(lambda x: Loud.scale(None, x), torch.ones(3))["broke"]
    assert broke["kind"] == "disabled"


def test_compiled_function_inside_is_inlined():
    assert whole(lambda x: compiled_already(x + 1), torch.ones(3)) == ["operator.add", "operator.mul"]


def broken_loop_rest(loop):
    """The breaks of a loop whose body prints once a step."""
    vitrine.reset()
    with torch.no_grad():
        return vitrine.explain(loop)(torch.ones(3))


def test_loop_over_enumerate_goes_on_after_a_break():
    def f(x):
        for i, a in enumerate(zip([1.0, 2.0, 3.0, 4.0], "abcd")):
            x = torch.relu(x * a[0])
            if i == 1:
                print("here")
        return x * 2

    explanation = broken_loop_rest(f)
    assert [b.kind for b in explanation.graph_breaks] == ["side_effect"]
    assert len(explanation.graphs) == 2


def test_iterator_that_cannot_be_read_says_so():
    def f(x):
        for a in enumerate(map(abs, [1.0, 2.0])):
            print("here")
            x = x * a[1]
        return x

    breaks = broken_loop_rest(f).graph_breaks
    assert {b.kind for b in breaks} == {"side_effect", "unsupported_value"}
    assert any("enumerate() of a" in b.reason for b in breaks)


def test_scalars_between_breaks_do_not_recompile(recwarn):
    def f(x):
        print(f"mean {x.mean().item():.4f}")
        return x * 2

    vitrine.reset()
    compiled = vitrine.compile(f)
    for i in range(20):
        assert compiled(torch.full((3,), float(i)))[0] == 2 * i
    assert not [w for w in recwarn if "compiled 8 times" in str(w.message)]


NAMES = {"a", "b", "ccc"}
LAYERS = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])


def test_set_of_another_order_is_another_case():
    def f(x, s):
        for a in s:
            x = x * 2 + a
        return x

    vitrine.reset()
    compiled = vitrine.compile(f)
    grown = set(range(0, 1000))  # a large table: small numbers lie in another order than in a small set
    for a in list(grown):
        if a not in (8, 16, 1):
            grown.discard(a)
    for s in ({8, 16, 1}, {16, 8, 1}, grown, {1, 2}):
        assert compiled(torch.ones(2), s).tolist() == f(torch.ones(2), s).tolist()
    assert whole(f, torch.ones(2), {1, 2}) == ["operator.mul", "operator.add"] * 2


def test_reversed_modules_are_one_graph():
    def f(x):
        for layer in reversed(LAYERS):
            x = layer(x)
        return x

    assert len(whole(f, torch.ones(3))) == 3


class Ordered(OrderedDict):
    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


def test_common_python_around_tensors_is_one_graph():
    """NumPy's numbers, tensors as keys, parameters counted, results in a class of their own."""
    net = torch.nn.Linear(2, 2)
    x = torch.ones(2, 2)
    whole(lambda x: x.reshape(np.prod(x.shape)) / np.sqrt(x.shape[-1]) * np.float64(2) + np.pi, x)
    whole(lambda x: {x: x + 1}[x] * len({x, x}), x)
    whole(lambda x: x * sum(p.numel() for p in net.parameters()) + len(dict(net.named_parameters())), x)
    whole(lambda m: m.to_tuple()[0] + 1, Ordered(a=x))


def test_managers_and_silent_messages_are_one_graph():
    logger = logging.getLogger("vitrine_test_silent")

    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.callback(lambda: None)
            logger.debug("shape %s", x.shape)
            return x + 1

    whole(f, torch.ones(2))
    logger.setLevel(logging.DEBUG)
    broke = traced(f, torch.ones(2))["broke"]
    assert broke["kind"] == "side_effect" and broke["reason"] == "a message is logged"
