"""Modules whose state, hooks and methods change between calls, parametrisations, functional calls."""

import types

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, scenario
from torch import nn


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.blocks = nn.ModuleDict({"p": nn.Linear(3, 3), "q": nn.Identity()})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))])
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("cache", None, persistent=False)
        self.drop = nn.Dropout(0.3)
        self.kind = "p"

    def forward(self, x):
        self.count += 1
        x = self.b(self.a(x))
        x = self.blocks[self.kind](x)
        for i, s in enumerate(self.scales):
            x = x * s + i
        if self.cache is None:
            self.cache = x.detach() * 0 + 3
        else:
            x = x + self.cache
        for name, child in self.blocks.items():
            if name != self.kind:
                x = child(x)
        return self.drop(x), self.count + 0


@scenario
def module_state_between_calls(compile):
    m = Odd()
    f = compile(m)
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    out = [f(x), f(x)]
    m.eval()
    out.append(f(x))
    m.kind = "q"
    out.append(f(x))
    m.scales[0].data.mul_(5)
    out.append(f(x))
    with torch.no_grad():
        m.a.weight.add_(1)
    out.append(f(x))
    m.b.weight = nn.Parameter(torch.eye(3))
    out.append(f(x))
    m.load_state_dict({k: torch.ones_like(v) for k, v in m.state_dict().items()})
    out.append(f(x))
    m.load_state_dict({k: torch.zeros_like(v) for k, v in m.state_dict().items()}, assign=True)
    out.append(f(x))
    m.scales.append(nn.Parameter(torch.full((3,), 7.0)))
    out.append(f(x))
    m.cache = None
    out.append(f(x))
    m.blocks["r"] = nn.Tanh()
    out.append(f(x))
    del m.blocks["q"]
    m.kind = "r"
    out.append(f(x))
    m.double()
    out.append(f(x.double()))
    m.requires_grad_(False)
    out.append(f(x.double()))
    m.train()
    out.append(f(x.double()))
    m.a = nn.Identity()
    m.drop.p = 0.0
    out.append(f(x.double()))
    m.forward = types.MethodType(lambda self, x: x - 1, m)
    out.append(m(x))
    return out, m.count


@scenario
def module_hooks_between_calls(compile):
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    nn.init.ones_(m[0].weight)
    f = compile(m)
    x = torch.ones(1, 3)
    log = []
    out = [f(x)]
    handles = [m[0].register_forward_hook(lambda mod, a, o: log.append("post") or o + 1)]
    out.append(f(x))
    handles.append(m.register_forward_pre_hook(lambda mod, a: (a[0] * 2,)))
    out.append(f(x))
    handles.append(m[1].register_forward_hook(lambda mod, a, k, o: log.append(sorted(k)), with_kwargs=True))
    out.append(f(x))
    handles.append(m[0].register_full_backward_hook(lambda mod, gi, go: log.append("backward")))
    y = f(x)
    y.sum().backward()
    out.append(y)
    handles[0].remove()
    out.append(f(x))
    for h in handles:
        h.remove()
    out.append(f(x))
    return out, log, m[0].weight.grad


@scenario
def methods_called_on_module(compile):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            nn.init.eye_(self.fc.weight)
            nn.init.zeros_(self.fc.bias)
            self.memory = []

        def forward(self, x, depth=1):
            self.memory.append(x)
            if depth:
                return self(x + 1, depth - 1)
            return self.fc(x), len(self.memory), sum(p.numel() for p in self.parameters()), [n for n, _ in self.named_parameters()], self.training, self.extra(), dict(self.named_children()).keys() == {"fc"}

        def extra(self):
            return type(self).__name__, self._get_name(), str(self.fc), self.fc.in_features, "fc" in self._modules

    m = M()
    f = compile(m)
    return [f(torch.ones(1, 2)), f(torch.ones(1, 2), depth=3), f(torch.ones(1, 2), 0), len(m.memory), compile(m.extra)()]


@scenario
def functional_call(compile):
    m = nn.Linear(2, 2)
    f = compile(lambda p, x: torch.func.functional_call(m, p, (x,)))
    x = torch.ones(1, 2)
    zero = {"weight": torch.zeros(2, 2), "bias": torch.full((2,), 3.0)}
    one = {"weight": torch.ones(2, 2)}
    nn.init.eye_(m.weight)
    nn.init.zeros_(m.bias)
    return [f(zero, x), f(one, x), f({}, x), f(zero, x)]


