"""What step_fuzz.py writes programs with, beside tensor_forms: a network of few parameters, statements that use it, derivatives
that are borrowed, writes of sizes, selections by data; what goes on around the backward pass; optimizers."""

from tests.fuzz import tensor_forms

HEAD = (
    tensor_forms.HEAD
    + '''

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        made = dict(dtype=torch.float32)
        self.p0 = torch.nn.Parameter(torch.randn(4, **made) * 0.5)
        self.p1 = torch.nn.Parameter(torch.randn(4, 4, **made) * 0.5)
        self.p2 = torch.nn.Parameter(torch.randn(1, **made))
        self.lin = torch.nn.Linear(4, 4, **made)
        self.norm = torch.nn.LayerNorm(4, **made)
        self.batch = torch.nn.BatchNorm1d(4, **made)
        self.gru = torch.nn.GRU(4, 4, **made)
        self.table = torch.nn.Embedding(7, 4, **made)
'''
)

# The last size of such a tensor is often 4. A form that does not fit is left out.
FLOATS = """
net.lin({t})
net.lin({t}).relu()
net.norm({t})
net.batch({t}.reshape(-1, 4)) if {t}.numel() > 4 else {t}
net.gru({t})[0]
net.gru({t})[1]
net.table({i} % 7)
net.table.weight[{i} % 7]
F.linear({t}, net.p1, net.p0)
{t} * net.p0
{t} @ net.p1
{t} @ net.p1.mT + net.p2
{t} * net.p2
{t} + net.p0.exp()
torch.cat([{t}, net.p1], 0) if {t}.dim() == 2 else {t} - net.p2
net.p1.expand({t}.shape[0], 4, 4).sum(-1) * {t}
F.cross_entropy({m}, ({i}.reshape(-1)[:1] % 4).expand({m}.shape[0])) if {m}.dim() == 2 and {m}.shape[1] == 4 else {m}
F.cross_entropy({m}[{m}[..., 0] > 0], ({m}[{m}[..., 0] > 0] > 0).long().argmax(-1)) if {m}.dim() == 2 else {m} * net.p2
{t}[{t} > 0] * net.p2
{t}[{t}[..., 0] > 0] * net.p2
{m}[{m}.sum(-1) > 0].mean(0)
{t}.masked_select({t} > 0).exp().mean()
{t}[{b}] * net.p2 if {b}.shape == {t}.shape[: {b}.dim()] else {t}
{t}.cumprod({d})
{t}.tanh().cumprod({d}) * net.p2
{t}.prod({d})
torch.stft({t}.reshape(-1), 4, 2, window=torch.ones(4, dtype={t}.dtype), return_complex=True).abs()
torch.stft({m}.reshape({m}.shape[0], -1), 4, return_complex=False, center=False, window=torch.hann_window(4, dtype={m}.dtype))
torch.fft.rfft({t}, dim={d}).abs()
torch.fft.irfft(torch.fft.rfft({t}), n={t}.shape[-1])
torch.linalg.norm({m}, dim=(-2, -1))
torch.linalg.solve(net.p1 + 9 * torch.eye(4, dtype=net.p1.dtype), {t}[..., None])[..., 0]
torch.linalg.inv({m} @ {m}.mT + 3 * torch.eye({m}.shape[-2], dtype={m}.dtype))
torch.linalg.cholesky({m} @ {m}.mT + 3 * torch.eye({m}.shape[-2], dtype={m}.dtype))
torch.linalg.slogdet({m} @ {m}.mT + 3 * torch.eye({m}.shape[-2], dtype={m}.dtype))[1]
torch.cdist({m}, net.p1) if {m}.dim() == 2 and {m}.shape[1] == 4 else {m} * net.p2
F.pdist({m}) if {m}.dim() == 2 else {m}
{t}.kthvalue(1, {d}).values * net.p2
{t}.median({d}).values
{t}.mode({d}).values
{t}.renorm(2, 0, 1.0) if {t}.dim() > 1 else {t}
F.ctc_loss(F.log_softmax({m}, -1)[:, None], torch.ones(1, 1, dtype=torch.long), ({m}.shape[0],), (1,)) if {m}.dim() == 2 and {m}.shape[1] > 1 else {m}
F.grid_sample({m}[:, :1], {m}.tanh().mean().expand({m}.shape[0], 2, 2, 2), align_corners=False) if {m}.dim() == 4 else {m}
F.bilinear({t}, {t}, net.p1[None]) if {t}.shape[-1:] == (4,) else {t}
F.embedding_bag({i}.reshape(1, -1) % 7, net.table.weight)
F.multi_margin_loss({m}, ({i}.reshape(-1)[:1] % 2).expand({m}.shape[0])) if {m}.dim() == 2 else {m}
F.cosine_similarity({t}, net.p0, dim=-1)
F.triplet_margin_loss({m}, {m} + net.p2, {m} * net.p2)
torch.trapezoid({t}, dim={d})
torch.nn.utils.rnn.pad_sequence([{m}, {m}[:1]])
torch.logaddexp({t}, {u})
torch.special.i0e({t})
torch.special.ndtri(torch.sigmoid({t}))
torch.logcumsumexp({t}, {d}) * net.p2
torch.cummin({t}, {d}).values
{t}.as_strided(({t}.shape[0], 2), ({t}.stride(0), 0)) * net.p2
{t}.as_strided((max({t}.numel() // 2, 1), 2), (2, 1)) if {t}.is_contiguous() and {t}.numel() > 1 else {t}
{t}.unfold({d}, 2, 1) * net.p2
{t}.expand({t}.shape[0], *{t}.shape).diagonal(0, 0, 1)
torch.autograd.grad(({t} * net.p2).sin().sum(), net.p2)[0].detach() * {t}
{t}.detach().requires_grad_().mul(2).sum() * net.p2
F.dropout({t}, 0.5)
F.scaled_dot_product_attention({m}, {m} * net.p2, {m}, is_causal=True) if {m}.dim() > 2 else {m}
""".strip().split("\n")

