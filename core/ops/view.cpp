// Views: outputs share the storage of their argument.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

Types same(const Call& c) {
  return {c.tensor(0)};
}

Types view(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims sizes = infer_sizes(c.ints(1), t.numel());
  auto strides = view_strides(t, sizes);
  need(strides.has_value(), "no view with these sizes exists");
  return {{t.dtype, sizes, *strides, t.offset}};
}

// As view, but the strides are given by who calls it (reshape does).
Types reshape_alias(const Call& c) {
  const TensorType& t = c.tensor(0);
  return {{t.dtype, c.ints(1), c.ints(2), t.offset}};
}

Types permute(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims dims = c.ints(1);
  need(dims.size() == t.sizes.size(), "as many dimensions as the tensor has are needed");
  dim_mask(dims, t.sizes.size());
  TensorType out{t.dtype, {}, {}, t.offset};
  for (int64_t d : dims) {
    size_t i = wrap_dim(d, t.sizes.size());
    out.sizes.push_back(t.sizes[i]);
    out.strides.push_back(t.strides[i]);
  }
  return {out};
}

Types transposed(const Call& c, int64_t a, int64_t b) {
  TensorType out = c.tensor(0);
  size_t i = wrap_dim(a, out.sizes.size()), j = wrap_dim(b, out.sizes.size());
  if (out.sizes.empty()) return {out};
  std::swap(out.sizes[i], out.sizes[j]);
  std::swap(out.strides[i], out.strides[j]);
  return {out};
}
Types transpose(const Call& c) {
  return transposed(c, c.integer(1), c.integer(2));
}
Types t(const Call& c) {
  need(c.tensor(0).sizes.size() <= 2, "t() takes at most 2 dimensions");
  return c.tensor(0).sizes.size() == 2 ? transposed(c, 0, 1) : Types{c.tensor(0)};
}

// Sizes are aligned at the end; -1 keeps a size; an expanded dimension has stride 0.
Types expand(const Call& c) {
  const TensorType& t = c.tensor(0);
  Dims sizes = c.ints(1), strides(sizes.size());
  need(sizes.size() >= t.sizes.size(), "fewer dimensions than the tensor has");
  size_t shift = sizes.size() - t.sizes.size();
  if (t.sizes.empty()) {
    for (const Sym& s : sizes) need(s >= 0, "-1 in a new dimension");
    return {{t.dtype, sizes, strides, t.offset}};
  }
  for (size_t i = sizes.size(); i-- > 0;) {
    Sym size = i < shift ? Sym(1) : t.sizes[i - shift];
    Sym stride =
        i < shift ? (i + 1 < sizes.size() ? sizes[i + 1] * strides[i + 1] : Sym(1)) : t.strides[i - shift];
    if (sizes[i] == -1) {
      need(i >= shift, "-1 in a new dimension");
      sizes[i] = size;
    }
    if (size != sizes[i]) {
      need(size == 1, "only dimensions of size 1 expand");
      stride = 0;
    }
    strides[i] = stride;
  }
  return {{t.dtype, sizes, strides, t.offset}};
}

Types squeezed(const TensorType& t, const std::vector<bool>& drop) {
  TensorType out{t.dtype, {}, {}, t.offset};
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (drop[i] && t.sizes[i] == 1) continue;
    out.sizes.push_back(t.sizes[i]);
    out.strides.push_back(t.strides[i]);
  }
  return {out};
}
Types squeeze(const Call& c) {
  return squeezed(c.tensor(0), std::vector<bool>(c.tensor(0).sizes.size(), true));
}
Types squeeze_dims(const Call& c) {
  const TensorType& t = c.tensor(0);
  std::vector<bool> drop(t.sizes.size(), false);
  for (int64_t d : c.ints(1)) {
    size_t i = wrap_dim(d, t.sizes.size());
    if (i >= drop.size()) continue;
    need(!drop[i], "a dimension appears twice");
    drop[i] = true;
  }
  return squeezed(t, drop);
}
Types unsqueeze(const Call& c) {
  TensorType out = c.tensor(0);
  size_t n = out.sizes.size(), i = wrap_dim(c.integer(1), n + 1);
  Sym stride = i < n ? out.sizes[i] * out.strides[i] : Sym(1);
  out.sizes.insert(out.sizes.begin() + static_cast<std::ptrdiff_t>(i), 1);
  out.strides.insert(out.strides.begin() + static_cast<std::ptrdiff_t>(i), stride);
  return {out};
}

