// Tensors made from nothing but sizes and numbers, and random numbers. The latter run through PyTorch, in
// order, so that its generator gives what eager would get, or are drawn in kernels as its own draw them.
#include <cmath>

#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

// dtype, layout, device and pin_memory are the four keywords from argument `at` on. Strided only.
DType options(const Call& c, size_t at, DType fallback) {
  std::string layout = c.word(at + 1);
  need(layout.empty() || layout == "torch.strided", "layout");
  return c.dtype(at).value_or(fallback);
}
Dims size_list(const Call& c, size_t i) {
  Dims sizes = c.ints(i);
  for (const Sym& s : sizes) need(s >= 0, "a size is negative");
  return sizes;
}

Types filled(const Call& c) {
  return {TensorType::contiguous(options(c, 1, c.default_dtype), size_list(c, 0))};
}
Types full(const Call& c) {
  return {TensorType::contiguous(options(c, 2, c.number_dtype(1)), size_list(c, 0))};
}
Types empty(const Call& c) {
  Dims sizes = size_list(c, 0);
  return {{options(c, 1, c.default_dtype), sizes, format_strides(c.word(5), sizes, nullptr), 0}};
}
Types empty_strided(const Call& c) {
  return {{options(c, 2, c.default_dtype), size_list(c, 0), c.ints(1), 0}};
}
Types scalar_tensor(const Call& c) {
  return {TensorType::contiguous(options(c, 1, c.default_dtype), {})};
}

// Like argument 0; the keywords start at `at`, the memory format follows them.
TensorType like(const Call& c, size_t at) {
  const TensorType& t = c.tensor(0);
  std::string format = c.word(at + 4);
  if (format.empty()) format = "torch.preserve_format";
  return {options(c, at, t.dtype), t.sizes, format_strides(format, t.sizes, &t), 0};
}
Types like_filled(const Call& c) {
  return {like(c, 1)};
}
Types like_full(const Call& c) {
  c.number_dtype(1);  // it is one: which, nobody asks
  return {like(c, 2)};
}
Types new_filled(const Call& c) {
  return {TensorType::contiguous(options(c, 2, c.tensor(0).dtype), size_list(c, 1))};
}
Types new_full(const Call& c) {
  return {TensorType::contiguous(options(c, 3, c.tensor(0).dtype), size_list(c, 1))};
}
Types new_empty_strided(const Call& c) {
  return {{options(c, 3, c.tensor(0).dtype), size_list(c, 1), c.ints(2), 0}};
}

// ceil((end - start) / step) of integers.
Sym range_length(const Sym& start, const Sym& end, int64_t step) {
  need(step != 0 && (step > 0 ? end >= start : end <= start), "bounds");
  return step > 0 ? floordiv(end - start + (step - 1), step) : floordiv(start - end + (-step - 1), -step);
}

// ceil((end - start) / step) elements; i64 if all three are integers and no dtype is given.
Types range(const Call& c, std::optional<size_t> start_at, size_t end_at, std::optional<size_t> step_at,
            size_t options_at) {
  bool floating = false;
  bool whole = true;
  for (auto i : {start_at, std::optional(end_at), step_at}) {
    floating |= i && ir::is_float(c.number_dtype(*i));
    whole = whole && (!i || c.number_dtype(*i) == DType::i64);
  }
  if (whole) {
    const Sym length = range_length(start_at ? c.integer(*start_at) : Sym(0), c.integer(end_at),
                                    step_at ? c.integer(*step_at) : Sym(1));
    return {TensorType::contiguous(options(c, options_at, DType::i64), {length})};
  }
  double start = start_at ? c.number(*start_at) : 0, end = c.number(end_at),
         step = step_at ? c.number(*step_at) : 1;
  need(step != 0 && std::isfinite(start) && std::isfinite(end) && (step > 0 ? end >= start : end <= start),
       "bounds");
  DType dtype = options(c, options_at, floating ? c.default_dtype : DType::i64);
  need(!floating || ir::is_float(dtype), "fractional bounds for integers");
  need(std::abs(start) < 1e15 && std::abs(end) < 1e15, "bounds");
  return {TensorType::contiguous(dtype, {static_cast<int64_t>(std::ceil((end - start) / step))})};
}
Types arange(const Call& c) {
  return range(c, std::nullopt, 0, std::nullopt, 1);
}
Types arange_start(const Call& c) {
  return range(c, 0, 1, std::nullopt, 2);
}
Types arange_step(const Call& c) {
  return range(c, 0, 1, 2, 3);
}

Types linspace(const Call& c) {
  need(c.integer(2) >= 0, "steps");
  c.number(0), c.number(1);
  return {TensorType::contiguous(options(c, 3, c.default_dtype), {c.integer(2)})};
}
Types eye(const Call& c) {
  need(c.integer(0) >= 0, "size");
  return {TensorType::contiguous(options(c, 1, c.default_dtype), {c.integer(0), c.integer(0)})};
}
Types eye_m(const Call& c) {
  need(c.integer(0) >= 0 && c.integer(1) >= 0, "size");
  return {TensorType::contiguous(options(c, 2, c.default_dtype), {c.integer(0), c.integer(1)})};
}

Types triangle(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.sizes.size() >= 2, "fewer than 2 dimensions");
  return {TensorType::contiguous(t.dtype, t.sizes)};
}

Types drawn(const Call& c) {
  Types out = filled(c);
  need(ir::is_float(out[0].dtype), "not a floating type");
  return out;
}
Types like_drawn(const Call& c) {
  Types out = like_filled(c);
  need(ir::is_float(out[0].dtype), "not a floating type");
  return out;
}

}  // namespace

