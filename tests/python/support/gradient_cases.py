"""Calls of every operator that has a gradient rule: {row: [(args, kwargs), ...]} for an element type.

Element-wise operators are called on tensors in several layouts made from the row's own parameters; the others have
their calls written out here.
"""

import math

import torch

NUMBERS = {"alpha": 2, "value": 0.5, "negative_slope": 0.1, "weight": 0.25, "beta": 2, "threshold": 0.3, "lambd": 0.3, "scale": 1.5,
           "input_scale": 0.7, "min": -0.4, "max": 0.6, "min_val": -0.4, "max_val": 0.6, "exponent": 3, "other": 1.7}
# Where the derivative is defined: a shift and a factor for normal numbers.
ABOVE_ZERO = {"sqrt", "rsqrt", "log", "log2", "log10", "log1p", "pow", "reciprocal", "div", "addcdiv"}
BELOW_ONE = {"asin", "acos", "atanh", "erfinv"}
ABOVE_ONE = {"acosh"}


class Maker:
    """Tensors that require grad, drawn one after another."""

    def __init__(self, dtype):
        self.dtype, self.generator = dtype, torch.Generator().manual_seed(0)

    def __call__(self, *sizes, grad=True):
        return torch.randn(sizes, generator=self.generator, dtype=torch.float64).to(self.dtype).requires_grad_(grad)

    def integers(self, *sizes, below):
        return torch.randint(below, sizes, generator=self.generator)


def layouts(t):
    """The same sizes, laid out otherwise."""
    yield t
    if t.dim() > 1:
        yield t.detach().t().contiguous().t().requires_grad_(t.requires_grad)
        yield torch.stack([t, t], -1).detach()[..., 0].requires_grad_(t.requires_grad)


def off_zero(t):
    """A divisor that numerical slopes can be taken of."""
    return (t.detach() + t.detach().sign() * 0.5).requires_grad_(t.requires_grad)


def some_zeros(t):
    """None in its first row, one in the second, two in the third, and so on."""
    t = t.detach().clone()
    for row in range(len(t)):
        t[row, 1 : 1 + row] = 0
    return t.requires_grad_()


def within(name, t):
    packet = name.split(".")[1]
    if packet in ABOVE_ZERO:
        t = t.detach().abs().add(0.5).requires_grad_(t.requires_grad)
    if packet in BELOW_ONE:
        t = t.detach().tanh().mul(0.9).requires_grad_(t.requires_grad)
    if packet in ABOVE_ONE:
        t = t.detach().abs().add(1.1).requires_grad_(t.requires_grad)
    return t


def pointwise(row, make):
    """Tensors for the first parameters, numbers for those that the table knows as numbers."""
    name = row["name"]
    tensors = {"self", "tensor1", "tensor2", "end", "mask"} | ({"other", "exponent", "min", "max", "weight", "value"} if ".Tensor" in name or name in (
        "aten.maximum.default", "aten.minimum.default", "aten.fmax.default", "aten.fmin.default", "aten.logaddexp.default", "aten.atan2.default",
        "aten.where.self") else set())
    if name.endswith(("Tensor_Scalar", "Scalar_mode")):
        tensors -= {"exponent", "other"}
    if name.split(".")[1] in ("addcmul", "addcdiv", "add", "sub", "rsub"):
        tensors -= {"value", "alpha"}
    if name == "aten.masked_fill.Scalar":
        tensors -= {"value"}

    def call(size_of):
        args, kwargs = [], {}
        for i, (param, keyword_only, required, _) in enumerate(row["params"]):
            if param == "rounding_mode":
                value = "floor"
            elif param == "approximate":
                value = "tanh"
            elif param in ("mask", "condition"):
                value = make(*size_of(i), grad=False) > 0
            elif param in tensors:
                value = within(name, make(*(() if name == "aten.masked_fill.Tensor" and param == "value" else size_of(i))))
            else:
                value = NUMBERS[param]
            if keyword_only:
                kwargs[param] = value
            else:
                args.append(value)
        return args, kwargs

    yield call(lambda i: (3, 4))
    yield call(lambda i: ())
    yield call(lambda i: (0, 3))
    if sum(p[0] in tensors for p in row["params"]) > 1:  # broadcast, either way
        yield call(lambda i: (2, 3, 4) if i == 0 else (3, 1))
        if not name.startswith("aten.masked_fill"):
            yield call(lambda i: (3, 1) if i == 0 else (2, 3, 4))
    args, kwargs = call(lambda i: (3, 4))
    for first in list(layouts(args[0]))[1:]:
        yield [first, *args[1:]], kwargs


