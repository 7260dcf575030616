// What init() found, for the files of this folder: symbols, layout, and the Python objects that are used
// often.
#pragma once

#include <Python.h>

#include "core/torch_api/bridge.h"
#include "core/torch_api/layout.h"
#include "core/torch_api/symbols.h"

namespace vitrine::torch_api {

// Filled once by find_pytorch() and init(), constant afterwards. Objects live as long as the process.
struct Api {
  Symbols symbols;
  ObjectLayout layout;
  Facts facts;
  PyObject *torch = nullptr, *tensor_type = nullptr, *parameter_type = nullptr, *ops = nullptr;
  PyObject* dispatch_keys = nullptr;       // torch._C._dispatch_keys
  PyObject* forward_ad_globals = nullptr;  // vars(torch.autograd.forward_ad)
  PyObject *s_requires_grad = nullptr, *s_current_level = nullptr;
  uint64_t plain_keys = 0, inference_keys = 0;      // dispatch keys of an ordinary CPU tensor
  uint64_t cuda_keys = 0, cuda_inference_keys = 0;  // and of a CUDA tensor; 0: not known
  size_t saved_hooks_begin = 0,
         saved_hooks_end = 0;  // words of the hook stack that are equal when it is empty

  // Whether dispatch keys are those of a tensor of PyTorch's own memory: no class, mode or layout answers for
  // it.
  bool has_plain_keys(uint64_t keys) const {
    return keys != 0 &&
           (keys == plain_keys || keys == inference_keys || keys == cuda_keys || keys == cuda_inference_keys);
  }
};
const Api& api();

inline void* impl_of(Handle t) {
  return *static_cast<void**>(t);
}
inline void* storage_of(Handle t) {
  return word_at(impl_of(t), api().layout.storage_word);
}

// The message of the exception that the last failing exported function swallowed.
std::string last_torch_error();

}  // namespace vitrine::torch_api
