"""Single operators and short chains: pointwise work, norms, losses, scans, choices."""

from vitrine._tools.gpu_cases.case import Case, Program


def pointwise(torch) -> Program:
    x, b = torch.randn(1 << 26, device="cuda"), torch.randn(1 << 26, device="cuda")
    return Program(lambda _, x, b: torch.relu(x * 2 + b) * 0.5, (x, b), bytes=12 << 26)


def mlp(torch) -> Program:
    gelu = torch.nn.GELU(approximate="tanh")
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), gelu, torch.nn.Linear(4096, 1024)).cuda().half()
    return Program(lambda m, x: m(x), (torch.randn(8192, 1024, device="cuda").half(),), model)


def layer_norm(torch) -> Program:
    x, w, b = (torch.randn(*s, device="cuda") for s in ((16384, 4096), (4096,), (4096,)))
    return Program(lambda _, x, w, b: torch.nn.functional.layer_norm(x, (4096,), w, b) * 1.5 + x, (x, w, b), bytes=8 << 26)


def softmax(torch) -> Program:
    return Program(lambda _, x: torch.softmax(x * 0.125, -1), (torch.randn(16384, 4096, device="cuda"),), bytes=8 << 26)


def rms_norm(torch) -> Program:
    def norm(_, x, w):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    x, w = torch.randn(16384, 4096, device="cuda").bfloat16(), torch.randn(4096, device="cuda").bfloat16()
    return Program(norm, (x, w), bytes=4 << 26)


def group_norm(torch) -> Program:
    F = torch.nn.functional
    x, w, b = torch.randn(16, 320, 64, 64, device="cuda").half(), torch.rand(320, device="cuda").half(), torch.randn(320, device="cuda").half()
    return Program(lambda _, x, w, b: F.silu(F.group_norm(x, 32, w, b)), (x, w, b), bytes=4 * x.numel())


def focal_loss(torch) -> Program:
    def loss(_, x, y, w):
        ce = torch.nn.functional.cross_entropy(x, y, reduction="none")
        return ((1 - torch.exp(-ce)) ** 2 * ce * w).mean()

    x = torch.randn(65536, 1000, device="cuda", requires_grad=True)
    y = torch.randint(0, 1000, (65536,), device="cuda")
    return Program(loss, (x, y, torch.rand(65536, device="cuda")), trains=True)


def small_product(torch) -> Program:
    return Program(lambda _, x, y: torch.softmax(x @ y, -1), (torch.randn(100, 100, device="cuda"), torch.randn(100, 100, device="cuda")))


def gated_scan(torch) -> Program:
    def scan(_, x, gate, skip):
        return torch.cumsum(x * torch.sigmoid(gate), 1) * torch.nn.functional.silu(gate) + skip

    x, gate, skip = (torch.randn(64, 4096, 64, device="cuda") for _ in range(3))
    return Program(scan, (x, gate, skip), bytes=16 * x.numel())


def top_k_sampling(torch) -> Program:
    def sample(_, logits, uniform):
        values, indices = torch.topk(logits / 0.8, 50)
        reached = torch.softmax(values, -1).cumsum(-1) > uniform
        return indices.gather(-1, reached.int().argmax(-1, keepdim=True))

    return Program(sample, (torch.randn(64, 128256, device="cuda"), torch.rand(64, 1, device="cuda") * 0.9))


CASES = {
    "pointwise": Case("relu(x*2+b)*0.5, 64M float32", pointwise),
    "mlp": Case("Linear 1024-4096-1024, gelu(tanh), 8192 rows, half", mlp),
    "layer_norm": Case("layer_norm(x)*1.5+x, 16384x4096 float32", layer_norm),
    "softmax": Case("softmax(x*0.125), 16384x4096 float32", softmax),
    "rms_norm": Case("RMS norm, 16384x4096 bfloat16", rms_norm),
    "group_norm": Case("group norm + SiLU, 16x320x64x64 half", group_norm),
    "focal_loss": Case("weighted focal loss, 65536x1000, fwd+bwd", focal_loss),
    "small_product": Case("softmax(x@y), 100x100", small_product),
    "scan": Case("gated cumsum over 4096, 64x4096x64 float32", gated_scan),
    "top_k": Case("top-k sampling, 64 x 128256 float32", top_k_sampling),
}
