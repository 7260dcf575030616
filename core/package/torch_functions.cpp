#include "core/package/torch_functions.h"

#include <dlfcn.h>

namespace vitrine::package {

Error TorchFunctions::failed(AtenStatus status) const {
  const char* said = what ? what() : nullptr;
  return Error{said && *said ? said : "a kernel of PyTorch's failed (" + std::to_string(status) + ")", "",
               ""};
}

Result<const TorchFunctions*> torch_functions(const std::string& folder, bool on_gpu) {
  static TorchFunctions found;
  static bool opened = false;
  if (opened) return &found;
  const std::string name = on_gpu ? "libtorch_cuda.so" : "libtorch_cpu.so";
  void* library = dlopen((folder.empty() ? name : folder + "/" + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* why = dlerror();
    return Error{
        "the package calls PyTorch, whose library cannot be opened: " + std::string(why ? why : name),
        "Name the folder of its libraries: --torch DIR, or the variable VITRINE_TORCH. With Python "
        "it is python -c 'import torch, os; print(os.path.dirname(torch.__file__) + \"/lib\")'.",
        ""};
  }
  std::string missing;
#define X(member, name, ...)                                                     \
  found.member = reinterpret_cast<decltype(found.member)>(dlsym(library, name)); \
  if (!found.member) missing += (missing.empty() ? "" : ", ") + std::string(name);
  VITRINE_ATEN_SYMBOLS(X)
  if (!missing.empty()) return Error{"this PyTorch does not export " + missing, "", ""};
  VITRINE_ATEN_OPERATORS(X)
#undef X
  found.set_grad(false);
  opened = true;
  return &found;
}

Result<AtenTensor> AtenTensor::over(const TorchFunctions& torch, void* data, const ir::TensorType& type) {
  const std::vector<int64_t> sizes = ir::integers(type.sizes), strides = ir::integers(type.strides);
  AtenHandle made = nullptr;
  const AtenStatus status = torch.from_blob(data, static_cast<int64_t>(sizes.size()), sizes.data(),
                                            strides.data(), 0, ir::dtype_to_scalar_type(type.dtype),
                                            type.device.is_cuda() ? 1 : 0, type.device.index, &made);
  if (status != 0) return torch.failed(status);
  return AtenTensor(torch, made);
}

}  // namespace vitrine::package
