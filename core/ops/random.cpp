// Random numbers. They run through PyTorch, in order, so that its generator gives what eager would get.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

DType options(const Call& c, size_t at, DType fallback) {
  std::string layout = c.word(at + 1);
  need(layout.empty() || layout == "torch.strided", "layout");
  return c.dtype(at).value_or(fallback);
}
Types from_sizes(const Call& c) {
  Dims sizes = c.ints(0);
  for (const Sym& s : sizes) need(s >= 0, "a size is negative");
  DType dtype = options(c, 1, c.default_dtype);
  need(ir::is_float(dtype), "not a floating type");
  return {TensorType::contiguous(dtype, sizes)};
}
Types from_like(const Call& c) {
  const TensorType& t = c.tensor(0);
  std::string format = c.word(5);
  DType dtype = options(c, 1, t.dtype);
  need(ir::is_float(dtype), "not a floating type");
  return {
      {dtype, t.sizes, format_strides(format.empty() ? "torch.preserve_format" : format, t.sizes, &t), 0}};
}

}  // namespace

constexpr Family kFamily = Family::random;
constexpr Lower kLower = Lower::opaque;
constexpr std::string_view kNone = "nondifferentiable(\"it draws random numbers\")";

#define OPTIONS "*, dtype=None, layout=None, device=None, pin_memory=None"
const std::vector<OpRow> kRandom = {
    {"aten.rand.default", "size, " OPTIONS, kFamily, kLower, covered<from_sizes>, "", kNone,
     "uniform in 0..1"},
    {"aten.randn.default", "size, " OPTIONS, kFamily, kLower, covered<from_sizes>, "", kNone, "normal"},
    {"aten.rand_like.default", "self, " OPTIONS ", memory_format=None", kFamily, kLower, covered<from_like>,
     "", kNone, "uniform in the form of a tensor"},
    {"aten.randn_like.default", "self, " OPTIONS ", memory_format=None", kFamily, kLower, covered<from_like>,
     "", kNone, "normal in the form of a tensor"},
    {"aten.native_dropout.default", "input, p, train", kFamily, kLower, nullptr, "", kRule,
     "elements zeroed at random, and which stayed"},
    {"aten.bernoulli.p", "self, p, *, generator=None", kFamily, kLower, nullptr, "", kNone,
     "1 with probability p"},
};
#undef OPTIONS

}  // namespace vitrine::ops
