// Library calls of operators that take lists of tensors: PyTorch's own C++ entry points, which read an array
// of tensors as it lies. Through Python each element of a list is converted three times over.
#pragma once

#include <memory>
#include <string>

#include "core/torch_api/library/library.h"

namespace vitrine::torch_api {

// cat, stack or _foreach_norm, on any device. nullptr: another operator, or no such entry point here.
std::unique_ptr<LibraryCall> make_list_call(const ir::Node& node, const LibraryCall::SlotOf& slot_of);

// Calls each entry point with two small tensors; those that do not answer as they should are not used from
// then on. Once, from init(), with the GIL. "ok", or what fails.
std::string test_list_calls();

}  // namespace vitrine::torch_api
