"""What training_fuzz.py writes programs with. In a form {t} is a tensor of 4 x 4 that is there, {p} a leaf, {y} a result."""

HEAD = '''import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

torch.set_default_dtype(torch.float64)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x.tanh() * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.k * (1 - x.tanh() ** 2), None


class Parts(torch.autograd.Function):
    """Two results, one without gradient; gradients that are not there stay None."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        order = x.argsort(0)
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(x, y)
        return x * y, order, x + y

    @staticmethod
    def backward(ctx, first, _, last):
        x, y = ctx.saved_tensors
        a = b = None
        if first is not None:
            a, b = first * y, first * x
        if last is not None:
            a = last if a is None else a + last
        return a, b


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Block(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        if kind == 1:
            parametrizations.weight_norm(self.lin)
        if kind == 2:
            parametrizations.spectral_norm(self.lin)
        if kind == 3:
            self.lin.weight = nn.Parameter(self.lin.weight.t().contiguous().t())
        if kind == 4:
            self.norm = nn.BatchNorm1d(4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), 0.1)
        return F.gelu(self.norm(self.lin(x))) - self.mean


def scaled(x, p):
    return (x @ p).tanh() * 2


def values(call, grad):
    draw = torch.Generator().manual_seed(call)
    torch.manual_seed(1)
    leaves = [torch.randn(4, 4, generator=torch.Generator().manual_seed(9 + k)).requires_grad_() for k in range(3)]
    leaves.append(torch.randn(4, generator=torch.Generator().manual_seed(20)).requires_grad_())
    return torch.randn(4, 4, generator=draw).requires_grad_(grad), leaves
'''

# Statements of the function that is compiled. Each but the in-place ones makes {new}.
FORWARD = """
{new} = {t} @ {p}
{new} = {t} * {t}
{new} = {t} + {p}
{new} = torch.tanh({t})
{new} = {t}.sin() * 0.5
{new} = {t}.exp().clamp(max=3)
{new} = F.relu({t}) + {t}
{new} = F.softmax({t}, -1)
{new} = F.layer_norm({t}, (4,))
{new} = {t} - {t}.mean(0, keepdim=True)
{new} = {t} * v
{new} = {t} + v.exp()
{new} = {t}.t()
{new} = {t}[:, [1, 0, 3, 2]]
{new} = torch.cat([{t}[:2], {t}[2:]])
{new} = torch.where({t} > 0, {t}, {t} * 0.1)
{new} = {t}.detach() * {t}
{new} = {t}.clone()
{new} = {t}.view(2, 8).view(4, 4) if {t}.is_contiguous() else {t} * 1
{new} = Twice.apply({t}, 2)
{new}, {other}, {last} = Parts.apply({t}, {t})
{new} = InPlace.apply({t} * 1)
{new} = checkpoint(scaled, {t}, {p}, use_reentrant=False)
{new} = checkpoint(lambda q: F.gelu(q).sin() * {t}, {t}, use_reentrant=False)
{new} = block({t})
{new} = torch.func.functional_call(block, {{'lin.bias': v}}, ({t},)) if not hasattr(block, 'parametrizations') else {t} * 3
{new} = torch.func.vmap(lambda r: (r * 2).tanh())({t})
{new} = torch.func.grad(lambda q: (q * q).sin().sum())({t})
{new} = torch.func.jvp(torch.sin, ({t},), ({t},))[1]
{new} = torch.autograd.grad(({p} * {t}).sin().sum(), {p})[0].detach() + {t}
{new} = torch.autograd.grad(({p} * {t}).sin().sum(), {p}, create_graph=True)[0]
{new} = {t}.float().mul(2).double()
{new} = ({t}.bfloat16() * 0.5).double()
{new} = F.dropout({t}, 0.5)
{new} = F.embedding(torch.tensor([0, 2, 2, 1]), {p}) + {t}
{new} = {t}.index_add(0, torch.tensor([1, 1]), {t}[:2])
{new} = {t}.cumsum(0)
{new} = {t}.sort(0).values
{new} = {t}.unsqueeze(0).expand(3, 4, 4).sum(0)
{new} = F.conv2d({t}[None, None], {p}[None, None, :3, :3], padding=1)[0, 0]
{new} = F.conv1d({t}[None], {p}[:, :, None]).squeeze(0)
{new} = torch.stack([{t}, {t} * 2]).amax(0)
{new} = sum({t}.unbind(0)) + {t}
{new} = {t} / ({t}.norm() + 1)
{new} = torch.linalg.solve({p} + 9 * torch.eye(4), {t})
{new} = F.cross_entropy({t}, torch.tensor([0, 1, 2, 3])) + {t}
{new} = {t}.masked_fill({t} > 1, 0.5)
{new} = torch.einsum('ij,kj->ik', {t}, {p})
{new} = F.scaled_dot_product_attention({t}[None], {t}[None], {p}[None])[0]
{new} = torch.nn.functional.pad({t}, (1, 0))[:, :4]
{new} = {t}.gather(1, torch.tensor([[0, 1, 1, 3]] * 4))
""".strip().split("\n")

