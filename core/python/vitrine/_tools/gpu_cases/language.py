"""Models of language and speech: whole sequences, inference and training."""

from vitrine._tools.gpu_cases.case import Case, Program


def tokens(torch, *shape: int):
    return torch.randint(0, 30000, shape, device="cuda")


def bert(torch) -> Program:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig()).cuda().half().eval()
    return Program(lambda m, ids: m(input_ids=ids).last_hidden_state, (tokens(torch, 16, 128),), model)


def block(torch) -> Program:
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, 0.0, activation="gelu", batch_first=True, norm_first=True).cuda().half().train()
    return Program(lambda m, x: m(x), (torch.randn(16, 512, 768, device="cuda").half(),), layer)


def gpt2(torch) -> Program:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)).cuda().train()
    return Program(lambda m, ids: m(input_ids=ids, labels=ids).loss, (torch.randint(0, 50000, (8, 512), device="cuda"),), model, trains=True)


def llama(torch) -> Program:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=16, num_attention_heads=16, use_cache=False)
    model = LlamaModel(config).cuda().bfloat16().eval()
    return Program(lambda m, ids: m(input_ids=ids).last_hidden_state, (tokens(torch, 4, 512),), model)


def llama_training(torch) -> Program:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4, use_cache=False)
    model = LlamaForCausalLM(config).cuda().bfloat16().train()
    return Program(lambda m, ids: m(input_ids=ids, labels=ids).loss, (tokens(torch, 8, 1024),), model, trains=True)


def t5_training(torch) -> Program:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8, dropout_rate=0.0, use_cache=False, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config).cuda().bfloat16().train()
    return Program(lambda m, ids, labels: m(input_ids=ids, labels=labels).loss, (tokens(torch, 16, 512), tokens(torch, 16, 128)), model, trains=True)


def whisper(torch) -> Program:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, use_cache=False)
    model = WhisperModel(config).cuda().half().eval()
    sound, ids = torch.randn(4, 80, 3000, device="cuda").half(), tokens(torch, 4, 64)
    return Program(lambda m, sound, ids: m(input_features=sound, decoder_input_ids=ids, use_cache=False).last_hidden_state, (sound, ids), model)


def attention(torch) -> Program:
    def attend(_, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v

    return Program(attend, tuple(torch.randn(8, 16, 1024, 64, device="cuda").half() for _ in range(3)))


def alibi_training(torch) -> Program:
    """Attention written by hand with a bias by distance, causal; its gradients."""

    def loss(_, q, k, v, slopes):
        places = torch.arange(q.shape[-2], device=q.device)
        scores = q @ k.transpose(-1, -2) * 0.125 - slopes * (places[:, None] - places).abs()
        scores = scores.masked_fill(places[:, None] < places, float("-inf"))
        return (torch.softmax(scores.float(), -1).to(q.dtype) @ v).float().square().mean()

    q, k, v = (torch.randn(8, 16, 1024, 64, device="cuda").half().requires_grad_() for _ in range(3))
    slopes = (2.0 ** -(torch.arange(1, 17, device="cuda") / 2)).half()[:, None, None]
    return Program(loss, (q, k, v, slopes), trains=True)


def mixture(torch) -> Program:
    """Two of eight experts a token, each expert over the tokens that chose it."""
    nn, F = torch.nn, torch.nn.functional

    class Mixture(nn.Module):
        def __init__(self, width=1024, inner=2816, experts=8):
            super().__init__()
            self.gate = nn.Linear(width, experts, bias=False)
            self.up = nn.ModuleList(nn.Linear(width, 2 * inner, bias=False) for _ in range(experts))
            self.down = nn.ModuleList(nn.Linear(inner, width, bias=False) for _ in range(experts))

        def forward(self, x):
            weights, chosen = torch.topk(torch.softmax(self.gate(x).float(), -1), 2)
            out = torch.zeros_like(x)
            for e, (up, down) in enumerate(zip(self.up, self.down)):
                token, place = torch.where(chosen == e)
                a, b = up(x[token]).chunk(2, -1)
                out.index_add_(0, token, (down(F.silu(a) * b) * weights[token, place, None]).to(x.dtype))
            return out

    return Program(lambda m, x: m(x), (torch.randn(4096, 1024, device="cuda").bfloat16(),), Mixture().cuda().bfloat16().eval())


CASES = {
    "attention": Case("attention by hand, 8x16x1024x64 half", attention),
    "alibi_training": Case("attention by hand, ALiBi, causal, half, fwd+bwd", alibi_training),
    "block": Case("transformer block, 16x512x768 half", block),
    "bert": Case("BERT-base inference, 16x128, half", bert),
    "whisper": Case("Whisper-small, 4 x 30 s, half", whisper),
    "llama": Case("Llama-like inference, 4x512, bfloat16", llama),
    "mixture": Case("mixture of 8 experts, 4096 tokens, bfloat16", mixture),
    "gpt2": Case("GPT-2 training, 8x512, TF32", gpt2, tf32=True),
    "llama_training": Case("Llama-like training, 8x1024, bfloat16", llama_training),
    "t5_training": Case("T5-small training, 16x512, bfloat16", t5_training),
}
