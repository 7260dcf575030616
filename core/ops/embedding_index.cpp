// Gathering and scattering by index tensors.
#include "core/ops/rules.h"

namespace vitrine::ops {

namespace {

void index_type(const TensorType& t) {
  need(t.dtype == DType::i64 || t.dtype == DType::i32, "the index is not of integers");
}

Types embedding(const Call& c) {
  const TensorType &weight = c.tensor(0), &index = c.tensor(1);
  index_type(index);
  need(weight.sizes.size() == 2, "the table is not a matrix");
  Dims sizes = index.sizes;
  sizes.push_back(weight.sizes[1]);
  return {TensorType::contiguous(weight.dtype, sizes)};
}

Types gather(const Call& c) {
  const TensorType &self = c.tensor(0), &index = c.tensor(2);
  need(index.dtype == DType::i64, "the index is not i64");
  size_t d = wrap_dim(c.integer(1), self.sizes.size());
  need(self.sizes.size() == index.sizes.size(), "as many dimensions as the index has are needed");
  for (size_t i = 0; i < index.sizes.size(); ++i)
    need(i == d || index.sizes[i] <= self.sizes[i], "index sizes");
  return {TensorType::contiguous(self.dtype, index.sizes)};
}

Types index_select(const Call& c) {
  const TensorType &self = c.tensor(0), &index = c.tensor(2);
  index_type(index);
  need(index.sizes.size() <= 1 && !self.sizes.empty(), "dimensions");
  size_t d = wrap_dim(c.integer(1), self.sizes.size());
  Dims sizes = self.sizes;
  sizes[d] = index.numel();
  return {TensorType::contiguous(self.dtype, sizes)};
}

// x[i, j, :]: index tensors broadcast together and replace their dimensions; if other dimensions stand
// between them, the result's index dimensions come first. Strides follow from an element-wise loop over the
// rest of x (index dimensions with stride 0) and the indices.
Types index(const Call& c) {
  TensorType self = c.tensor(0);
  auto indices = c.tensors(1);
  need(!indices.empty() && indices.size() <= self.sizes.size(), "indices");
  indices.resize(self.sizes.size(), nullptr);
  Dims together;
  std::vector<size_t> indexed, rest;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) {
      rest.push_back(i);
      continue;
    }
    index_type(*indices[i]);
    together = broadcast(together, indices[i]->sizes);
    indexed.push_back(i);
  }
  need(!indexed.empty() && self.numel() > 0, "no index or no elements");
  bool adjacent = indexed.back() - indexed.front() + 1 == indexed.size();
  size_t before = adjacent ? indexed.front() : 0;
  TensorType source{self.dtype, {}, {}, 0};
  auto add = [&](const Sym& size, const Sym& stride) {
    source.sizes.push_back(size);
    source.strides.push_back(stride);
  };
  for (size_t i = 0; i < before; ++i) add(self.sizes[i], self.strides[i]);
  for (const Sym& size : together) add(size, 0);
  for (size_t i : rest) {
    if (i >= before) add(self.sizes[i], self.strides[i]);
  }
  std::vector<TensorType> operands{source};
  for (size_t i : indexed) {
    TensorType t{self.dtype, Dims(before, 1), Dims(before, 0), 0};
    size_t shift = together.size() - indices[i]->sizes.size();
    for (size_t k = 0; k < together.size(); ++k) {
      bool present = k >= shift && (indices[i]->sizes[k - shift] == together[k]);
      t.sizes.push_back(together[k]);
      t.strides.push_back(present ? indices[i]->strides[k - shift] : Sym(0));
    }
    for (size_t k = before + together.size(); k < source.sizes.size(); ++k) {
      t.sizes.push_back(1);
      t.strides.push_back(0);
    }
    operands.push_back(t);
  }
  return {elementwise(operands, self.dtype, self.dtype)};
}

Types scatter_common(const Call& c) {
  const TensorType &self = c.tensor(0), &index = c.tensor(2);
  need(index.dtype == DType::i64, "the index is not i64");
  size_t d = wrap_dim(c.integer(1), self.sizes.size());
  need(index.numel() == 0 || self.sizes.size() == index.sizes.size(), "dimensions");
  const bool any = index.numel() != 0;
  for (size_t i = 0; i < index.sizes.size() && any; ++i)
    need(i == d || index.sizes[i] <= self.sizes[i], "index sizes");
  return {TensorType::contiguous(self.dtype, self.sizes)};
}
Types scatter_value(const Call& c) {
  const DType self = c.tensor(0).dtype;
  const auto is_truth = [&] { return self == DType::b1 && (c.number(3) == 0 || c.number(3) == 1); };
  need(can_cast(c.number_dtype(3), self) || is_truth(), "the value does not fit the type");
  return scatter_common(c);
}
Types scatter_source(const Call& c) {
  const TensorType &source = c.tensor(3), &index = c.tensor(2);
  need(source.dtype == c.tensor(0).dtype, "types differ");
  need(index.numel() == 0 || source.sizes.size() == index.sizes.size(), "dimensions");
  const bool any = index.numel() != 0;
  for (size_t i = 0; i < index.sizes.size() && any; ++i)
    need(index.sizes[i] <= source.sizes[i], "index sizes");
  return scatter_common(c);
}

