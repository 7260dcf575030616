"""What PyTorch chooses where a GPU is, for recordings for one that is not here: PyTorch without CUDA asks nothing of a GPU,
and writes attention out. Under autograd the operators have their backwards, which are recorded as any other."""

import functools
import math

import torch
import torch.nn.functional as F

aten = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)


def _cast(tensors):
    """As CUDA's autocast does below attention."""
    if not torch.is_autocast_enabled("cuda"):
        return tensors
    dtype = torch.get_autocast_dtype("cuda")
    return [t.to(dtype) if t is not None and t.is_floating_point() and t.dtype != torch.float64 else t for t in tensors]


def _added(mask, dtype, left_out):
    """A mask of truth values as the numbers that are added."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(mask, torch.zeros((), dtype=dtype, device=mask.device), torch.full((), left_out, dtype=dtype, device=mask.device))


def _padded(mask, query, key):
    """As wide as the scores, its rows a multiple of 16 bytes apart and of 8 elements long in memory, as the kernel wants them."""
    wide = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    missing = -wide.shape[-1] % 8
    return F.pad(mask, (0, missing))[..., : mask.shape[-1]].expand(wide.shape) if missing else wide


def _kernel(arch, query, key, value, mask):
    """Which of PyTorch's kernels computes it: "cudnn", "flash", "efficient", or "" where it is written out."""
    same_heads = query.shape[1] == key.shape[1] == value.shape[1]
    if any(t.dim() != 4 or t.stride(-1) != 1 for t in (query, key, value)) or 0 in query.shape + key.shape:
        return ""
    width, half = query.shape[-1], query.dtype in HALVES
    plain = mask is None or not mask.requires_grad
    if half and width == value.shape[-1]:
        by_cudnn = arch in ("sm_90", "sm_90a", "sm_100", "sm_100a") and torch.backends.cuda.cudnn_sdp_enabled() and plain
        if by_cudnn and width % 8 == 0 and width <= 128 and query.shape[2] > 1 and key.shape[2] > 1:
            return "cudnn"
        if mask is None and width <= 256 and torch.backends.cuda.flash_sdp_enabled():
            return "flash"
    aligned = 8 if half else 4
    fits = width % aligned == 0 and value.shape[-1] % aligned == 0 and same_heads
    return "efficient" if fits and query.dtype != torch.float64 and torch.backends.cuda.mem_efficient_sdp_enabled() else ""


def attention(arch, any_size, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """torch.nn.functional.scaled_dot_product_attention; `arch` is the GPU that is compiled for ("sm_90"). any_size: one way for
    all sizes."""
    plain = functools.partial(F.scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    trains = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    if not trains and not any_size:
        return plain()
    q, k, v, mask = _cast([query, key, value, attn_mask])
    kernel = "" if is_causal and mask is not None else _kernel(arch, q, k, v, mask)
    if kernel == "cudnn":
        mask = _added(mask, q.dtype, -65504.0)
        return aten._scaled_dot_product_cudnn_attention(q, k, v, mask, trains, dropout_p, is_causal, False, scale=scale)[0]
    if kernel == "flash":
        missing = -q.shape[-1] % 8
        q, k, v = (F.pad(t, (0, missing)) if missing else t for t in (q, k, v))
        scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        out = aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, False, scale=scale)[0]
        return out[..., : query.shape[-1]] if missing else out
    if kernel == "efficient":
        mask = _added(mask, q.dtype, -math.inf)
        mask = None if mask is None else _padded(mask, q, k)
        return aten._scaled_dot_product_efficient_attention(q, k, v, mask, trains, dropout_p, is_causal, scale=scale)[0]
    return plain()


# By cuDNN's number.
MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}


@functools.cache
def _recurrent_types():
    """PyTorch itself has no kernel that only tells the types of cuDNN's backward, and one of its forward that leaves out the
    memory in which all weights lie. The library that adds them is kept."""
    import torch._meta_registrations  # takes a while

    library = torch.library.Library("aten", "IMPL", "Meta")
    forward = torch._meta_registrations._cudnn_rnn

    def with_weights(input, weight, stride0, weight_buf, *rest):
        together = weight[0].new_empty(sum(w.numel() for w in weight))
        return *forward(input, weight, stride0, weight_buf, *rest)[:4], together

    def types(input, weight, stride0, weight_buf, hx, cx, *rest):
        mask = rest[-1]
        like = lambda t, wanted: torch.empty_like(t, memory_format=torch.contiguous_format) if wanted and t is not None else None  # noqa: E731
        return like(input, mask[0]), like(hx, mask[1]), like(cx, mask[2]), [like(w, mask[3]) for w in weight]

    library.impl("_cudnn_rnn", with_weights, allow_override=True)
    def state(dropout, train, seed, *, dtype=None, layout=None, device=None, pin_memory=None):
        return torch.empty(1, dtype=dtype, device="meta")  # how much it takes only cuDNN knows

    library.impl("_cudnn_rnn_backward", types)
    library.impl("_cudnn_init_dropout_state", state)
    return library


def recurrent(name, input, *args):
    """torch.lstm, gru, rnn_tanh and rnn_relu, of padded and of packed sequences, as cuDNN computes them. Raises
    NotImplementedError for what cuDNN does not. The state of dropout, which PyTorch makes once, is made by the graph."""
    batch_sizes, (hx, weights, biases, layers, dropout, train, both_ways, *first) = ((), args) if len(args) == 8 else (args[0].tolist(), args[1:])
    if not torch.backends.cudnn.enabled or not input.numel() or input.dtype == torch.float64:
        raise NotImplementedError(name)
    hx, cx = hx if name == "lstm" else (hx, None)
    size = (hx if cx is None else cx).shape[2]
    projected = hx.shape[2] if hx.shape[2] != size else 0
    input, hx, cx, *weights = _cast([input, hx, cx, *weights])
    _recurrent_types()
    drops = dropout > 0 and train
    state = aten._cudnn_init_dropout_state(dropout, train, 0, dtype=torch.uint8, device=input.device) if drops else None
    y, hy, cy, _, _ = aten._cudnn_rnn(
        input, weights, (4 if biases else 2) + (projected != 0), None, hx, cx,
        MODES[name], size, projected, layers, bool(first and first[0]), dropout, train, both_ways, batch_sizes, state,
    )  # fmt: skip
    return (y, hy) if cx is None else (y, hy, cy)


def function_for(arch, name, any_size):
    """PyTorch's function of this name, as it runs on that GPU; None where it is no other. any_size: as one recording for all
    sizes has it."""
    if name in MODES:
        return functools.partial(recurrent, name)
    return functools.partial(attention, arch, any_size) if name == "scaled_dot_product_attention" else None
