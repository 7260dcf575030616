// Operators whose results have sizes that depend on data. They are recorded with sizes that stand in for
// those of a run: whatever the program concludes from them is checked when it has run
// (core/capture/segment/segment.cpp).
#include "core/recording/operator_call.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "core/ops/device.h"

namespace vitrine::torch_api {

namespace {

using Types = std::vector<ir::TensorType>;

// What a rule is given: the call, and a size that stands for one that depends on data.
struct DataCall {
  const ops::ShapeCall& call;
  const ops::OpRow* row;
  std::function<int64_t()> new_size;

  const ir::TensorType* tensor(size_t i) const {
    return i < call.args.size() ? call.args[i].tensor : nullptr;
  }
  bool flag(size_t i) const {
    const ir::Arg* arg = i < call.args.size() ? call.args[i].constant : nullptr;
    return arg && arg->is<bool>() && arg->as<bool>();
  }
  int64_t number(size_t i) const {  // 0: it is none
    const ir::Arg* arg = i < call.args.size() ? call.args[i].constant : nullptr;
    return arg && arg->is<int64_t>() ? arg->as<ir::Sym>().hint() : 0;
  }
  ir::TensorType like(size_t i, ir::DType dtype, ir::Dims sizes) const {
    ir::TensorType type = ir::TensorType::contiguous(dtype, std::move(sizes));
    type.device = tensor(i)->device;
    return type;
  }
};

// i64[u, ndim]: PyTorch's kernels give it transposed.
std::optional<Types> nonzero(const DataCall& of) {
  const auto dims = static_cast<int64_t>(of.tensor(0)->sizes.size());
  if (dims == 0) return {};
  const int64_t found = of.new_size();
  ir::TensorType type = of.like(0, ir::DType::i64, {found, dims});
  type.strides = {1, found};
  return Types{type};
}

std::optional<Types> masked_select(const DataCall& of) {
  return Types{of.like(0, of.tensor(0)->dtype, {of.new_size()})};
}

// A mask stands for an index into each of its dims.
std::optional<Types> index(const DataCall& of) {
  const std::vector<ops::ShapeArg>& given = of.call.args.at(1).list;
  const ir::TensorType found = of.like(0, ir::DType::i64, {of.new_size()});
  ops::ShapeCall call = of.call;
  std::vector<ops::ShapeArg>& indices = call.args[1].list;
  indices.clear();
  int masks = 0;
  for (const ops::ShapeArg& each : given) {
    const bool is_mask =
        each.tensor && (each.tensor->dtype == ir::DType::b1 || each.tensor->dtype == ir::DType::u8);
    masks += is_mask;
    if (is_mask && each.tensor->sizes.empty()) return {};
    const size_t times = is_mask ? each.tensor->sizes.size() : 1;
    for (size_t i = 0; i < times; ++i) indices.push_back(is_mask ? ops::ShapeArg{&found} : each);
  }
  if (masks != 1 || !of.row || !of.row->shape) return {};
  Result<Types> types = ops::types_of(*of.row, call);
  if (!types) return {};
  return types.take();
}

// (values, inverse, counts); those not asked for are empty.
std::optional<Types> unique(const DataCall& of, bool inverse, bool counts) {
  const int64_t found = of.new_size();
  return Types{of.like(0, of.tensor(0)->dtype, {found}),
               of.like(0, ir::DType::i64, inverse ? of.tensor(0)->sizes : ir::Dims{0}),
               of.like(0, ir::DType::i64, {counts ? found : 0})};
}
std::optional<Types> unique2(const DataCall& of) {
  return unique(of, of.flag(2), of.flag(3));
}
std::optional<Types> unique_consecutive(const DataCall& of) {
  const ir::Arg* dim = of.call.args.at(3).constant;
  if (dim && !dim->is_none()) return {};
  return unique(of, of.flag(1), of.flag(2));
}

// As many as the program says, which PyTorch's kernel checks.
std::optional<Types> repeat_interleave(const DataCall& of) {
  const int64_t found = of.new_size(), said = of.number(1);
  return Types{of.like(0, of.tensor(0)->dtype, {said > 0 ? said : found})};
}

std::optional<Types> bincount(const DataCall& of) {
  const ir::TensorType* weights = of.tensor(1);
  const ir::DType dtype = !weights                           ? ir::DType::i64
                          : weights->dtype == ir::DType::f32 ? ir::DType::f32
                                                             : ir::DType::f64;
  // A program that asks for so many at least mostly has as many. A run that finds more goes on with these:
  // what was concluded from the number is asked again.
  const int64_t found = of.new_size(), least = of.number(2);
  return Types{of.like(0, dtype, {least > 0 ? least : found})};
}

// (data, batch sizes)
std::optional<Types> pack_padded_sequence(const DataCall& of) {
  ir::Dims sizes = of.tensor(0)->sizes;
  if (sizes.size() < 2) return {};
  sizes.erase(sizes.begin());
  sizes[0] = of.new_size();
  return Types{of.like(0, of.tensor(0)->dtype, std::move(sizes)),
               ir::TensorType::contiguous(ir::DType::i64, {of.new_size()})};
}

// (output, states) of a recurrent layer of a packed sequence.
std::optional<Types> packed_layer(const DataCall& of) {
  constexpr size_t kStates = 2, kBothWays = 8;
  std::vector<const ir::TensorType*> given;
  if (of.tensor(kStates)) given.push_back(of.tensor(kStates));
  for (const ops::ShapeArg& each : of.call.args.at(kStates).list) given.push_back(each.tensor);
  if (given.empty() || of.tensor(0)->sizes.size() != 2) return {};
  for (const ir::TensorType* state : given)
    if (!state || state->sizes.size() != 3) return {};
  const int64_t directions = of.flag(kBothWays) ? 2 : 1;
  Types out{of.like(0, of.tensor(0)->dtype, {of.tensor(0)->sizes[0], given[0]->sizes[2] * directions})};
  for (const ir::TensorType* state : given) out.push_back(of.like(0, state->dtype, state->sizes));
  return out;
}

// (padded, lengths): as many sequences as go on at the first step.
std::optional<Types> pad_packed_sequence(const DataCall& of) {
  ir::Dims sizes = of.tensor(0)->sizes;
  if (sizes.empty()) return {};
  const ir::Arg* total = of.call.args.at(4).constant;
  if (!total || !total->is<int64_t>()) return {};
  const auto said = total->as<ir::Sym>();
  const ir::Sym steps = said.hint() > 0 ? said : of.tensor(1)->sizes.at(0);
  const int64_t sequences = of.new_size();
  sizes.erase(sizes.begin());
  sizes.insert(sizes.begin(), {steps, sequences});
  ir::TensorType padded = of.like(0, of.tensor(0)->dtype, sizes);
  if (of.flag(2)) {  // a view of it
    std::swap(padded.sizes[0], padded.sizes[1]);
    std::swap(padded.strides[0], padded.strides[1]);
  }
  return Types{padded, ir::TensorType::contiguous(ir::DType::i64, {sequences})};
}

struct DataShapeRow {
  std::string_view op;
  std::optional<Types> (*types)(const DataCall&);
};

constexpr std::array kRows = {
    DataShapeRow{"aten.nonzero.default", nonzero},
    DataShapeRow{"aten.masked_select.default", masked_select},
    DataShapeRow{"aten.index.Tensor", index},
    DataShapeRow{"aten._unique2.default", unique2},
    DataShapeRow{"aten.unique_consecutive.default", unique_consecutive},
    DataShapeRow{"aten.repeat_interleave.Tensor", repeat_interleave},
    DataShapeRow{"aten.bincount.default", bincount},
    DataShapeRow{"aten._pack_padded_sequence.default", pack_padded_sequence},
    DataShapeRow{"aten.lstm.data", packed_layer},
    DataShapeRow{"aten.gru.data", packed_layer},
    DataShapeRow{"aten.rnn_tanh.data", packed_layer},
    DataShapeRow{"aten.rnn_relu.data", packed_layer},
    DataShapeRow{"aten._pad_packed_sequence.default", pad_packed_sequence},
};

// Primes that programs do not have for sizes: what is computed from one shows it.
bool is_prime(int64_t n) {
  for (int64_t d = 3; d * d <= n; d += 2)
    if (n % d == 0) return false;
  return n % 2 != 0;
}
constexpr int64_t kAbove = 1008;

bool is_truth(ir::DType dtype) {
  return dtype == ir::DType::b1 || dtype == ir::DType::u8;
}

bool writes_by_mask(std::string_view op) {
  return op == "aten.index_put.default" || op == "aten.index_put_.default" ||
         op == "aten._index_put_impl_.default";
}

bool broadcasts(const ir::Dims& from, const ir::Dims& to) {
  if (from.size() > to.size()) return false;
  return std::equal(from.rbegin(), from.rend(), to.rbegin(),
                    [](const ir::Sym& a, const ir::Sym& b) { return a.same(1) || a.same(b); });
}

}  // namespace

int64_t next_stand_in(int64_t last) {
  last = std::max(last, kAbove);
  do ++last;
  while (!is_prime(last));
  return last;
}

int64_t Recording::stand_in() {
  return effects.last_stand_in = next_stand_in(effects.last_stand_in);
}

int64_t Recording::found_places(int mask) {
  if (mask < 0 || storage_of_tensor(mask).written) return 0;
  return found_places_.count(at(mask).aten);
}

void Recording::note_places(int mask, int64_t count) {
  found_places_.note(aten_.size(), at(mask).aten, count);
}

bool OperatorCall::takes_stand_in() const {
  const auto is_this = [this](const DataShapeRow& row) { return row.op == op_.name; };
  return recording_.stands_in && std::any_of(kRows.begin(), kRows.end(), is_this);
}

// The tensor that says with its truth values what is picked; -1: there is none, or more than one.
int OperatorCall::picking_mask() const {
  const bool counts = op_.name == "aten.nonzero.default";
  if (!counts && op_.name != "aten.index.Tensor" && !writes_by_mask(op_.name)) return -1;
  int found = -1, masks = 0;
  for (const int t : bound_[counts ? 0 : 1].tensors)
    if (is_truth(recording_.at(t).type.dtype)) found = t, ++masks;
  return masks == 1 ? found : -1;
}

// Null: the operator is none of these, or a call that no rule covers.
PyRef OperatorCall::by_stand_in() {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [this](const DataShapeRow& r) { return r.op == op_.name; });
  if (!recording_.stands_in || row == kRows.end()) return PyRef();
  const ops::ShapeCall call = shape_call();
  const int mask = picking_mask();
  int64_t known = recording_.found_places(mask);  // the same mask picks as much again
  const auto new_size = [&] {
    const int64_t size = known ? known : recording_.stand_in();
    if (mask >= 0) known = size;
    return size;
  };
  auto types = row->types({call, op_.row, new_size});
  if (!types) refuse_data_dependent();
  if (mask >= 0) recording_.note_places(mask, known);
  return results(*types);
}

// A write at the places that a mask picks takes as many values. PyTorch's kernel would be tried with zeros,
// of which a mask picks nothing. Null: it is none, or how many there are is not known.
PyRef OperatorCall::by_mask() {
  if (!recording_.stands_in || !writes_by_mask(op_.name) || is_of_expressions()) return PyRef();
  const int64_t known = recording_.found_places(picking_mask());
  const ir::TensorType& self = recording_.at(bound_[0].tensors.at(0)).type;
  if (!known || !self.is_contiguous()) return PyRef();
  ops::ShapeCall call = shape_call();
  const ir::Dims values = call.args.at(2).tensor->sizes;
  call.args.resize(2);
  const auto picked = index({call, ops::find("aten.index.Tensor"), [&] { return known; }});
  if (!picked || !broadcasts(values, picked->at(0).sizes)) return PyRef();
  ir::TensorType type = self;
  if (!op_.writes) type.offset = 0;
  return results({type});
}

}  // namespace vitrine::torch_api
