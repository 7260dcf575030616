// Copies, conversions and rearrangements that move elements.
#include <algorithm>

#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

Types copy_as(const TensorType& t, DType dtype, std::string format) {
  if (format.empty()) format = "torch.preserve_format";
  return {{dtype, t.sizes, format_strides(format, t.sizes, &t), 0}};
}
Types clone(const Call& c) {
  return copy_as(c.tensor(0), c.tensor(0).dtype, c.word(1));
}
Types preserved(const Call& c) {
  return copy_as(c.tensor(0), c.tensor(0).dtype, "");
}
Types contiguous(const Call& c) {
  return {TensorType::contiguous(c.tensor(0).dtype, c.tensor(0).sizes)};
}
Types to_copy(const Call& c) {
  std::string layout = c.word(2);
  need(layout.empty() || layout == "torch.strided", "layout");
  return copy_as(c.tensor(0), c.dtype(1).value_or(c.tensor(0).dtype), c.word(6));
}

// cat: sizes agree but along `dim`; an empty 1-d tensor is skipped, whatever the others are.
Types cat(const Call& c) {
  auto list = c.tensors(0);
  need(!list.empty(), "nothing to join");
  auto skipped = [](const TensorType& t) { return t.sizes.size() == 1 && t.sizes[0] == 0; };
  const TensorType* first = nullptr;
  Promotion promotion(c.default_dtype);
  bool channels_last = true;
  for (const TensorType* t : list) {
    need(t && !t->sizes.empty(), "a 0-d tensor");
    promotion.tensor(*t);
    channels_last &= suggests_channels_last(*t);
    if (!first && !skipped(*t)) first = t;
  }
  if (!first) return {TensorType::contiguous(promotion.result(), {0})};
  Dims sizes = first->sizes;
  size_t d = wrap_dim(c.integer(1), sizes.size());
  sizes[d] = 0;
  for (const TensorType* t : list) {
    if (skipped(*t)) continue;
    need(t->sizes.size() == sizes.size(), "dimensions differ");
    for (size_t i = 0; i < sizes.size(); ++i) need(i == d || t->sizes[i] == sizes[i], "sizes differ");
    sizes[d] += t->sizes[d];
  }
  Dims strides = channels_last ? channels_last_strides(sizes) : ir::contiguous_strides(sizes);
  return {{promotion.result(), sizes, strides, 0}};
}
Types stack(const Call& c) {
  auto list = c.tensors(0);
  need(!list.empty() && list[0], "nothing to join");
  Promotion promotion(c.default_dtype);
  bool channels_last = true;
  for (const TensorType* t : list) {
    need(t && t->sizes == list[0]->sizes, "sizes differ");
    promotion.tensor(*t);
    channels_last &= suggests_channels_last(*t);
  }
  need(!channels_last, "layout");
  Dims sizes = list[0]->sizes;
  size_t d = wrap_dim(c.integer(1), sizes.size() + 1);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(d), static_cast<int64_t>(list.size()));
  return {TensorType::contiguous(promotion.result(), sizes)};
}

Types repeat(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims times = c.ints(1);
  need(times.size() >= t.sizes.size(), "fewer repeats than dimensions");
  size_t shift = times.size() - t.sizes.size();
  for (size_t i = 0; i < times.size(); ++i) {
    need(times[i] >= 0, "a negative repeat");
    if (i >= shift) times[i] *= t.sizes[i - shift];
  }
  return {TensorType::contiguous(t.dtype, times)};
}

Types flip(const Call& c) {
  dim_mask(c.ints(1), c.tensor(0).sizes.size());
  return preserved(c);
}
// In rows; `part` are the sizes of what is replaced. PyTorch's result lies as far into its storage as its
// input does.
Types with_part_replaced(const Call& c, const Dims& part) {
  const TensorType &t = c.tensor(0), &src = c.tensor(1);
  need(t.is_contiguous() && t.offset == 0 && src.dtype == t.dtype && src.sizes == part,
       "another type or layout");
  return {TensorType::contiguous(t.dtype, t.sizes)};
}
Types slice_scatter(const Call& c) {
  Dims part = c.tensor(0).sizes;
  const size_t dim = wrap_dim(c.integer(2), part.size());
  need(!part.empty(), "a 0-d tensor has no slices");
  const Sym size = part[dim], step = c.integer(5);
  need(step > 0, "a slice goes forwards");
  auto end_at = [&](size_t i, const Sym& otherwise) {
    const Sym at = c.none(i) ? otherwise : c.integer(i);
    return clamped(at < 0 ? at + size : at, 0, size);
  };
  const Sym from = end_at(3, 0), to = clamped(end_at(4, size), from, size);
  part[dim] = floordiv(to - from + step - 1, step);
  return with_part_replaced(c, part);
}
Types select_scatter(const Call& c) {
  Dims part = c.tensor(0).sizes;
  const size_t dim = wrap_dim(c.integer(2), part.size());
  need(!part.empty() && c.integer(3) < part[dim] && c.integer(3) >= -part[dim], "no such position");
  part.erase(part.begin() + static_cast<std::ptrdiff_t>(dim));
  return with_part_replaced(c, part);
}
Types roll(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims shifts = c.ints(1), dims = c.ints(2);
  need(shifts.size() == (dims.empty() ? 1 : dims.size()), "as many shifts as dimensions are needed");
  for (int64_t d : dims) wrap_dim(d, t.sizes.size());
  need(t.is_contiguous() && t.numel() > 0, "layout");
  return {TensorType::contiguous(t.dtype, t.sizes)};
}

