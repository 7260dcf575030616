// What torch.profiler, torch.autograd.profiler.emit_nvtx and others who watch operators see of compiled code:
// ranges by name, as PyTorch's own operators are seen.
#pragma once

#include <span>
#include <string>

#include "core/torch_api/bridge.h"

namespace vitrine::torch_api {

// Whether somebody watches this thread, as a profiler does: a few loads. Who watches all threads of the
// process is not asked after, which would take a lock at each call.
bool is_profiled();

// A range that lasts as long as it lives. inputs: whose sizes are told with it.
class ProfiledRange {
 public:
  explicit ProfiledRange(const std::string& name, std::span<const Handle> inputs = {});
  ~ProfiledRange();
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;

 private:
  void* range_ = nullptr;
};

}  // namespace vitrine::torch_api
