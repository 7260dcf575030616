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

std::optional<Types> repeat_interleave(const DataCall& of) {
  return Types{of.like(0, of.tensor(0)->dtype, {of.new_size()})};
}

std::optional<Types> bincount(const DataCall& of) {
  const ir::TensorType* weights = of.tensor(1);
  const ir::DType dtype = !weights                           ? ir::DType::i64
                          : weights->dtype == ir::DType::f32 ? ir::DType::f32
                                                             : ir::DType::f64;
  return Types{of.like(0, dtype, {of.new_size()})};
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
};

// Primes that programs do not have for sizes: what is computed from one shows it.
bool is_prime(int64_t n) {
  for (int64_t d = 3; d * d <= n; d += 2)
    if (n % d == 0) return false;
  return n % 2 != 0;
}
constexpr int64_t kAbove = 1008;

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

bool OperatorCall::takes_stand_in() const {
  const auto is_this = [this](const DataShapeRow& row) { return row.op == op_.name; };
  return recording_.stands_in && std::any_of(kRows.begin(), kRows.end(), is_this);
}

// Null: the operator is none of these, or a call that no rule covers.
PyRef OperatorCall::by_stand_in() {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [this](const DataShapeRow& r) { return r.op == op_.name; });
  if (!recording_.stands_in || row == kRows.end()) return PyRef();
  const ops::ShapeCall call = shape_call();
  auto types = row->types({call, op_.row, [this] { return recording_.stand_in(); }});
  if (!types) refuse_data_dependent();
  return results(*types);
}

}  // namespace vitrine::torch_api