def views(x, name):
    base = {
        "aten.view.default": [(x(3, 4), [2, 6]), (x(3, 4), [-1])],
        "aten._unsafe_view.default": [(x(3, 4), [2, 6])],
        "aten._reshape_alias.default": [(x(3, 4), [2, 6], [6, 1])],
        "aten.permute.default": [(x(2, 3, 4), [2, 0, 1]), (x(2, 3), [-1, 0])],
        "aten.transpose.int": [(x(2, 3, 4), 0, 2), (x(2, 3, 4), -1, 1)],
        "aten.t.default": [(x(2, 3),), (x(3),)],
        "aten.expand.default": [(x(3, 1), [2, 3, 4]), (x(1), [5])],
        "aten.squeeze.default": [(x(1, 3, 1),), (x(2, 3),)],
        "aten.squeeze.dim": [(x(1, 3, 1), 0), (x(1, 3, 1), 1), (x(1, 3, 1), -1)],
        "aten.squeeze.dims": [(x(1, 3, 1), [0, -1]), (x(1, 3, 1), [1, 2])],
        "aten.unsqueeze.default": [(x(3, 4), 1), (x(3), -1), (x(), 0)],
        "aten.slice.Tensor": [(x(5, 4), 0, 1, 4), (x(5, 4), 1, None, 3), (x(5, 4), 0, 0, 5, 2), (x(5, 4), 0, -3)],
        "aten.select.int": [(x(5, 4), 0, 2), (x(5, 4), 1, -1)],
        "aten.unbind.int": [(x(3, 4), 0), (x(3, 4), -1)],
        "aten.split.Tensor": [(x(5, 4), 2), (x(5, 4), 3, 1)],
        "aten.split_with_sizes.default": [(x(5, 4), [2, 3]), (x(5, 4), [1, 3], 1)],
        "aten.diagonal.default": [(x(3, 4),), (x(2, 3, 4), 1, 1, 2)],
        "aten.unfold.default": [(x(7, 2), 0, 3, 2)],
        "aten.as_strided.default": [(x(2, 9), (2, 3, 4), (9, 2, 1)), (x(8), (6, 3), (1, 1))],
        "aten.alias.default": [(x(3),)],
        "aten.lift_fresh.default": [],
    }
    return base[name]


