// Normalisations: layer, group, batch.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// All tensors of one floating type, or the rule steps aside: mixed types have rules of their own.
void one_type(const Call& c, std::initializer_list<size_t> tensors) {
  DType self = c.tensor(0).dtype;
  need(ir::is_float(self), "not a floating type");
  for (size_t i : tensors) {
    const TensorType* t = c.tensor_or_null(i);
    need(!t || t->dtype == self, "mixed types");
  }
}

// Output, and mean and 1/deviation with size 1 in the normalised dimensions.
Types layer_norm(const Call& c) {
  const TensorType& t = c.tensor(0);
  one_type(c, {2, 3});
  Dims shape = c.ints(1), stat = t.sizes;
  need(!shape.empty() && shape.size() <= t.sizes.size(), "normalised shape");
  size_t axis = t.sizes.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    need(t.sizes[axis + i] == shape[i], "normalised shape");
    stat[axis + i] = 1;
  }
  for (size_t i : {2, 3}) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || p->sizes == shape, "sizes of weight or bias");
  }
  TensorType stats = TensorType::contiguous(t.dtype, stat);
  return {TensorType::contiguous(t.dtype, t.sizes), stats, stats};
}

// The statistics' type. Half precision with parameters in f32: these on the CPU, whose kernels alone are
// known here.
DType group_statistics(const Call& c) {
  const TensorType &t = c.tensor(0), *weight = c.tensor_or_null(1), *bias = c.tensor_or_null(2);
  const bool half = t.dtype == DType::bf16 || t.dtype == DType::f16;
  const auto wide = [](const TensorType* p) { return !p || p->dtype == DType::f32; };
  if (half && t.device.is_cpu() && (weight || bias) && wide(weight) && wide(bias)) return DType::f32;
  one_type(c, {1, 2});
  return t.dtype;
}

Types group_norm(const Call& c) {
  const TensorType& t = c.tensor(0);
  const DType statistics = group_statistics(c);
  need(t.is_contiguous(), "not contiguous");
  const Sym n = c.integer(3), channels = c.integer(4), groups = c.integer(6);
  need(groups > 0 && mod(channels, groups) == 0 && t.numel() == n * channels * c.integer(5), "sizes");
  TensorType stats = TensorType::contiguous(statistics, {n, groups});
  return {TensorType::contiguous(t.dtype, t.sizes), stats, stats};
}

TensorType normalised(const TensorType& t) {
  if (suggests_channels_last(t) && !t.is_contiguous())
    return {t.dtype, t.sizes, channels_last_strides(t.sizes), 0};
  need(t.sizes.size() >= 2 && t.is_contiguous(), "layout");
  return TensorType::contiguous(t.dtype, t.sizes);
}
void channel_vectors(const Call& c, std::initializer_list<size_t> tensors) {
  for (size_t i : tensors) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || (p->sizes.size() == 1 && p->sizes[0] == c.tensor(0).sizes[1]), "sizes of a channel vector");
  }
}
Types batch_norm_inference(const Call& c, bool statistics_given) {
  one_type(c, {1, 2, 3, 4});
  TensorType out = normalised(c.tensor(0));
  channel_vectors(c, {1, 2, 3, 4});
  need(statistics_given, "running statistics are missing");
  TensorType empty = TensorType::contiguous(out.dtype, {0});
  return {out, empty, empty};
}
// The statistics of half precision are f32 on a GPU, beside parameters of either type.
DType batch_statistics(const Call& c) {
  const TensorType& x = c.tensor(0);
  const bool half = x.dtype == DType::bf16 || x.dtype == DType::f16;
  if (!half || !x.device.is_cuda()) {
    one_type(c, {1, 2, 3, 4});
    return x.dtype;
  }
  for (size_t i : {1, 2, 3, 4}) {
    const TensorType* p = c.tensor_or_null(i);
    need(!p || p->dtype == DType::f32 || p->dtype == x.dtype, "mixed types");
  }
  return DType::f32;
}
Types batch_norm(const Call& c) {
  if (!c.flag(5)) return batch_norm_inference(c, !c.none(3) && !c.none(4));
  const DType statistics = batch_statistics(c);
  TensorType out = normalised(c.tensor(0));
  channel_vectors(c, {1, 2, 3, 4});
  TensorType stats = TensorType::contiguous(statistics, {out.sizes[1]});
  need(out.numel() > 0, "no elements");
  return {out, stats, stats};
}
// As batch_norm, and cuDNN's reserve, whose size in training it alone knows.
Types cudnn_batch_norm(const Call& c) {
  need(!c.flag(5), "cuDNN's reserve");
  Types out = batch_norm_inference(c, !c.none(3) && !c.none(4));
  TensorType reserve = out[1];
  reserve.dtype = ir::DType::u8;
  out.push_back(reserve);
  return out;
}
Types batch_norm_no_training(const Call& c) {
  return batch_norm_inference(c, true);
}

}  // namespace

constexpr Family kFamily = Family::reduction;

const std::vector<OpRow> kNorm = {
    {"aten.native_layer_norm.default", "input, normalized_shape, weight, bias, eps", kFamily,
     Lower::decompose, covered<layer_norm>, "", kRule, "(a - mean) / deviation * weight + bias"},
    {"aten.native_group_norm.default", "input, weight, bias, N, C, HxW, group, eps", kFamily,
     Lower::decompose, covered<group_norm>, "", kRule, "normalised within groups of channels"},
    {"aten.native_batch_norm.default",
     "input, weight, bias, running_mean!training, running_var!training, training, momentum, eps", kFamily,
     Lower::decompose, covered<batch_norm>, "", kRule,
     "normalised by channel; in training from the batch, and the running statistics are updated"},
    {"aten.cudnn_batch_norm.default",
     "input, weight, bias, running_mean!training, running_var!training, training, "
     "exponential_average_factor, "
     "epsilon",
     kFamily, Lower::decompose, covered<cudnn_batch_norm>, "", "borrowed(\"cuDNN's own\")",
     "normalised by channel; in training by cuDNN, and the running statistics are updated"},
    {"aten._native_batch_norm_legit.default",
     "input, weight, bias, running_mean!training, running_var!training, training, momentum, eps", kFamily,
     Lower::decompose, covered<batch_norm>, "", "borrowed(\"no module calls it\")",
     "normalised by channel; in training from the batch, and the running statistics are updated"},
    {"aten._native_batch_norm_legit_no_training.default",
     "input, weight, bias, running_mean, running_var, momentum, eps", kFamily, Lower::decompose,
     covered<batch_norm_no_training>, "", "borrowed(\"no module calls it\")",
     "normalised by channel with running statistics"},
};

}  // namespace vitrine::ops
