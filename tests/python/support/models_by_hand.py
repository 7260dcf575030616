"""Models as people write them themselves: each maker gives a module and its inputs."""

import torch
import torch.nn.functional as F
from torch import nn


def _draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def _ids(high, *shape):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([self._block(3, 8), self._block(8, 16)])
        self.middle = self._block(16, 16)
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 16, 2, stride=2), nn.ConvTranspose2d(8, 8, 2, stride=2)])
        self.merge = nn.ModuleList([self._block(32, 8), self._block(16, 4)])
        self.last = nn.Conv2d(4, 1, 1)

    @staticmethod
    def _block(n, m):
        return nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.BatchNorm2d(m), nn.ReLU(inplace=True))

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(kept)):
            x = merge(torch.cat([up(x), skip], dim=1))
        return torch.sigmoid(self.last(x))


class Generator(nn.Sequential):
    """DCGAN's."""

    def __init__(self):
        super().__init__(
            nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh(),
        )  # fmt: skip


class WordModel(nn.Module):
    """An LSTM over words, its state given and returned, the output's weights tied to the embedding's."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.rnn = nn.LSTM(16, 16, num_layers=2, dropout=0.5)
        self.out = nn.Linear(16, 20)
        self.out.weight = self.embed.weight

    def forward(self, words, state):
        y, state = self.rnn(self.embed(words), state)
        return F.log_softmax(self.out(y).view(-1, 20), dim=1), state


class GraphConv(nn.Module):
    """Neighbours' mean by scatter, two layers."""

    def __init__(self):
        super().__init__()
        self.own, self.others = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, edges):
        source, target = edges
        for _ in range(2):
            total = torch.zeros_like(x).index_add_(0, target, x[source])
            degree = torch.zeros(x.shape[0]).scatter_add_(0, target, torch.ones(target.shape[0])).clamp_(min=1)
            x = F.relu(self.own(x) + self.others(total / degree[:, None]))
        return x.mean(0)


class Experts(nn.Module):
    """Each token goes to its two best experts; how many tokens one gets depends on the data."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)) for _ in range(4)])

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, rank = torch.where(chosen == i)
            if token.numel():
                out.index_add_(0, token, expert(x[token]) * weights[token, rank, None])
        return out


class Decoder(nn.Module):
    """Greedy decoding with a cache of keys and values that grows."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 12)

    def step(self, word, cache):
        q, k, v = self.qkv(self.embed(word)).chunk(3, -1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y[:, -1]), (k, v)

    def forward(self, words):
        logits, cache = self.step(words, None)
        said = []
        for _ in range(5):
            said.append(logits.argmax(-1, keepdim=True))
            logits, cache = self.step(said[-1], cache)
        return torch.cat(said, 1), cache[0].shape


class Counting(nn.Module):
    """Writes its buffers: a running mean, a count, a ring of the last inputs."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("ring", torch.zeros(3, 4))

    def forward(self, x):
        self.count += 1
        self.mean.lerp_(x.mean(0), 0.1)
        self.ring = torch.roll(self.ring, 1, 0)
        self.ring[0] = x[0]
        return (x - self.mean) / (1 + self.ring.std(0)), self.count


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())

    def forward(self, a, b):
        return F.cosine_similarity(self.encoder(a), self.encoder(b)), F.pairwise_distance(self.encoder(a), self.encoder(b))


class Autoencoder(nn.Module):
    """Variational: draws noise."""

    def __init__(self):
        super().__init__()
        self.encode, self.mean, self.logvar, self.decode = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 6)

    def forward(self, x):
        h = torch.tanh(self.encode(x))
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), dim=1)
        return torch.sigmoid(self.decode(z)), divergence


BY_HAND = {
    "unet": (UNet, lambda: (_draw(2, 3, 16, 16),)),
    "dcgan": (Generator, lambda: (_draw(2, 16, 1, 1),)),
    "word_model": (WordModel, lambda: (_ids(20, 5, 2), (torch.zeros(2, 2, 16), torch.zeros(2, 2, 16)))),
    "graph_conv": (GraphConv, lambda: (_draw(6, 8), _ids(6, 2, 10))),
    "experts": (Experts, lambda: (_draw(9, 8),)),
    "decoder": (Decoder, lambda: (_ids(12, 2, 4),)),
    "counting": (Counting, lambda: (_draw(5, 4),)),
    "siamese": (Siamese, lambda: (_draw(2, 2, 9), _draw(2, 2, 9) + 1)),
    "autoencoder": (Autoencoder, lambda: (_draw(3, 6),)),
}
