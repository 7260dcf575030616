#include "core/ops/device.h"

#include "core/ops/node.h"
#include "core/ops/promote.h"

namespace vitrine::ops {

namespace {

// The one device of all tensors that were seen.
class Common {
 public:
  void add(const ShapeArg& arg) {
    if (arg.tensor) add(*arg.tensor);
    for (const ShapeArg& each : arg.list) add(each);
  }
  void add(const ir::TensorType& t) {
    if (t.sizes.empty() && t.device.is_cpu()) return;
    if (found_ && *found_ != t.device) agree_ = false;
    if (!found_) found_ = t.device;
  }
  bool agree() const { return agree_; }
  ir::Device device() const { return found_.value_or(ir::Device{}); }

 private:
  std::optional<ir::Device> found_;
  bool agree_ = true;
};

}  // namespace

Result<ir::Device> device_of(const OpRow& row, const ShapeCall& call) {
  const auto& names = params(row);
  for (size_t i = 0; i < names.size() && i < call.args.size(); ++i) {
    const ShapeArg& arg = call.args[i];
    if (names[i].name == "device" && arg.constant && arg.constant->is<ir::Word>()) {
      auto named = ir::device_from_text(arg.constant->as<ir::Word>().text);
      if (!named) return Error{"a tensor on device " + arg.constant->as<ir::Word>().text, "", ""};
      return *named;
    }
    if (names[i].written && arg.tensor) return arg.tensor->device;
  }
  Common common;
  for (const ShapeArg& arg : call.args) common.add(arg);
  if (!common.agree()) return Error{"its tensors are on different devices", "", ""};
  return common.device();
}

namespace {

// What an operator computes into its first argument is of that tensor's type: its sizes must be the same, and
// elements may not fall in category (floating, integer, bool).
std::optional<Error> fit(const ShapeCall& call, std::vector<ir::TensorType>& types) {
  const ir::TensorType* into = call.args.at(0).tensor;
  if (!into || types.size() != 1 || types[0].sizes != into->sizes)
    return Error{"The shape rule does not cover this call: the result has other sizes", "", ""};
  if (!can_cast(types[0].dtype, into->dtype))
    return Error{"The shape rule does not cover this call: the result does not fit the type", "", ""};
  types[0] = *into;
  return {};
}

}  // namespace

Result<std::vector<ir::TensorType>> types_of(const OpRow& row, const ShapeCall& call) {
  Result<std::vector<ir::TensorType>> types = row.shape(call);
  if (!types) return types;
  if (row.functional)
    if (auto error = fit(call, types.value())) return *error;
  Result<ir::Device> device = device_of(row, call);
  if (!device) return device.error();
  for (ir::TensorType& t : types.value()) t.device = device.value();
  return types;
}

}  // namespace vitrine::ops
