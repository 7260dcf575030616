// Operators that gather elements by index tensors. An index out of range is found where it is used.
#include "core/fusion/nests.h"

namespace vitrine::fusion {

namespace {

using ir::Arg;
using ir::Dims;
using ir::Ref;

bool is_index(const NestWriter& w, const Arg& arg) {
  if (!arg.is<Ref>()) return false;
  const ir::DType t = w.type(arg.as<Ref>()).dtype;
  return t == ir::DType::i64 || t == ir::DType::i32;
}

// out[..., c] = weight[indices[...], c]
bool embedding(NestWriter& w, std::string& why) {
  const Ref weight = w.value(0), indices = w.value(1);
  if (w.type(weight).numel() == 0) return no(why, "the table is empty");
  Dims strides = w.type(indices).strides;
  strides.push_back(0);
  Access at = w.place(weight);
  at.gathered = {{w.index_at(indices, std::move(strides)), at.strides[0], w.type(weight).sizes[0]}};
  const ir::Sym column = at.strides[1];
  at.strides.assign(w.nest.dims.size(), 0);
  at.strides.back() = column;
  w.nest.expr = w.read(weight, std::move(at));
  return true;
}

// A dim of `self` whose index is in `index`, at `strides` of the nest.
bool along(NestWriter& w, Ref self, size_t d, Ref index, Dims strides, std::string& why) {
  if (w.type(self).numel() == 0) return no(why, "there is nothing to gather from");
  Access at = w.place(self);
  at.gathered = {{w.index_at(index, std::move(strides)), at.strides[d], w.type(self).sizes[d]}};
  at.strides[d] = 0;
  w.nest.expr = w.read(self, std::move(at));
  return true;
}

// out[i, j] = self[index[i, j], j], dim 0
bool gather(NestWriter& w, std::string& why) {
  const Ref self = w.value(0), index = w.value(2);
  auto d = NestWriter::dim(w.integer(1), w.type(self).sizes.size());
  if (!d || w.type(index).sizes.size() != w.type(self).sizes.size())
    return no(why, "a number is gathered from");
  return along(w, self, *d, index, w.type(index).strides, why);
}

// out[i, j] = self[index[i], j], dim 0
bool index_select(NestWriter& w, std::string& why) {
  const Ref self = w.value(0), index = w.value(2);
  auto d = NestWriter::dim(w.integer(1), w.type(self).sizes.size());
  if (!d || w.type(index).sizes.size() > 1) return no(why, "a number is selected from");
  Dims strides(w.nest.dims.size(), 0);
  if (!w.type(index).sizes.empty()) strides[*d] = w.type(index).strides[0];
  return along(w, self, *d, index, std::move(strides), why);
}

// x[i, :, j]: the index tensors broadcast together and stand where the first of them is, or first of all if
// another dim stands between them.
bool index_tensors(NestWriter& w, std::string& why) {
  const Ref self = w.value(0);
  const ir::TensorType& from = w.type(self);
  if (from.numel() == 0) return no(why, "there is nothing to gather from");
  std::vector<size_t> indexed, rest;
  std::vector<Arg> indices = w.arg(1).as<std::vector<Arg>>();
  indices.resize(from.sizes.size());
  size_t together = 0;  // dims that the indices have together
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].is_none()) {
      rest.push_back(i);
      continue;
    }
    if (!is_index(w, indices[i])) return no(why, "an index is a mask");
    indexed.push_back(i);
    together = std::max(together, w.type(indices[i].as<Ref>()).sizes.size());
  }
  if (indexed.empty()) return no(why, "nothing is indexed");
  const bool adjacent = indexed.back() - indexed.front() + 1 == indexed.size();
  const size_t before = adjacent ? indexed.front() : 0;
  const Access place = w.place(self);
  Access at = place;
  at.strides.assign(w.nest.dims.size(), 0);
  for (size_t k = 0; k < rest.size(); ++k)
    at.strides[rest[k] < before ? k : k + together] = place.strides[rest[k]];
  for (size_t i : indexed) {
    const ir::TensorType& t = w.type(indices[i].as<Ref>());
    Dims strides(w.nest.dims.size(), 0);
    const size_t shift = before + together - t.sizes.size();
    for (size_t k = 0; k < t.sizes.size(); ++k)
      if (t.sizes[k] != 1) strides[shift + k] = t.strides[k];
    at.gathered.push_back(
        {w.index_at(indices[i].as<Ref>(), std::move(strides)), place.strides[i], from.sizes[i], true});
  }
  w.nest.expr = w.read(self, std::move(at));
  return true;
}

}  // namespace

const std::vector<NestRow> kGathers = {
    {"aten.embedding.default", embedding},
    {"aten.gather.default", gather},
    {"aten.index_select.default", index_select},
    {"aten.index.Tensor", index_tensors},
};

}  // namespace vitrine::fusion