// x[start:end:step] along dim; bounds are clamped as in Python.
Types slice(const Call& c) {
  TensorType out = c.tensor(0);
  need(!out.sizes.empty(), "a 0-d tensor has no slices");
  size_t d = wrap_dim(c.integer(1), out.sizes.size());
  const Sym size = out.sizes[d], step = c.integer(4);
  Sym start = c.none(2) ? Sym(0) : c.integer(2), end = c.none(3) ? size : c.integer(3);
  need(step > 0, "the step is not positive");
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = clamped(start, 0, size);
  end = clamped(end, start, size);
  out.offset += start * out.strides[d];
  out.sizes[d] = floordiv(end - start + step - 1, step);
  out.strides[d] *= step;
  return {out};
}

TensorType selected(TensorType t, size_t d, const Sym& index) {
  t.offset += index * t.strides[d];
  t.sizes.erase(t.sizes.begin() + static_cast<std::ptrdiff_t>(d));
  t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(d));
  return t;
}
Types select(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(!t.sizes.empty(), "a 0-d tensor has no elements to select");
  size_t d = wrap_dim(c.integer(1), t.sizes.size());
  const Sym index = c.integer(2);
  need(index >= -t.sizes[d] && index < t.sizes[d], "index out of range");
  return {selected(t, d, index < 0 ? index + t.sizes[d] : index)};
}
Types unbind(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(!t.sizes.empty(), "a 0-d tensor has no elements to select");
  size_t d = wrap_dim(c.integer(1), t.sizes.size());
  Types out;
  for (int64_t i = 0; i < t.sizes[d]; ++i) out.push_back(selected(t, d, i));
  return out;
}

Types pieces(const TensorType& t, size_t d, const Dims& lengths) {
  Types out;
  Sym at = 0;
  for (const Sym& length : lengths) {
    TensorType piece = t;
    piece.sizes[d] = length;
    piece.offset += at * t.strides[d];
    at += length;
    out.push_back(piece);
  }
  return out;
}
Types split(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(!t.sizes.empty(), "a 0-d tensor does not split");
  size_t d = wrap_dim(c.integer(2), t.sizes.size());
  const Sym length = c.integer(1);
  Sym rest = t.sizes[d];
  need(length > 0 || (length == 0 && rest == 0), "the length is not positive");
  Dims lengths;
  do {
    lengths.push_back(length < rest ? length : rest);
    rest -= lengths.back();
  } while (rest > 0);
  return pieces(t, d, lengths);
}
Types split_with_sizes(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(!t.sizes.empty(), "a 0-d tensor does not split");
  size_t d = wrap_dim(c.integer(2), t.sizes.size());
  Dims lengths = c.ints(1);
  Sym sum = 0;
  for (const Sym& l : lengths) {
    need(l >= 0, "a length is negative");
    sum += l;
  }
  need(sum == t.sizes[d], "the lengths do not add up");
  return pieces(t, d, lengths);
}

// diagonal(x, offset, dim1, dim2): the two dimensions leave, their diagonal comes last.
Types diagonal(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.sizes.size() >= 2, "a diagonal needs 2 dimensions");
  size_t a = wrap_dim(c.integer(2), t.sizes.size()), b = wrap_dim(c.integer(3), t.sizes.size());
  need(a != b, "the two dimensions are the same");
  int64_t offset = c.integer(1);
  const Sym rows = offset >= 0 ? t.sizes[a] : t.sizes[a] + offset;
  const Sym columns = offset >= 0 ? t.sizes[b] - offset : t.sizes[b];
  const Sym length = clamped(rows < columns ? rows : columns, 0, t.sizes[a]);
  TensorType out = t;
  if (length > 0) out.offset += offset >= 0 ? offset * t.strides[b] : -offset * t.strides[a];
  for (size_t d : {std::max(a, b), std::min(a, b)}) out = selected(out, d, 0);
  out.sizes.push_back(length);
  out.strides.push_back(t.strides[a] + t.strides[b]);
  return {out};
}

Types as_strided(const Call& c) {
  const TensorType& t = c.tensor(0);
  return {{t.dtype, c.ints(1), c.ints(2), c.none(3) ? t.offset : c.integer(3)}};
}

