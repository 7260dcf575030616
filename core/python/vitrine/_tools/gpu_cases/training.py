"""What training asks for beside the models: recommenders, optimizers, losses of large vocabularies."""

from vitrine._tools.gpu_cases.case import Case, Program


def recommender(torch) -> Program:
    """DLRM: embeddings of 26 features, their products in pairs, two MLPs."""
    nn = torch.nn

    class Recommender(nn.Module):
        def __init__(self, features=26, rows=100_000, width=64):
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(features))
            self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(width + (features + 1) * features // 2, 512), nn.ReLU(), nn.Linear(512, 1))
            self.register_buffer("pairs", torch.tril_indices(features + 1, features + 1, -1), persistent=False)

        def forward(self, numbers, ids):
            dense = self.bottom(numbers)
            all = torch.stack([dense, *(t(i) for t, i in zip(self.tables, ids.unbind(1)))], 1)
            products = torch.bmm(all, all.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
            return self.top(torch.cat([dense, products], 1))[:, 0]

    def loss(m, numbers, ids, y):
        return torch.nn.functional.binary_cross_entropy_with_logits(m(numbers, ids), y)

    numbers, ids = torch.randn(4096, 13, device="cuda"), torch.randint(0, 100_000, (4096, 26, 4), device="cuda")
    return Program(loss, (numbers, ids, torch.rand(4096, device="cuda").round()), Recommender().cuda(), trains=True)


def optimizer_step(torch) -> Program:
    """AdamW over the parameters of a transformer of 12 layers, with gradients clipped by their norm."""
    from torch.optim.adamw import adamw

    shapes = [s for _ in range(12) for s in ((768,), (768,), (2304, 768), (2304,), (768, 768), (768,), (3072, 768), (3072,), (768, 3072), (768,))]

    class State(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for i, s in enumerate(shapes):
                for kind in ("value", "gradient", "mean", "square"):
                    self.register_buffer(f"{kind}{i}", torch.randn(*s) * 0.02 if kind in ("value", "gradient") else torch.zeros(s))
            for i in range(len(shapes)):
                self.register_buffer(f"step{i}", torch.zeros(()))

        def all(self, kind):
            return [getattr(self, f"{kind}{i}") for i in range(len(shapes))]

    def step(state, factor):
        values, gradients, means, squares, steps = (state.all(k) for k in ("value", "gradient", "mean", "square", "step"))
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        clipped = torch._foreach_mul(gradients, factor / (norm + 1e-6))
        adamw(
            values, clipped, means, squares, [], steps, foreach=True, capturable=True,
            amsgrad=False, beta1=0.9, beta2=0.99, lr=1e-3, weight_decay=0.01, eps=1e-8, maximize=False,
        )  # fmt: skip
        return (*values, *means, *squares)

    model = State().cuda()
    begin = {n: b.clone() for n, b in model.named_buffers()}

    def reset(state):
        for name, buffer in state.named_buffers():
            buffer.copy_(begin[name])

    return Program(step, (torch.tensor(1.0, device="cuda"),), model, bytes=4 * 8 * sum(b.numel() for n, b in begin.items() if "value" in n), reset=reset)


def vocabulary_loss(torch) -> Program:
    """The last layer of a language model and its loss: 4096 tokens of 128256 words."""

    def loss(head, x, y):
        return torch.nn.functional.cross_entropy(head(x).float(), y)

    head = torch.nn.Linear(2048, 128256, bias=False).cuda().bfloat16()
    x = torch.randn(4096, 2048, device="cuda").bfloat16().requires_grad_()
    return Program(loss, (x, torch.randint(0, 128256, (4096,), device="cuda")), head, trains=True)


CASES = {
    "recommender": Case("DLRM training, 26 tables, batch 4096", recommender),
    "optimizer": Case("AdamW with clipping, 85M parameters", optimizer_step),
    "vocabulary": Case("loss of 4096 tokens x 128256 words, bfloat16", vocabulary_loss),
}
