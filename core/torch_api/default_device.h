// torch.set_default_device() and `with torch.device(...)`: PyTorch keeps the default device as a function
// mode, the one DeviceContext on that stack, which gives factory functions their `device`.
#pragma once

#include <cstdint>
#include <string>

#include "core/torch_api/symbols.h"

namespace vitrine::torch_api {

constexpr int32_t kNoDefaultDevice = 0;
constexpr int32_t kForeignMode = -1;  // a function mode whose doing is not known

// A number for what the stack of function modes says: one of the above, or a device.
int32_t default_device(const Symbols& s);
// "cpu", "cuda:1", "cuda" (whichever is current), "none", "a foreign function mode".
std::string default_device_text(int32_t number);

}  // namespace vitrine::torch_api