// Windows of `size` every `step` along a dimension become a last dimension.
Types unfold(const Call& c) {
  TensorType out = c.tensor(0);
  need(!out.sizes.empty(), "a 0-d tensor does not unfold");
  size_t d = wrap_dim(c.integer(1), out.sizes.size());
  const Sym size = c.integer(2), step = c.integer(3);
  need(size >= 0 && step > 0 && size <= out.sizes[d], "size or step out of range");
  const Sym stride = out.strides[d];
  out.sizes[d] = floordiv(out.sizes[d] - size, step) + 1;
  out.strides[d] *= step;
  out.sizes.push_back(size);
  out.strides.push_back(stride);
  return {out};
}

Types view_dtype(const Call& c) {
  TensorType out = c.tensor(0);
  DType to = *c.dtype(1);
  need(ir::dtype_bytes(to) == ir::dtype_bytes(out.dtype), "the element size changes");
  out.dtype = to;
  return {out};
}

}  // namespace

constexpr Family kFamily = Family::view;
constexpr Lower kLower = Lower::view;

const std::vector<OpRow> kView = {
    {"aten.view.default", "self, size", kFamily, kLower, covered<view>, "", kRule, "other sizes"},
    {"aten._unsafe_view.default", "self, size", kFamily, kLower, covered<view>, "", kRule,
     "other sizes of a temporary"},
    {"aten._reshape_alias.default", "self, size, stride", kFamily, kLower, covered<reshape_alias>, "", kRule,
     "other sizes, strides given"},
    {"aten.view.dtype", "self, dtype", kFamily, Lower::opaque, covered<view_dtype>, "",
     "nondifferentiable(\"its bits are another number\")", "the same bytes read as another type"},
    {"aten.permute.default", "self, dims", kFamily, kLower, covered<permute>, "", kRule,
     "dimensions reordered"},
    {"aten.transpose.int", "self, dim0, dim1", kFamily, kLower, covered<transpose>, "", kRule,
     "two dimensions swapped"},
    {"aten.t.default", "self", kFamily, kLower, covered<t>, "", kRule, "matrix transposed"},
    {"aten.expand.default", "self, size, *, implicit=False", kFamily, kLower, covered<expand>, "", kRule,
     "repeated without copying"},
    {"aten.squeeze.default", "self", kFamily, kLower, covered<squeeze>, "", kRule,
     "dimensions of size 1 dropped"},
    {"aten.squeeze.dim", "self, dim", kFamily, kLower, covered<squeeze_dims>, "", kRule,
     "a dimension of size 1 dropped"},
    {"aten.squeeze.dims", "self, dim", kFamily, kLower, covered<squeeze_dims>, "", kRule,
     "some dimensions of size 1 dropped"},
    {"aten.unsqueeze.default", "self, dim", kFamily, kLower, covered<unsqueeze>, "", kRule,
     "a dimension of size 1 added"},
    {"aten.slice.Tensor", "self, dim=0, start=None, end=None, step=1", kFamily, kLower, covered<slice>, "",
     kRule, "a range of a dimension"},
    {"aten.select.int", "self, dim, index", kFamily, kLower, covered<select>, "", kRule,
     "one position of a dimension"},
    {"aten.unbind.int", "self, dim=0", kFamily, kLower, covered<unbind>, "", kRule,
     "every position of a dimension"},
    {"aten.split.Tensor", "self, split_size, dim=0", kFamily, kLower, covered<split>, "", kRule,
     "pieces of one length"},
    {"aten.split_with_sizes.default", "self, split_sizes, dim=0", kFamily, kLower, covered<split_with_sizes>,
     "", kRule, "pieces of given lengths"},
    {"aten.diagonal.default", "self, offset=0, dim1=0, dim2=1", kFamily, kLower, covered<diagonal>, "", kRule,
     "a diagonal as last dimension"},
    {"aten.as_strided.default", "self, size, stride, storage_offset=None", kFamily, kLower,
     covered<as_strided>, "", kRule, "sizes, strides and offset given"},
    {"aten.unfold.default", "self, dimension, size, step", kFamily, kLower, covered<unfold>, "", kRule,
     "sliding windows"},
    {"aten.alias.default", "self", kFamily, kLower, covered<same>, "", kRule, "the same tensor again"},
    {"aten.detach.default", "self", kFamily, kLower, covered<same>, "", "borrowed(\"autograd ends here\")",
     "the same tensor without gradient"},
    {"aten.lift_fresh.default", "self", kFamily, kLower, covered<same>, "", kRule, "a constant enters"},
};

}  // namespace vitrine::ops