constexpr Family kFamily = Family::memory;
constexpr Lower kLoop = Lower::pointwise;
constexpr Lower kOpaque = Lower::opaque;
constexpr std::string_view kNoGradient = "nondifferentiable(\"it has no tensor argument that counts\")";

#define OPTIONS "*, dtype=None, layout=None, device=None, pin_memory=None"
#define FORMAT OPTIONS ", memory_format=None"
const std::vector<OpRow> kFactory = {
    {"aten.full.default", "size, fill_value, " OPTIONS, kFamily, kLoop, covered<full>, "b", kNoGradient,
     "one number everywhere"},
    {"aten.zeros.default", "size, " OPTIONS, kFamily, kLoop, covered<filled>, "0", kNoGradient, "zeros"},
    {"aten.ones.default", "size, " OPTIONS, kFamily, kLoop, covered<filled>, "1", kNoGradient, "ones"},
    {"aten.empty.memory_format", "size, " FORMAT, kFamily, kOpaque, covered<empty>, "", kNoGradient,
     "memory without values"},
    {"aten.empty_strided.default", "size, stride, " OPTIONS, kFamily, kOpaque, covered<empty_strided>, "",
     kNoGradient, "memory without values, strides given"},
    {"aten.scalar_tensor.default", "s, " OPTIONS, kFamily, kLoop, covered<scalar_tensor>, "a", kNoGradient,
     "a number as 0-d tensor"},
    {"aten.full_like.default", "self, fill_value, " FORMAT, kFamily, kLoop, covered<like_full>, "b",
     kNoGradient, "one number in the form of a tensor"},
    {"aten.zeros_like.default", "self, " FORMAT, kFamily, kLoop, covered<like_filled>, "0", kNoGradient,
     "zeros in the form of a tensor"},
    {"aten.ones_like.default", "self, " FORMAT, kFamily, kLoop, covered<like_filled>, "1", kNoGradient,
     "ones in the form of a tensor"},
    {"aten.empty_like.default", "self, " FORMAT, kFamily, kOpaque, covered<like_filled>, "", kNoGradient,
     "memory in the form of a tensor"},
    {"aten.new_full.default", "self, size, fill_value, " OPTIONS, kFamily, kLoop, covered<new_full>, "c",
     kNoGradient, "one number in the type of a tensor"},
    {"aten.new_zeros.default", "self, size, " OPTIONS, kFamily, kLoop, covered<new_filled>, "0", kNoGradient,
     "zeros in the type of a tensor"},
    {"aten.new_ones.default", "self, size, " OPTIONS, kFamily, kLoop, covered<new_filled>, "1", kNoGradient,
     "ones in the type of a tensor"},
    {"aten.new_empty.default", "self, size, " OPTIONS, kFamily, kOpaque, covered<new_filled>, "", kNoGradient,
     "memory in the type of a tensor"},
    {"aten.new_empty_strided.default", "self, size, stride, " OPTIONS, kFamily, kOpaque,
     covered<new_empty_strided>, "", kNoGradient, "memory in the type of a tensor, strides given"},
    {"aten.arange.default", "end, " OPTIONS, kFamily, Lower::movement, covered<arange>, "", kNoGradient,
     "0, 1, 2, ..."},
    {"aten.arange.start", "start, end, " OPTIONS, kFamily, Lower::movement, covered<arange_start>, "",
     kNoGradient, "start, start + 1, ..."},
    {"aten.arange.start_step", "start, end, step=1, " OPTIONS, kFamily, Lower::movement, covered<arange_step>,
     "", kNoGradient, "start, start + step, ..."},
    {"aten.linspace.default", "start, end, steps, " OPTIONS, kFamily, kOpaque, covered<linspace>, "",
     kNoGradient, "evenly spaced numbers"},
    {"aten.eye.default", "n, " OPTIONS, kFamily, Lower::movement, covered<eye>, "", kNoGradient,
     "identity matrix"},
    {"aten.eye.m", "n, m, " OPTIONS, kFamily, Lower::movement, covered<eye_m>, "", kNoGradient,
     "identity matrix"},
    {"aten.tril.default", "self, diagonal=0", kFamily, Lower::movement, covered<triangle>, "", kRule,
     "zero above a diagonal"},
    {"aten.triu.default", "self, diagonal=0", kFamily, Lower::movement, covered<triangle>, "", kRule,
     "zero below a diagonal"},
};

constexpr Family kDraws = Family::random;
constexpr std::string_view kDrawn = "nondifferentiable(\"it draws random numbers\")";

const std::vector<OpRow> kRandom = {
    {"aten.rand.default", "size, " OPTIONS, kDraws, kOpaque, covered<drawn>, "", kDrawn, "uniform in 0..1"},
    {"aten.randn.default", "size, " OPTIONS, kDraws, kOpaque, covered<drawn>, "", kDrawn, "normal"},
    {"aten.rand_like.default", "self, " FORMAT, kDraws, kOpaque, covered<like_drawn>, "", kDrawn,
     "uniform in the form of a tensor"},
    {"aten.randn_like.default", "self, " FORMAT, kDraws, kOpaque, covered<like_drawn>, "", kDrawn,
     "normal in the form of a tensor"},
    {"aten.native_dropout.default", "input, p, train", kDraws, kOpaque, nullptr, "", kRule,
     "elements zeroed at random, and which stayed"},
    {"aten.bernoulli.p", "self, p, *, generator=None", kDraws, kOpaque, nullptr, "", kDrawn,
     "1 with probability p"},
};
#undef OPTIONS
#undef FORMAT

}  // namespace vitrine::ops