IN_PLACE = """
{t}[0] = {t}.shape[0]
{t}[..., -1] = {t}.shape[-1]
{t}[{t} > 1] = {t}.shape[0]
{t}[: {t}.shape[0] // 2] *= {t}.shape[0]
{t}.fill_({t}.shape[0])
{t}[0] = {t}.numel() / 2
{t}.masked_fill_({t} > 0, {t}.shape[0])
{t}.view(-1)[::2].mul_(net.p2)
{t}.mul_(net.p2)
{t} += net.p0
{t}[1:].cumprod_(0)
{t}.index_put_(({i}.reshape(-1)[:1] % {t}.shape[0],), {t}[:1] * net.p2, accumulate=True)
{t}.diagonal().add_(net.p2) if {t}.dim() > 1 else {t}.add_(net.p2)
""".strip().split("\n")

OPTIMIZERS = """
SGD(parameters, 0.1)
SGD(parameters, 0.1, momentum=0.9)
SGD(parameters, 0.1, momentum=0.9, dampening=0.5)
SGD(parameters, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.1, maximize=True)
SGD(parameters, 0.1, momentum=0.9, dampening=0.1, foreach=True)
SGD(parameters, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
AdamW(parameters, 0.01, eps=1e-3)
AdamW(parameters, 0.01, eps=1e-3, amsgrad=True)
Adam(parameters, 0.01, eps=1e-3, weight_decay=0.1)
Adam([{'params': parameters[:3], 'lr': 0.1}, {'params': parameters[3:]}], 0.01, eps=1e-3)
NAdam(parameters, 0.01, eps=1e-3)
RAdam(parameters, 0.01, eps=1e-3)
Adamax(parameters, 0.01, eps=1e-3)
Adagrad(parameters, 0.01, eps=1e-3)
Adadelta(parameters, 0.1, eps=1e-3)
RMSprop(parameters, 0.01, eps=1e-3, momentum=0.5, centered=True)
ASGD(parameters, 0.01)
""".strip().split("\n")

# What a step does with its loss; statements are put together from one of each list.
FIRST = ["opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "net.zero_grad()", "pass"]
BACKWARD = [
    "loss.backward()",
    "loss.backward()",
    "loss.backward()",
    "(loss * 0.5).backward(retain_graph=True); loss.backward()",
    "for q, g in zip(parameters, torch.autograd.grad(loss, parameters, allow_unused=True)): q.grad = g",
    "torch.autograd.backward([loss, *(r.mean() for r in results if r.requires_grad)])",
]
BETWEEN = [
    "pass",
    "pass",
    "torch.nn.utils.clip_grad_norm_(parameters, 0.5)",
    "torch.nn.utils.clip_grad_value_(parameters, 0.1)",
    "for q in parameters: q.grad = None if q.grad is None else q.grad * results[0].shape[0] if results[0].dim() else q.grad",
]
LAST = ["opt.step()", "opt.step()", "opt.step()", "opt.step(); opt.zero_grad()"]
GIVEN = ["results, loss", "[r.detach() for r in results], loss.detach()", "[], loss.item()", "[results[-1].detach()], loss.detach() * 2"]