bool is_open(const TensorType& t, const Dims& pad) {
  const auto symbolic = [](const Sym& each) { return each.symbolic(); };
  return std::ranges::any_of(pad, symbolic) || std::ranges::any_of(t.sizes, symbolic);
}
// Whether a clone lies as what is padded.
bool may_be_cloned(const TensorType& t, const Dims& pad) {
  return t.is_contiguous() && !suggests_channels_last(t) &&
         std::all_of(pad.begin(), pad.end(), [](const Sym& p) { return p >= 0; });
}

// pad lists (before, after) from the last dimension on; negative numbers cut.
Types pad(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims pad = c.ints(1), sizes = t.sizes;
  need(pad.size() % 2 == 0 && pad.size() / 2 <= sizes.size(), "pad");
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Sym& size = sizes[sizes.size() - 1 - i];
    size += pad[2 * i] + pad[2 * i + 1];
    need(size >= 0, "pad");
  }
  const bool open = is_open(t, pad);
  const auto grows = [&] { return std::ranges::any_of(pad, [](const Sym& p) { return p > 0; }); };
  if (!(open && may_be_cloned(t, pad)) && !grows()) {
    // A clone with the layout of what is left. Of numbers PyTorch's own answer is asked.
    need(open, "nothing to pad");
    return {{t.dtype, sizes, preserved_strides({t.dtype, sizes, t.strides, 0}), 0}};
  }
  if (suggests_channels_last(t)) return {{t.dtype, sizes, channels_last_strides(sizes), 0}};
  return {TensorType::contiguous(t.dtype, sizes)};
}

// The last dims with a border of what is within; mirrored, it is narrower than that.
Types border(const Call& c, size_t dims, bool mirrored) {
  const TensorType& t = c.tensor(0);
  const Dims pad = c.ints(1);
  Dims sizes = t.sizes;
  need(t.dtype != DType::b1 && t.numel() > 0, "type or nothing to repeat");
  need(pad.size() == 2 * dims && (sizes.size() == dims + 1 || sizes.size() == dims + 2), "pad");
  const bool nhwc = suggests_channels_last(t);
  need(nhwc ? dims == 2 : t.is_contiguous(), "layout");
  for (size_t i = 0; i < dims; ++i) {
    Sym& size = sizes[sizes.size() - 1 - i];
    const Sym before = pad[2 * i], after = pad[2 * i + 1];
    need(before >= 0 && after >= 0, "a negative pad");
    need(!mirrored || (before < size && after < size), "a mirror of more than there is");
    size += before + after;
  }
  if (nhwc) return {{t.dtype, sizes, channels_last_strides(sizes), 0}};
  return {TensorType::contiguous(t.dtype, sizes)};
}
template <size_t dims>
Types reflection_pad(const Call& c) {
  return border(c, dims, true);
}
template <size_t dims>
Types replication_pad(const Call& c) {
  return border(c, dims, false);
}

// (..., c r^2, h, w) as (..., c, h r, w r), or back.
Types pixels(const Call& c, bool shuffle) {
  const TensorType& t = c.tensor(0);
  const size_t n = t.sizes.size();
  const Sym r = c.integer(1);
  need(n >= 3 && r > 0 && t.is_contiguous() && !suggests_channels_last(t) && t.numel() > 0, "layout");
  Dims sizes = t.sizes;
  Sym &channels = sizes[n - 3], &rows = sizes[n - 2], &columns = sizes[n - 1];
  need(shuffle ? mod(channels, r * r) == 0 : mod(rows, r) == 0 && mod(columns, r) == 0, "sizes");
  channels = shuffle ? floordiv(channels, r * r) : channels * r * r;
  rows = shuffle ? rows * r : floordiv(rows, r);
  columns = shuffle ? columns * r : floordiv(columns, r);
  return {TensorType::contiguous(t.dtype, sizes)};
}
Types pixel_shuffle(const Call& c) {
  return pixels(c, true);
}
Types pixel_unshuffle(const Call& c) {
  return pixels(c, false);
}

