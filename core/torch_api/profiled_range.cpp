#include "core/torch_api/profiled_range.h"

#include <vector>

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

bool is_profiled() {
  const Symbols& s = api().symbols;
  return s.operators_watched && s.range_begins && s.range_ends && s.operators_watched() &&
         (!s.operators_observed || s.operators_observed());
}

ProfiledRange::ProfiledRange(const std::string& name, std::span<const Handle> inputs) {
  const Symbols& s = api().symbols;
  std::vector<void*> values;
  for (Handle input : s.tensor_to_value&& s.delete_value ? inputs : std::span<const Handle>()) {
    void* value = nullptr;
    if (input && s.tensor_to_value(input, &value) == 0) values.push_back(value);
  }
  if (s.range_begins(name.c_str(), nullptr, values.data(), values.size(), &range_) != 0) range_ = nullptr;
  for (void* value : values) s.delete_value(value);
}

ProfiledRange::~ProfiledRange() {
  if (range_) api().symbols.range_ends(range_);
}

}  // namespace vitrine::torch_api
