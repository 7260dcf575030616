"""Whole models on a CPU, batch 1, random weights."""

from vitrine._tools.gpu_cases.case import Case, Program


def tokens(torch, *shape: int):
    return torch.randint(0, 30000, shape)


def bert(torch) -> Program:
    from transformers import BertConfig, BertModel

    return Program(lambda m, ids: m(input_ids=ids).last_hidden_state, (tokens(torch, 1, 128),), BertModel(BertConfig()).eval())


def bert_autocast(torch) -> Program:
    def run(m, ids):
        with torch.autocast("cpu", torch.bfloat16, enabled=next(m.parameters()).dtype == torch.float32):
            return m(input_ids=ids).last_hidden_state

    from transformers import BertConfig, BertModel

    return Program(run, (tokens(torch, 1, 128),), BertModel(BertConfig(num_hidden_layers=4)).eval())


def vit(torch) -> Program:
    from transformers import ViTConfig, ViTModel

    return Program(lambda m, x: m(pixel_values=x).last_hidden_state, (torch.randn(1, 3, 224, 224),), ViTModel(ViTConfig()).eval())


def resnet(torch) -> Program:
    from transformers import ResNetConfig, ResNetModel

    return Program(lambda m, x: m(x).last_hidden_state, (torch.randn(1, 3, 224, 224),), ResNetModel(ResNetConfig()).eval())


def convnext(torch) -> Program:
    from transformers import ConvNextConfig, ConvNextModel

    return Program(lambda m, x: m(x).last_hidden_state, (torch.randn(1, 3, 224, 224),), ConvNextModel(ConvNextConfig()).eval())


def whisper(torch) -> Program:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, use_cache=False)
    sound, ids = torch.randn(1, 80, 3000), tokens(torch, 1, 16)
    return Program(lambda m, sound, ids: m(input_features=sound, decoder_input_ids=ids, use_cache=False).last_hidden_state, (sound, ids), WhisperModel(config).eval())


def t5(torch) -> Program:
    from transformers import T5Config, T5Model

    config = T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8, use_cache=False)
    return Program(lambda m, ids, after: m(input_ids=ids, decoder_input_ids=after).last_hidden_state, (tokens(torch, 1, 128), tokens(torch, 1, 32)), T5Model(config).eval())


def token(torch) -> Program:
    """One token of a Llama-like model whose static cache is written in place."""
    from vitrine._tools.gpu_cases.generation import decoder

    model = decoder(torch, 1, layers=6, width=768, heads=12, groups=4, inner=2048, places=512)
    return Program(lambda m, ids, place: m(ids, place), (tokens(torch, 1, 1), torch.tensor([100])), model)


CASES = {
    "token": Case("one token, Llama-like of 6 x 768, static cache of 512", token),
    "bert": Case("BERT-base, 1x128", bert),
    "bert_autocast": Case("BERT of 4 layers, 1x128, autocast bfloat16", bert_autocast),
    "vit": Case("ViT-B/16", vit),
    "resnet": Case("ResNet-50", resnet),
    "convnext": Case("ConvNeXt-T", convnext),
    "whisper": Case("Whisper-tiny, 30 s", whisper),
    "t5": Case("T5-small, 128 to 32", t5),
}
