"""Models of images: inference and training, with and without autocast."""

from vitrine._tools.gpu_cases.case import Case, Program


def classifies(torch, model, batch: int, half: bool = False) -> Program:
    """Inference in float32, or with weights in half precision."""
    model = model.cuda().eval()
    x = torch.randn(batch, 3, 224, 224, device="cuda")
    return Program(lambda m, x: m(x), (x.half(),), model.half()) if half else Program(lambda m, x: m(x), (x,), model)


def trains_in_half(torch, model, batch: int) -> Program:
    """A training step under autocast of float16."""

    def loss(m, x, y):
        with torch.autocast("cuda", torch.float16, enabled=x.dtype == torch.float32):
            return torch.nn.functional.cross_entropy(m(x), y)

    labels = torch.randint(0, 1000, (batch,), device="cuda")
    return Program(loss, (torch.randn(batch, 3, 224, 224, device="cuda"), labels), model.cuda().train(), trains=True)


def resnet(torch) -> Program:
    import torchvision

    return classifies(torch, torchvision.models.resnet50(), 32)


def efficientnet(torch) -> Program:
    import torchvision

    return classifies(torch, torchvision.models.efficientnet_b0(), 32, half=True)


def swin(torch) -> Program:
    import torchvision

    return classifies(torch, torchvision.models.swin_t(), 32, half=True)


def resnet_training(torch) -> Program:
    import torchvision

    return trains_in_half(torch, torchvision.models.resnet50(), 32)


def convnext_training(torch) -> Program:
    import torchvision

    return trains_in_half(torch, torchvision.models.convnext_tiny(stochastic_depth_prob=0.0), 32)


def vit(torch) -> Program:
    import torchvision

    model = torchvision.models.vit_b_16().cuda().train()
    return Program(
        lambda m, x, y: torch.nn.functional.cross_entropy(m(x), y),
        (torch.randn(32, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (32,), device="cuda")),
        model,
        trains=True,
    )


def denoiser(torch, widths: tuple[int, ...]):
    """The network of a diffusion model's step: residual blocks with a time's embedding, attention at the lower sizes.

    It takes images [B, 4, H, W] and times [B]; the widest blocks are the last of `widths`, each a multiple of 32.
    """
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, before, width, attends):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(32, before), nn.Conv2d(before, width, 3, padding=1)
            self.time = nn.Linear(1280, width)
            self.norm2, self.conv2 = nn.GroupNorm(32, width), nn.Conv2d(width, width, 3, padding=1)
            self.skip = nn.Conv2d(before, width, 1) if before != width else nn.Identity()
            if attends:
                self.norm3, self.qkv, self.out = nn.GroupNorm(32, width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.attends = attends

        def forward(self, x, time):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
            h = self.conv2(F.silu(self.norm2(h))) + self.skip(x)
            return h + self.attend(h) if self.attends else h

        def attend(self, h):
            b, c, *size = h.shape
            q, k, v = self.qkv(self.norm3(h).flatten(2).transpose(1, 2)).view(b, -1, 3, 8, c // 8).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, -1, c)
            return self.out(mixed).transpose(1, 2).reshape(b, c, *size)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.begin, self.end = nn.Conv2d(4, widths[0], 3, padding=1), nn.Conv2d(widths[0], 4, 3, padding=1)
            self.time = nn.Sequential(nn.Linear(320, 1280), nn.SiLU(), nn.Linear(1280, 1280))
            self.norm = nn.GroupNorm(32, widths[0])
            befores = (widths[0], *widths[:-1])
            self.down = nn.ModuleList(Block(b, w, w > widths[0]) for b, w in zip(befores, widths))
            self.middle = Block(widths[-1], widths[-1], True)
            self.up = nn.ModuleList(Block(2 * w, b, b > widths[0]) for b, w in zip(reversed(befores), reversed(widths)))

        def forward(self, x, t):
            frequencies = torch.exp(torch.arange(160, device=x.device, dtype=x.dtype) * -0.0576)
            angles = t[:, None] * frequencies
            time = self.time(torch.cat([angles.cos(), angles.sin()], -1))
            x, kept = self.begin(x), []
            for block in self.down:
                kept.append(block(x, time))
                x = F.avg_pool2d(kept[-1], 2)
            x = self.middle(x, time)
            for block in self.up:
                x = block(torch.cat([F.interpolate(x, scale_factor=2.0), kept.pop()], 1), time)
            return self.end(F.silu(self.norm(x)))

    return UNet().eval()


def unet(torch) -> Program:
    args = torch.randn(4, 4, 64, 64, device="cuda").half(), torch.rand(4, device="cuda").half() * 100
    return Program(lambda m, x, t: m(x, t), args, denoiser(torch, (320, 640, 1280)).cuda().half())


CASES = {
    "resnet": Case("ResNet-50 inference, batch 32, TF32", resnet, tf32=True),
    "efficientnet": Case("EfficientNet-B0 inference, batch 32, half", efficientnet),
    "swin": Case("Swin-T inference, batch 32, half", swin),
    "unet": Case("diffusion UNet inference, 4x4x64x64, half", unet),
    "vit": Case("ViT-B/16 training, batch 32, TF32", vit, tf32=True),
    "resnet_training": Case("ResNet-50 training, batch 32, autocast half", resnet_training),
    "convnext_training": Case("ConvNeXt-T training, batch 32, autocast half", convnext_training),
}
