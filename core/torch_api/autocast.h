// This thread's autocast, as one value: what torch.autocast changes on entering and leaving.
#pragma once

#include <cstdint>

namespace vitrine::torch_api {

struct AutocastState {
  bool cpu = false, cuda = false;
  int8_t cpu_dtype = 0, cuda_dtype = 0;  // torch ScalarType numbers
  bool cache = true;
  int nesting = 0;
  bool operator==(const AutocastState&) const = default;
};

AutocastState autocast_state();
// Sets what differs.
void set_autocast_state(const AutocastState& wanted);
void clear_autocast_cache();

}  // namespace vitrine::torch_api