Types copied_into(const Call& c) {
  need(broadcast(c.tensor(0).sizes, c.tensor(1).sizes) == c.tensor(0).sizes, "sizes");
  return {c.tensor(0)};
}
Types filled(const Call& c) {
  if (c.size() > 1 && c.is_tensor(1)) need(c.tensor(1).sizes.empty(), "the value has dimensions");
  return {c.tensor(0)};
}

}  // namespace

constexpr Family kFamily = Family::memory;
constexpr Lower kLoop = Lower::pointwise;
constexpr Lower kOpaque = Lower::opaque;

const std::vector<OpRow> kCopy = {
    {"aten.clone.default", "self, *, memory_format=None", kFamily, kLoop, covered<clone>, "a", kRule,
     "a copy"},
    {"aten.lift_fresh_copy.default", "self", kFamily, kLoop, covered<contiguous>, "a",
     "borrowed(\"of constants, which have no gradient\")", "a copy of a constant"},
    {"aten._to_copy.default",
     "self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None",
     Family::pointwise, kLoop, covered<to_copy>, "a", kRule, "a copy in another type"},
    {"aten.cat.default", "tensors, dim=0", kFamily, Lower::movement, covered<cat>, "", kRule,
     "joined along a dimension"},
    {"aten.stack.default", "tensors, dim=0", kFamily, Lower::movement, covered<stack>, "", kRule,
     "joined along a new dimension"},
    {"aten.repeat.default", "self, repeats", kFamily, Lower::movement, covered<repeat>, "", kRule, "tiled"},
    {"aten.flip.default", "self, dims", kFamily, Lower::movement, covered<flip>, "", kRule,
     "dimensions reversed"},
    {"aten.roll.default", "self, shifts, dims=[]", kFamily, Lower::movement, covered<roll>, "", kRule,
     "elements shifted around"},
    {"aten.constant_pad_nd.default", "self, pad, value=0", kFamily, Lower::movement, covered<pad>, "", kRule,
     "padded with a number"},
    {"aten.reflection_pad1d.default", "self, padding", kFamily, Lower::movement, covered<reflection_pad<1>>,
     "", kRule, "padded with its mirror image"},
    {"aten.reflection_pad2d.default", "self, padding", kFamily, Lower::movement, covered<reflection_pad<2>>,
     "", kRule, "padded with its mirror image"},
    {"aten.reflection_pad3d.default", "self, padding", kFamily, Lower::movement, covered<reflection_pad<3>>,
     "", kRule, "padded with its mirror image"},
    {"aten.replication_pad1d.default", "self, padding", kFamily, Lower::movement, covered<replication_pad<1>>,
     "", kRule, "padded with its outermost elements"},
    {"aten.replication_pad2d.default", "self, padding", kFamily, Lower::movement, covered<replication_pad<2>>,
     "", kRule, "padded with its outermost elements"},
    {"aten.replication_pad3d.default", "self, padding", kFamily, Lower::movement, covered<replication_pad<3>>,
     "", kRule, "padded with its outermost elements"},
    {"aten.pixel_shuffle.default", "self, upscale_factor", kFamily, kOpaque, covered<pixel_shuffle>, "",
     "pixel_unshuffle(g, b)", "channels laid out as squares of pixels"},
    {"aten.pixel_unshuffle.default", "self, downscale_factor", kFamily, Lower::movement,
     covered<pixel_unshuffle>, "", "pixel_shuffle(g, b)", "squares of pixels laid out as channels"},
    {"aten.slice_scatter.default", "self, src, dim=0, start=None, end=None, step=1", kFamily, Lower::movement,
     covered<slice_scatter>, "", kRule, "a copy with a range of a dimension replaced"},
    {"aten.select_scatter.default", "self, src, dim, index", kFamily, Lower::movement,
     covered<select_scatter>, "", kRule, "a copy with one position of a dimension replaced"},
    // PyTorch has no functional twins of these.
    {"aten.copy_.default", "self!, src, non_blocking=False", kFamily, kOpaque, covered<copied_into>, "",
     kFunctional, "src written into self"},
    {"aten.fill_.Scalar", "self!, value", kFamily, kOpaque, covered<filled>, "", kFunctional,
     "a number written everywhere"},
    {"aten.fill_.Tensor", "self!, value", kFamily, kOpaque, covered<filled>, "", kFunctional,
     "a 0-d tensor written everywhere"},
    {"aten.zero_.default", "self!", kFamily, kOpaque, covered<filled>, "", kFunctional,
     "zeros written everywhere"},
};

}  // namespace vitrine::ops
