"""Recording of torch calls: types, aliasing, effects, replay and the ATen graph, against eager PyTorch."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from tests.python.support.recorded_program import Program, Unsupported, check, kind_of
from torch import nn

torch.manual_seed(7)
X, Y, W = torch.randn(4, 6), torch.randn(4, 6), torch.randn(5, 6)
IMAGE, KERNEL = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
INDEX, MASK = torch.tensor([2, 0, 1]), torch.randn(4, 6) > 0
Q = torch.randn(2, 4, 10, 16)


def chained_inplace(x, y):
    z = x * 2
    v = z[1:]
    v.add_(1)
    z.mul_(y)
    return z, v.sum()


def views_of_views(x):
    return x.view(2, 2, 6).transpose(0, 2)[1:, 0].unsqueeze(-1).expand(-1, -1, 3), x.t().diagonal(), x.unbind(1)[2]


def written_slices(x, y):
    z = x.clone()
    z[0] = 1.0
    z[1, 2:4] = y[0, :2]
    z[:, 5] += 1
    z[MASK_INDEX] = 3.0
    return z


MASK_INDEX = [0, 2]

PROGRAMS = {
    "pointwise": (lambda x, y: torch.tanh(x * 2 + y / 3 - 1) ** 2, (X, Y)),
    "scalars on the left": (lambda x: 2 - x + (1 / x) + 3 * x, (X,)),
    "type promotion": (lambda x, i: (x[:3] + i[:, None], i + 1.5, i / 2, i * True, x.double() + x), (X, INDEX)),
    "bool": (lambda x, y: ((x > y) & ~(x < 0), torch.where(x > 0, x, y), x.masked_fill(x < 0, -1.0)), (X, Y)),
    "reductions": (lambda x: (x.sum(), x.mean(1), x.amax(0, keepdim=True), x.var(1), x.argmax(1), x.std(), x.norm()), (X,)),
    "max with index": (lambda x: torch.max(x, 1), (X,)),
    "topk and sort": (lambda x: (torch.topk(x, 2), torch.sort(x, descending=True)), (X,)),
    "linear": (lambda x, w: F.linear(x, w) @ w, (X, W)),
    "batched matmul": (lambda q: torch.matmul(q, q.transpose(-1, -2)).softmax(-1), (Q,)),
    "matmul with a vector": (lambda x, y: (x @ y[0], y[0] @ x.t(), x[0] @ y[0]), (X, Y)),
    "einsum": (lambda q: torch.einsum("bhqd,bhkd->bhqk", q, q), (Q,)),
    "norms": (lambda x: (F.layer_norm(x, (6,)), F.normalize(x), F.rms_norm(x, (6,))), (X,)),
    "group norm": (lambda x: F.group_norm(x, 3), (IMAGE,)),
    "conv and pools": (
        lambda x, k: (F.max_pool2d(F.relu(F.conv2d(x, k, padding=1)), 2), F.adaptive_avg_pool2d(x, 1), F.avg_pool2d(x, 2)),
        (IMAGE, KERNEL),
    ),
    "channels last": (lambda x, k: F.conv2d(x, k).relu() + 1, (IMAGE.to(memory_format=torch.channels_last), KERNEL)),
    "batch norm, training": (
        lambda x, m, v: F.batch_norm(x, m, v, training=True, momentum=0.1),
        (IMAGE, torch.zeros(3), torch.ones(3)),
    ),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (Q,)),
    "attention with mask": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m, scale=0.5),
        (Q, torch.randn(10, 10) > 0),
    ),
    "attention, decomposed": (lambda q, m: F.scaled_dot_product_attention(q, q, q, m, 0.2) * 2, (Q[0], torch.randn(10, 10))),
    "attention, grouped": (lambda q: F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True), (Q,)),
    "attention of one query head": (lambda q: F.scaled_dot_product_attention(q[:, :1], q, q), (Q,)),
    "views": (views_of_views, (X,)),
    "slices": (lambda x: (x[1:3, ::2], x[..., -1], x[:, None, 1], x[None], x[2, 3]), (X,)),
    "index by tensor": (lambda x, i: (x[i], x[:, i], x[i, i], x.index_select(1, i), x.gather(1, i[None])), (X, INDEX)),
    "index by list": (lambda x: x[[0, 2]], (X,)),
    "written slices": (written_slices, (X, Y)),
    "in place": (chained_inplace, (X, Y)),
    "in place on an input": (lambda x, y: (x.add_(y), x[0].zero_(), x.relu_())[0], (X, Y)),
    "out argument": (lambda x, y: (torch.add(x, y, out=x), x * 2), (X, Y)),
    "shape changed in place": (lambda x: ((x * 2).t_(), (x + 1).unsqueeze_(0).squeeze_(0)), (X,)),
    "cat, stack, split": (
        lambda x, y: (torch.cat([x, y], 1), torch.stack((x, y)), x.split(2), x.chunk(3, 1), torch.hstack([x, y])),
        (X, Y),
    ),
    "factories": (
        lambda x: x + torch.ones(6) + torch.arange(6) + torch.full((4, 6), 2.0) + torch.zeros_like(x) + x.new_ones(6),
        (X,),
    ),
    "constants": (lambda x: x * torch.tensor([1.0, 2, 3, 4, 5, 6]) + torch.tensor(3), (X,)),
    "constant that is written": (lambda x: torch.tensor([1.0, 2.0]).add_(x[0, 0]), (X,)),
    "constant that is returned": (lambda x: (torch.tensor([1.0, 2.0]), x), (X,)),
    "value of a constant": (lambda x: x * torch.tensor(2.5).item(), (X,)),
    "types and formats": (
        lambda x: (x.half(), x.to(torch.int32), x.double().to(x), x.contiguous(), x.t().contiguous(), x.bool()),
        (X,),
    ),
    "view as another type": (lambda x: (x.view(torch.int32) + 1).view(torch.float32), (X,)),
    "complex": (lambda x: torch.view_as_real(torch.view_as_complex(x.view(4, 3, 2)) * 2), (X,)),
    "detach and data": (lambda x: (x * 2).detach() + x.data, (X,)),
    "embedding": (lambda i, w: F.embedding(i, w, padding_idx=0), (INDEX, W)),
    "losses": (
        lambda x, t: (F.cross_entropy(x, t), F.mse_loss(x, x * 2), F.nll_loss(F.log_softmax(x, 1), t)),
        (X, torch.tensor([1, 0, 5, 3])),
    ),
    "dropout": (lambda x: F.dropout(x, 0.4, training=True) + F.dropout(x, 0.5, training=False), (X,)),
    "random": (lambda x: torch.rand(4, 6) + torch.randn_like(x) + torch.bernoulli(torch.sigmoid(x)), (X,)),
    "cumulative": (lambda x: (x.cumsum(1), x.cummax(0), x.flip(0), x.roll(1, 1), x.repeat(2, 1), x.tril()), (X,)),
    "padding and interpolation": (
        lambda x: (F.pad(x, (1, 2), value=3.0), F.interpolate(x, scale_factor=2), F.interpolate(x, size=5, mode="bilinear")),
        (IMAGE,),
    ),
    "numbers from sizes": (lambda x: x.view(x.size(0) // 2, -1) * x.dim() + x.numel() + x.shape[1], (X,)),
    "no tensor input": (lambda: torch.arange(4).float() * 2, ()),
    "the same tensor twice": (lambda x, y: (x + y, x.mul_(2), y + 1), (X, X)),
    "clamps": (lambda x: (x.clamp(-1, 1), x.clamp(min=0), torch.clamp(x, max=x.mean())), (X,)),
    "empty": (lambda x: (x[:0].sum(0), torch.cat([x[:0], x])), (X,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_replays_as_eager(name):
    fn, args = PROGRAMS[name]
    check(fn, args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_as_one_call(name):
    fn, args = PROGRAMS[name]
    check(fn, args, each_call=False)


MODULES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)), (X,)),
    "conv block": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()),
        (IMAGE,),
    ),
    "transformer layer": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (torch.randn(2, 5, 16),)),
    "attention": (lambda: nn.MultiheadAttention(16, 4, batch_first=True), (torch.randn(2, 5, 16),) * 3),
    "lstm": (lambda: nn.LSTM(6, 5, batch_first=True, bidirectional=True), (torch.randn(2, 3, 6),)),
    "gru": (lambda: nn.GRU(6, 5), (torch.randn(3, 2, 6),)),
    "embedding bag": (lambda: nn.EmbeddingBag(10, 3), (torch.tensor([[1, 2], [3, 4]]),)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(3, 2, 3, stride=2), (IMAGE,)),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_module(name, training):
    make, args = MODULES[name]
    module = make().train(training)
    state = {k: v.detach() for k, v in [*module.named_parameters(), *module.named_buffers()]}
    # PyTorch's fused attention asks whether a function mode is on, as the recorder's is between calls.
    each_call = training or "attention" not in name and "transformer" not in name
    check(lambda state, *args: torch.func.functional_call(module, state, args), (state, *args), each_call=each_call)


def ops(program):
    return [node["op"] for node in program.recorded.aten()["nodes"] if node["kind"] == "op"]


def test_attention_and_linear_keep_their_shape():
    with torch.no_grad():
        assert ops(Program(lambda q: F.scaled_dot_product_attention(q, q, q), (Q,))) == [
            "aten._scaled_dot_product_flash_attention_for_cpu.default"
        ]
        assert ops(Program(lambda q: F.scaled_dot_product_attention(q, q, q), (Q[0],))) == [
            "aten.scaled_dot_product_attention.default"
        ]
        assert ops(Program(lambda q: F.scaled_dot_product_attention(q, q, q, None, 0.3), (Q,))) == [
            "aten.scaled_dot_product_attention.default"
        ]
        assert ops(Program(lambda x, w: F.linear(x, w), (X, W))) == ["aten.t.default", "aten.mm.default"]


def test_every_aten_node_names_its_call():
    with torch.no_grad():
        program = Program(lambda q, w: F.gelu(F.linear(q, w)), (Q, torch.randn(3, 16)))
    captured = {n["id"]: n for n in program.recorded.captured()["nodes"]}
    for node in program.recorded.aten()["nodes"]:
        if node["kind"] == "op":
            assert [captured[i]["kind"] for i in node["from"]] == ["op"]
        else:
            assert captured[node["id"]]["kind"] == node["kind"]
    assert len({n["id"] for n in program.recorded.aten()["nodes"]} & {i for i, n in captured.items() if n["kind"] == "op"}) == 0


def test_default_arguments_are_filled_in():
    with torch.no_grad():
        node = Program(lambda x: x + x, (X,)).recorded.aten()["nodes"][-1]
    assert node["kwargs"] == {"alpha": 1}
    with torch.no_grad():
        node = Program(lambda x: x[:, :3], (X,)).recorded.aten()["nodes"][-1]
    assert node["args"][1:] == [1, 0, 3, 1]


@pytest.mark.parametrize(
    "fn,kind",
    [
        (lambda x: x.sum().item(), "scalar_read"),
        (lambda x: bool(x.sum() > 0), "scalar_read"),
        (lambda x: float(x.sum()), "scalar_read"),
        (lambda x: x.tolist(), "scalar_read"),
        (lambda x: x.numpy(), "scalar_read"),
        (lambda x: x.data_ptr(), "scalar_read"),
        (lambda x: repr(x), "scalar_read"),
        (lambda x: torch.equal(x, x), "scalar_read"),
        (lambda x: torch.allclose(x, x), "scalar_read"),
        (lambda x: torch.tensor([x.sum(), 1.0]), "scalar_read"),
        (lambda x: x.nonzero(), "data_dependent_shape"),
        (lambda x: x[x > 0], "data_dependent_shape"),
        (lambda x: torch.masked_select(x, x > 0), "data_dependent_shape"),
        (lambda x: x.unique(), "data_dependent_shape"),
        (lambda x: nn.utils.rnn.pack_padded_sequence(x[None], x[0, :1].long(), batch_first=True), "data_dependent_shape"),
        (lambda x: x + OUTSIDE, "unsupported_value"),
        (lambda x: x.to("meta"), "unsupported_value"),
        (lambda x: torch.rand(3, generator=torch.Generator()), "unsupported_value"),
        (lambda x: x.t_(), "unsupported_operator"),
        (lambda x: x.resize_(2, 2), "unsupported_operator"),
        (lambda x: torch.add(x, 1, out=x.new_empty(0)), "unsupported_operator"),
    ],
)
def test_what_cannot_be_recorded(fn, kind):
    with torch.no_grad(), pytest.raises(Unsupported) as caught:
        Program(fn, (X.clone(),), each_call=False)
    assert caught.value.args[0] == kind and caught.value.args[1]


OUTSIDE = torch.randn(6)


@pytest.mark.parametrize("function", [torch.from_numpy, torch.tensor, torch.as_tensor])
def test_arrays_are_refused(function):
    lowering = Program(lambda x: x, (X,)).lowering
    assert lowering.call("f", function, (OUTSIDE.numpy(),))[0] == "unsupported_value"
    assert lowering.call("f", torch.stack, ([OUTSIDE.numpy()],))[0] == "unsupported_value"


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x @ x,
        lambda x: x.view(5, 5),
        lambda x: x + torch.ones(5),
        lambda x: torch.cat([x, x[0]]),
        lambda x: x[7],
        lambda x: x.add_(torch.ones(2, 4, 6)),
        lambda x: x.long().mul_(1.5),
        lambda x: x.sum().expand(2).add_(1),
        lambda x: F.conv2d(x, x),
        lambda x: x.softmax(3),
        lambda x: F.linear(x, "w"),
        lambda x: torch.topk(x, 100),
    ],
)
def test_the_users_errors_are_eagers(fn):
    with torch.no_grad():
        with pytest.raises(Exception) as eager:
            fn(X.clone())
        with pytest.raises(type(eager.value)) as traced:
            Program(fn, (X.clone(),))
    assert type(traced.value) is type(eager.value)


def test_a_failed_call_leaves_no_trace():
    with torch.no_grad():
        lowering = Program(lambda x: x, (X,)).lowering
        tensor = lowering.input(Y, "placeholder", "L['y']")
        work = lowering.call("mul", torch.mul, (tensor, 2))[0]

        def fails(x):
            x.add_(1)
            x.t_()
            torch.sigmoid(x)
            return x.sum().item()

        kind = kind_of(work)
        assert lowering.call("fails", fails, (work,))[0] == "scalar_read"
        assert kind_of(work) == kind
        with pytest.raises(RuntimeError):
            lowering.call("raises", lambda x: (x.mul_(2), x @ x), (work,))
        out = lowering.call("add", torch.add, (work, 1))[0]
        recorded = lowering.finish([out, work])
        assert [n["op"] for n in recorded.aten()["nodes"] if n["kind"] == "op"] == ["aten.mul.Tensor", "aten.add.Tensor"]
        assert [n["op"] for n in recorded.captured()["nodes"] if n["kind"] == "op"] == ["mul", "add"]
        assert torch.equal(recorded.replay([X, Y])[0], Y * 2 + 1)


def test_an_exception_that_the_callable_swallows_is_noticed():
    def swallow(x):
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    with torch.no_grad(), pytest.raises(Unsupported):
        Program(swallow, (X,), each_call=False)


def test_inputs_that_share_memory_are_seen():
    base = torch.randn(10)

    def fn(a, b):
        a.add_(1)
        return a + b

    program = Program(fn, (base[:5], base[3:8]), each_call=True)
    a, b = (fake_tensor for _, fake_tensor in program.inputs)
    assert a.untyped_storage()._cdata == b.untyped_storage()._cdata
    check(fn, (base[:5], base[3:8]))


def test_same_memory_as_another_type():
    base = torch.randn(4)
    program = Program(lambda a, b: (a.mul_(2), b + 1)[1], (base.clone(), base.view(torch.int32)))
    assert program.effects["writes_inputs"]
    shared = base.clone()
    both = [shared, shared.view(torch.int32)]
    program = Program(lambda a, b: (a.mul_(2), b + 1)[1], both)
    expected = (base * 2).view(torch.int32) + 1
    for run in (program.replay, program.run_aten):
        fresh = base.clone()
        assert torch.equal(run([fresh, fresh.view(torch.int32)]), expected)


@pytest.mark.parametrize(
    "fn,writes,random",
    [
        (lambda x: x + 1, False, False),
        (lambda x: x.add_(1), True, False),
        (lambda x: x[1:].mul_(2), True, False),
        (lambda x: (x * 2).add_(1), False, False),
        (lambda x: F.dropout(x, 0.5), False, True),
        (lambda x: F.dropout(x, 0.5, training=False), False, False),
        (lambda x: torch.rand(3), False, True),
        (lambda x: F.scaled_dot_product_attention(x, x, x), False, False),
        (lambda x: F.batch_norm(x, x[0].detach(), x[1].detach(), training=True), True, False),
        (lambda x: F.batch_norm(x, x[0].detach(), x[1].detach(), training=False), False, False),
    ],
)
def test_recording_knows_writes_and_random_numbers(fn, writes, random):
    with torch.no_grad():
        effects = Program(fn, (X.clone(),)).effects
    assert (effects["writes_inputs"], effects["random"]) == (writes, random)


def test_recording_touches_nothing():
    x = X.clone()
    version, state = x._version, torch.get_rng_state()
    with torch.no_grad():
        Program(lambda x: (x.add_(1), F.dropout(x), torch.rand(5), x.zero_()), (x,))
    assert torch.equal(x, X) and x._version == version
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()


def test_grad_mode_of_the_program_is_its_own():
    w = torch.randn(6, 3, requires_grad=True)
    lowering = Program(lambda x: x, (X,)).lowering
    fake_tensor = lowering.input(w, "parameter", "L['w']")
    y = lowering.call("mul", torch.mul, (fake_tensor, 2))[0]
    assert lowering.call("off", torch._C._set_grad_enabled, (False,)) == (None, 1)
    assert torch.is_grad_enabled()
    assert lowering.call("asked", torch.is_grad_enabled, ()) == (False, 0)
    z = lowering.call("mul", torch.mul, (y, 2))[0]
    lowering.call("on", torch._C._set_grad_enabled, (True,))
    assert (y.requires_grad, z.requires_grad) == (True, False)
    assert lowering.effects()["needs_grad"]
    real_y, real_z = lowering.finish([y, z]).replay([X, w])
    assert (real_y.requires_grad, real_z.requires_grad) == (True, False)
    assert torch.is_grad_enabled()


def test_a_write_that_needs_grad_is_noticed():
    w = torch.randn(6, requires_grad=True)
    assert Program(lambda x, w: x.__setitem__(0, w), (X, w)).effects["needs_grad"]
    assert not Program(lambda x: x.__setitem__(0, 1.0), (X,)).effects["needs_grad"]


def test_gradients_of_a_replay_are_eagers():
    module = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    state = dict(module.named_parameters())
    fn = lambda state, x: torch.func.functional_call(module, state, (x,)).sum()
    program = Program(fn, (state, X))
    program.replay([*state.values(), X]).backward()
    got = [p.grad.clone() for p in state.values()]
    module.zero_grad()
    module(X).sum().backward()
    for mine, theirs in zip(got, state.values()):
        assert torch.equal(mine, theirs.grad)


def test_fake_tensors_carry_requires_grad():
    leaf = torch.randn(3, requires_grad=True)
    result = leaf * 2
    program = Program(lambda a, b: b.add_(1), (leaf, result))
    a, b = (fake_tensor for _, fake_tensor in program.inputs)
    assert (a.requires_grad, a.is_leaf) == (True, True)
    assert b.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        Program(lambda a: a.add_(1), (leaf,))


def test_inference_mode():
    with torch.inference_mode():
        check(lambda x, y: (x.view(-1) + 1, x.add_(y)), (X.clone(), Y.clone()))


def test_autocast_is_recorded():
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        program = check(lambda x, w: F.linear(x, w), (X, W))
    assert program.results[0].dtype == torch.bfloat16


def test_inputs_that_are_refused():
    lowering = Program(lambda x: x, (X,)).lowering
    for tensor in (
        torch.randn(2, device="meta"),
        torch.randn(2, dtype=torch.complex64).conj(),
        torch.eye(2).to_sparse(),
        type("Sub", (torch.Tensor,), {})(torch.randn(2)),
        torch.zeros(2, dtype=torch.float8_e4m3fn),
    ):
        with pytest.raises(RuntimeError, match="cannot enter a graph"):
            lowering.input(tensor)


def test_large_tensors_cost_no_memory():
    with torch.no_grad():
        program = Program(lambda: torch.zeros(1 << 38).view(1 << 19, -1).sum(1).exp())
    assert program.results[0].shape == (1 << 19,)


MODEL = """
import sys
import torch
from tests.python.support.recorded_program import Program
from torch import nn
import torch.nn.functional as F

layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu").eval()
conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                     nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()

def rotary(q, cos, sin):
    half = torch.cat((-q[..., 8:], q[..., :8]), -1)
    q = q * cos + half * sin
    return F.silu(F.scaled_dot_product_attention(q, q, q, is_causal=True)).transpose(1, 2).reshape(2, 6, -1)

with torch.no_grad():
    for module, args in ((layer, (torch.randn(2, 6, 32),)), (conv, (torch.randn(2, 3, 16, 16),))):
        state = dict(module.named_parameters()) | dict(module.named_buffers())
        Program(lambda s, *a: torch.func.functional_call(module, s, a), (state, *args))
    Program(rotary, (torch.randn(2, 4, 6, 16), torch.randn(6, 16), torch.randn(6, 16)))
    Program(lambda x: (torch.logcumsumexp(x, 0), torch.frexp(x), torch.special.i0(x)), (torch.randn(4, 3),))
print("torch._dynamo" in sys.modules, "sympy" in sys.modules)
"""


def test_models_do_not_load_pytorchs_compiler():
    import os

    path = os.pathsep.join(sys.path)
    out = subprocess.run([sys.executable, "-c", MODEL], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path))
    assert out.stdout.split() == ["False", "False"], out.stdout + out.stderr
