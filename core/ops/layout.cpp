#include "core/ops/layout.h"

#include <limits>
#include <numeric>

namespace vitrine::ops {

namespace {
// Insertion sort by a comparison that may be undecided (0): PyTorch's order of dimensions, fastest first.
template <class F>
std::vector<size_t> sorted_dims(size_t n, F compare) {
  std::vector<size_t> perm(n);
  std::iota(perm.rbegin(), perm.rend(), 0);
  for (size_t i = 1; i < n; ++i) {
    size_t dim1 = i;
    for (size_t dim0 = i; dim0-- > 0;) {
      int c = compare(perm[dim0], perm[dim1]);
      if (c > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (c < 0) {
        break;
      }
    }
  }
  return perm;
}
}  // namespace

bool is_channels_last(const TensorType& t) {
  if (t.sizes.size() != 4) return false;
  Sym expected = 1;
  for (size_t d : {1, 3, 2, 0}) {
    if (t.sizes[d] == 1) continue;
    if (t.strides[d] != expected) return false;
    expected *= t.sizes[d];
  }
  return true;
}

// Strides grow in the order C, W, H, N; ambiguous N111 and N1HW with equal strides count as contiguous.
bool suggests_channels_last(const TensorType& t) {
  if (t.sizes.size() != 4) return false;
  Sym least = 0;
  if (t.strides[1] == 0) return false;
  for (size_t d : {1, 3, 2, 0}) {
    if (t.sizes[d] == 0) return false;
    if (t.strides[d] < least) return false;
    if (d == 0 && least == t.strides[1]) return false;
    least = t.strides[d];
    if (t.sizes[d] > 1) least *= t.sizes[d];
  }
  return true;
}

TensorType rows_as_images(TensorType rows) {
  const Sym row = rows.sizes[2] * rows.strides[2];
  rows.sizes.insert(rows.sizes.begin() + 2, 1);
  rows.strides.insert(rows.strides.begin() + 2, row);
  return rows;
}

bool is_dense(const TensorType& t) {
  if (t.is_contiguous() || is_channels_last(t)) return true;
  std::vector<size_t> order(t.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (t.sizes[a] < 2) return false;
    if (t.sizes[b] < 2) return true;
    return t.strides[a] < t.strides[b];
  });
  Sym expected = 1;
  for (size_t d : order) {
    if (t.sizes[d] < 2) return true;
    if (t.strides[d] != expected) return false;
    expected *= t.sizes[d];
  }
  return true;
}

Dims channels_last_strides(const Dims& s) {
  return {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
}

Dims preserved_strides(const TensorType& t) {
  if (is_dense(t)) return t.strides;
  auto perm = sorted_dims(t.sizes.size(), [&](size_t a, size_t b) {
    const Sym &x = t.strides[a], &y = t.strides[b];
    if (x == 0 || y == 0) return 0;
    if (x != y) return x < y ? -1 : 1;
    return t.sizes[a] > t.sizes[b] ? 1 : 0;
  });
  Dims out(t.sizes.size());
  Sym next = 1;
  for (size_t d : perm) {
    out[d] = next;
    if (t.sizes[d] > 1) next *= t.sizes[d];
  }
  return out;
}

Dims format_strides(const std::string& format, const Dims& sizes, const TensorType* like) {
  if (format.empty() || format == "torch.contiguous_format") return ir::contiguous_strides(sizes);
  if (format == "torch.channels_last") {
    need(sizes.size() == 4, "channels_last needs 4 dimensions");
    return channels_last_strides(sizes);
  }
  if (format == "torch.preserve_format" && like) return preserved_strides(*like);
  uncovered("memory format " + format);
}

Dims broadcast(const Dims& a, const Dims& b) {
  const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Sym& o = out[shift + i];
    if (o == 1)
      o = shorter[i];
    else
      need(shorter[i] == 1 || shorter[i] == o, "sizes do not broadcast");
  }
  return out;
}

namespace {

// When all operands have the same sizes, their common layout is kept without looking at dimensions.
std::optional<Dims> shared_layout(const std::vector<TensorType>& operands, const Dims& sizes) {
  bool contiguous = true, channels_last = true, dense = true, same_strides = true;
  for (const TensorType& t : operands) {
    if (t.sizes != sizes) return std::nullopt;
    contiguous &= t.is_contiguous();
    channels_last &= is_channels_last(t);
    dense &= is_dense(t);
    same_strides &= t.strides == operands[0].strides;
  }
  if (contiguous) return ir::contiguous_strides(sizes);
  if (channels_last) return channels_last_strides(sizes);
  if (dense && same_strides) return operands[0].strides;
  return std::nullopt;
}

}  // namespace

TensorType elementwise(std::vector<TensorType> operands, DType common, DType output) {
  Dims sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorType& t = operands[i];
    sizes = i ? broadcast(sizes, t.sizes) : t.sizes;
    if (t.dtype != common) t.strides = preserved_strides(t);
  }
  if (auto strides = shared_layout(operands, sizes)) return {output, sizes, *strides, 0};
  size_t n = sizes.size();
  // Strides over the output's dimensions, 0 where broadcast.
  std::vector<Dims> aligned;
  for (const TensorType& t : operands) {
    Dims b(n, 0);
    size_t shift = n - t.sizes.size();
    for (size_t i = 0; i < t.sizes.size(); ++i) {
      if (t.sizes[i] != 1 || sizes[shift + i] == 1) b[shift + i] = t.strides[i];
    }
    aligned.push_back(std::move(b));
  }
  auto perm = sorted_dims(n, [&](size_t a, size_t b) {
    for (const Dims& s : aligned) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  });
  bool inverted = true;
  for (size_t i = 0; i < n; ++i) inverted &= perm[i] == n - 1 - i;
  if (inverted) return TensorType::contiguous(output, sizes);
  Dims strides(n);
  Sym next = 1;
  for (size_t d : perm) {
    strides[d] = next;
    next *= sizes[d];
  }
  return {output, sizes, strides, 0};
}

