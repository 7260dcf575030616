"""Whole models on a CPU, random weights: batch 1, batch 8, and bfloat16 throughout."""

from dataclasses import replace
from functools import partial

from vitrine._tools.gpu_cases.case import Case, Program
from vitrine._tools.gpu_cases.vision import denoiser


def tokens(torch, *shape: int):
    return torch.randint(0, 30000, shape)


def bert(torch, rows: int = 1) -> Program:
    from transformers import BertConfig, BertModel

    return Program(lambda m, ids: m(input_ids=ids).last_hidden_state, (tokens(torch, rows, 128),), BertModel(BertConfig()).eval())


def bert_autocast(torch) -> Program:
    def run(m, ids):
        with torch.autocast("cpu", torch.bfloat16, enabled=next(m.parameters()).dtype == torch.float32):
            return m(input_ids=ids).last_hidden_state

    from transformers import BertConfig, BertModel

    return Program(run, (tokens(torch, 1, 128),), BertModel(BertConfig(num_hidden_layers=4)).eval())


def vit(torch, rows: int = 1) -> Program:
    from transformers import ViTConfig, ViTModel

    return Program(lambda m, x: m(pixel_values=x).last_hidden_state, (torch.randn(rows, 3, 224, 224),), ViTModel(ViTConfig()).eval())


def resnet(torch, rows: int = 1) -> Program:
    from transformers import ResNetConfig, ResNetModel

    return Program(lambda m, x: m(x).last_hidden_state, (torch.randn(rows, 3, 224, 224),), ResNetModel(ResNetConfig()).eval())


def convnext(torch, rows: int = 1) -> Program:
    from transformers import ConvNextConfig, ConvNextModel

    return Program(lambda m, x: m(x).last_hidden_state, (torch.randn(rows, 3, 224, 224),), ConvNextModel(ConvNextConfig()).eval())


def whisper(torch, rows: int = 1) -> Program:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, use_cache=False)
    sound, ids = torch.randn(rows, 80, 3000), tokens(torch, rows, 16)
    return Program(lambda m, sound, ids: m(input_features=sound, decoder_input_ids=ids, use_cache=False).last_hidden_state, (sound, ids), WhisperModel(config).eval())


def t5(torch, rows: int = 1) -> Program:
    from transformers import T5Config, T5Model

    config = T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8, use_cache=False)
    return Program(lambda m, ids, after: m(input_ids=ids, decoder_input_ids=after).last_hidden_state, (tokens(torch, rows, 128), tokens(torch, rows, 32)), T5Model(config).eval())


def token(torch) -> Program:
    """One token of a Llama-like model whose static cache is written in place."""
    from vitrine._tools.gpu_cases.generation import decoder

    model = decoder(torch, 1, layers=6, width=768, heads=12, groups=4, inner=2048, places=512)
    return Program(lambda m, ids, place: m(ids, place), (tokens(torch, 1, 1), torch.tensor([100])), model)


def unet(torch, rows: int = 1) -> Program:
    model = denoiser(torch, (128, 256, 512))
    return Program(lambda m, x, t: m(x, t), (torch.randn(rows, 4, 32, 32), torch.rand(rows) * 100), model)


def bfloat16(make, torch) -> Program:
    """The same with weights and inputs of bfloat16."""
    program = make(torch)
    args = tuple(a.bfloat16() if a.is_floating_point() else a for a in program.args)
    return replace(program, args=args, module=program.module.bfloat16())


CASES = {
    "token": Case("one token, Llama-like of 6 x 768, static cache of 512", token),
    "bert": Case("BERT-base, 1x128", bert),
    "bert_autocast": Case("BERT of 4 layers, 1x128, autocast bfloat16", bert_autocast),
    "vit": Case("ViT-B/16", vit),
    "resnet": Case("ResNet-50", resnet),
    "convnext": Case("ConvNeXt-T", convnext),
    "whisper": Case("Whisper-tiny, 30 s", whisper),
    "t5": Case("T5-small, 128 to 32", t5),
    "unet": Case("diffusion UNet of 128 to 512, 1x4x32x32", unet),
    "bert_8": Case("BERT-base, 8x128", partial(bert, rows=8)),
    "vit_8": Case("ViT-B/16, batch 8", partial(vit, rows=8)),
    "resnet_8": Case("ResNet-50, batch 8", partial(resnet, rows=8)),
    "convnext_8": Case("ConvNeXt-T, batch 8", partial(convnext, rows=8)),
    "whisper_8": Case("Whisper-tiny, 8 x 30 s", partial(whisper, rows=8)),
    "t5_8": Case("T5-small, 8 x 128 to 32", partial(t5, rows=8)),
    "unet_8": Case("diffusion UNet of 128 to 512, 8x4x32x32", partial(unet, rows=8)),
    "bert_bf16": Case("BERT-base, 1x128, bfloat16", partial(bfloat16, bert)),
    "vit_bf16": Case("ViT-B/16, bfloat16", partial(bfloat16, vit)),
    "resnet_bf16": Case("ResNet-50, bfloat16", partial(bfloat16, resnet)),
    "t5_bf16": Case("T5-small, 128 to 32, bfloat16", partial(bfloat16, t5)),
}
