#include "core/torch_api/autocast.h"

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {
constexpr int8_t kCpu = 0, kCuda = kCudaDevice;
}

AutocastState autocast_state() {
  const Symbols& s = api().symbols;
  AutocastState out{s.autocast_enabled(kCpu), s.autocast_enabled(kCuda), s.autocast_dtype(kCpu),
                    s.autocast_dtype(kCuda),  s.autocast_cache(),        0};
  out.nesting = s.autocast_enter() - 1;  // nothing tells the depth but a change of it
  s.autocast_leave();
  return out;
}

void set_autocast_state(const AutocastState& wanted) {
  const Symbols& s = api().symbols;
  const AutocastState now = autocast_state();
  if (now.cpu != wanted.cpu) s.autocast_set(kCpu, wanted.cpu);
  if (now.cuda != wanted.cuda) s.autocast_set(kCuda, wanted.cuda);
  if (now.cpu_dtype != wanted.cpu_dtype) s.autocast_set_dtype(kCpu, wanted.cpu_dtype);
  if (now.cuda_dtype != wanted.cuda_dtype) s.autocast_set_dtype(kCuda, wanted.cuda_dtype);
  if (now.cache != wanted.cache) s.autocast_set_cache(wanted.cache);
  for (int depth = now.nesting; depth < wanted.nesting; ++depth) s.autocast_enter();
  for (int depth = now.nesting; depth > wanted.nesting; --depth) s.autocast_leave();
}

void clear_autocast_cache() {
  api().symbols.autocast_clear();
}

}  // namespace vitrine::torch_api
