"""Training on a CPU: short losses, layers, recurrent networks, optimizers."""

from vitrine._tools.gpu_cases.case import Case, Program


def focal_loss(torch) -> Program:
    def loss(_, x, y, w):
        ce = torch.nn.functional.cross_entropy(x, y, reduction="none")
        return ((1 - torch.exp(-ce)) ** 2 * ce * w).mean()

    x = torch.randn(4096, 1000, requires_grad=True)
    return Program(loss, (x, torch.randint(0, 1000, (4096,)), torch.rand(4096)), trains=True)


def mlp(torch) -> Program:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256), nn.GELU(), nn.Linear(256, 10)).train()
    y = torch.randint(0, 10, (256,))
    return Program(lambda m, x, y: nn.functional.cross_entropy(m(x), y), (torch.randn(256, 256), y), model, trains=True)


def block(torch) -> Program:
    layer = torch.nn.TransformerEncoderLayer(256, 8, 1024, 0.0, activation="gelu", batch_first=True, norm_first=True).train()
    return Program(lambda m, x: m(x).square().mean(), (torch.randn(4, 128, 256),), layer, trains=True)


def convolutions(torch) -> Program:
    nn = torch.nn

    def stage(a, b):
        return [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]

    model = nn.Sequential(*stage(3, 32), *stage(32, 64), nn.MaxPool2d(2), *stage(64, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).train()
    return Program(lambda m, x, y: nn.functional.cross_entropy(m(x), y), (torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))), model, trains=True)


def bags(torch) -> Program:
    """Embedding bags of eight features, and a small network over their sums."""
    nn = torch.nn

    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(10_000, 64, mode="sum") for _ in range(8))
            self.top = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 1))

        def forward(self, ids):
            return self.top(torch.cat([table(i) for table, i in zip(self.tables, ids.unbind(1))], 1))[:, 0]

    ids = torch.randint(0, 10_000, (512, 8, 4))
    return Program(lambda m, ids, y: nn.functional.binary_cross_entropy_with_logits(m(ids), y), (ids, torch.rand(512).round()), Bags(), trains=True)


def lstm(torch) -> Program:
    return Program(lambda m, x: m(x)[0], (torch.randn(16, 128, 128),), torch.nn.LSTM(128, 256, batch_first=True).eval())


def gru_training(torch) -> Program:
    model = torch.nn.GRU(64, 128, batch_first=True).train()
    return Program(lambda m, x: m(x)[0].square().mean(), (torch.randn(16, 64, 64),), model, trains=True)


def vocabulary(torch) -> Program:
    head = torch.nn.Linear(256, 32000, bias=False)
    x = torch.randn(256, 256, requires_grad=True)
    return Program(lambda m, x, y: torch.nn.functional.cross_entropy(m(x), y), (x, torch.randint(0, 32000, (256,))), head, trains=True)


def gpt2_training(torch) -> Program:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=4, n_embd=256, n_head=8, vocab_size=8000, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    return Program(lambda m, ids: m(input_ids=ids, labels=ids).loss, (torch.randint(0, 8000, (4, 128)),), GPT2LMHeadModel(config).train(), trains=True)


CASES = {
    "focal_loss": Case("weighted focal loss, 4096x1000, fwd+bwd", focal_loss),
    "mlp": Case("MLP 256-1024-256, 256 rows, fwd+bwd", mlp),
    "block": Case("transformer block, 4x128x256, fwd+bwd", block),
    "convolutions": Case("conv + batch norm + relu, 8x3x64x64, fwd+bwd", convolutions),
    "bags": Case("embedding bags of 8 features, 512 rows, fwd+bwd", bags),
    "lstm": Case("LSTM, 16x128x128 to 256", lstm),
    "gru_training": Case("GRU, 16x64x64 to 128, fwd+bwd", gru_training),
    "vocabulary": Case("loss of 256 tokens x 32000 words, fwd+bwd", vocabulary),
    "gpt2_training": Case("GPT-2, 4 layers of 256, 4x128, fwd+bwd", gpt2_training),
}