Types index_add(const Call& c) {
  const TensorType &self = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3);
  index_type(index);
  need(self.dtype == source.dtype && self.is_contiguous() && !self.sizes.empty(), "layout or types");
  need(index.sizes.size() == 1 && source.sizes.size() == self.sizes.size(), "dimensions");
  const size_t d = wrap_dim(c.integer(1), self.sizes.size());
  for (size_t i = 0; i < self.sizes.size(); ++i)
    need(source.sizes[i] == (i == d ? index.sizes[0] : self.sizes[i]), "sizes of the source");
  return {TensorType::contiguous(self.dtype, self.sizes)};
}

// A copy of self with its strides kept.
Types index_put(const Call& c) {
  const TensorType& self = c.tensor(0);
  need(c.tensor(2).dtype == self.dtype, "types differ");
  need(c.tensors(1).size() == self.sizes.size(), "not every dimension is indexed");
  Dims together;
  for (const TensorType* t : c.tensors(1)) {
    need(t, "not every dimension is indexed");
    index_type(*t);
    together = broadcast(together, t->sizes);
  }
  need(c.tensor(2).sizes.empty() || c.tensor(2).sizes == together, "sizes of the values");
  return {{self.dtype, self.sizes, preserved_strides(self), 0}};
}

Types index_put_into(const Call& c) {
  need(c.tensor(2).dtype == c.tensor(0).dtype, "types differ");
  return {c.tensor(0)};
}

// As many places as the program says there are.
Types nonzero_static(const Call& c) {
  return {TensorType::contiguous(DType::i64, {c.integer(1), static_cast<int64_t>(c.tensor(0).sizes.size())})};
}

}  // namespace

constexpr Family kFamily = Family::memory;
constexpr Lower kLower = Lower::opaque;

const std::vector<OpRow> kEmbeddingIndex = {
    {"aten.embedding.default", "weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False",
     kFamily, Lower::movement, covered<embedding>, "", kRule, "rows of a table"},
    {"aten.gather.default", "self, dim, index, *, sparse_grad=False", kFamily, Lower::movement,
     covered<gather>, "", kRule, "elements picked along a dimension"},
    {"aten.index_select.default", "self, dim, index", kFamily, Lower::movement, covered<index_select>, "",
     kRule, "positions of a dimension"},
    {"aten.index.Tensor", "self, indices", kFamily, Lower::movement, covered<index>, "", kRule,
     "x[i, j, ...]"},
    {"aten.scatter.value", "self, dim, index, value", kFamily, Lower::scatter, covered<scatter_value>, "",
     kRule, "a number written at indexed places of a copy", "aten.scatter_.value"},
    {"aten.scatter.src", "self, dim, index, src", kFamily, Lower::scatter, covered<scatter_source>, "", kRule,
     "elements written at indexed places of a copy", "aten.scatter_.src"},
    {"aten.scatter_add.default", "self, dim, index, src", kFamily, Lower::scatter, covered<scatter_source>,
     "", kRule, "elements added at indexed places of a copy", "aten.scatter_add_.default"},
    {"aten.index_add.default", "self, dim, index, source, *, alpha=1", kFamily, Lower::scatter,
     covered<index_add>, "", kRule, "slices added at positions of a dimension of a copy",
     "aten.index_add_.default"},
    {"aten.index_copy.default", "self, dim, index, source", kFamily, Lower::scatter, covered<index_add>, "",
     kRule, "slices written at positions of a dimension of a copy", "aten.index_copy_.default"},
    {"aten.index_put.default", "self, indices, values, accumulate=False", kFamily, Lower::scatter,
     covered<index_put>, "", kRule, "x[i, j, ...] = values, in a copy", "aten.index_put_.default"},
    {"aten.index_put_.default", "self!, indices, values, accumulate=False", kFamily, kLower,
     covered<index_put_into>, "", kFunctional, "self[i, j, ...] = values"},
    {"aten.nonzero_static.default", "self, *, size, fill_value=-1", kFamily, kLower, covered<nonzero_static>,
     "", "nondifferentiable(\"the result is integer\")", "places of what is not zero, `size` of them"},
};

}  // namespace vitrine::ops