@scenario
def function_transforms(compile):
    f = compile(lambda x: (torch.func.vmap(lambda r: r * r.sum())(x), torch.func.grad(lambda t: (t**3).sum())(x), torch.func.jacrev(torch.sin)(x[0])))
    h = compile(lambda t: (t * t).sum())
    x = torch.arange(4.0).reshape(2, 2)
    return f(x), f(x + 1), torch.func.grad(h)(x), torch.func.vmap(h)(x), h(x), torch.func.jvp(h, (x,), (x,)), torch.autograd.functional.jacobian(h, x[0])


@scenario
def parametrised_modules(compile):
    m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    nn.utils.prune.l1_unstructured(n := nn.Linear(3, 2), "weight", amount=2)
    f = compile(lambda x: m(x) + n(x))
    x = torch.ones(1, 3)
    a = f(x)
    with torch.no_grad():
        m.parametrizations.weight.original0.mul_(2)
    b = f(x)
    nn.utils.parametrize.remove_parametrizations(m, "weight")
    return a, b, f(x), compile(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)).eval())(torch.ones(1, 2)).shape


@scenario
def assorted_modules(compile):
    torch.manual_seed(0)
    x = torch.randn(2, 4, 8, 8)
    nets = [
        nn.Conv2d(4, 6, 3, padding=1, groups=2), nn.ConvTranspose2d(4, 2, 2, 2), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.MaxPool2d(2, return_indices=True), nn.AdaptiveAvgPool2d(3), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.PixelShuffle(2), nn.Softmax2d(), nn.Flatten(), nn.Unflatten(1, (2, 2)), nn.PReLU(4), nn.ZeroPad2d(1), nn.LocalResponseNorm(2), nn.BatchNorm2d(4), nn.Hardswish(), nn.ChannelShuffle(2), nn.AvgPool2d(3, 1, 1), nn.LPPool2d(2, 2), nn.Fold((4, 4), 2),
    ]  # fmt: skip
    out = []
    for net in nets[:-1]:
        f = compile(net)
        out += [f(x), f(x[:1]), f(x.to(memory_format=torch.channels_last))]
    enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.1), 2)
    f = compile(enc)
    seq = torch.randn(2, 3, 8)
    out += [f(seq), f(seq, mask=nn.Transformer.generate_square_subsequent_mask(3))]
    enc.eval()
    with torch.no_grad():
        # Rows that are padding are left out: PyTorch fills them with zeros or not by torch.compiler.is_compiling().
        padded = f(seq, src_key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]))
        out += [f(seq), padded[0, :2], padded[1]]
    gru = nn.GRU(8, 4, 2, bidirectional=True)
    packed = nn.utils.rnn.pack_padded_sequence(seq, [2, 1, 1][:3]) if False else None
    bag = nn.EmbeddingBag(10, 3, mode="sum")
    return out, compile(gru)(seq), compile(gru)(seq, torch.zeros(4, 3, 4)), packed, compile(bag)(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]))


@program(mat(2, 3))
def functional_odds(x):
    return (
        F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True), F.embedding(torch.tensor([1, 0]), x), F.bilinear(x, x, torch.ones(1, 3, 3)), F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2), align_corners=False),
        F.gumbel_softmax(torch.zeros(2, 2), hard=True).sum(), F.rrelu(x, training=True).shape, F.local_response_norm(x[None], 2), F.multi_margin_loss(x, torch.tensor([0, 1])), F.ctc_loss(x.log_softmax(1)[:, None], torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1])), F.nll_loss(x, torch.tensor([0, 2]), ignore_index=2), F.huber_loss(x, -x), F.triplet_margin_loss(x, x + 1, x - 1), F.binary_cross_entropy_with_logits(x, x.sigmoid()), F.poisson_nll_loss(x, x + 2), F.cosine_embedding_loss(x, x, torch.tensor([1, -1])), F.affine_grid(torch.eye(2, 3)[None], (1, 1, 2, 2), align_corners=True),
    )  # fmt: skip
