#include "core/recording/absent_gpu.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/once.h"
#include "core/recording/dispatch.h"
#include "core/torch_api/api.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// Whose operators PyTorch chooses where a GPU is, by it and its libraries, and their names in _absent_gpu.py.
constexpr std::pair<std::string_view, const char*> kChosenOnGpu[] = {
    {"torch._C._nn.scaled_dot_product_attention", "scaled_dot_product_attention"},
    {"torch.lstm", "lstm"},
    {"torch.gru", "gru"},
    {"torch.rnn_tanh", "rnn_tanh"},
    {"torch.rnn_relu", "rnn_relu"},
    {"torch.ctc_loss", "ctc_loss"}};

}  // namespace

PyRef chosen_for(const std::string& architecture, bool for_any_size, const std::string& name,
                 PyObject* callable) {
  const auto* row = std::find_if(std::begin(kChosenOnGpu), std::end(kChosenOnGpu),
                                 [&](const auto& r) { return r.first == name; });
  if (row == std::end(kChosenOnGpu)) return PyRef::borrow(callable);
  PyRef made = call(Name::function_for_absent_gpu, "ssO", architecture.c_str(), row->second,
                    for_any_size ? Py_True : Py_False);
  if (!made) stop("unsupported_operator", name + ": " + take_python_error());
  if (made.get() == Py_None)
    stop("unsupported_operator", name + ": which operators compute it PyTorch chooses where the GPU is",
         "Record it on a machine with that GPU.");
  return made;
}

void pretend_cuda_is_ready() {
  static constinit Once<bool> done;
  done.get([] {
    if (gpu_is_here()) return true;
    constexpr size_t kMeta = 14;  // c10::DeviceType::Meta
    if (void** guards = api().symbols.guard_impls) guards[kCudaDevice] = guards[kMeta];
    PyRef scope = PyRef::steal(PyDict_New());
    PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
    PyRef ran =
        PyRef::steal(PyRun_String("import torch\n"
                                  "real, torch.cuda._lazy_init = torch.cuda._lazy_init, lambda: None\n"
                                  "try:\n"
                                  "    torch.empty(0, device='cuda')\n"
                                  "except Exception:\n"
                                  "    pass\n"
                                  "finally:\n"
                                  "    torch.cuda._lazy_init = real\n",
                                  Py_file_input, scope.get(), scope.get()));
    PyErr_Clear();
    return static_cast<bool>(ran);
  });
}

}  // namespace vitrine::torch_api