WRITES = """
{o}.mul_(2)
{o}.add_({t})
{o}[0] = {t}[1]
{o}[:, 1] *= 2
{o}.t().sub_(1)
{o}.copy_({t})
{o}[1:].tanh_()
{o}.masked_fill_({t} > 1, 0)
""".strip().split("\n")

BLOCKS = """
with torch.no_grad():
with torch.enable_grad():
with torch.autocast('cpu', dtype=torch.bfloat16):
with torch.autograd.graph.saved_tensors_hooks(lambda s: s * 1, lambda s: s * 2):
with torch.autograd.graph.save_on_cpu():
if v.sum() > 0:
for _ in range(2):
""".strip().split("\n")

HOOKS = """
{t}.register_hook(lambda g: g * 2)
{t}.register_hook(lambda g: None)
{t}.register_hook(lambda g: g.clamp(-0.5, 0.5))
{t}.register_hook(lambda g: log.append(('inside', g.clone())))
{t}.retain_grad()
""".strip().split("\n")

# Statements around the compiled function. Results are ys, their sum loss.
DRIVER = """
loss.backward()
loss.backward(retain_graph=True)
loss.backward()
ys[0].sum().backward()
ys[-1].mean().backward(retain_graph=True)
ys[0].backward(torch.ones(4, 4).t())
ys[0].backward(torch.ones(()).expand(4, 4))
(loss * 2).backward(retain_graph=True)
torch.autograd.backward([y.sum() for y in ys])
log.append(torch.autograd.grad(loss, leaves, allow_unused=True, retain_graph=True))
log.append(torch.autograd.grad(loss, leaves[:2], allow_unused=True))
log.append(torch.autograd.grad(ys[0].sum(), [x] if x.requires_grad else leaves[2:], allow_unused=True, retain_graph=True))
log.append(torch.autograd.grad(loss, ys, allow_unused=True, retain_graph=True))
loss.backward(inputs=leaves[:1], retain_graph=True)
{p}.register_hook(lambda g: log.append(('leaf', g.clone())))
{p}.register_hook(lambda g: g * 0.5)
{p}.register_post_accumulate_grad_hook(lambda q: log.append(('after', q.grad.clone())))
ys[0].register_hook(lambda g: log.append(('result', g.clone())))
ys[-1].register_hook(lambda g: g * 3)
ys[0].retain_grad()
ys = f(x, *leaves, block, log); loss = sum(y.sum() for y in ys if y.requires_grad)
ys = f(x, *leaves, block, log); loss = sum(y.sum() for y in ys if y.requires_grad)
ys = f(x.detach() * 2, *leaves, block, log); loss = sum(y.mean() for y in ys if y.requires_grad)
ys = f(ys[0].detach(), *leaves, block, log); loss = sum(y.mean() for y in ys if y.requires_grad)
ys = f(ys[0], *leaves, block, log); loss = sum(y.sin().sum() for y in ys if y.requires_grad)
loss = loss + (ys[0] * {p}).sum()
loss = loss + ys[0].detach().sum() * v.sum()
opt.step()
opt.step(); opt.zero_grad()
opt.zero_grad(set_to_none=False)
nn.utils.clip_grad_norm_([q for q in leaves if q.grad is not None], 1.0)
nn.utils.clip_grad_value_([q for q in leaves if q.grad is not None], 0.1)
{p}.requires_grad_(not {p}.requires_grad)
{p}.data.mul_({k})
{p}.grad = None
{p}.grad = torch.ones(4, 4).t()
x.detach().add_(1)
block.train(not block.training)
ema = copy.deepcopy(block); [a.lerp_(b, 0.1) for a, b in zip([q.data for q in ema.parameters()], block.parameters())]
with torch.no_grad(): {p}.add_(0.1)
with torch.no_grad(): log.append([y.clone() for y in f(x, *leaves, block, log)])
with torch.inference_mode(): log.append([y.clone() for y in f(x, *leaves, block, log)])
log.append(torch.func.grad(lambda q: f(q, *leaves, block, [])[0].sum())(x.detach()))
log.append(torch.autograd.functional.vjp(lambda q: f(q, *leaves, block, [])[0].sum(), x.detach())[1])
torch.optim.LBFGS(leaves, lr=0.01, max_iter=3).step(lambda: (opt.zero_grad(), (l := sum(y.sin().sum() for y in f(x.detach(), *leaves, block, log))).backward(), l)[-1])
""".strip().split("\n")
