"""nn.TransformerEncoder of padded sequences, read by capture in the place of its forward. Eager looks at the mask: where the
padding lies behind each sequence it computes with nested tensors, which leave out what is padded and have zeros there in
the end; else it computes everything. Here everything is computed, and the zeros are chosen in the graph."""

import torch
from torch import nn

AS_WRITTEN, EVERYTHING, PERHAPS_NESTED = range(3)


class _Whole:
    """An encoder as its forward sees it: one that makes no nested tensors and leaves its last norm to others."""

    use_nested_tensor = False
    norm = None

    def __init__(self, encoder):
        self._encoder = encoder

    def __getattr__(self, name):
        return getattr(self._encoder, name)


def _parameters(layer):
    attention = layer.self_attn
    return (
        *(attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias),
        *(layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias),
        *(layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias),
    )


def _takes_nested(layer):
    """Whether a layer has one fused kernel for all it does, which alone takes nested tensors."""
    attention = layer.self_attn
    return (
        type(layer) is nn.TransformerEncoderLayer
        and type(attention) is nn.MultiheadAttention
        and not any([module.training or module._forward_hooks or module._forward_pre_hooks for module in layer.modules()])
        and attention.batch_first
        and attention.in_proj_bias is not None
        and attention._qkv_same_embed_dim
        and attention.num_heads % 2 == 0
        and layer.activation_relu_or_gelu
        and layer.norm1.eps == layer.norm2.eps
    )


def way(encoder, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """Which way eager goes, as far as no mask's data say it."""
    padding = src_key_padding_mask
    if padding is None or not torch.backends.mha.get_fastpath_enabled() or not getattr(encoder, "use_nested_tensor", False):
        return AS_WRITTEN
    if src.dim() != 3 or encoder.layers[0].training or not getattr(encoder, "mask_check", True):
        return AS_WRITTEN
    if src.size(0) == 0 or src.size(1) == 0 or padding.shape != src.shape[:2]:
        return AS_WRITTEN
    if mask is not None or torch.is_autocast_enabled():
        return EVERYTHING
    if torch.is_grad_enabled() and any([each.requires_grad for each in (src, *_parameters(encoder.layers[0]))]):
        return EVERYTHING
    for layer in encoder.layers:
        if not _takes_nested(layer):
            return AS_WRITTEN
        if torch.is_grad_enabled() and any([each.requires_grad for each in _parameters(layer)]):
            return AS_WRITTEN
    return PERHAPS_NESTED


def everything(encoder, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """The forward where no nested tensors are made, whatever the mask holds."""
    out = nn.TransformerEncoder.forward(_Whole(encoder), src, mask, src_key_padding_mask, is_causal)
    return out if encoder.norm is None else encoder.norm(out)


def perhaps_nested(encoder, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """The forward where they are made if the padding lies behind each sequence."""
    padding = src_key_padding_mask
    padded = padding if padding.dtype is torch.bool else padding != 0
    if padded.all():
        raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
    behind = ~(padded[:, :-1] & ~padded[:, 1:]).any()
    if padding.dtype is not torch.bool:  # added to the scores, if nothing is left out
        left_out = torch.zeros_like(padding).masked_fill_(padded, float("-inf"))
        padding = torch.where(behind, left_out, padding)
    out = nn.TransformerEncoder.forward(_Whole(encoder), src, None, padding, is_causal)
    out = out.masked_fill((behind & padded).unsqueeze(-1), 0.0)
    return out if encoder.norm is None else encoder.norm(out)


def say_that_nested_tensors_are_new():
    """PyTorch says so when a process makes its first one, as eager would now."""
    torch._nested_tensor_from_mask(torch.zeros(1, 1, 1), torch.ones(1, 1, dtype=torch.bool), mask_check=False)