def others(row, x):
    index, name = x.integers, row["name"]
    q, k, v = (x(1, 2, 5, 4) for _ in range(3))
    log_probabilities = x(5, 3).detach().log_softmax(1).requires_grad_()
    pick = lambda *sizes: index(*sizes, below=3)  # noqa: E731
    likely = lambda *sizes: x(*sizes).detach().sigmoid().requires_grad_()  # noqa: E731
    turned = lambda *sizes: x(*sizes[::-1]).detach().t().requires_grad_()  # noqa: E731
    conv = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    calls = {
        "aten.sum.default": [(x(3, 4),), (x(),)],
        "aten.sum.dim_IntList": [(x(2, 3, 4), [1]), (x(2, 3, 4), [0, 2], True), (x(2, 3), [-1]), (x(2, 3), None)],
        "aten.mean.default": [(x(3, 4),)],
        "aten.mean.dim": [(x(2, 3, 4), [1]), (x(2, 3, 4), [0, 2], True), (x(2, 3), [-1])],
        "aten.amax.default": [(x(3, 4), [1]), (x(3, 4), [0], True), (x(3, 4), [])],
        "aten.amin.default": [(x(3, 4), [1]), (x(3, 4), [0], True), (x(3, 4), [])],
        "aten.max.dim": [(x(3, 4), 1), (x(3, 4), 0, True), (x(), 0)],
        "aten.min.dim": [(x(3, 4), 1), (x(3, 4), -2, True)],
        "aten.topk.default": [(x(3, 5), 2), (x(4, 3), 2, 0, False)],
        "aten.var.correction": [(x(3, 4), [1]), (x(3, 4), None, {"correction": 0}), (x(2, 3, 4), [0, 2], {"correction": 2, "keepdim": True})],
        "aten.std.correction": [(x(3, 4), [1]), (x(3, 4), None), (x(2, 3, 4), [0, 2], {"correction": 2, "keepdim": True})],
        "aten.var_mean.correction": [(x(3, 4), [1]), (x(3, 4), None, {"correction": 0})],
        "aten.pixel_shuffle.default": [(x(2, 8, 3, 5), 2), (x(9, 2, 2), 3)],
        "aten.pixel_unshuffle.default": [(x(2, 2, 6, 4), 2), (x(1, 3, 9), 3)],
        "aten.upsample_nearest2d.default": [(x(1, 2, 3, 4), [6, 8]), (x(2, 1, 3, 4), [6, 4]), (x(1, 2, 2, 3), [4, 12], 2.0, 4.0)],
        "aten.cumsum.default": [(x(3, 4), 1), (x(3, 4), 0), (x(1, 4), 0)],
        "aten.cumprod.default": [(x(3, 4), 1), (x(3, 4), 0), (x(1, 4), 0), (some_zeros(x(5, 6)), 1), (some_zeros(x(5, 6)), 0)],
        "aten.logsumexp.default": [(x(3, 4), [1]), (x(3, 4), [0, 1]), (x(3, 4), [0], True)],
        "aten.linalg_vector_norm.default": [
            (x(3, 4),), (x(3, 4), 2, [1]), (x(4, 3).t(), 2, [1]), (x(3, 4), 1, [0], True), (x(3, 4), 2.5, [1]), (x(3, 4), 1.5), (x(3, 4), math.inf, [0]), (x(3, 4), -math.inf)],
        "aten.native_layer_norm.default": [(x(3, 4), [4], x(4), x(4), 1e-5), (x(2, 3, 4), [3, 4], None, None, 1e-5), (x(3, 4), [4], x(4), None, 1e-3)],
        "aten.native_group_norm.default": [
            (x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5), (x(2, 4, 3, 2), None, None, 2, 4, 6, 4, 1e-5), (x(3, 4), x(4), None, 3, 4, 1, 1, 1e-3)],
        "aten.native_batch_norm.default": [
            (x(4, 3), x(3), x(3), None, None, True, 0.1, 1e-5), (x(4, 3, 5, 2), x(3), x(3), None, None, True, 0.1, 1e-5),
            (x(4, 3, 5, 2), x(3), x(3), x(3, grad=False), x(3, grad=False).abs() + 1, False, 0.1, 1e-5)],
        "aten._softmax.default": [(x(3, 4), 1, False), (x(3, 4), 0, False)],
        "aten._log_softmax.default": [(x(3, 4), 1, False), (x(3, 4), 0, False)],
        "aten._safe_softmax.default": [(x(3, 4), 1)],
        "aten.nll_loss_forward.default": [(log_probabilities, pick(5), None, r, -100) for r in (0, 1, 2)] + [
            (log_probabilities, pick(5), x(3, grad=False).abs(), 1, 1)],
        "aten.nll_loss2d_forward.default": [(x(2, 3, 2, 2), pick(2, 2, 2), None, r, -100) for r in (0, 1, 2)] + [
            (x(2, 3, 2, 2), pick(2, 2, 2), x(3, grad=False).abs(), 1, 1)],
        "aten.mse_loss.default": [(x(3, 4), x(3, 4), r) for r in (0, 1, 2)],
        "aten.smooth_l1_loss.default": [(x(3, 4), x(3, 4), r) for r in (0, 1, 2)] + [(x(3, 4), x(3, 4), 1, 0.3), (turned(3, 4), turned(3, 4), 1, 0.3)],
        "aten.huber_loss.default": [(x(3, 4), x(3, 4), r) for r in (0, 1, 2)] + [(x(3, 4), x(3, 4), 1, 0.3), (turned(3, 4), turned(3, 4), 1, 0.3)],
        "aten.soft_margin_loss.default": [(x(3, 4), x(3, 4, grad=False).sign(), r) for r in (0, 1, 2)],
        "aten.binary_cross_entropy_with_logits.default": [(x(3, 4), likely(3, 4).detach(), None, None, r) for r in (0, 1, 2)] + [
            (x(3, 4), likely(3, 4).detach(), x(3, 1, grad=False).abs(), x(4, grad=False).abs(), 1)],
        "aten.xlogy.Tensor": [(x(3, 4), likely(3, 4)), (turned(3, 4), likely(3, 4)), (x(3, 1), likely(3, 4))],
        "aten._prelu_kernel.default": [(x(2, 3, 4), x(1, 3, 1)), (x(2, 3), x(2, 3))],
        "aten.pow.Scalar": [(1.7, x(3, 4)), (2, x(3, 4))],
        "aten.prod.default": [(x(2, 3),), (x(),), (x(4),)],
        "aten.prod.dim_int": [(x(2, 3, 4), 1), (x(3, 4), -1, True), (x(1, 4), 0)],
        "aten.sort.default": [(x(3, 4),), (x(3, 4), 0, True)],
        "aten.sort.stable": [(x(3, 4), {"stable": True}), (x(3, 4), {"stable": True, "dim": 0})],
        "aten.kthvalue.default": [(x(3, 4), 2), (x(3, 4), 2, 0, True)],
        "aten.median.default": [(x(3, 4),)],
        "aten.median.dim": [(x(3, 4), 1), (x(3, 4), 0, True)],
        "aten.nanmedian.default": [(x(3, 4),)],
        "aten.nanmedian.dim": [(x(3, 4), 1), (x(3, 4), 0, True)],
        "aten.mode.default": [(x(3, 4), 1), (x(3, 4), 0, True)],
        "aten.cummax.default": [(x(3, 4), 1), (x(3, 4), 0)],
        "aten.cummin.default": [(x(3, 4), 1), (x(3, 4), 0)],
        "aten.logcumsumexp.default": [(x(3, 4), 1), (x(3, 4), 0)],
        "aten.norm.ScalarOpt_dim": [(x(3, 4), 2, [1]), (x(3, 4), 1, [0], True), (x(3, 4), 3, [1])],
        "aten.mm.default": [(x(3, 4), x(4, 5)), (x(4, 3).t(), x(5, 4).t())],
        "aten.addmm.default": [(x(5), x(3, 4), x(4, 5)), (x(3, 5), x(3, 4), x(5, 4).t(), {"beta": 0.5, "alpha": 2})],
        "aten.bmm.default": [(x(2, 3, 4), x(2, 4, 5))],
        "aten.baddbmm.default": [(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5)), (x(5), x(2, 3, 4), x(2, 4, 5), {"beta": 0.5, "alpha": 2})],
        "aten.mv.default": [(x(3, 4), x(4))],
        "aten.dot.default": [(x(4), x(4))],
        "aten.convolution.default": [
            (x(2, 3, 5, 5), x(4, 3, 3, 3), x(4), *conv), (x(2, 3, 6, 6), x(4, 3, 2, 2), None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1),
            (x(2, 4, 7), x(4, 2, 3), x(4), [1], [1], [1], False, [0], 2)],
        "aten.max_pool2d_with_indices.default": [(x(2, 3, 6, 6), [2, 2], [2, 2]), (x(2, 3, 6, 6), [3, 3], [2, 2], [1, 1])],
        "aten.avg_pool2d.default": [(x(2, 3, 6, 6), [2, 2], [2, 2]), (x(2, 3, 6, 6), [3, 3], [2, 2], [1, 1])],
        "aten._adaptive_avg_pool2d.default": [(x(2, 3, 6, 6), [2, 3])],
        "aten._scaled_dot_product_flash_attention_for_cpu.default": [
            (q, k, v), (q, k, v, 0.0, True), (q, k, v, 0.0, False, {"scale": 0.3, "attn_mask": x(5, 5, grad=False)})],
        "aten.embedding.default": [(x(5, 3), pick(4)), (x(5, 3), pick(2, 4), 4)],
        "aten.gather.default": [(x(3, 4), 1, pick(3, 2)), (x(3, 4), 1, pick(3, 1)), (x(3, 4, 2), -2, pick(3, 1, 2))],
        "aten.index_select.default": [(x(5, 4), 0, pick(6)), (x(5, 4), 1, pick(2))],
        "aten.index.Tensor": [(x(5, 4), [pick(6)]), (x(5, 4), [None, pick(2)]), (x(5, 4), [pick(3), pick(3)]), (x(5, 4), [pick(2, 1), pick(3)])],
        "aten.scatter.src": [(x(3, 4), 1, torch.tensor([[0, 2], [1, 3], [2, 0]]), x(3, 2))],
        "aten.scatter.value": [(x(3, 4), 1, pick(3, 2), 0.5)],
        "aten.scatter_add.default": [(x(3, 4), 1, pick(3, 2), x(3, 2))],
        "aten.index_copy.default": [(x(5, 4), 0, pick(2), x(2, 4)), (x(5, 4), 1, pick(2), x(5, 2))],
        "aten.index_add.default": [(x(5, 4), 0, pick(3), x(3, 4)), (x(5, 4), 1, pick(3), x(5, 3), {"alpha": 2})],
        "aten.index_put.default": [(x(5, 4), [torch.tensor([0, 2]), torch.tensor([1, 3])], x(2)),
                                   (x(5, 4), [pick(3), pick(3)], x(3), True)],
        "aten.clone.default": [(x(3, 4),), (x(4, 3).t(), {"memory_format": torch.contiguous_format})],
        "aten._to_copy.default": [(x(3, 4), {"dtype": torch.float32}), (x(3, 4), {"dtype": torch.bfloat16})],
        "aten.cat.default": [([x(2, 3), x(4, 3)],), ([x(2, 3), x(2, 1), x(2, 3, grad=False)], -1)],
        "aten.stack.default": [([x(2, 3), x(2, 3)],), ([x(2, 3), x(2, 3)], -1)],
        "aten.repeat.default": [(x(2, 3), [2, 1]), (x(3), [2, 2]), (x(2, 3), [1, 1])],
        "aten.flip.default": [(x(3, 4), [0]), (x(3, 4), [0, 1])],
        "aten.roll.default": [(x(3, 4), [1], [0]), (x(3, 4), [2, -1], [0, 1]), (x(3, 4), [1])],
        "aten.reflection_pad1d.default": [(x(2, 3, 5), [2, 4]), (x(3, 5), [0, 1])],
        "aten.reflection_pad2d.default": [(x(2, 3, 4, 5), [1, 4, 3, 2]), (x(3, 4, 5), [0, 0, 1, 2])],
        "aten.reflection_pad3d.default": [(x(1, 2, 4, 3, 5), [1, 2, 2, 0, 3, 3])],
        "aten.replication_pad1d.default": [(x(2, 3, 5), [2, 7]), (x(3, 1), [1, 1])],
        "aten.replication_pad2d.default": [(x(2, 3, 4, 5), [1, 6, 3, 2]), (x(3, 4, 5), [0, 0, 1, 2])],
        "aten.replication_pad3d.default": [(x(1, 2, 4, 3, 5), [1, 2, 2, 0, 3, 3])],
        "aten.constant_pad_nd.default": [(x(3, 4), [1, 2]), (x(3, 4), [0, 1, 2, 0], 0.5), (x(1, 3), [1, 2])],
        "aten.slice_scatter.default": [(x(5, 4), x(2, 4), 0, 1, 3), (x(5, 4), x(5, 2), 1, None, None, 2), (x(5, 4), x(2, 4), 0, -2)],
        "aten.select_scatter.default": [(x(5, 4), x(4), 0, 1), (x(5, 4), x(5), -1, -2)],
        "aten.tril.default": [(x(3, 4),), (x(3, 4), 1)],
        "aten.triu.default": [(x(3, 4),), (x(3, 4), -1)],
        "aten.native_dropout.default": [(x(3, 4), 0.5, True), (x(3, 4), 0.3, True)],
        "aten.max.default": [(x(3, 4),)], "aten.min.default": [(x(3, 4),)],
        "aten.gelu.default": [(x(3, 4),), (x(3, 4), {"approximate": "tanh"}), (x(4, 3).t(),)],
        "aten.clamp.default": [(x(3, 4), -0.5, 0.5), (x(3, 4), None, 0.5), (x(3, 4), -0.5)],
        "aten.clamp.Tensor": [(x(3, 4), x(3, 4), x(3, 1)), (x(3, 4), turned(3, 4), turned(3, 4)), (x(3, 1), x(4), None), (x(3, 4), None, x(2, 3, 4)), (x(0, 3), x(3), x(3))],
        "aten.remainder.Tensor": [(x(3, 4), off_zero(x(3, 4))), (x(3, 1), off_zero(x(2, 1, 4))), (x(), off_zero(x()))],
        "aten.fmod.Tensor": [(x(3, 4), off_zero(x(3, 4))), (x(3, 1), off_zero(x(2, 1, 4))), (x(), off_zero(x()))],
        "aten.pow.Tensor_Scalar": [(x(3, 4), n) for n in (2, 3, 0, 1)] + [(within(name, x(3, 4)), n) for n in (0.5, -1.5)],
        "aten.nansum.default": [(x(3, 4),), (x(3, 4), [1]), (x(2, 3, 4), [0, 2], True), (x(3, 4).detach().where(x(3, 4) > 0, math.nan).requires_grad_(), [0])],
        "aten.aminmax.default": [(x(3, 4),), (x(3, 4), {"dim": 1}), (x(3, 4), {"dim": 0, "keepdim": True}), (x(3, 4, grad=False).round().requires_grad_(), {"dim": 1})],
        "aten.std_mean.correction": [(x(3, 4), [1]), (x(3, 4), None, {"correction": 0}), (x(2, 3, 4), [0, 2], {"correction": 2, "keepdim": True})],
        "aten.nan_to_num.default": [(x(3, 4),), (torch.tensor([math.nan, math.inf, -math.inf, 1.0, 0.0], dtype=x.dtype, requires_grad=True), 2.0, 3.0)],
        "aten.logit.default": [(likely(3, 4),), (likely(3, 4), 0.3), (turned(3, 4).detach().sigmoid().requires_grad_(), 0.1)],
        "aten.glu.default": [(x(3, 4),), (x(4, 3), 0), (x(2, 6, 3), 1), (turned(4, 6), -1)],
    }
    return calls.get(name)


def cases(row, dtype):
    make = Maker(dtype)
    written = others(row, make)
    if written is None:
        if row["family"] == "view":
            written = views(make, row["name"])
        else:
            return list(pointwise(row, make))
    return [(list(c[:-1]), c[-1]) if isinstance(c[-1], dict) else (list(c), {}) for c in written]
