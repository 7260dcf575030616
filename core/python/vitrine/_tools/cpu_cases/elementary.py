"""Single operators and short chains on a CPU: pointwise work, norms, scans, attention by hand, one row at a time."""

from vitrine._tools.gpu_cases.case import Case, Program

ELEMENTS = 1 << 22


def overhead(torch) -> Program:
    return Program(lambda _, x: x + 1, (torch.randn(16),))


def pointwise(torch) -> Program:
    x, b = torch.randn(ELEMENTS), torch.randn(ELEMENTS)
    return Program(lambda _, x, b: torch.relu(x * 2 + b) * 0.5, (x, b), bytes=12 * ELEMENTS)


def gelu(torch) -> Program:
    return Program(lambda _, x: torch.nn.functional.gelu(x), (torch.randn(ELEMENTS),), bytes=8 * ELEMENTS)


def softmax(torch) -> Program:
    return Program(lambda _, x: torch.softmax(x * 0.125, -1), (torch.randn(4096, 1024),), bytes=8 * ELEMENTS)


def layer_norm(torch) -> Program:
    x, w, b = torch.randn(4096, 1024), torch.randn(1024), torch.randn(1024)
    return Program(lambda _, x, w, b: torch.nn.functional.layer_norm(x, (1024,), w, b) * 1.5 + x, (x, w, b), bytes=8 * ELEMENTS)


def rms_norm(torch) -> Program:
    def norm(_, x, w):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    x, w = torch.randn(4096, 1024).bfloat16(), torch.randn(1024).bfloat16()
    return Program(norm, (x, w), bytes=4 * ELEMENTS)


def group_norm(torch) -> Program:
    F = torch.nn.functional
    x, w, b = torch.randn(4, 320, 32, 32), torch.rand(320), torch.randn(320)
    return Program(lambda _, x, w, b: F.silu(F.group_norm(x, 32, w, b)), (x, w, b), bytes=8 * x.numel())


def scan(torch) -> Program:
    def gated(_, x, gate, skip):
        return torch.cumsum(x * torch.sigmoid(gate), 1) * torch.nn.functional.silu(gate) + skip

    x, gate, skip = (torch.randn(8, 1024, 64) for _ in range(3))
    return Program(gated, (x, gate, skip), bytes=16 * x.numel())


def attention(torch) -> Program:
    def attend(_, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v

    return Program(attend, tuple(torch.randn(2, 8, 512, 64) for _ in range(3)))


def small_product(torch) -> Program:
    return Program(lambda _, x, y: torch.softmax(x @ y, -1), (torch.randn(100, 100), torch.randn(100, 100)))


def int8_row(torch) -> Program:
    """One row times a weight of int8 with a scale a column."""

    def product(_, x, weight, scale):
        return torch.nn.functional.linear(x, weight.to(x.dtype) * scale)

    weight = torch.randint(-127, 128, (4096, 4096), dtype=torch.int8)
    return Program(product, (torch.randn(1, 4096), weight, torch.rand(4096, 1) * 0.01), bytes=2 * weight.numel())


def top_k(torch) -> Program:
    def sample(_, logits, uniform):
        values, indices = torch.topk(logits / 0.8, 50)
        reached = torch.softmax(values, -1).cumsum(-1) > uniform
        return indices.gather(-1, reached.int().argmax(-1, keepdim=True))

    return Program(sample, (torch.randn(4, 50257), torch.rand(4, 1) * 0.9))


CASES = {
    "overhead": Case("x + 1, 16 elements", overhead),
    "pointwise": Case("relu(x*2+b)*0.5, 4M", pointwise),
    "gelu": Case("gelu, 4M", gelu),
    "softmax": Case("softmax(x*0.125), 4096x1024", softmax),
    "layer_norm": Case("layer_norm(x)*1.5+x, 4096x1024", layer_norm),
    "rms_norm": Case("RMS norm, 4096x1024 bfloat16", rms_norm),
    "group_norm": Case("group norm + SiLU, 4x320x32x32", group_norm),
    "scan": Case("gated cumsum over 1024, 8x1024x64", scan),
    "attention": Case("attention by hand, 2x8x512x64", attention),
    "small_product": Case("softmax(x@y), 100x100", small_product),
    "int8_row": Case("linear(x, int8 * scale), one row, 4096x4096", int8_row),
    "top_k": Case("top-k sampling, 4 x 50257", top_k),
}