// Dimensions of the old tensor are grouped into chunks that lie in one piece; each must split evenly.
std::optional<Dims> view_strides(const TensorType& t, const Dims& sizes) {
  if (t.numel() == 0) return t.sizes == sizes ? t.strides : ir::contiguous_strides(sizes);
  Dims out(sizes.size());
  if (t.sizes.empty()) {
    std::fill(out.begin(), out.end(), 1);
    return out;
  }
  size_t at = sizes.size();
  Sym base = t.strides.back(), old_numel = 1, new_numel = 1;
  for (size_t d = t.sizes.size(); d-- > 0;) {
    old_numel *= t.sizes[d];
    if (d > 0 && (t.sizes[d - 1] == 1 || t.strides[d - 1] == old_numel * base)) continue;
    while (at > 0 && (new_numel < old_numel || sizes[at - 1] == 1)) {
      --at;
      out[at] = new_numel * base;
      new_numel *= sizes[at];
    }
    if (new_numel != old_numel) return std::nullopt;
    if (d > 0) base = t.strides[d - 1], old_numel = new_numel = 1;
  }
  return at == 0 ? std::optional<Dims>(out) : std::nullopt;
}

Sym clamped(const Sym& value, const Sym& low, const Sym& high) {
  // The end of x[-3:]: less than a size it leaves 64 bits.
  if (!value.symbolic() && value.hint() == std::numeric_limits<int64_t>::max()) return high;
  if (value < low) return low;
  return value > high ? high : value;
}

Dims infer_sizes(Dims sizes, const Sym& numel) {
  Sym known = 1;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      need(unknown < 0, "two sizes are -1");
      unknown = static_cast<int>(i);
    } else {
      need(sizes[i] >= 0, "a size is negative");
      known *= sizes[i];
    }
  }
  if (unknown >= 0) {
    need(known != 0 && mod(numel, known) == 0, "the size -1 cannot be found");
    sizes[static_cast<size_t>(unknown)] = floordiv(numel, known);
  } else {
    need(known == numel, "the number of elements differs");
  }
  return sizes;
}

}  // namespace vitrine::ops
