"""One more token a sequence, with a cache of keys and values."""

from vitrine._tools.gpu_cases.case import Case, Program


def decoder(torch, batch, layers=16, width=2048, heads=16, groups=4, inner=8192, vocabulary=32000, places=1024):
    """A Llama-like decoder that writes its static cache by index_copy_ and returns the logits of the token."""
    nn, F = torch.nn, torch.nn.functional
    size = width // heads

    def norm(x, weight):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight

    def turned(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("keys", "values"):
                self.register_buffer(name, torch.randn(batch, groups, places, size))
            self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
            self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.k, self.v = nn.Linear(width, groups * size, bias=False), nn.Linear(width, groups * size, bias=False)
            self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
            self.down = nn.Linear(inner, width, bias=False)

        def forward(self, x, place, allowed, cos, sin):
            h = norm(x, self.norm1)
            q, k, v = (p(h).view(x.shape[0], 1, -1, size).transpose(1, 2) for p in (self.q, self.k, self.v))
            self.keys.index_copy_(2, place, turned(k, cos, sin))
            self.values.index_copy_(2, place, v)
            k, v = (c.repeat_interleave(heads // groups, 1) for c in (self.keys, self.values))
            mixed = F.scaled_dot_product_attention(turned(q, cos, sin), k, v, attn_mask=allowed)
            x = x + self.o(mixed.transpose(1, 2).reshape(x.shape[0], 1, width))
            h = norm(x, self.norm2)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
            self.norm = nn.Parameter(torch.ones(width))
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            angles = torch.arange(places)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
            self.register_buffer("cos", angles.cos().repeat(1, 2))
            self.register_buffer("sin", angles.sin().repeat(1, 2))

        def forward(self, ids, place):
            x = self.embed(ids)
            cos, sin = (t[place].to(x.dtype) for t in (self.cos, self.sin))
            allowed = (torch.arange(places, device=ids.device) <= place)[None, None, None, :]
            for layer in self.layers:
                x = layer(x, place, allowed, cos, sin)
            return self.head(norm(x, self.norm))

    return Decoder().eval()


def token(torch, batch: int) -> Program:
    model = decoder(torch, batch).cuda().bfloat16()
    ids, place = torch.randint(0, 32000, (batch, 1), device="cuda"), torch.tensor([700], device="cuda")
    read = [*model.parameters(), *(b for layer in model.layers for b in (layer.keys, layer.values))]
    numbers = sum(t.numel() for t in read) - model.embed.weight.numel()
    return Program(lambda m, ids, place: m(ids, place), (ids, place), model, bytes=2 * numbers)


def gpt2_token(torch) -> Program:
    """transformers' GPT-2 with its StaticCache."""
    from transformers import GPT2Config, GPT2LMHeadModel, StaticCache

    config = GPT2Config()
    model = GPT2LMHeadModel(config).cuda().bfloat16().eval()
    model.cache = StaticCache(config=config, max_cache_len=1024)
    places = torch.arange(512, device="cuda")
    with torch.no_grad():
        model(input_ids=torch.randint(0, 50000, (1, 512), device="cuda"), past_key_values=model.cache, position_ids=places[None])

    def next_token(m, ids, place):
        return m(input_ids=ids, past_key_values=m.cache, position_ids=place[None], use_cache=True).logits

    def widen(m):
        for layer in m.cache.layers:
            layer.keys, layer.values = layer.keys.double(), layer.values.double()

    def reset(m):
        for layer in m.cache.layers:
            layer.cumulative_length.fill_(512)

    args = torch.randint(0, 50000, (1, 1), device="cuda"), torch.tensor([512], device="cuda")
    return Program(next_token, args, model, reset=reset, widen=widen)


def growing_token(torch) -> Program:
    """A layer's worth of caches that grow by torch.cat, twelve times."""
    F = torch.nn.functional
    weights = torch.nn.ParameterList(torch.nn.Parameter(torch.randn(3072, 1024) / 32) for _ in range(12)).cuda().bfloat16()

    def step(weights, x, *caches):
        grown = []
        for w, keys, values in zip(weights, caches[::2], caches[1::2]):
            q, k, v = (p.view(1, 1, 16, 64).transpose(1, 2) for p in F.linear(F.layer_norm(x, (1024,)), w).chunk(3, -1))
            grown += [torch.cat([keys, k], 2), torch.cat([values, v], 2)]
            x = x + F.scaled_dot_product_attention(q, grown[-2], grown[-1]).transpose(1, 2).reshape(1, 1, 1024)
        return x, *grown

    caches = [torch.randn(1, 16, 700, 64, device="cuda").bfloat16() for _ in range(24)]
    return Program(step, (torch.randn(1, 1, 1024, device="cuda").bfloat16(), *caches), weights)


def int8_token(torch) -> Program:
    """Products of one row with weights of int8 and a scale a row."""
    F = torch.nn.functional

    class Quantized(torch.nn.Module):
        def __init__(self, inner, outer):
            super().__init__()
            self.register_buffer("weight", torch.randint(-127, 128, (outer, inner), dtype=torch.int8))
            self.register_buffer("scale", torch.rand(outer) / inner**0.5 / 64)

        def forward(self, x):
            return F.linear(x, self.weight.to(x.dtype)) * self.scale

    layers = [Quantized(a, b) for _ in range(8) for a, b in ((2048, 8192), (8192, 2048))]
    model = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.SiLU()))).cuda().bfloat16()
    return Program(lambda m, x: m(x), (torch.randn(1, 2048, device="cuda").bfloat16(),), model, bytes=16 * 2048 * 8192)


CASES = {
    "token": Case("a token, Llama-like 1.0B, bfloat16, batch 1", lambda torch: token(torch, 1)),
    "token_4": Case("the same, batch 4", lambda torch: token(torch, 4)),
    "token_16": Case("the same, batch 16", lambda torch: token(torch, 16)),
    "gpt2_token": Case("a token, GPT-2 with StaticCache, bfloat16", gpt2_token),
    "growing_token": Case("a token, 12 caches grown by cat, bfloat16", growing_token),
    "int8_token": Case("16 products of one row, int8 weights", int8_token),
}
